package main

import (
	"cmp"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// readLines has a command line of every command that shows something, by its name. @DIR is the
// folder of the test, @AT the flags by which the simulated source is asked instead of the real
// one, @ASKED the same for commands that ask several sources.
var readLines = map[string]string{
	"alert list":         "",
	"alert show":         "1",
	"audit list":         "--all",
	"batch show":         "1/1",
	"blackbox show":      "1/1",
	"coverage":           "crossref",
	"credential list":    "",
	"cursor events":      "1",
	"cursor list":        "",
	"cursor show":        "1",
	"db archive list":    "",
	"db backup":          "@DIR/copy.db",
	"db archive show":    "plan/@ARCHIVED",
	"db grants":          "planner",
	"db status":          "",
	"doctor":             "",
	"error list":         "",
	"error show":         "1",
	"explain":            "circuit_open",
	"export":             "--out @DIR/all.jsonl",
	"outbox list":        "",
	"outbox show":        "1",
	"outbox target list": "",
	"plan gaps":          "crossref",
	"plan list":          "",
	"plan show":          "1",
	"plan slices":        "1",
	"plan spec":          "1",
	"quarantine list":    "",
	"quarantine show":    "1",
	"query explain":      "ti:a --sources crossref",
	"queue show":         "",
	"rate show":          "",
	"record history":     "crossref @ID",
	"record list":        "",
	"record show":        "crossref @ID",
	"replay":             "1/1",
	"report search":      "s --json",
	"run list":           "",
	"run show":           "1",
	"run why":            "1",
	"schedule list":      "",
	"schedule show":      "nightly",
	"search count":       "s @ASKED",
	"search export":      "s --out @DIR/s.ris --format ris",
	"search list":        "",
	"search report":      "s --json",
	"search show":        "s",
	"source check":       "crossref @AT",
	"source diff":        "../../sources/crossref.yaml",
	"source history":     "crossref",
	"source lint":        "../../sources/crossref.yaml",
	"source list":        "",
	"source show":        "crossref",
	"source test":        "crossref",
	"status":             "",
	"task list":          "",
	"task show":          "1",
	"task why":           "1",
	"token list":         "",
	"verify":             "",
	"version":            "",
	"work identifiers":   "",
	"work list":          "",
	"work show":          "1",
	"work suggestions":   "",
}

// changeLines has a command line of every command that changes something, by its name.
var changeLines = map[string]string{
	"alert ack":            "1",
	"alert snooze":         "1 --for 2h",
	"alert test":           "",
	"backfill":             "crossref --from 2020-01-01 --to 2021-01-01 @AT",
	"credential allow":     "crossref --origin https://mirror.example.org",
	"credential disable":   "crossref main",
	"credential rotate":    "crossref main --env WALK_KEY --later",
	"credential set":       "crossref other --env WALK_KEY --later",
	"cursor skip":          "1 --to 2020-01-01",
	"db archive":           "--before 2020-01-01",
	"db compact":           "",
	"db migrate":           "",
	"error ack":            "1",
	"error mute":           "1 --for 8h",
	"error resolve":        "1",
	"harvest":              "crossref @AT",
	"outbox retry":         "1",
	"outbox target add":    "lake --events file:@DIR/events.jsonl#lake",
	"outbox target remove": "old",
	"plan accept-gap":      "@GAP",
	"plan cancel":          "@OPEN",
	"plan create":          "crossref --op BACKFILL --from 2019-07-01 --to 2019-08-01 @AT",
	"plan retry":           "crossref",
	"quarantine discard":   "1",
	"quarantine refetch":   "1 @AT",
	"quarantine reparse":   "1",
	"rate lower":           "crossref --to 0.5 --for 2h",
	"reconcile":            "crossref --plan @AT",
	"refresh":              "crossref --older-than 0s @AT",
	"schedule pause":       "nightly",
	"schedule remove":      "nightly",
	"schedule resume":      "nightly",
	"schedule set":         "weekly --source crossref --cron @weekly",
	"search new":           "t --query ti:b --sources crossref",
	"search remove":        "s",
	"search run":           "s @ASKED",
	"search schedule":      "s --cron @daily",
	"search update":        "s @ASKED",
	"source apply":         "../../sources/pubmed.yaml",
	"source pause":         "crossref",
	"source resume":        "crossref",
	"source rollback":      "crossref",
	"source schedule":      "../../sources/crossref.yaml --at 2099-01-01",
	"token new":            "t --role viewer",
	"token revoke":         "grafana",
	"work join":            "3 4",
	"work link":            "",
	"work revoke":          "1",
	"work split":           "1 3",
}

// walk is a store with something of every kind in it, and the words that stand for parts of it
// in the command lines above.
type walk struct {
	dsn   string
	db    *sql.DB
	words *strings.Replacer
	held  map[string]string // what contents says of it
}

func newWalk(t *testing.T) walk {
	t.Helper()
	dir := t.TempDir()
	w := walk{dsn: "sqlite:" + filepath.Join(dir, "p.db")}
	_, url := oracle(t, sim.Config{Records: 12, Seed: 2, LimitRPS: -1})
	at := "--base-url " + url + "/crossref --contact a@example.org"
	asked := "--base-url crossref=" + url + "/crossref --contact a@example.org"
	w.words = strings.NewReplacer("@ASKED", asked, "@AT", at)
	for _, line := range []string{
		"harvest crossref @AT", "search new s --query year:1990..2100 --sources crossref --reason x", "search run s @ASKED", "work link --reason x",
		"schedule set nightly --source crossref --cron @daily --reason x", "credential set crossref main --env WALK_KEY --later", "token new grafana --role viewer",
		"work split 1 2 --reason x",
		"refresh crossref --older-than 0s @AT --reason x",
		"backfill crossref --from 2019-01-01 --to 2019-02-01 @AT --reason x",
		"plan create crossref --op BACKFILL --from 2019-03-01 --to 2019-04-01 @AT --reason x",
		"plan create crossref --op BACKFILL --from 2019-05-01 --to 2019-06-01 @AT --reason x",
	} {
		w.must(t, line)
	}
	w.db = patratest.Raw(t, w.dsn)
	w.changePack(t, dir)
	plans := w.query(t, `SELECT id FROM ing_plan ORDER BY id DESC LIMIT 4`)
	open := plans[0]
	failed := plans[1]
	old := plans[3] // the newest that was worked on stays out of archives
	const now = `'2026-01-02 03:04:05.000006'`
	for _, statement := range []string{
		`INSERT INTO ing_alert (rule_code, subject, provenance_code, state_code, severity_code, message, measured, threshold, next_step, since, fired_at, updated_at)
			VALUES ('source_stopped', 'crossref', 'crossref', 'FIRING', 'critical', 'it stands', '1', '0', 'patra status', ` + now + `, ` + now + `, ` + now + `)`,
		`INSERT INTO ing_error_group (provenance_code, endpoint_name, level_code, error_code, field_path, faults, first_at, last_at, state_at)
			VALUES ('crossref', 'search', 'L1', 'http_503', '', 1, ` + now + `, ` + now + `, ` + now + `)`,
		`INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, raw, raw_sha256, created_at, seen_at)
			SELECT v.batch_id, r.provenance_code, r.record_type, r.ext_id, 'bad_date', ` + fmt.Sprintf(`x'%x'`, patratest.PackItem(t, []byte(`{}`))) + `, v.raw_sha256, v.created_at, v.created_at
			FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id ORDER BY r.id LIMIT 1`,
		`INSERT INTO ing_outbox_target (target_name, kind_code, position, next_at, created_at) VALUES ('old', 'file', 0, ` + now + `, ` + now + `)`,
		`INSERT INTO ing_outbox_held (target_id, record_id, revision, state_code, attempts, error, next_at, created_at)
			SELECT t.id, r.id, 1, 'PARKED', 10, 'no', ` + now + `, ` + now + ` FROM ing_outbox_target t, ing_record r LIMIT 1`,
		`UPDATE ing_task SET status_code='FAILED' WHERE slice_id IN (SELECT id FROM ing_plan_slice WHERE plan_id=` + failed + `)`,
		`UPDATE ing_plan_slice SET status_code='FAILED' WHERE plan_id=` + failed,
		`UPDATE ing_plan SET status_code='PARTIAL' WHERE id=` + failed,
		`UPDATE ing_plan SET updated_at='2020-01-01 00:00:00.000000' WHERE id=` + old,
		`UPDATE ing_cursor_event SET event_time='2020-01-01 00:00:00.000000' WHERE plan_id=` + old + ` OR kind_code='INIT'`,
	} {
		if _, err := w.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%.40s: %v", statement, err)
		}
	}
	patratest.Recount(t, w.db)
	w.must(t, "db archive --reason x")
	ids := w.query(t, `SELECT ext_id FROM ing_record ORDER BY id LIMIT 1`)
	gaps := w.query(t, `SELECT id FROM ing_plan_slice WHERE plan_id=`+failed)
	w.words = strings.NewReplacer("@ASKED", asked, "@ARCHIVED", old, "@AT", at, "@DIR", dir, "@GAP", gaps[0], "@ID", ids[0], "@OPEN", open)
	w.held = w.contents(t)
	return w
}

