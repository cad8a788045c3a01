package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// furnish fills a store with one of everything: a plan done, cut and partly
// open, records with several revisions, quarantine, bad ids, a backfill.
func (l *Lab) furnish() {
	l.Helper()
	Clear(l, l.DB, l.tables)
	l.tell()
	l.Plan(0, 4)
	jobs := l.Lease(4)
	r := l.Start(jobs[0])
	for i := range 3 {
		b := Page(l.Open(jobs[0], r), Rec("a", hour(i), hour(9+i), fmt.Sprint("v", i)), Rec(fmt.Sprint("r", i), hour(0), hour(9), "c"))
		if i == 2 {
			b = everything(b)
			b.End, b.Finish = harvest.EndEmpty, true
		}
		l.Commit(jobs[0], b)
		r.BatchNo = r.BatchNo + 1
		r.SearchDone = r.SearchDone + 1
		r.Search = b.After
	}
	l.Walk(jobs[1])
	r = l.Start(jobs[2])
	mid := hour(2).Add(30 * time.Minute)
	if err := l.Store.Reslice(l.ctx(), jobs[2], harvest.RunEnd{Run: r.Run, Code: "max_pages"}, []harvest.SliceDraft{child(hour(2), mid), child(mid, hour(3))}, "TOKEN", pageSize); err != nil {
		l.Fatal(err)
	}
	l.Open(jobs[3], l.Start(jobs[3]))
	for _, j := range l.Lease(2)[:1] {
		l.Walk(j)
	}
	if _, err := l.Store.SavePlan(l.ctx(), Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1"), -2, 0)); err != nil {
		l.Fatal(err)
	}
	l.MustVerify()
	if l.Failed() {
		l.FailNow()
	}
}

// firstPlan and the like name rows of the furnished store.
const (
	firstPlan  = `(SELECT id FROM (SELECT MIN(id) AS id FROM ing_plan) x)`
	firstSlice = `(SELECT id FROM (SELECT MIN(id) AS id FROM ing_plan_slice) x)`
	firstTask  = `(SELECT id FROM (SELECT MIN(id) AS id FROM ing_task) x)`
	firstRun   = `(SELECT id FROM (SELECT MIN(id) AS id FROM ing_task_run) x)`
	firstBatch = `(SELECT id FROM (SELECT MIN(id) AS id FROM ing_task_run_batch) x)`
	lastEvent  = `(SELECT id FROM (SELECT MAX(id) AS id FROM ing_cursor_event WHERE kind_code='ADVANCE') x)`
	// The furnished HARVEST moved twice before its last step.
	firstAdvance  = `(SELECT id FROM (SELECT MIN(id) AS id FROM ing_cursor_event WHERE kind_code='ADVANCE') x)`
	secondAdvance = `(SELECT id FROM (SELECT MIN(id) AS id FROM ing_cursor_event WHERE kind_code='ADVANCE' AND id>(SELECT MIN(id) FROM ing_cursor_event WHERE kind_code='ADVANCE')) x)`
	openBatch     = `(SELECT id FROM (SELECT MAX(id) AS id FROM ing_task_run_batch WHERE status_code<>'SUCCEEDED') x)`
	harvestCur    = `(SELECT id FROM (SELECT MIN(id) AS id FROM ing_cursor) x)`
)

