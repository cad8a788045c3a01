package sqlstore_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// manyRows fills what lists are read from: three sources with a thousand slices each, of
// one of which half are gaps, a run and a page for every task, and a thousand cursors and
// plans of one slice.
func manyRows(t *testing.T, e patratest.Engine, s *sqlstore.Store, db *sql.DB) {
	t.Helper()
	manyTasks(t, e, s, db)
	const n = `(SELECT id AS n FROM ing_task WHERE provenance_code='lab3') n`
	const plan = `schedule_instance_id, provenance_code, endpoint_name, operation_code, namespace_scope_code, namespace_key, activity_id, window_from, window_to,
		sliced_to, slice_strategy_code, slice_params, expr_proto_hash, expr_proto_snapshot, provenance_config_hash, spec_fingerprint, spec_snapshot, status_code,
		created_at, updated_at`
	for _, q := range []string{
		`UPDATE ing_plan_slice SET status_code='FAILED', reason='http_503: no' WHERE provenance_code='lab' AND id % 2 = 0`,
		`INSERT INTO ing_task_run (task_id, plan_id, attempt_no, fence, provenance_code, operation_code, lease_owner, status_code, window_from, window_to, started_at)
			SELECT id, plan_id, 1, 1, provenance_code, operation_code, 'w', 'SUCCEEDED', created_at, created_at, created_at FROM ing_task ORDER BY id`,
		`INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, provenance_code, operation_code, batch_no, walk_no, phase, ordinal, fence, status_code,
			before_position, opened_at, committed_at) SELECT r.id % 10 + 1, t.id, t.slice_id, t.plan_id, t.provenance_code, t.operation_code, r.id, 1, 'SEARCH', 1, 1, 'SUCCEEDED', '',
			t.created_at, t.created_at
			FROM ing_task_run r JOIN ing_task t ON t.id=r.task_id`,
		`INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, raw, raw_sha256, created_at) SELECT 1, provenance_code, CONCAT('work-', id), id,
			'bad_date', X'', X'', created_at FROM ing_task`,
		`UPDATE ing_task_run SET status_code='RUNNING' WHERE id>990 AND id<995`,
		`INSERT INTO ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, direction_code, cursor_type_code, cursor_value,
			normalized_instant, init_value, created_at, updated_at) SELECT c.provenance_code, 'BACKFILL', 'updated', 'CUSTOM', CONCAT('many-', n.n), 'BACKFILL', c.cursor_type_code,
			c.cursor_value, c.normalized_instant, c.init_value, c.created_at, c.updated_at FROM ing_cursor c, ` + n + ` WHERE c.provenance_code='lab'`,
		`INSERT INTO ing_plan (` + plan + `, plan_key, cursor_id) SELECT ` + plan + `, CONCAT('many-', n.n), n.n FROM ing_plan, ` + n + ` WHERE ing_plan.id=1`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if e == patratest.SQLite {
		if _, err := db.Exec("ANALYZE"); err != nil {
			t.Fatal(err)
		}
	}
}

// indexOf is the index that each list is read along; none where it is that of the numbers
// themselves.
func indexOf(list string) string {
	switch name, _, _ := strings.Cut(list, ","); name {
	case "tasks", "tasks of a source", "place of a task":
		return "idx_task_queue"
	case "tasks of a plan":
		return "idx_task_plan"
	case "runs of a source in a state":
		return "idx_run_list"
	case "runs of a plan in a state":
		return "idx_run_plan"
	case "runs of a task":
		return "uk_run_attempt"
	case "pages of a run":
		return "uk_run_batch_no"
	case "gaps of a source", "gaps of a cursor":
		return "idx_slice_gap"
	case "cursors", "cursors of a source", "namespaces of a source":
		return "uk_cursor_ns"
	case "slices of a plan":
		return "idx_slice_plan"
	case "slices of a plan in a state":
		return "idx_slice_status"
	case "slices of a plan by time":
		return "idx_slice_window"
	case "plans in a state":
		return "idx_plan_state"
	case "items in quarantine":
		return "idx_quarantine_list"
	case "items in quarantine of a source":
		return "idx_quarantine_open"
	case "pages that tell what is late", "pages by the minute":
		return "idx_batch_prov"
	case "totals of a plan":
		return "uk_run_batch_no"
	case "plans of a source":
		return "idx_plan_list"
	}
	return ""
}

// TestViews_AListReadsItsPage: every list is read along an index, in its order, and a
// page reads no more rows than a few for each that it shows, however many there are.
// Servers count them; of SQLite the plan says that nothing but a page is sorted.
func TestViews_AListReadsItsPage(t *testing.T) {
	t.Parallel()
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		t.Parallel()
		dsn := e.NewDSN(t)
		s := patratest.Open(t, dsn, sqlstore.Options{})
		db := patratest.Raw(t, dsn)
		manyRows(t, e, s, db)
		db.SetMaxOpenConns(1) // the counts are those of a connection
		const page = 20
		for name, st := range s.ListSQL(page) {
			if e == patratest.SQLite {
				plan := explain(t, db, "EXPLAIN QUERY PLAN "+st.SQL, st.Args)
				if !readsItsPage(plan, indexOf(name)) {
					t.Errorf("%s: the plan is\n%s", name, plan)
				}
				continue
			}
			plan := explain(t, db, "EXPLAIN "+st.SQL, st.Args)
			if !strings.Contains(plan, indexOf(name)) {
				t.Errorf("%s: the plan is\n%s", name, plan)
			}
			if n := rowsRead(t, db, st); n > 15*page {
				t.Errorf("%s: %d rows were read for %d\n%s", name, n, page, plan)
			}
		}
	})
}

