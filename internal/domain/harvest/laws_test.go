package harvest_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"pgregory.net/rapid"
)

var t0 = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func hour(n int) time.Time { return t0.Add(time.Duration(n) * time.Hour) }

// mark is the place of an hour, and span that of the hours [from, to).
func mark(n int) harvest.Mark { return harvest.TimeMark(hour(n)) }

func span(from, to int) harvest.Span { return harvest.Span{From: mark(from), To: mark(to)} }

// permute calls f with every order of 0..n-1.
func permute(n int, f func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var rec func(int)
	rec = func(k int) {
		if k == n {
			f(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			rec(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	rec(0)
}

// TestR1_R8_EveryOrderAndEveryFailedSubset: in every order of completion of 6
// slices with every subset of them failed, forward and backward, the watermark
// stops at the first slice that is not done, never goes back, and reaches the
// end once the failed ones are repaired.
func TestR1_R8_EveryOrderAndEveryFailedSubset(t *testing.T) {
	const n = 6
	for _, dir := range []harvest.Direction{harvest.Forward, harvest.Backward} {
		cases := 0
		permute(n, func(order []int) {
			for failed := range 1 << n {
				cases++
				start, edge := mark(0), mark
				if dir == harvest.Backward {
					start, edge = mark(n), func(done int) harvest.Mark { return mark(n - done) }
				}
				w := start
				var done [n]bool
				finish := func(i int) {
					done[i] = true
					next := harvest.LowWatermark(w, dir, leaves(w, dir, done[:]))
					prefix := 0
					for prefix < n && done[nth(dir, prefix, n)] {
						prefix++
					}
					if next != edge(prefix) || next != w && !dir.Further(w, next) {
						t.Fatalf("%s, order %v, failed %06b: slice %d done, watermark from %s to %s, want %s", dir, order, failed, i, w, next, edge(prefix))
					}
					w = next
				}
				for _, i := range order {
					if failed&(1<<i) == 0 {
						finish(i)
					}
				}
				for _, i := range order { // repaired
					if failed&(1<<i) != 0 {
						finish(i)
					}
				}
				if w != edge(n) {
					t.Fatalf("%s, order %v, failed %06b: ended at %s", dir, order, failed, w)
				}
			}
		})
		if cases != 46080 {
			t.Errorf("%d cases", cases)
		}
	}
}

// nth is the slice a cursor meets as its k-th.
func nth(dir harvest.Direction, k, n int) int {
	if dir == harvest.Backward {
		return n - 1 - k
	}
	return k
}

// leaves yields the slices from w on in the cursor's direction.
func leaves(w harvest.Mark, dir harvest.Direction, done []bool) func(func(harvest.Covered) bool) {
	return func(yield func(harvest.Covered) bool) {
		for k := range done {
			i := nth(dir, k, len(done))
			c := harvest.Covered{Span: span(i, i+1), Counts: done[i]}
			if dir == harvest.Forward && !c.To.After(w) || dir == harvest.Backward && !c.From.Before(w) {
				continue
			}
			if !yield(c) {
				return
			}
		}
	}
}

func TestR1_AHoleStopsTheWatermark(t *testing.T) {
	with := func(cs ...harvest.Covered) func(func(harvest.Covered) bool) {
		return func(yield func(harvest.Covered) bool) {
			for _, c := range cs {
				if !yield(c) {
					return
				}
			}
		}
	}
	c := func(from, to int, counts bool) harvest.Covered {
		return harvest.Covered{Span: span(from, to), Counts: counts}
	}
	for _, x := range []struct {
		dir  harvest.Direction
		at   int
		in   []harvest.Covered
		want int
	}{
		{harvest.Forward, 0, nil, 0},
		{harvest.Forward, 0, []harvest.Covered{c(1, 2, true)}, 0},
		{harvest.Forward, 0, []harvest.Covered{c(0, 1, true), c(2, 3, true)}, 1},
		{harvest.Forward, 0, []harvest.Covered{c(0, 2, true), c(1, 3, true)}, 3},
		{harvest.Forward, 0, []harvest.Covered{c(0, 1, true), c(1, 2, false), c(1, 2, true)}, 1},
		{harvest.Backward, 5, []harvest.Covered{c(3, 4, true)}, 5},
		{harvest.Backward, 5, []harvest.Covered{c(4, 5, true), c(2, 3, true)}, 4},
		{harvest.Backward, 5, []harvest.Covered{c(4, 5, true), c(2, 4, true)}, 2},
	} {
		if got := harvest.LowWatermark(mark(x.at), x.dir, with(x.in...)); got != mark(x.want) {
			t.Errorf("%s from %d over %v: %s, want hour %d", x.dir, x.at, x.in, got, x.want)
		}
	}
}

func TestR3_R4_WindowStartsAtTheFrontier(t *testing.T) {
	sec := harvest.Calendar{Precision: harvest.PrecisionSecond}
	known := harvest.Frontier{Known: true, At: mark(10), Watermark: mark(4)}
	for _, c := range []struct {
		name     string
		f        harvest.Frontier
		from, to time.Time
		horizon  time.Time
		want     harvest.Window
		any      bool
		refused  bool
	}{
		{"goes on at the frontier, not at the watermark", known, time.Time{}, time.Time{}, hour(20), harvest.Window{From: hour(10), To: hour(20)}, true, false},
		{"an earlier wish changes nothing", known, hour(1), time.Time{}, hour(20), harvest.Window{From: hour(10), To: hour(20)}, true, false},
		{"a start past the frontier is refused", known, hour(11), time.Time{}, hour(20), harvest.Window{}, false, true},
		{"a second past is past", known, hour(10).Add(time.Second), time.Time{}, hour(20), harvest.Window{}, false, true},
		{"nothing new", known, time.Time{}, time.Time{}, hour(10), harvest.Window{From: hour(10), To: hour(10)}, false, false},
		{"a horizon behind the frontier", known, time.Time{}, time.Time{}, hour(3), harvest.Window{From: hour(10), To: hour(10)}, false, false},
		{"an end before the horizon", known, time.Time{}, hour(15), hour(20), harvest.Window{From: hour(10), To: hour(15)}, true, false},
		{"an end past the horizon", known, time.Time{}, hour(30), hour(20), harvest.Window{From: hour(10), To: hour(20)}, true, false},
		{"first run from the baseline", harvest.Frontier{}, time.Time{}, time.Time{}, hour(20), harvest.Window{From: hour(12), To: hour(20)}, true, false},
		{"first run from a wish", harvest.Frontier{}, hour(2), time.Time{}, hour(20), harvest.Window{From: hour(2), To: hour(20)}, true, false},
		{"cut to the grain", known, time.Time{}, time.Time{}, hour(20).Add(1500 * time.Millisecond), harvest.Window{From: hour(10), To: hour(20).Add(time.Second)}, true, false},
	} {
		w, any, err := harvest.HarvestWindow(c.f, c.from, c.to, c.horizon, 8*time.Hour, sec)
		past := new(harvest.PastFrontierError)
		if errors.As(err, &past) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !c.refused && (w != c.want || any != c.any) {
			t.Errorf("%s: %s %v, want %s %v", c.name, w, any, c.want, c.any)
		}
	}
}

func TestR5_C15_PlanKey(t *testing.T) {
	draft := func(change func(*harvest.Draft)) string {
		d := harvest.Draft{
			Namespace: harvest.HarvestNamespace("p", "e", "k", "s"), Endpoint: "e", Span: span(0, 1),
			Trigger: harvest.Trigger{Activity: "a"}, SlicedTo: mark(1), ConfigHash: "c", Fingerprint: "f",
		}
		change(&d)
		return d.PlanKey()
	}
	base := draft(func(*harvest.Draft) {})
	same := map[string]func(*harvest.Draft){
		"config":      func(d *harvest.Draft) { d.ConfigHash = "other" },
		"fingerprint": func(d *harvest.Draft) { d.Fingerprint = "other" },
		"trigger":     func(d *harvest.Draft) { d.Trigger.JobID, d.Trigger.Kind = "7", "SCHEDULE" },
		"estimate":    func(d *harvest.Draft) { d.Remarks = "other" },
	}
	for name, f := range same {
		if draft(f) != base {
			t.Errorf("%s changes the plan key", name)
		}
	}
	other := map[string]func(*harvest.Draft){
		"provenance": func(d *harvest.Draft) { d.Namespace.Provenance = "q" },
		"endpoint":   func(d *harvest.Draft) { d.Endpoint = "f" },
		"operation":  func(d *harvest.Draft) { d.Namespace.Operation = harvest.Backfill },
		"namespace":  func(d *harvest.Draft) { d.Namespace.Key = "x" },
		"from":       func(d *harvest.Draft) { d.Span.From = harvest.TimeMark(hour(0).Add(time.Microsecond)) },
		"to":         func(d *harvest.Draft) { d.Span.To = harvest.TimeMark(hour(1).Add(time.Microsecond)) },
		"activity":   func(d *harvest.Draft) { d.Trigger.Activity = "b" },
	}
	for name, f := range other {
		if draft(f) == base {
			t.Errorf("another %s has the same plan key", name)
		}
	}
}

func TestR6_C15_SliceSignature(t *testing.T) {
	cal := harvest.Calendar{Precision: harvest.PrecisionSecond}
	w := harvest.Window{From: hour(0), To: hour(1)}
	base := harvest.NewSliceSpec(harvest.PartOf(w), cal, 100, 5, time.Minute).Signature("TOKEN", 100)
	est := harvest.NewSliceSpec(harvest.PartOf(w), cal, 100, 5000, time.Hour)
	est.Budget = &harvest.BudgetSpec{MaxRequests: 3}
	est.Hints.OverlapSec = 60
	if est.Signature("TOKEN", 100) != base {
		t.Error("estimates, budgets, lag or overlap change the signature")
	}
	for name, sig := range map[string]string{
		"window":    harvest.NewSliceSpec(harvest.PartOf(harvest.Window{From: hour(0), To: hour(2)}), cal, 100, 5, 0).Signature("TOKEN", 100),
		"paging":    est.Signature("OFFSET", 100),
		"page size": est.Signature("TOKEN", 50),
	} {
		if sig == base {
			t.Errorf("another %s has the same signature", name)
		}
	}
}

// TestR8_AnotherCalendarGoesOn: an activity begun by seconds goes on by days where
// it stopped, and asks for the whole of the day it stopped in.
func TestR8_AnotherCalendarGoesOn(t *testing.T) {
	days := harvest.Calendar{Precision: harvest.PrecisionDay, Zone: zone(t, "America/New_York")}
	reached := days.Floor(t0).Add(30*24*time.Hour + 7*time.Hour)
	f := harvest.Frontier{Known: true, At: harvest.TimeMark(reached)}
	// The day it stopped in is not over by the new calendar.
	w, any, err := harvest.BackfillWindow(f, reached.Add(-50*time.Hour), reached.Add(90*time.Minute), reached.Add(2*time.Hour), days)
	if want := (harvest.Window{From: days.Floor(reached.Add(-50 * time.Hour)), To: reached}); err != nil || !any || w != want {
		t.Fatalf("window %s, %v, want %s", w, err, want)
	}
	cut, err := cutBy(harvest.TimeStrategy{}, harvest.SliceRequest{Span: w.Span(), Calendar: days, Step: 24 * time.Hour})
	if err != nil || len(cut) != 3 {
		t.Fatalf("%d slices, %v", len(cut), err)
	}
	if got := days.Grains(cut[2].NominalWindow()); !got.From.Equal(days.Floor(reached)) || !got.To.Equal(days.Step(got.From, 1)) {
		t.Errorf("the last slice asks for %s", got)
	}
}

func TestR7_R8_Namespaces(t *testing.T) {
	base := harvest.HarvestNamespace("p", "e", "k", "s")
	if base.Scope != harvest.ScopeExpr {
		t.Errorf("scope %s", base.Scope)
	}
	for name, n := range map[string]harvest.Namespace{
		"endpoint":      harvest.HarvestNamespace("p", "f", "k", "s"),
		"watermark key": harvest.HarvestNamespace("p", "e", "l", "s"),
		"selection":     harvest.HarvestNamespace("p", "e", "k", "t"),
		"run together":  harvest.HarvestNamespace("p", "ek", "", "s"),
	} {
		if n.Key == base.Key {
			t.Errorf("%s: the same namespace", name)
		}
	}
	a := harvest.ActivityNamespace("p", harvest.Backfill, "k", "act")
	if a.Scope != harvest.ScopeCustom || a.Key != "act" || a.Operation.Direction() != harvest.Backward {
		t.Errorf("backfill namespace %+v", a)
	}
}

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestR12_DaysOverDSTChanges: every instant of the days around a change of the
// clock, at both ends of each day, lies in exactly one slice, and no slice is
// less than a whole day.
func TestR12_DaysOverDSTChanges(t *testing.T) {
	for _, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "UTC"} {
		z := zone(t, name)
		cal := harvest.Calendar{Precision: harvest.PrecisionDay, Zone: z}
		for _, day := range []time.Time{
			time.Date(2024, 3, 8, 12, 0, 0, 0, z), time.Date(2024, 3, 29, 12, 0, 0, 0, z), time.Date(2024, 10, 25, 12, 0, 0, 0, z), time.Date(2024, 11, 1, 12, 0, 0, 0, z),
			time.Date(2024, 4, 5, 12, 0, 0, 0, z), time.Date(2024, 10, 4, 12, 0, 0, 0, z), time.Date(2018, 11, 2, 12, 0, 0, 0, z), time.Date(2018, 2, 16, 12, 0, 0, 0, z), time.Date(2024, 11, 1, 12, 0, 0, 0, z), time.Date(2021, 3, 26, 12, 0, 0, 0, z),
		} {
			w := harvest.Window{From: cal.Floor(day), To: cal.Step(cal.Floor(day), 5)}
			slices, err := cutBy(harvest.TimeStrategy{}, harvest.SliceRequest{Span: w.Span(), Calendar: cal, Step: 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if len(slices) != 5 {
				t.Errorf("%s %s: %d slices for 5 days", name, day.Format(time.DateOnly), len(slices))
			}
			for at := w.From; at.Before(w.To); at = at.Add(15 * time.Minute) {
				for _, x := range []time.Time{at, at.Add(15*time.Minute - time.Microsecond)} {
					in := 0
					for _, s := range slices {
						if s.NominalWindow().Contains(x) {
							in++
							if x.In(z).Format(time.DateOnly) != s.Window.From.In(z).Format(time.DateOnly) {
								t.Fatalf("%s: %s lies in the slice of %s", name, x.In(z), s.Window.From.In(z))
							}
						}
					}
					if in != 1 {
						t.Fatalf("%s: %s lies in %d slices", name, x.In(z), in)
					}
				}
			}
		}
	}
}

// TestR28_AnyOrderConverges: all orders of all sets of up to four versions out
// of a small world, each version also twice, end in the greatest version.
func TestR28_AnyOrderConverges(t *testing.T) {
	var world []harvest.Record
	for _, updated := range []int{1, 2} {
		for _, provider := range []int64{1, 2} {
			for _, observed := range []int{5, 6} {
				for _, content := range []string{"a", "b"} {
					world = append(world, harvest.Record{
						Version:   harvest.Version{UpdatedAt: hour(updated), Provider: provider, ObservedAt: hour(observed), ContentHash: sha256.Sum256([]byte(content))},
						RawSHA256: sha256.Sum256(fmt.Append(nil, updated, provider, content)), Status: harvest.RecordActive, MappingVersion: "m",
					})
				}
			}
		}
	}
	cases := 0
	var set []harvest.Record
	var choose func(from, left int)
	choose = func(from, left int) {
		if left == 0 {
			want := slices.MaxFunc(set, func(a, b harvest.Record) int { return a.Version.Compare(b.Version) })
			permute(len(set), func(order []int) {
				for again := range len(order) {
					cases++
					stored := storedAs(set[order[0]])
					for _, i := range append(slices.Clone(order[1:]), order[again]) {
						stored = apply(stored, set[i])
					}
					if stored.Version != want.Version || stored.RawSHA256 != want.RawSHA256 {
						t.Fatalf("order %v of %v ends in %v", order, set, stored.Version)
					}
				}
			})
			return
		}
		for i := from; i < len(world); i++ {
			set = append(set, world[i])
			choose(i+1, left-1)
			set = set[:len(set)-1]
		}
	}
	for n := 1; n <= 4; n++ {
		choose(0, n)
	}
	if cases < 100_000 {
		t.Errorf("only %d cases", cases)
	}
}

func storedAs(r harvest.Record) harvest.StoredRecord {
	return harvest.StoredRecord{Version: r.Version, RawSHA256: r.RawSHA256, MappingVersion: r.MappingVersion, Status: r.Status}
}

// apply does to what is stored what a store does with the outcome.
func apply(h harvest.StoredRecord, r harvest.Record) harvest.StoredRecord {
	o := harvest.Merge(h, r)
	switch {
	case o.Effect == harvest.Updated, o.Effect == harvest.Remapped, o.Replace:
		return storedAs(r)
	case o.Observe:
		h.Version.ObservedAt = r.Version.ObservedAt
	}
	return h
}

func TestC5_Microseconds(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("", 3600))
	if got := harvest.FormatInstant(at); got != "2024-02-29T22:59:59.123456Z" {
		t.Errorf("written as %s", got)
	}
	if back, err := time.Parse(harvest.TimeLayout, harvest.FormatInstant(at)); err != nil || !back.Equal(harvest.Instant(at)) {
		t.Errorf("came back as %s, %v", back, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		micro := rapid.Int64Range(0, 4e15)
		a, b := time.UnixMicro(micro.Draw(t, "a")), time.UnixMicro(micro.Draw(t, "b"))
		if a.Compare(b) != strings.Compare(harvest.FormatInstant(a), harvest.FormatInstant(b)) {
			t.Fatalf("%s and %s sort otherwise as text", a, b)
		}
	})
}

// TestC2_Transitions lists every change there is; nothing else may happen.
func TestC2_Transitions(t *testing.T) {
	check(t, "plan", []harvest.PlanState{"DRAFT", "SLICING", "READY", "PARTIAL", "FAILED", "COMPLETED", "CANCELLED"}, harvest.PlanState.To,
		"DRAFT>SLICING DRAFT>FAILED DRAFT>CANCELLED SLICING>READY SLICING>PARTIAL SLICING>FAILED SLICING>CANCELLED PARTIAL>SLICING PARTIAL>READY PARTIAL>CANCELLED READY>COMPLETED READY>CANCELLED")
	check(t, "slice", []harvest.SliceState{"PENDING", "READY", "FAILED", "DONE", "RESLICED", "CANCELLED"}, harvest.SliceState.To,
		"PENDING>READY PENDING>FAILED PENDING>CANCELLED READY>DONE READY>FAILED READY>RESLICED READY>CANCELLED FAILED>READY FAILED>CANCELLED CANCELLED>READY")
	check(t, "task", []harvest.TaskState{"QUEUED", "DISPATCHED", "EXECUTING", "SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"}, harvest.TaskState.To,
		"QUEUED>DISPATCHED QUEUED>CANCELLED DISPATCHED>EXECUTING DISPATCHED>DISPATCHED DISPATCHED>QUEUED DISPATCHED>FAILED DISPATCHED>CANCELLED "+
			"EXECUTING>SUCCEEDED EXECUTING>FAILED EXECUTING>PARTIAL EXECUTING>CANCELLED EXECUTING>QUEUED EXECUTING>DISPATCHED FAILED>QUEUED FAILED>CANCELLED CANCELLED>QUEUED")
	check(t, "run", []harvest.RunState{"RUNNING", "SUCCEEDED", "PARTIAL", "FAILED", "CANCELLED"}, harvest.RunState.To,
		"RUNNING>SUCCEEDED RUNNING>PARTIAL RUNNING>FAILED RUNNING>CANCELLED")
	batch := func(from, to harvest.BatchState) error {
		if !slices.Contains(to.From(), from) {
			return harvest.ErrTransition
		}
		return nil
	}
	check(t, "batch", []harvest.BatchState{"RUNNING", "SUCCEEDED", "FAILED"}, batch, "RUNNING>SUCCEEDED RUNNING>FAILED")
}

func check[S ~string](t *testing.T, what string, states []S, to func(S, S) error, allowed string) {
	t.Helper()
	var got []string
	for _, a := range states {
		for _, b := range states {
			err := to(a, b)
			if err == nil {
				got = append(got, string(a)+">"+string(b))
			} else if !errors.Is(err, harvest.ErrTransition) {
				t.Errorf("%s %s to %s: %v", what, a, b, err)
			}
		}
	}
	want := strings.Fields(allowed)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s may change\n%v, want\n%v", what, got, want)
	}
}
