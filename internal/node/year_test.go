package node_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// year is a served source with a DETAIL endpoint for its update, whose backfill
// goes in small steps.
type year struct {
	*served
	done    map[harvest.Operation]int // triggers that were answered
	refused int
}

func newYear(t *testing.T) *year {
	t.Helper()
	s := newServed(t, "9", `{harvest: "@hourly"}`, sim.Config{
		Records: 400, Span: 60 * 24 * time.Hour, Latency: 25 * time.Second,
		Churn: &sim.Churn{New: 60, Changed: 40, Volatile: 20, Deleted: 2, Retracted: 1, Late: 0.01},
	})
	d := s.packs["generic"]
	win, pages := *d.Definition.Window, *d.Definition.Pagination
	win.Overlap, win.Baseline = new(source.Duration(2*time.Hour)), source.Duration(20*24*time.Hour)
	pages.PageSize, pages.MaxPages = 50, 20 // fewer than a day has on which all is indexed anew
	d.Definition.Window, d.Definition.Pagination = &win, &pages
	search := d.Definition.Endpoints[0]
	d.Definition.Tasks = map[harvest.Operation]*source.Overrides{harvest.Update: {
		Batching: &source.Batching{IDs: 50},
		Endpoints: []source.Endpoint{{
			Name: "batch", Usage: source.UsageDetail, Method: "POST", Path: "/batch", Format: "JSON", Form: map[string]string{"ids": "${join(ids, ',')}"},
			Response: source.Response{Items: []string{"items"}, ID: search.Response.ID, UpdatedAt: search.Response.UpdatedAt, Version: search.Response.Version, Complete: true},
		}},
	}}
	steps, few := win, pages
	steps.Step, few.PageSize = source.Duration(3*24*time.Hour), 1
	d.Definition.Tasks[harvest.Backfill] = &source.Overrides{Window: &steps, Pagination: &few}
	s.packs["generic"] = d
	s.poll = 3 * time.Minute // a year is long
	s.assemble(s.Store)
	return &year{served: s, done: map[harvest.Operation]int{}}
}

func (y *year) faults(rates map[sim.Fault]float64) {
	y.t.Helper()
	if err := y.oracle.SetFaults(sim.Faults{Rates: rates}); err != nil {
		y.t.Fatal(err)
	}
}

// touchAll indexes every record anew.
func (y *year) touchAll() {
	y.t.Helper()
	for row := range y.oracle.Truth("generic") {
		if !row.Deleted {
			if err := y.oracle.TouchVolatile("generic", row.ID); err != nil && !errors.Is(err, sim.ErrNoRecord) {
				y.t.Fatal(err)
			}
		}
	}
}

func (y *year) until(at time.Time) {
	time.Sleep(time.Until(at)) // not at all if an outage took us past it
}

// trigger plans an operation as an operator's cron would: what fails is tried
// again at its next time. The executors work on it beside.
func (y *year) trigger(t harvest.Trigger) {
	y.t.Helper()
	ctx, cancel := context.WithTimeout(y.t.Context(), 50*time.Minute)
	defer cancel()
	t.Provenance = "generic"
	t.Operation = cmp.Or(t.Operation, harvest.Harvest)
	t.Kind = "MANUAL"
	_, err := y.Planner.Plan(ctx, t)
	switch _, fault := harvest.FaultOf(err); {
	case err == nil:
		y.done[t.Operation]++
	case fault, errors.Is(err, context.DeadlineExceeded):
		y.refused++
	default:
		y.t.Fatal(err)
	}
}

// backfill reads the 45 days before the harvest's baseline.
func (y *year) backfill(activity string, start time.Time) {
	y.t.Helper()
	to := start.Add(-20 * 24 * time.Hour)
	y.trigger(harvest.Trigger{Operation: harvest.Backfill, Activity: activity, From: to.Add(-45 * 24 * time.Hour), To: to})
}

// line is the coverage of the harvest.
func (y *year) line() control.Coverage {
	y.t.Helper()
	all, err := y.Store.Coverage(y.t.Context(), "generic")
	if err != nil {
		y.t.Fatal(err)
	}
	for _, c := range all {
		if c.Operation == harvest.Harvest {
			return c
		}
	}
	y.t.Fatal("no harvest")
	return control.Coverage{}
}

// settle lets what is left be done.
func (y *year) settle() {
	y.t.Helper()
	y.faults(nil)
	for range 4 * 24 {
		time.Sleep(time.Hour)
		y.trigger(harvest.Trigger{})
		if time.Now().UTC().Hour() == 3 {
			y.trigger(harvest.Trigger{
				Operation: harvest.Update, Activity: "end-" + time.Now().UTC().Format("20060102"),
				Pick: harvest.CandidatePick{SeenBefore: time.Now().Add(-time.Hour)},
			})
		}
	}
	time.Sleep(50 * time.Minute)
}