// readsItsPage reports whether a plan of SQLite uses an index, and sorts at most what a
// subquery has bounded before.
func readsItsPage(plan, index string) bool {
	inner, sorted := true, false
	for line := range strings.Lines(plan) {
		switch {
		case strings.Contains(line, "CO-ROUTINE"), strings.Contains(line, "MATERIALIZE"):
			inner = true
		case strings.Contains(line, "SCAN k"):
			inner = false
		case strings.Contains(line, "TEMP B-TREE") && inner:
			sorted = true
		}
	}
	return !sorted && strings.Contains(plan, index)
}

// tasksInPages: the list of tasks says first what is in hand, then the queue in its
// order, then what ended; its pages together are the list, whatever moves meanwhile.
func tasksInPages(l *Lab) {
	l.Plan(0, 6)
	jobs := l.Lease(3)
	l.Walk(jobs[0])
	l.Refuse(jobs[1])
	l.Start(jobs[2])
	all, err := l.Store.Tasks(l.ctx(), control.TaskQuery{}, control.TaskPlace{}, 100)
	if err != nil {
		l.Fatal(err)
	}
	var states []harvest.TaskState
	for _, t := range all {
		states = append(states, t.Status)
	}
	want := []harvest.TaskState{
		harvest.TaskExecuting, harvest.TaskQueued, harvest.TaskQueued, harvest.TaskQueued, harvest.TaskFailed, harvest.TaskSucceeded,
	}
	if !slices.Equal(states, want) || all[0].Lease == nil || all[0].Lease.Owner != "lab" {
		l.Errorf("%v, %+v", states, all[0])
	}
	for _, q := range []control.TaskQuery{{}, {Source: prov}, {Plan: jobs[0].Plan}, {Source: prov, State: harvest.TaskQueued}} {
		var got, whole []harvest.TaskID
		rows, err := l.Store.Tasks(l.ctx(), q, control.TaskPlace{}, 100)
		if err != nil {
			l.Fatal(err)
		}
		for _, t := range rows {
			whole = append(whole, t.ID)
		}
		after := control.TaskPlace{}
		for range 10 {
			part, err := l.Store.Tasks(l.ctx(), q, after, 1)
			if err != nil {
				l.Fatal(err)
			}
			if len(part) == 0 {
				break
			}
			t := part[0]
			got = append(got, t.ID)
			after = control.TaskPlace{State: t.Status, Source: t.Source, Endpoint: t.Endpoint, Operation: t.Operation, Priority: t.Priority, Due: t.DueAt, ID: t.ID}
		}
		if !slices.Equal(got, whole) {
			l.Errorf("%+v: in pages %v, at once %v", q, got, whole)
		}
	}
	for i, t := range all[1:4] {
		if n, err := l.Store.TasksAhead(l.ctx(), t, 100); err != nil || n != int64(i) {
			l.Errorf("task %d in the queue has %d before it (%v)", i, n, err)
		}
	}
	if _, err := l.Store.Task(l.ctx(), 999); err == nil {
		l.Error("a task was found that is not there")
	}
}