// changePack applies the description of the source with another page size, which can be taken
// back.
func (w walk) changePack(t *testing.T, dir string) {
	t.Helper()
	shipped, err := os.ReadFile("../../sources/crossref.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(dir, "crossref.yaml")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(shipped), "pageSize: 1000", "pageSize: 900", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must(t, "source apply "+changed+" --reason x")
}

// must carries out a line of words that is to succeed.
func (w walk) must(t *testing.T, line string) {
	t.Helper()
	if code, out, said := w.run(t, line); code != exitDone {
		t.Fatalf("%s: exit %d: %s%s", line, code, out, said)
	}
}

// run carries out a line of words.
func (w walk) run(t *testing.T, line string) (code int, out, errOut string) {
	t.Helper()
	return patra(t, append(strings.Fields(w.words.Replace(line)), "--db", w.dsn)...)
}

// TestWalk_EveryReadAnswersAsData: whatever shows something prints one JSON value and nothing
// else when it is asked to, and leaves the store as it was.
func TestWalk_EveryReadAnswersAsData(t *testing.T) {
	t.Parallel()
	if names := difference(reads, readLines); len(names) > 0 {
		t.Fatalf("reads and their lines differ in %q", names)
	}
	w := newWalk(t)
	for _, name := range slices.Sorted(maps.Keys(readLines)) {
		w.changesNothing(t, name, readLines[name]+" --json")
	}
}

// TestWalk_EveryPreviewSavesNothing: whatever changes something can be looked at first, as data,
// without a reason, and that leaves every table as it was.
func TestWalk_EveryPreviewSavesNothing(t *testing.T) {
	t.Setenv("PATRA_ALERTS", "webhook+http://127.0.0.1:9/path#ops")
	if names := difference(changes, changeLines); len(names) > 0 {
		t.Fatalf("changes and their lines differ in %q", names)
	}
	w := newWalk(t)
	for _, name := range slices.Sorted(maps.Keys(changeLines)) {
		w.changesNothing(t, name, changeLines[name]+" --dry-run --json")
	}
}

// TestWalk_WhatWasShownIsWhatIsDone: every change that takes --apply is refused with the token of
// another preview, which leaves every table as it was, and is made with the token of its own.
func TestWalk_WhatWasShownIsWhatIsDone(t *testing.T) {
	t.Setenv("PATRA_ALERTS", "webhook+http://127.0.0.1:9/path#ops")
	t.Setenv("WALK_KEY", "walk-key-for-tests")
	w := newWalk(t)
	root := commands()
	names := slices.Sorted(maps.Keys(changeLines))
	takesAway := func(name string) int { return btoi(strings.HasSuffix(name, " remove") || name == "quarantine discard") }
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(takesAway(a), takesAway(b)) })
	for _, name := range names {
		cmd, _, err := root.Find(strings.Fields(name))
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Flags().Lookup("apply") == nil {
			continue
		}
		line := name + " " + changeLines[name]
		token := w.previewToken(t, line)
		if name == "plan create" { // source and window are in the token
			line = name + " --contact a@example.org"
		}
		if typed, ok := typedNames[name]; ok {
			line += " --name " + w.query(t, typed)[0]
		}
		made := line + " --reason looked --json --apply "
		other := strings.Replace(token, token[len(token)-4:], "0000", 1)
		if code, out, said := w.run(t, made+other); code != exitConflict && code != exitUsage {
			t.Errorf("%s with another token: exit %d: %s%s", line, code, out, said)
		}
		for table, sum := range w.contents(t) {
			if sum != w.held[table] {
				t.Errorf("%s with another token changed %s", line, table)
			}
		}
		// The item that is planted in quarantine cannot be read by the mapping in force.
		if code, out, said := w.run(t, made+token); code != exitDone && !strings.Contains(out, `"code":"still_bad"`) {
			t.Errorf("%s as it was shown: exit %d: %s%s", line, code, out, said)
		}
		w.held = w.contents(t)
	}
}

