package control

import (
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// refusal is what a command or a call of the API answers when it does not do what it was
// asked for.
type refusal struct{ code, means, do string }

// refusals are explained beside the codes of faults. None of them changes anything, unless
// it says so.
var refusals = []refusal{
	{"alert_over", "The alert does not fire any more, so that there is nothing to acknowledge or snooze.", "Look at those that do: patra alert list."},
	{"alert_targets", "What names the receivers of alerts cannot be read.", "Mend PATRA_ALERTS or the file of PATRA_ALERTS_FILE; the message shows which line."},
	{"archive_busy", "Another process moves old rows to the archive just now.", "Leave it to that one, or try again in half an hour."},
	{"archived", "What was asked for has been moved out of the database to a file.", "Read it there: patra db archive show KEY."},
	{"bad_dsn", "The address of the database cannot be read.", "Write sqlite:PATH or mysql://user:password@host:port/database."},
	{"bad_ids", "Some of the ids that were given cannot be ids of this source.", "Mend the lines that the message shows; nothing was asked of the source."},
	{"bad_length", "A length of time cannot be read.", "Write it as 30m, 2h or 3d."},
	{"bad_page", "A list was asked to go on from a place that it does not have.", "Begin again without after, and go on with what next says."},
	{"bad_query", "The query cannot be read, or nobody can decide a part of it: the source does not search that field and does not show it.", "Mend what the message points at; patra query explain shows what a source is sent and what is decided here."},
	{"bad_rate", "The rate is not one that may be set so: only the registry may allow more than it does.", "Choose less, or change the description of the source."},
	{"bad_schedule", "The schedule cannot be kept: its cron line, zone, source or query is not understood.", "Mend what the message names: patra schedule set --help."},
	{"bad_search", "The search that was asked for cannot be saved, run or told of as it is; the message says why.", "See patra search new --help."},
	{"bad_token", "What was given with --apply is not the token of a preview of this change.", "Make a preview with --dry-run, and copy its whole token."},
	{"beyond_activity", "The window would leave a hole between it and what the backfill has read already.", "Choose a window that ends where the backfill stands, or another --activity."},
	{"cannot_count", "The source has no way to count records, so that nothing can be compared.", "Compare another source, or read a window again with patra backfill."},
	{"check_failed", "The test read of the source found something that keeps it from being harvested.", "Do what stands behind fix in its lines."},
	{"check_warned", "The test read found warnings, and --strict takes them for failures.", "Do what stands behind fix, or leave --strict out."},
	{"contract_invalid", "The rows of the registry do not make a description that can be worked by.", "Mend what the message names, with patra source apply or rollback."},
	{"cut", "A person has parted records that would be joined, and a join does not undo that.", "Take the parting back first: patra work revoke."},
	{"damaged", "The file of the database is damaged: SQLite itself says so.", "Put back a copy; patra verify tells how far the damage reaches."},
	{"database_gone", "The file of the database was moved, removed or replaced while it was in use.", "End every patra that uses it, put the file back beside its -wal, and run the command again: it goes on after the last page that the file holds."},
	{"declined", "A person was asked whether to read so many records, and said no.", "Narrow the query or the window, or answer y."},
	{"disk_full", "The disk of the database, or of its temporary files, has no room.", "Free some, and run the command again: nothing was half-written."},
	{"duplicate_key", "A row is there already that must be there once.", "Run patra verify, and tell us: this should not happen."},
	{"empty_window", "The window ends before, or where, it begins.", "Give a --from before --to."},
	{"event_targets", "What names the targets of events cannot be read.", "Mend --events, PATRA_EVENTS or the file of PATRA_EVENTS_FILE; the message shows which target. patra outbox --help has the kinds."},
	{"expired", "The black box of the page is older than it is kept.", "Make a new one while its parts are there: patra blackbox export."},
	{"failed", "Something on this machine or in its store failed; the message says what.", "Mend that, and run the same command again: it goes on where it stopped."},
	{"file_exists", "A file is there already under the name that was given, and nothing is put over it.", "Name a new file."},
	{"feed_gone", "The feed of changes does not reach back to the place that was asked for: nobody has read it for a month, so that it ended, or the place was never given.", "Begin anew with after=0: everything that is held comes first. Drop revisions that you have."},
	{"form", "A form was sent that no page of this console made for this browser, or that is old.", "Open the page again and send the form from there."},
	{"interrupted", "The command was told to stop.", "Run it again: it goes on where it stopped."},
	{"is_folder", "The database is one file, and --db or PATRA_DB names a folder.", "Name a file in it, such as sqlite:FOLDER/patra.db."},
	{"lists_nothing", "The source gives no list of its records, by time or by what is asked, so that it cannot be harvested, backfilled or searched: it answers for single records alone.", "Read records by their ids: patra refresh SOURCE --ids FILE."},
	{"moved", "Something has changed since the preview was made, so that it would not do what it showed.", "Look at a new preview."},
	{"locked", "Another process holds the database for longer than this one waits.", "Wait for it or end it, and run the command again: nothing was changed."},
	{"nameless", "None of the chosen items has an id by which the source could be asked for it.", "Mend the mapping, then read their time again with patra backfill."},
	{"never_read", "The harvest would begin behind a time that nobody has read.", "Choose an earlier --from, or read what lies between with patra backfill."},
	{"no_alert_target", "Nobody is named who could be told of alerts.", "Set PATRA_ALERTS or PATRA_ALERTS_FILE."},
	{"no_archive", "There is no directory to move old rows to, or to read them from.", "Name one that outlasts this machine: --archive DIR."},
	{"no_folder", "The folder in which the database would be made is not there.", "Make it, or name another with --db; see whether the path is written right."},
	{"no_gap", "The slice is no gap: it has not failed, and was not cancelled.", "patra plan gaps SOURCE lists those that can be accepted."},
	{"no_rate", "The source declares no rate that could be lowered.", "Declare one under rateLimit, or pause the source."},
	{"no_sealing_key", "Secrets cannot be sealed, or opened, without the key for that.", "Set the key that the message names, or keep secrets in the environment or in files."},
	{"no_token", "Whoever reaches that address could change everything, for no token is in use.", "Make one first: patra token new NAME --role admin; or listen on 127.0.0.1."},
	{"bound", "A trigger asked for a higher rate, more requests in flight or larger pages than the description of its source has.", "Ask for less, or leave it out: only the description says how much a source may be asked."},
	{"no_endpoint", "An endpoint was named that the source does not have, or that the operation does not go through.", "Name one of those that the message lists, or none."},
	{"no_update", "The source has no way to read records by their ids.", "Read their time again with patra backfill."},
	{"not_archived", "No archive holds what was asked for.", "Look at what there is: patra db archive list."},
	{"other_database", "The file is a database of another program: it has tables, and none of them is patra's.", "Name patra's own with --db or PATRA_DB, or a file that is not there yet. Nothing was changed in it."},
	{"not_found", "There is no such thing.", "List what there is; the message names the command."},
	{"not_linked", "Records were selected that were not compared with others yet, so that doubles among them are not known.", "patra work link, then the same command again."},
	{"not_open", "What was to be changed is over already.", "Look at its state with show."},
	{"nothing_proven", "Nothing of the span is proven complete yet, so that counts would differ for that alone.", "Harvest first, or compare an earlier span."},
	{"nothing_to_undo", "The source has no change that could be taken back.", "Look at its changes: patra source history CODE."},
	{"pack_invalid", "A pack has mistakes; each is shown with its line.", "Mend them: patra source lint FILE."},
	{"not_granted", "The user of the database may not do this.", "Give it what its role needs: `patra db grants ROLE` prints it. What no role may do, a command of a person with all rights does."},
	{"read_only", "The database cannot be written to, this server lets nobody change anything, or you may only look.", "Make the database and its folder writable, or choose another with --db; or ask an operator, or a server that runs without --read-only."},
	{"unreachable", "The database does not answer.", "See whether its server runs and can be reached; the page comes back by itself."},
	{"past_watermark", "The harvest would begin behind its watermark, and leave a hole that nobody has read.", "Leave --from out, or begin at the watermark."},
	{"report_sum", "The records that a search has identified are not those that were removed and those that are left: something was lost, or counted twice.", "patra verify, then run the search and the report again."},
	{"search_running", "Another run of the search began before this one had ended; what was read is kept, what it came to is told by the other.", "Look at the runs: patra search show NAME."},
	{"schema", "The database has another schema than this patra works with.", "patra db migrate brings an older one up to date; for a newer one use a newer patra."},
	{"server_backup", "The database is on a server, and patra copies only one that is a file.", "Copy it with the tools of the server, in one consistent snapshot."},
	{"source_not_applied", "The source is described by a pack that was never applied, and a process that serves applies none by itself.", "patra source apply SOURCE, or `patra serve --apply-packs`."},
	{"stale_preview", "The registry has changed since the preview was made.", "Look at a new preview."},
	{"still_bad", "None of the items could be stored by the description in force either.", "Mend the mapping first: patra quarantine show ITEM names the place."},
	{"token_taken", "A token of that name is in use.", "Choose another name, or end that one: patra token revoke NAME."},
	{"too_young", "The rows are not old enough to be moved: what comes late is judged by them.", "Choose an earlier --before."},
	{"unknown_code", "There is no such code.", "patra explain lists all there are."},
	{"unknown_credential", "The source has no credential of that name.", "patra credential list shows those it has."},
	{"unknown_role", "There is no such role.", "Use one of those that the message names."},
	{"unknown_schedule", "There is no schedule of that name.", "patra schedule list shows those there are."},
	{"unknown_search", "There is no saved search of that name.", "patra search list shows those there are."},
	{"unknown_source", "No source has that name.", "patra source list shows those there are; --sources names a folder of further packs."},
	{"usage", "The command, or the call of the API, was not given what it needs.", "See the command with --help."},
	{"wrong_name", "The name given is not that of the item, so that it may be another one than was meant.", "Look at it again: patra quarantine show ITEM."},
}

// refusalsExplained are the codes of what is refused, and the reasons of waiting that no
// fault has for its code.
func refusalsExplained() []Explanation {
	var out []Explanation
	for _, r := range refusals {
		out = append(out, Explanation{Code: r.code, Kind: "refusal", Means: r.means, Does: "patra changes nothing", Do: r.do})
	}
	for _, r := range slices.Sorted(maps.Keys(meanings)) {
		if _, isFault := harvest.Code(r).Meaning(); !isFault {
			out = append(out, Explanation{Code: string(r), Kind: "why work waits", Means: r.Meaning()})
		}
	}
	return out
}