// runsAndPages: runs are listed the newest first by every filter, and a page shows what
// was asked and what came, also where it failed.
func runsAndPages(l *Lab) {
	l.Plan(0, 3)
	jobs := l.Lease(2)
	l.Walk(jobs[0], Rec("a", hour(0), hour(0), "a"))
	r := l.Start(jobs[1])
	o := l.Open(jobs[1], r)
	page := &harvest.FailedPage{Batch: o.ID, Asked: true, Cause: fmt.Errorf("no"), Evidence: harvest.Evidence{
		Request: "GET /items", HTTPStatus: 503, Sent: 2, Retried: 1, HTTP5xx: 2, Headers: map[string]string{"Retry-After": "7"}, Sample: []byte("down \xe2\x82"),
		WaitGate: 30 * time.Millisecond, Network: 70 * time.Millisecond,
	}}
	end := harvest.RunEnd{Run: r.Run, Outcome: harvest.Refused, Code: "http_503", Error: "no", Page: page}
	if err := l.Store.EndRun(l.ctx(), jobs[1].Lease, end); err != nil {
		l.Fatal(err)
	}
	for _, c := range []struct {
		q    control.RunQuery
		want int
	}{
		{control.RunQuery{}, 2},
		{control.RunQuery{Source: prov}, 2},
		{control.RunQuery{State: harvest.RunFailed}, 1},
		{control.RunQuery{Source: prov, State: harvest.RunSucceeded}, 1},
		{control.RunQuery{Plan: jobs[1].Plan}, 2},
		{control.RunQuery{Plan: jobs[1].Plan, State: harvest.RunFailed}, 1},
		{control.RunQuery{Plan: jobs[1].Plan, Source: "nobody"}, 0},
		{control.RunQuery{Plan: jobs[1].Plan + 1}, 0},
		{control.RunQuery{Task: jobs[1].Lease.Task}, 1},
		{control.RunQuery{Task: jobs[1].Lease.Task, State: harvest.RunSucceeded}, 0},
		{control.RunQuery{Source: "nobody"}, 0},
		{control.RunQuery{Since: time.Now().Add(time.Hour)}, 0},
	} {
		rows, err := l.Store.Runs(l.ctx(), c.q, 0, 10)
		if err != nil || len(rows) != c.want {
			l.Errorf("%+v: %d runs, want %d (%v)", c.q, len(rows), c.want, err)
		}
		if len(rows) == 2 && rows[0].ID < rows[1].ID {
			l.Errorf("%+v: the oldest is first", c.q)
		}
	}
	run, err := l.Store.Run(l.ctx(), r.Run)
	if err != nil || run.Stats == nil || run.Stats.HTTP5xx != 2 || run.Task != jobs[1].Lease.Task || run.Code != "http_503" {
		l.Errorf("%+v %v", run, err)
	}
	v, err := l.Store.Batch(l.ctx(), r.Run, int64(o.BatchNo))
	if err != nil || v.Request != "GET /items" || v.Headers["Retry-After"] != "7" || v.Sample != "down " || v.Wait != 30 || v.Network != 70 || v.HTTP != 503 {
		l.Errorf("%+v %v", v, err)
	}
	good, err := l.Store.RunBatches(l.ctx(), run.ID, 0, 10)
	if err != nil || len(good) != 1 || good[0].Code != "http_503" {
		l.Errorf("%+v %v", good, err)
	}
}

// gapsInPages: gaps come in pages, by cursor and the oldest first, without those that a
// newer plan answers for and those that were accepted.
func gapsInPages(l *Lab) {
	l.Plan(0, 6)
	jobs := l.Lease(5)
	for _, j := range jobs {
		l.Refuse(j)
	}
	if _, err := l.Store.AcceptGap(l.ctx(), jobs[0].Slice, source.Audit{Actor: "lab", Object: prov, Reason: "lost"}); err != nil {
		l.Fatal(err)
	}
	all, next, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov})
	if err != nil || next != 0 || len(all) != 4 || all[0].From != mark(1) || all[0].Cursor == 0 {
		l.Fatalf("%+v, next %d, %v", all, next, err)
	}
	for _, q := range []control.GapQuery{{Source: prov, Limit: 1}, {Source: prov, Limit: 3}, {Source: prov, Limit: 4}, {Source: prov, Cursor: all[0].Cursor, Limit: 2}} {
		var got []control.Gap
		for range 10 {
			part, next, err := l.Store.Gaps(l.ctx(), q)
			if err != nil {
				l.Fatal(err)
			}
			got = append(got, part...)
			q.After = next
			if next == 0 {
				break
			}
		}
		if !slices.Equal(got, all) {
			l.Errorf("in pages of %d: %v", q.Limit, got)
		}
	}
	if gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov, Cursor: 999}); err != nil || len(gaps) != 0 {
		l.Errorf("another cursor is held by %v, %v", gaps, err)
	}
}

// cursorsInPages: cursors come in pages by their names.
func cursorsInPages(l *Lab) {
	for _, name := range []string{"b", "a", "c"} {
		l.Save(Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", name), 0, 2))
	}
	l.Plan(0, 1)
	var got []string
	after := harvest.CursorID(0)
	for range 10 {
		rows, err := l.Store.Cursors(l.ctx(), control.CursorQuery{Source: prov}, after, 2)
		if err != nil {
			l.Fatal(err)
		}
		for _, r := range rows {
			got = append(got, string(r.Operation)+" "+control.ShortNamespace(r.Namespace))
			after = r.ID
		}
		if len(rows) < 2 {
			break
		}
	}
	if len(got) != 4 || got[0] != "BACKFILL CUSTOM/a" || got[2] != "BACKFILL CUSTOM/c" || !strings.HasPrefix(got[3], "HARVEST ") {
		l.Errorf("%v", got)
	}
	rows, err := l.Store.Cursors(l.ctx(), control.CursorQuery{Source: prov, Operation: harvest.Backfill, Namespace: "CUSTOM/b"}, 0, 10)
	if err != nil || len(rows) != 1 {
		l.Errorf("%+v %v", rows, err)
	}
}