// typedNames are the queries for the names that somebody types to confirm a change.
var typedNames = map[string]string{
	"quarantine discard": `SELECT ext_id FROM ing_quarantine WHERE id=1`,
}

// previewToken is the token that the preview of a change has.
func (w walk) previewToken(t *testing.T, line string) string {
	t.Helper()
	code, out, said := w.run(t, line+" --dry-run --json")
	var v struct {
		Token   json.RawMessage `json:"token"`
		Preview string          `json:"preview_token"` // where token is what is shown
	}
	if err := json.Unmarshal([]byte(out), &v); code != exitDone || err != nil {
		t.Fatalf("%s: exit %d, %v: %s%s", line, code, err, out, said)
	}
	var token string
	if v.Preview == "" && json.Unmarshal(v.Token, &token) != nil || token+v.Preview == "" {
		t.Fatalf("%s: its preview has no token: %s", line, out)
	}
	return token + v.Preview
}

// changesNothing carries out a command that prints an object and leaves the store as it is.
func (w walk) changesNothing(t *testing.T, name, rest string) {
	t.Helper()
	code, out, said := w.run(t, name+" "+rest)
	if code != exitDone {
		t.Errorf("%s %s: exit %d: %s%s", name, rest, code, out, said)
	}
	if !isOneJSONValue(out) {
		t.Errorf("%s %s prints\n%s", name, rest, out)
	}
	for table, sum := range w.contents(t) {
		if sum != w.held[table] {
			t.Errorf("%s %s changed %s", name, rest, table)
			w.held[table] = sum
		}
	}
}