// planted breaks the store in one way at a time and expects exactly that
// invariant to be reported.
func planted(l *Lab) {
	dropUnique := func(index, table string) []string {
		if l.Store.Dialect() == "sqlite" {
			return []string{"DROP INDEX " + index}
		}
		return []string{"DROP INDEX " + index + " ON " + table}
	}
	addUnique := func(index, table, cols string) string {
		return "CREATE UNIQUE INDEX " + index + " ON " + table + " (" + cols + ")"
	}
	later := `'` + hour(50).Format("2006-01-02 15:04:05.000000") + `'`
	for k, p := range []struct {
		inv, what string
		sql       []string
		undo      []string
		says      string // if it matters which of the checks finds it
	}{
		{
			"WORKS", "a record in a work by no link",
			[]string{`INSERT INTO ing_work_member (record_id, work_id, since) SELECT MAX(id), MIN(id), ` + later + ` FROM ing_record`},
			[]string{`DELETE FROM ing_work_member`},
			"no link makes it so",
		},
		{
			"WORKS", "a link between two works",
			[]string{`INSERT INTO ing_work_edge (from_record, to_record, basis_code, polarity_code, rule_no, rules_version,
			relation_name, evidence, why, score, found_at) SELECT MIN(id), MAX(id), 'ID', 'LINK', 3, 1, '', 'doi:10.1000/a', '', 1000, ` + later + ` FROM ing_record`},
			[]string{`DELETE FROM ing_work_edge`},
			"its links make it one of work",
		},
		{"I1", "a broken link", []string{`UPDATE ing_cursor_event SET prev_value='2023-01-01T00:00:00.000000Z' WHERE id=` + lastEvent}, nil, ""},
		{"I1", "a step that leads nowhere", []string{`UPDATE ing_cursor_event SET new_instant=` + later + ` WHERE kind_code='ADVANCE' AND id<` + lastEvent}, nil, ""},
		{"I1", "a lost last event", []string{`DELETE FROM ing_cursor_event WHERE id=` + lastEvent}, nil, ""},
		{"I1", "a lost beginning", []string{`DELETE FROM ing_cursor_event WHERE kind_code='INIT' AND cursor_id=` + harvestCur}, nil, ""},
		{"I1", "a value nobody moved", []string{`UPDATE ing_cursor SET cursor_value='2024-01-01T02:00:00.000001Z' WHERE id=` + harvestCur}, nil, ""},
		{"I1", "a step back", []string{
			`UPDATE ing_cursor_event SET new_value='2024-01-03T02:00:00.000000Z', new_instant=` + later + ` WHERE id=` + firstAdvance,
			`UPDATE ing_cursor_event SET prev_value='2024-01-03T02:00:00.000000Z', prev_instant=` + later + ` WHERE id=` + secondAdvance,
		}, nil, "moves from 2024-01-03T02:00:00.000000Z to"},
		{"I1", "a step that stands still", []string{
			`UPDATE ing_cursor_event SET new_value='2024-01-01T02:00:00.000000Z', new_instant='2024-01-01 02:00:00.000000' WHERE id=` + firstAdvance,
			`UPDATE ing_cursor_event SET prev_value='2024-01-01T02:00:00.000000Z', prev_instant='2024-01-01 02:00:00.000000' WHERE id=` + secondAdvance,
		}, nil, "moves from 2024-01-01T02:00:00.000000Z to 2024-01-01T02:00:00.000000Z"},
		{"I1", "a value and an instant that differ", []string{`UPDATE ing_cursor_event SET new_instant='2024-01-01 01:00:00.000001' WHERE id=` + firstAdvance}, nil, "says 2024-01-01T01:00:00.000000Z and 2024-01-01T01:00:00.000001Z"},
		// Without its beginning nothing is proven of it either.
		{"I1 I2", "a beginning that cannot be read", []string{`UPDATE ing_cursor SET init_value='once' WHERE id=` + harvestCur}, nil, `init value "once" cannot be read`},
		{"I2 I8", "a watermark past an open slice", []string{
			`UPDATE ing_plan_slice SET status_code='READY' WHERE id=` + firstSlice,
			`UPDATE ing_task SET status_code='QUEUED' WHERE id=` + firstTask,
		}, nil, ""},
		{"I2 I8", "a failed slice below the watermark", []string{
			`UPDATE ing_plan_slice SET status_code='FAILED' WHERE id=` + firstSlice,
			`UPDATE ing_task SET status_code='FAILED' WHERE id=` + firstTask,
		}, nil, ""},
		{"I2", "a watermark that lags", []string{
			`DELETE FROM ing_cursor_event WHERE id=` + lastEvent,
			`UPDATE ing_cursor SET cursor_value=(SELECT e.new_value FROM ing_cursor_event e WHERE e.cursor_id=ing_cursor.id ORDER BY e.id DESC LIMIT 1),
				normalized_instant=(SELECT e.new_instant FROM ing_cursor_event e WHERE e.cursor_id=ing_cursor.id ORDER BY e.id DESC LIMIT 1) WHERE id=` + harvestCur,
		}, nil, ""},
		{"I3 I8", "a hole between slices", []string{`UPDATE ing_plan_slice SET window_from='2023-12-31 23:30:00.000000' WHERE window_from='2023-12-31 23:00:00.000000'`}, nil, ""},
		{"I3 I8", "an overlap of slices", []string{`UPDATE ing_plan_slice SET window_to='2024-01-01 03:40:00.000000', window_from='2024-01-01 02:40:00.000000' WHERE window_from='2024-01-01 03:00:00.000000'`}, nil, ""},
		{"I3", "a slice that cannot be read", []string{`UPDATE ing_plan_slice SET slice_spec='[]' WHERE id=` + firstSlice}, nil, "a slice cannot be read"},
		{"I3", "a plan cut short", []string{`UPDATE ing_plan SET sliced_to='2024-01-01 05:00:00.000000' WHERE id=` + firstPlan}, nil, ""},
		{
			"I4", "two tasks for a slice", append(dropUnique("uk_task_slice", "ing_task"),
				`UPDATE ing_task SET slice_id=(SELECT id FROM (SELECT slice_id AS id FROM ing_task WHERE status_code='EXECUTING') x) WHERE status_code='DISPATCHED'`),
			[]string{addUnique("uk_task_slice", "ing_task", "slice_id")},
			"",
		},
		{"I4", "a run under a fence from nowhere", []string{
			`UPDATE ing_task_run SET fence=9 WHERE id=` + firstRun, `UPDATE ing_task_run_batch SET fence=9 WHERE run_id=` + firstRun,
		}, nil, ""},
		{"I4", "a page under another fence than its run", []string{`UPDATE ing_task_run_batch SET fence=7 WHERE id=` + firstBatch}, nil, ""},
		{"I4 I8", "a run that nobody runs", []string{`UPDATE ing_task_run SET status_code='RUNNING' WHERE id=` + firstRun}, nil, ""},
		{"I5", "a hole in the ordinals", []string{`UPDATE ing_task_run_batch SET ordinal=5 WHERE task_id=` + firstTask + ` AND ordinal=3`}, nil, ""},
		{"I5", "a page that begins elsewhere", []string{`UPDATE ing_task_run_batch SET before_position='{"token":"t9"}' WHERE task_id=` + firstTask + ` AND ordinal=2`}, nil, ""},
		{"I6", "DONE without a proof", []string{`UPDATE ing_task_run_batch SET end_proof=NULL WHERE task_id=` + firstTask}, nil, ""},
		{"I6", "DONE while its task is open", []string{`UPDATE ing_task SET status_code='EXECUTING' WHERE id=` + firstTask}, nil, ""},
		{"I6", "ids found and never asked for", []string{`UPDATE ing_task_run_batch SET asked=3 WHERE id=` + firstBatch}, nil, ""},
		{"I6 I8", "DONE without a task", []string{
			`DELETE FROM ing_record_version WHERE batch_id IN (SELECT id FROM ing_task_run_batch WHERE task_id=` + firstTask + `)`,
			`DELETE FROM ing_outbox`, `DELETE FROM ing_record`, `DELETE FROM ing_quarantine`, `DELETE FROM ing_bad_id`, `DELETE FROM ing_signal`,
			`UPDATE ing_cursor_event SET batch_id=NULL, run_id=NULL, task_id=NULL WHERE task_id=` + firstTask,
			`DELETE FROM ing_task_run_batch WHERE task_id=` + firstTask, `DELETE FROM ing_task_run WHERE task_id=` + firstTask, `DELETE FROM ing_task WHERE id=` + firstTask,
		}, nil, ""},
		{"I6 I8", "DONE without a task, and without pages of its parent", []string{
			`DELETE FROM ing_record_version WHERE batch_id IN (SELECT id FROM ing_task_run_batch WHERE task_id=` + firstTask + `)`,
			`DELETE FROM ing_outbox`, `DELETE FROM ing_record`, `DELETE FROM ing_quarantine`, `DELETE FROM ing_bad_id`, `DELETE FROM ing_signal`,
			`UPDATE ing_cursor_event SET batch_id=NULL, run_id=NULL, task_id=NULL WHERE task_id=` + firstTask,
			`UPDATE ing_plan_slice SET parent_id=(SELECT id FROM (SELECT MAX(id) AS id FROM ing_plan_slice) x) WHERE id=` + firstSlice,
			`DELETE FROM ing_task_run_batch WHERE task_id=` + firstTask, `DELETE FROM ing_task_run WHERE task_id=` + firstTask, `DELETE FROM ing_task WHERE id=` + firstTask,
		}, nil, ""},
		{"I7", "an outbox row lost", []string{`DELETE FROM ing_outbox WHERE revision=2`}, nil, ""},
		{"I7", "an outbox row renumbered", []string{`UPDATE ing_outbox SET revision=7 WHERE revision=3`}, nil, ""},
		{"I7", "a version lost", []string{`DELETE FROM ing_record_version WHERE revision=2`}, nil, ""},
		{"I7", "a revision without a version", []string{`UPDATE ing_record SET revision=9 WHERE ext_id='a'`}, nil, ""},
		{"I7", "a record that is not its newest version", []string{`UPDATE ing_record SET content_hash=raw_sha256 WHERE ext_id='a'`}, nil, ""},
		{
			"I7", "two rows for a key", append(dropUnique("uk_record_key", "ing_record"), `UPDATE ing_record SET ext_id='r1' WHERE ext_id='r0'`),
			[]string{`DELETE FROM ing_record`, addUnique("uk_record_key", "ing_record", "provenance_code, record_type, ext_id")},
			"",
		},
		{"I8", "an item unaccounted for", []string{`UPDATE ing_task_run_batch SET items=items+1 WHERE id=` + firstBatch}, nil, ""},
		{"I8", "a page skipped that was asked for", []string{`UPDATE ing_task_run_batch SET status_code='SKIPPED', sent=2 WHERE id=` + openBatch}, nil, "is SKIPPED, yet 2 requests"},
		{"I8", "an effect too many", []string{`UPDATE ing_task_run_batch SET quarantined=quarantined+1 WHERE id=` + firstBatch}, nil, ""},
		{"I8", "totals that no page brought", []string{`UPDATE ing_plan_total SET stale=stale+1`}, nil, "has totals that are not the sum of its pages"},
		{"I8", "slices counted that are not there", []string{`UPDATE ing_plan_group SET slices=slices+1 WHERE status_code='DONE'`}, nil, "has counts that are not those of its slices"},
		{"I8", "counts of slices lost", []string{`DELETE FROM ing_plan_group`}, nil, "has counts that are not those of its slices"},
		{"I8", "sums of a slice that no page brought", []string{`UPDATE ing_plan_slice SET records=records+1 WHERE id=` + firstSlice}, nil, "has sums that are not those of its pages"},
		{"I8", "totals lost", []string{`DELETE FROM ing_plan_total`}, nil, "has totals that are not the sum of its pages"},
		{"I8", "an item of a page that was never committed", []string{
			`UPDATE ing_quarantine SET batch_id=` + openBatch,
		}, nil, "belongs to a page that was not committed"},
		{"ORPHANS", "a page that was committed without its end", []string{`UPDATE ing_task_run_batch SET after_position=NULL WHERE end_proof IS NOT NULL AND task_id=` + firstTask}, nil, "is SUCCEEDED without a record of its end"},
		{"I9", "a HARVEST cursor moved by a backfill", []string{`UPDATE ing_cursor_event SET plan_id=(SELECT MAX(id) FROM ing_plan) WHERE id=` + lastEvent}, nil, ""},
		{"I10", "a snapshot that was changed", []string{`UPDATE ing_plan SET spec_snapshot='{"specVersion":1}' WHERE id=` + firstPlan}, nil, ""},
		{"I10", "a fingerprint that was changed", []string{`UPDATE ing_plan SET spec_fingerprint='00' WHERE id=` + firstPlan}, nil, ""},
	} {
		if l.leavesOut(k) {
			continue
		}
		l.furnish()
		for _, q := range p.sql {
			if strings.HasPrefix(q, "DROP") {
				if _, err := l.DB.Exec(q); err != nil {
					l.Fatalf("%s: %v", q, err)
				}
				continue
			}
			l.Exec(q)
		}
		l.expect(p.inv, p.what, p.says)
		for _, q := range p.undo {
			if _, err := l.DB.Exec("DELETE FROM ing_task"); err != nil { // whatever stands in the way of the index
				l.Fatal(err)
			}
			if _, err := l.DB.Exec(q); err != nil {
				l.Fatalf("%s: %v", q, err)
			}
		}
	}
}

