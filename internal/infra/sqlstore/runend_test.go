package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// everyEndOfARun: however a run ends, its row sums up what its pages asked for and
// brought. One that was given back without a fault is PARTIAL for that reason, and only
// a person's word makes it CANCELLED; a page that was never asked for is SKIPPED.
func everyEndOfARun(l *Lab) {
	asked := harvest.Evidence{Request: "GET /", Credential: "key-1", HTTPStatus: 503, Sent: 3, Retried: 2, HTTP5xx: 3, Sample: []byte("down")}
	for _, c := range []struct {
		name              string
		end               func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch)
		state, code, page string // of the run, and of the page in hand
		sent              int64  // besides the page that is stored
	}{
		{"finished", func(j harvest.Job, _ harvest.Resume, o harvest.OpenedBatch) { l.Commit(j, Last(o)) }, "SUCCEEDED", "", "SUCCEEDED", 1},
		{"spent", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: harvest.Spent, Code: "http_503", Page: &harvest.FailedPage{Batch: o.ID, Asked: true, Evidence: asked}})
		}, "FAILED", "http_503", "FAILED", 3},
		{"refused", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: harvest.Refused, Code: "http_400", Page: &harvest.FailedPage{Batch: o.ID, Asked: true, Evidence: asked}})
		}, "FAILED", "http_400", "FAILED", 3},
		{"stopped", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: harvest.Stopped, Code: "schema_drift", Page: &harvest.FailedPage{Batch: o.ID, Asked: true, Evidence: asked}})
		}, "FAILED", "schema_drift", "FAILED", 3},
		{"given back at the gate", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: harvest.CodeRate, Page: &harvest.FailedPage{Batch: o.ID}})
		}, "PARTIAL", "rate_wait", "SKIPPED", 0},
		{"given back for quiet hours", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: harvest.CodeQuiet, Page: &harvest.FailedPage{Batch: o.ID}})
		}, "PARTIAL", "quiet_hours", "SKIPPED", 0},
		{"given back at a shutdown", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: harvest.CodeShutdown, Page: &harvest.FailedPage{Batch: o.ID, Asked: true, Evidence: asked}})
		}, "PARTIAL", "shutdown", "FAILED", 3},
		{"its source paused", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			l.Exec(`UPDATE ing_source_state SET paused=1`)
			l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: harvest.CodeHeld, Page: &harvest.FailedPage{Batch: o.ID}})
			l.Exec(`UPDATE ing_source_state SET paused=0`)
		}, "PARTIAL", "held", "SKIPPED", 0},
		{"cancelled", func(j harvest.Job, _ harvest.Resume, _ harvest.OpenedBatch) {
			l.Cancel(control.CancelScope{Slice: j.Slice})
		}, "CANCELLED", "cancelled", "FAILED", 0},
		{"died", func(j harvest.Job, _ harvest.Resume, _ harvest.OpenedBatch) {
			l.Expire(j.Lease.Task)
			l.Start(l.LeaseOne())
		}, "FAILED", "abandoned", "FAILED", 0},
		{"cut", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			w := j.Spec.NominalWindow()
			mid := w.From.Add(w.Duration() / 2)
			end := harvest.RunEnd{Run: r.Run, Outcome: harvest.Refused, Code: "over_wall", Page: &harvest.FailedPage{Batch: o.ID, Asked: true, Evidence: asked}}
			if err := l.Store.Reslice(l.ctx(), j, end, []harvest.SliceDraft{child(w.From, mid), child(mid, w.To)}, "TOKEN", pageSize); err != nil {
				l.Fatal(err)
			}
		}, "PARTIAL", "over_wall", "FAILED", 3},
	} {
		Clear(l, l.DB, l.tables)
		plan := l.Plan(0, 1)
		j := l.LeaseOne()
		r := l.Start(j)
		first := Page(l.Open(j, r), Rec("a", hour(0), hour(1), "a"), Rec("b", hour(0), hour(1), "b"))
		l.Commit(j, first)
		r.BatchNo++
		r.SearchDone++
		r.Search = first.After
		l.mustTotal(c.name+", while it runs", plan.ID, 2, 1)
		c.end(j, r, l.Open(j, r))
		if s := l.Text(`SELECT status_code FROM ing_task_run WHERE id=?`, r.Run); s != c.state {
			l.Errorf("%s: the run is %s, want %s", c.name, s, c.state)
		}
		if s := l.Text(`SELECT COALESCE(error_code, '') FROM ing_task_run WHERE id=?`, r.Run); s != c.code {
			l.Errorf("%s: the run says %q, want %q", c.name, s, c.code)
		}
		if s := l.Text(`SELECT status_code FROM ing_task_run_batch WHERE run_id=? AND batch_no=2`, r.Run); s != c.page {
			l.Errorf("%s: the page in hand is %s, want %s", c.name, s, c.page)
		}
		var got harvest.RunStats
		if err := json.Unmarshal([]byte(l.Text(`SELECT COALESCE(stats, '') FROM ing_task_run WHERE id=?`, r.Run)), &got); err != nil {
			l.Errorf("%s: the run is not summed up: %v", c.name, err)
			continue
		}
		pages := int64(1)
		if c.page == "SUCCEEDED" {
			pages++
		}
		l.mustTotal(c.name, plan.ID, 2, pages)
		asked := pages
		if c.sent == 3 {
			asked++ // the page that failed was asked for
		}
		l.mustSums(c.name, j.Slice, 2, asked)
		if kept := l.Int(`SELECT inserted FROM ing_plan_total WHERE plan_id=?`, plan.ID); kept != 2 {
			l.Errorf("%s: %d records are kept with the plan", c.name, kept)
		}
		if got.Sent != 1+c.sent || got.Items != 2 || got.Inserted != 2 || got.Pages != pages || got.HasNext != (c.state != "SUCCEEDED") {
			l.Errorf("%s: summed up as %+v", c.name, got)
		}
		if c.page == "FAILED" && (got.PagesFailed != 1 || len(got.Errors) != 1 || got.Errors[0].Code != harvest.Code(c.code)) {
			l.Errorf("%s: of the page that failed it says %+v", c.name, got)
		}
		if c.sent == 3 && (got.Retried != 2 || got.HTTP5xx != 3) {
			l.Errorf("%s: of the requests that failed it says %+v", c.name, got)
		}
		if c.sent == 3 && l.Text(`SELECT credential_ref FROM ing_task_run_batch WHERE run_id=? AND batch_no=2`, r.Run) != "key-1" {
			l.Errorf("%s: the page does not name its key", c.name)
		}
		l.MustVerify()
	}
}