// overlaps counts the pairs of runs of two operations that went on at once.
func (y *year) overlaps(a, b harvest.Operation) int {
	return y.count(fmt.Sprintf(`SELECT COUNT(*) FROM ing_task_run x JOIN ing_task_run y ON x.started_at<y.finished_at AND y.started_at<x.finished_at
		WHERE x.operation_code='%s' AND y.operation_code='%s' AND x.id<>y.id`, a, b))
}

// compare holds what was done against the oracle.
func (y *year) compare() {
	t := y.t
	t.Helper()
	if n, all := y.count(`SELECT COUNT(*) FROM ing_plan WHERE operation_code='BACKFILL' AND status_code='COMPLETED'`), y.count(`SELECT COUNT(*) FROM ing_plan WHERE operation_code='BACKFILL'`); n != 2 || all != 2 {
		t.Errorf("%d of %d backfills are done, want 2", n, all)
	}
	if n := y.count(`SELECT COUNT(*) FROM ing_plan_slice WHERE status_code NOT IN ('DONE','RESLICED')`); n != 0 {
		t.Errorf("%d slices were left", n)
	}
	if y.count(`SELECT COUNT(*) FROM ing_task_run WHERE operation_code='BACKFILL' AND status_code<>'SUCCEEDED'`) == 0 {
		t.Error("no outage came into a backfill")
	}
	beside := map[string]int{
		"HARVEST and BACKFILL": y.overlaps(harvest.Harvest, harvest.Backfill), "HARVEST and UPDATE": y.overlaps(harvest.Harvest, harvest.Update),
		"BACKFILL and UPDATE": y.overlaps(harvest.Backfill, harvest.Update),
	}
	for what, n := range beside {
		if n == 0 {
			t.Errorf("no run of %s went on at once", what)
		}
	}
	line := y.line()
	patratest.MustEqual(t, y.Store, y.oracle, "generic", line.Watermark.Time())
	patratest.MustVerify(t, y.Store)
	gone, lateGone := 0, 0
	long := y.oracle.Now().Add(-4 * 24 * time.Hour)
	for row := range y.oracle.Truth("generic") {
		if !row.Deleted {
			continue
		}
		v := y.oracle.Versions("generic", row.ID)
		if len(v) > 0 && v[len(v)-1].VisibleAt.Before(long) {
			gone++
			if y.count(`SELECT COUNT(*) FROM ing_record WHERE ext_id='`+row.ID+`' AND status_code<>'GONE'`) > 0 {
				lateGone++
			}
		}
	}
	if lateGone > 0 || gone == 0 {
		t.Errorf("%d of %d records that were deleted days ago are not GONE", lateGone, gone)
	}
	if n := y.count(`SELECT COUNT(*) FROM ing_cursor_event e JOIN ing_plan p ON p.id=e.plan_id WHERE e.operation_code='HARVEST' AND p.operation_code<>'HARVEST'`); n > 0 {
		t.Errorf("%d moves of the harvest's cursor by others", n)
	}
	if time.Since(line.Watermark.Time()) > 3*time.Hour {
		t.Errorf("the watermark is %s, now is %s", line.Watermark, time.Now())
	}
	rate := 0.0
	known := line.LateRate != nil && line.LateRate.Rate != nil
	why := line.Reason
	if known {
		rate = *line.LateRate.Rate
	}
	t.Logf("%v, %d refused; at once %v; %d records gone; late rate %.4f (known %v, %s)", y.done, y.refused, beside, gone, rate, known, why)
	// A version that came while the slice it belongs to was being walked may have been
	// seen by that walk or missed: which, the order of the pages decides. So the true
	// rate lies between the share that came after the walk's end and after its beginning.
	var afterEnd, afterBeginning, fresh float64
	slices := y.slices()
	week := time.Now().Add(-7 * 24 * time.Hour)
	for row := range y.oracle.Truth("generic") {
		for _, v := range y.oracle.Versions("generic", row.ID) {
			if v.VisibleAt.Before(week) || v.Kind == "deleted" {
				continue
			}
			fresh++
			missed, maybe := false, false
			for _, w := range slices {
				if v.UpdatedAt.Before(w.From) || !v.UpdatedAt.Before(w.To) {
					continue
				}
				missed = missed || v.VisibleAt.After(w.done)
				maybe = maybe || v.VisibleAt.After(w.began)
			}
			if missed {
				afterEnd++
			}
			if maybe {
				afterBeginning++
			}
		}
	}
	least, most := afterEnd/fresh, afterBeginning/fresh
	if !known || rate < least-0.002 || rate > most+0.002 {
		t.Errorf("late rate %.4f (known %v), the oracle says %.4f to %.4f (%v to %v of %v)", rate, known, least, most, afterEnd, afterBeginning, fresh)
	}
	if most > 0.05 {
		t.Errorf("%.4f of all may have been late: too much to tell a true rate by", most)
	}
}