// expect fails the test unless one of the invariants is found, in these words, and
// no other.
func (l *Lab) expect(invs, what, says string) {
	l.Helper()
	found, err := l.Store.Verify(l.ctx())
	if err != nil {
		l.Fatalf("%s: %v", what, err)
	}
	said := false
	for _, f := range found {
		said = said || strings.Contains(f.Detail, says)
		if !slices.Contains(strings.Fields(invs), f.Invariant) {
			l.Errorf("%s: %s was reported as %s %s: %s", invs, what, f.Invariant, f.Object, f.Detail)
		}
	}
	if !said {
		l.Errorf("%s: %s was not reported as %q: %v", invs, what, says, found)
	}
}

// orphans plants a row without its parent in each table that names one.
func orphans(l *Lab) {
	for k, c := range []string{
		"ing_plan.schedule_instance_id", "ing_plan.cursor_id", "ing_plan_slice.plan_id", "ing_plan_slice.parent_id", "ing_plan_slice.cursor_id",
		"ing_task.plan_id", "ing_task.slice_id", "ing_task.schedule_instance_id", "ing_task_run.task_id", "ing_task_run_batch.run_id", "ing_task_run_batch.task_id", "ing_task_run_batch.slice_id",
		"ing_task_run_batch.plan_id", "ing_cursor_event.cursor_id", "ing_cursor_event.batch_id", "ing_cursor_event.plan_id", "ing_cursor_event.slice_id", "ing_cursor_event.task_id",
		"ing_cursor_event.run_id", "ing_record_version.record_id", "ing_record_version.batch_id", "ing_outbox.record_id", "ing_quarantine.batch_id", "ing_bad_id.batch_id", "ing_signal.batch_id",
		"ing_schedule_instance.plan_id", "ing_cursor.plan_id", "ing_cursor.slice_id", "ing_cursor.task_id", "ing_cursor.run_id", "ing_cursor.batch_id",
	} {
		if l.leavesOut(k) {
			continue
		}
		tab, col, _ := strings.Cut(c, ".")
		l.furnish()
		id := l.Int(`SELECT MAX(id) FROM ` + tab + ` WHERE ` + col + ` IS NOT NULL`)
		l.Exec(`UPDATE `+tab+` SET `+col+`=987654 WHERE id=?`, id)
		found, err := l.Store.Verify(l.ctx())
		if err != nil {
			l.Fatal(err)
		}
		ok := false
		for _, f := range found {
			ok = ok || f.Invariant == "ORPHANS" && f.Object == fmt.Sprint(tab, " ", id) && strings.Contains(f.Detail, "987654")
		}
		if !ok {
			l.Errorf("%s without its parent was not reported: %v", c, found)
		}
	}
}