// mustTotal: what is told of a plan is the sum of its stored pages.
func (l *Lab) mustTotal(when string, plan harvest.PlanID, inserted, sent int64) {
	l.Helper()
	t, err := l.Store.PlanTotals(l.ctx(), plan)
	if err != nil || t.Records.Inserted != inserted || t.Sent != sent {
		l.Errorf("%s: the plan has come to %+v, want %d records of %d requests (%v)", when, t, inserted, sent, err)
	}
}

// mustSums: what is kept with a slice is the sum of the pages of its ended runs.
func (l *Lab) mustSums(when string, slice harvest.SliceID, records, asked int64) {
	l.Helper()
	got := [2]int64{l.Int(`SELECT records FROM ing_plan_slice WHERE id=?`, slice), l.Int(`SELECT pages_asked FROM ing_plan_slice WHERE id=?`, slice)}
	if want := [2]int64{records, asked}; got != want {
		l.Errorf("%s: the slice has %d records of %d pages asked for, want %d of %d", when, got[0], got[1], records, asked)
	}
}

// migration is the text of a migration. TiDB has those of MySQL.
func (l *Lab) migration(name string) string {
	l.Helper()
	folder := "mysql"
	if l.Engine == patratest.SQLite {
		folder = "sqlite"
	}
	text, err := os.ReadFile("migrations/" + folder + "/" + name + ".sql")
	if err != nil {
		l.Fatal(err)
	}
	return string(text)
}

// sumsOfOldSlices: the migration that brings the sums of slices and the plans of runs
// fills them for those that are there.
func sumsOfOldSlices(l *Lab) {
	plan := l.Plan(0, 4)
	jobs := l.Lease(3)
	l.Walk(jobs[0], Rec("a", hour(0), hour(1), "a"), Rec("b", hour(0), hour(1), "b"))
	l.Refuse(jobs[1])
	r := l.Start(jobs[2])
	l.Commit(jobs[2], Page(l.Open(jobs[2], r), Rec("c", hour(2), hour(3), "c")))
	l.Exec(`UPDATE ing_plan_slice SET slice_spec=REPLACE(slice_spec, '"hints":{', '"hints":{"expectedRecords":70,')`)
	l.Exec(`UPDATE ing_plan_slice SET expected=NULL, records=0, pages_asked=0, latency_ms=0, http_429=0`)
	l.Exec(`UPDATE ing_task_run SET plan_id=0`)
	for _, name := range []string{"00035_slice_sums", "00036_run_plan"} {
		for part := range strings.SplitSeq(l.migration(name), ";") {
			if _, fill, is := strings.Cut(part, "UPDATE "); is {
				l.Exec("UPDATE " + fill)
			}
		}
	}
	patratest.Recount(l, l.DB)
	l.mustSums("as they were filled", jobs[0].Slice, 2, 1)
	l.mustSums("of a run that goes on", jobs[2].Slice, 0, 0)
	if t, err := l.Store.PlanTotals(l.ctx(), plan.ID); err != nil || t.Expected != 4*70 || t.Estimated != 4 {
		l.Errorf("of the plan %d records are expected in %d slices (%v)", t.Expected, t.Estimated, err)
	}
	if runs := l.Int(`SELECT COUNT(*) FROM ing_task_run WHERE plan_id=?`, plan.ID); runs != 3 {
		l.Errorf("%d runs are of the plan", runs)
	}
	l.MustVerify()
}