// difference are the names of a list that a table lacks, and those that it alone has.
func difference(names []string, lines map[string]string) (out []string) {
	for _, name := range names {
		if _, ok := lines[name]; !ok {
			out = append(out, name)
		}
	}
	for name := range lines {
		if !slices.Contains(names, name) {
			out = append(out, name)
		}
	}
	return out
}

// isOneJSONValue reports whether a text is a JSON value and the end of its line.
func isOneJSONValue(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	var v any
	if d.Decode(&v) != nil {
		return false
	}
	_, err := d.Token()
	return err == io.EOF && strings.HasSuffix(text, "\n")
}

// contents has a checksum of every table of the store. What is left out is kept of a source by
// whoever asks it something, for a preview too: its gate, and how far its clock is from ours.
func (w walk) contents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range w.query(t, `SELECT name FROM sqlite_master WHERE type='table' AND name NOT IN ('ing_rate_gate', 'ing_source_state')`) {
		rows := w.query(t, `SELECT * FROM "`+table+`"`)
		sum := sha256.Sum256([]byte(strings.Join(rows, "\n")))
		out[table] = hex.EncodeToString(sum[:])
	}
	return out
}

// query has the rows of an answer, each as one text.
func (w walk) query(t *testing.T, q string) (out []string) {
	t.Helper()
	rows, err := w.db.QueryContext(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // its error is that of rows.Err
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]any, len(columns))
	for rows.Next() {
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, v := range values {
			line = append(line, v.(*sql.NullString).String)
		}
		out = append(out, strings.Join(line, "\x00"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