// spoiltBodies spoils what is stored of each version and of each quarantined item
// in turn: the deep check names it, and nothing else.
func spoiltBodies(l *Lab) {
	l.furnish()
	deep := func() (found []string, at control.DeepCheck) {
		l.Helper()
		list, at, err := l.Store.VerifyBodies(l.ctx(), 0, func(control.DeepCheck) {})
		if err != nil {
			l.Fatal(err)
		}
		for _, f := range list {
			found = append(found, f.Invariant+" "+f.Object)
		}
		return found, at
	}
	found, at := deep()
	bodies := l.Int(`SELECT COUNT(*) FROM ing_record_version`) + l.Int(`SELECT COUNT(*) FROM ing_quarantine`)
	if len(found) != 0 || at.Bodies != bodies || at.After != at.Of || bodies < 7 {
		l.Fatalf("%v, %+v of %d", found, at, bodies)
	}
	for _, c := range []struct{ table, column, value, object string }{
		{"ing_record_version", "raw", "x'28b52ffd'", "version"},
		{"ing_record_version", "raw", "(SELECT raw FROM ing_quarantine)", "version"},
		{"ing_record_version", "codec_code", "'lz4'", "version"},
		{"ing_record_version", "codec_code", "'apart'", "version"},
		{"ing_record_version", "raw_sha256", "content_hash", "version"},
		{"ing_quarantine", "raw_sha256", "x'00'", "quarantined item"},
	} {
		for id := l.Int(`SELECT MIN(id) FROM ` + c.table); id > 0; id = l.Int(`SELECT MIN(id) FROM `+c.table+` WHERE id>?`, id) {
			var was []byte
			if err := l.DB.QueryRow(`SELECT `+c.column+` FROM `+c.table+` WHERE id=?`, id).Scan(&was); err != nil {
				l.Fatal(err)
			}
			l.Exec(`UPDATE `+c.table+` SET `+c.column+`=`+c.value+` WHERE id=?`, id)
			if found, _ := deep(); fmt.Sprint(found) != fmt.Sprintf("[RAW %s %d]", c.object, id) {
				l.Errorf("%s of %s %d was spoilt, found %v", c.column, c.table, id, found)
			}
			var back any = was
			if c.column == "codec_code" {
				back = string(was)
			}
			l.Exec(`UPDATE `+c.table+` SET `+c.column+`=? WHERE id=?`, back, id)
		}
	}
}