// totalsOfOldPlans: the migration that brings the totals of plans fills them for plans
// that are there, and a run that ends where they were lost begins them anew.
func totalsOfOldPlans(l *Lab) {
	plan := l.Plan(0, 4)
	jobs := l.Lease(3)
	l.Walk(jobs[0], Rec("a", hour(0), hour(1), "a"), Rec("b", hour(0), hour(1), "b"))
	l.Refuse(jobs[1])
	r := l.Start(jobs[2])
	l.Commit(jobs[2], Page(l.Open(jobs[2], r), Rec("c", hour(2), hour(3), "c")))
	l.mustTotal("as they were kept", plan.ID, 3, 2)
	l.Exec(`DELETE FROM ing_plan_total`)
	_, fill, _ := strings.Cut(l.migration("00024_plan_total"), "INSERT INTO")
	l.Exec("INSERT INTO" + fill)
	l.mustTotal("as they were filled", plan.ID, 3, 2)
	l.MustVerify()
	l.Exec(`DELETE FROM ing_plan_total`)
	l.Walk(l.LeaseOne(), Rec("d", hour(3), hour(4), "d"))
	l.mustTotal("as they were begun", plan.ID, 4, 3)
	l.MustVerify()
}

// lineageIsWhole: slice, page, cursor and its move name the trigger that they come
// from and the expression that was asked.
func lineageIsWhole(l *Lab) {
	l.Plan(0, 1)
	l.Walk(l.LeaseOne())
	instance := l.Int(`SELECT schedule_instance_id FROM ing_plan`)
	expr := l.Text(`SELECT expr_hash FROM ing_plan_slice`)
	for _, from := range []string{"ing_plan_slice", "ing_task", "ing_task_run_batch", "ing_cursor", "ing_cursor_event WHERE kind_code='ADVANCE'"} {
		if n := l.Int(`SELECT COALESCE(MIN(schedule_instance_id), 0) FROM ` + from); n != instance {
			l.Errorf("%s names trigger %d, want %d", from, n, instance)
		}
		if s := l.Text(`SELECT COALESCE(MIN(expr_hash), '') FROM ` + from); s != expr || expr == "" {
			l.Errorf("%s names expression %q, want %q", from, s, expr)
		}
	}
	if n := l.Int(`SELECT COALESCE(MIN(schedule_instance_id), 0) FROM ing_cursor_event WHERE kind_code='INIT'`); n != instance {
		l.Errorf("the cursor's start names trigger %d, want %d", n, instance)
	}
}

// taskParameters: a task says how it is to be done and with whose credentials, and what
// is cut off its slice says the same of itself.
func taskParameters(l *Lab) {
	d := Draft(ns, 0, 2)
	slices := slicesOf(d)
	for i := range slices {
		slices[i].Params = `{"pageSize":50}`
		slices[i].Pool = "pool"
	}
	d.Slices = harvest.DraftsOf(slices...)
	l.Save(d)
	const told = `SELECT COUNT(*) FROM ing_task WHERE params='{"pageSize":50}' AND credential_ref='pool'`
	if n := l.Int(told); n != 2 {
		l.Errorf("%d of 2 tasks say how they are to be done", n)
	}
	l.Plan(2, 3)
	if n := l.Int(`SELECT COUNT(*) FROM ing_task WHERE params='{}' AND credential_ref IS NULL`); n != 1 {
		l.Errorf("%d tasks say that there is nothing to say, want 1", n)
	}
}

// endWith ends a run, as whoever runs it does.
func (l *Lab) endWith(j harvest.Job, e harvest.RunEnd) {
	l.Helper()
	e.Error = "told here"
	if err := l.Store.EndRun(l.ctx(), j.Lease, e); err != nil {
		l.Fatal(err)
	}
}

// pagesByTheMinute: what was sent is summed up by the minute in which pages ended, no more
// pages than are wanted; a slice tells what was asked of it and what came.
func pagesByTheMinute(l *Lab) {
	l.Plan(0, 3)
	jobs := l.Lease(2)
	for i, j := range jobs {
		l.Walk(j, Rec(fmt.Sprint(i), hour(i), hour(i), "a"))
	}
	since := time.Now().Add(-time.Hour)
	minutes, more, err := l.Store.PagesByMinute(l.ctx(), []string{prov, "nobody"}, since, 10)
	var sent, pages int64
	for _, m := range minutes {
		sent += m.Requests
		pages += m.Pages
	}
	if err != nil || more || len(minutes) == 0 || len(minutes) > 2 || pages != 2 || sent != 2 {
		l.Errorf("%+v, more: %t (%v)", minutes, more, err)
	}
	if _, more, err := l.Store.PagesByMinute(l.ctx(), []string{prov}, since, 1); err != nil || !more {
		l.Errorf("of two pages one is all (%v)", err)
	}
	if minutes, _, err := l.Store.PagesByMinute(l.ctx(), []string{prov}, time.Now().Add(time.Hour), 10); err != nil || len(minutes) != 0 {
		l.Errorf("pages of the future: %+v (%v)", minutes, err)
	}
	d, err := l.Store.SliceDetail(l.ctx(), jobs[0].Slice)
	if err != nil || d.Records != 1 || d.Asked != 1 || d.Estimated != 0 || d.Localized == "" {
		l.Errorf("of a slice it says %+v (%v)", d, err)
	}
}
