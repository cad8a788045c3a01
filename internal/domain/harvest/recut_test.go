package harvest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

var (
	recutFrom = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	bySecond  = harvest.Calendar{Precision: harvest.PrecisionSecond, Zone: time.UTC}
)

// recutOf is a slice of ten hours whose walk stands at pos.
func recutOf(strategy harvest.StrategyCode, pos harvest.Position) harvest.Recut {
	w := harvest.Window{From: recutFrom, To: recutFrom.Add(10 * time.Hour)}
	s := harvest.NewSliceSpec(harvest.PartOf(w), bySecond, 100, 0, 10*time.Minute)
	s.Strategy, s.Hints.OverlapSec = strategy, 60
	return harvest.Recut{
		Slice: s, Paging: harvest.Paging{Type: harvest.PageToken, Size: 100}.Of(s), At: pos,
		Calendar: bySecond, MinStep: time.Hour, Sized: true,
	}
}

// bounds writes children as hours, DONE ones in brackets.
func bounds(kids []harvest.Child) (out string) {
	for _, c := range kids {
		w := c.Spec.NominalWindow()
		text := fmt.Sprintf("%.4g-%.4g", w.From.Sub(recutFrom).Hours(), w.To.Sub(recutFrom).Hours())
		if !c.Spec.Range.Whole() {
			text += " " + c.Spec.Range.String()
		}
		if c.Done {
			text = "(" + text + ")"
		}
		out += text + " "
	}
	return out
}

func hours(h float64) time.Time {
	return recutFrom.Add(time.Duration(h * float64(time.Hour)))
}

// TestR13_ChildrenOfACut: what is proven is split off, what is left is halved,
// or goes on where only its length was too much.
func TestR13_ChildrenOfACut(t *testing.T) {
	at := func(h float64) harvest.Position { return harvest.Position{Pages: 7, Token: "t7", At: hours(h)} }
	unsorted := at(4)
	numbered := at(4)
	fraction := at(4)
	unsorted.Unsorted = true
	numbered.Page = 7
	fraction.At = fraction.At.Add(999 * time.Millisecond)
	for _, c := range []struct {
		name     string
		strategy harvest.StrategyCode
		code     harvest.Code
		pos      harvest.Position
		bend     func(*harvest.Recut)
		want     string
	}{
		{"nothing is known", harvest.StrategyTime, "over_wall", harvest.Position{}, nil, "0-5 5-10 "},
		{"a wall", harvest.StrategyTime, "over_wall", at(4), nil, "(0-4) 4-7 7-10 "},
		{"the grain of the last item is not full", harvest.StrategyTime, "over_wall", fraction, nil, "(0-4) 4-7 7-10 "},
		{"one item out of order", harvest.StrategyTime, "over_wall", unsorted, nil, "0-5 5-10 "},
		{"two phases", harvest.StrategyTime, "over_wall", at(4), func(r *harvest.Recut) { r.TwoPhase = true }, "0-5 5-10 "},
		{"still in the overlap", harvest.StrategyTime, "over_wall", at(-0.01), nil, "0-5 5-10 "},
		{"in the first grain", harvest.StrategyTime, "over_wall", at(0), nil, "0-5 5-10 "},
		{"past the window", harvest.StrategyTime, "over_wall", at(10), nil, "0-5 5-10 "},
		{"what is left cannot be halved", harvest.StrategyTime, "over_wall", at(8.5), nil, "(0-8.5) 8.5-10 "},
		{"what is left would be too short", harvest.StrategyTime, "over_wall", at(9.75), nil, "(0-9) 9-10 "},
		{"cannot be cut", harvest.StrategyTime, "over_wall", harvest.Position{}, func(r *harvest.Recut) { r.MinStep = 6 * time.Hour }, ""},
		{"length only", harvest.StrategyTime, harvest.CutDepth, at(4), nil, "(0-4) 4-10 "},
		{"length only, declared", harvest.StrategyTime, "max_pages", at(4), nil, "(0-4) 4-10 "},
		{"length only, unsorted", harvest.StrategyTime, harvest.CutDepth, unsorted, nil, "0-5 5-10 "},
		{"a budget", harvest.StrategyVolume, harvest.CutBudget, at(4), nil, "(0-4) 4-10 "},
		{"a budget, unsorted", harvest.StrategyVolume, harvest.CutBudget, unsorted, nil, "0-5 5-10 "},
		{"a landmark", harvest.StrategyLandmark, harvest.CutBudget, unsorted, nil, "(0-10 page [0, 7)) 0-10 page [7, ...) "},
		{"a landmark further on", harvest.StrategyLandmark, harvest.CutBudget, harvest.Position{Pages: 3, Before: 7, Token: "t10"}, func(r *harvest.Recut) {
			r.Slice.Range, r.Slice.Cursor = harvest.NewRange(harvest.RangePage, 7, 0), &harvest.CursorSpec{StartToken: "t7"}
		}, "(0-10 page [7, 10)) 0-10 page [10, ...) "},
		{"a landmark not reached again", harvest.StrategyLandmark, harvest.CutBudget, harvest.Position{Pages: 7, Token: "t7"}, func(r *harvest.Recut) {
			r.Slice.Range, r.Slice.Cursor = harvest.NewRange(harvest.RangePage, 7, 0), &harvest.CursorSpec{StartToken: "t7"}
		}, ""},
		{"a landmark the server holds", harvest.StrategyLandmark, harvest.CutBudget, unsorted, func(r *harvest.Recut) { r.Paging.Stateful = true }, "0-5 5-10 "},
		{"a landmark of ids only", harvest.StrategyLandmark, harvest.CutBudget, unsorted, func(r *harvest.Recut) { r.TwoPhase = true }, "0-5 5-10 "},
		{"a wall before a landmark", harvest.StrategyLandmark, "over_wall", unsorted, nil, "0-5 5-10 "},
		{"pages of a snapshot", harvest.StrategyPage, harvest.CutBudget, numbered, func(r *harvest.Recut) {
			r.Paging.Type, r.Paging.Snapshot = harvest.PageNumber, true
		}, "(0-10 page [0, 7)) 0-10 page [7, ...) "},
		{"the last of its pages", harvest.StrategyPage, harvest.CutBudget, numbered, func(r *harvest.Recut) {
			r.Paging.Type = harvest.PageNumber
			r.Paging.Snapshot = true
			r.Slice.Range = harvest.NewRange(harvest.RangePage, 0, 7)
		}, ""},
		{"pages that shift", harvest.StrategyPage, harvest.CutBudget, harvest.Position{Pages: 7, Page: 7}, func(r *harvest.Recut) { r.Paging.Type = harvest.PageNumber }, "0-5 5-10 "},
		{"a part of a window", harvest.StrategyHybrid, harvest.CutBudget, at(4), func(r *harvest.Recut) { r.Slice.Range = harvest.NewRange("uid", 5, 9) }, ""},
		{"a part of a window, by its ids", harvest.StrategyHybrid, "over_wall", at(4), func(r *harvest.Recut) {
			r.Slice.Range, r.Split = harvest.NewRange("uid", 5, 9), &harvest.Split{Key: "uid", Max: 100}
		}, "0-10 uid [5, 7) 0-10 uid [7, 9) "},
	} {
		r := recutOf(c.strategy, c.pos)
		if c.bend != nil {
			c.bend(&r)
		}
		kids, ok := r.Children(c.code)
		if got := bounds(kids); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
			continue
		}
		parts := make([]harvest.Part, len(kids))
		for i, k := range kids {
			parts[i] = k.Spec.Part()
			if err := k.Spec.Validate(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			begins := k.Spec.Window.From.Equal(recutFrom)
			if o := k.Spec.Hints.OverlapSec; (o != 0) != begins {
				t.Errorf("%s: overlap of %d s from %s", c.name, o, k.Spec.Window.From)
			}
		}
		if err := harvest.Tile(r.Slice.Part(), parts); ok && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestR24_ALandmarkKeepsTheCount: the walk that begins at a landmark knows how
// many ids came before it, or it would never reach an exact total.
func TestR24_ALandmarkKeepsTheCount(t *testing.T) {
	r := recutOf(harvest.StrategyLandmark, harvest.Position{Pages: 7, Token: "t7", Seen: 65, Unsorted: true})
	kids, ok := r.Children(harvest.CutBudget)
	if !ok || len(kids) != 2 {
		t.Fatalf("%+v, %v", kids, ok)
	}
	p := harvest.Paging{Type: harvest.PageToken, Size: 10, TotalExact: true, End: []harvest.EndProof{harvest.EndEmpty}}
	pos := p.Start(kids[1].Spec, 1)
	_, end, err := p.Step(pos, harvest.PageFacts{Total: new(int64(65)), Token: "t8"}, never)
	if end != harvest.EndEmpty || err != nil {
		t.Errorf("65 of 65 ids seen, and the walk ends with %q, %v", end, err)
	}
	if again := p.Start(kids[1].Spec, 2); again.Seen != 0 || again.Token != "" {
		t.Errorf("a second walk begins at %+v", again)
	}
}

// TestR13_ChildrenTile: whatever is known of a walk, the children tile the
// slice, something is left to be walked, nothing is below the least step, and
// what is done ends at or before the last update time seen.
func TestR13_ChildrenTile(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 1))
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for range 20000 {
		cal, step := bySecond, time.Duration(1+rnd.IntN(7200))*time.Second
		if rnd.IntN(3) == 0 {
			cal, step = harvest.Calendar{Precision: harvest.PrecisionDay, Zone: zone}, 24*time.Hour
		}
		from := cal.Floor(recutFrom.Add(time.Duration(rnd.IntN(30*24)) * time.Hour))
		w := harvest.Window{From: from, To: cal.Add(from, time.Duration(1+rnd.IntN(500000))*time.Second)}
		if rnd.IntN(3) == 0 { // begun where another calendar ended
			w.From = w.From.Add(time.Duration(rnd.Int64N(int64(min(w.Duration(), cal.Step(from, 1).Sub(from))))).Truncate(time.Microsecond))
		}
		s := harvest.NewSliceSpec(harvest.PartOf(w), cal, 100, 0, 0)
		r := harvest.Recut{
			Slice: s, Paging: harvest.Paging{Size: 100}, Calendar: cal, MinStep: step,
			At: harvest.Position{Pages: 3, At: w.From.Add(time.Duration(rnd.Int64N(int64(w.Duration()+2*time.Hour))) - time.Hour), Unsorted: rnd.IntN(4) == 0},
		}
		kids, ok := r.Children([]harvest.Code{"over_wall", harvest.CutDepth, harvest.CutErrors}[rnd.IntN(3)])
		if !ok {
			continue
		}
		open, parts := 0, []harvest.Part(nil)
		for i, k := range kids {
			p := k.Spec.NominalWindow()
			parts = append(parts, k.Spec.Part())
			if !onGrain(cal, p.From, w) || !onGrain(cal, p.To, w) {
				t.Fatalf("%s of %s is not cut by %s", p, w, cal.Precision)
			}
			switch {
			case k.Done && (i > 0 || p.To.After(r.At.At) || r.At.Unsorted):
				t.Fatalf("%s counts as done at %s", p, r.At)
			case !k.Done:
				open++
				if cal.Precision != harvest.PrecisionDay && p.Duration() < step {
					t.Fatalf("%s is shorter than %s", p, step)
				}
			}
		}
		if err := harvest.Tile(s.Part(), parts); err != nil || open == 0 {
			t.Fatalf("%s in %d open parts: %v", w, open, err)
		}
	}
}

// TestR13_SeenAscending: the walk itself notices whether items come in order,
// over pages and over a crash, and only where that was declared.
func TestR13_SeenAscending(t *testing.T) {
	sec := func(n ...int) (out []time.Time) {
		for _, s := range n {
			at := time.Time{}
			if s >= 0 {
				at = recutFrom.Add(time.Duration(s) * time.Second)
			}
			out = append(out, at)
		}
		return out
	}
	asc := harvest.Paging{Type: harvest.PageToken, Size: 3, End: []harvest.EndProof{harvest.EndNoToken}, Ascending: true}
	none, numbers := asc, asc
	none.Ascending = false
	numbers.Type, numbers.End = harvest.PageNumber, []harvest.EndProof{harvest.EndEmpty}
	for _, c := range []struct {
		name     string
		p        harvest.Paging
		pages    [][]time.Time
		last     int
		unsorted bool
	}{
		{"in order", asc, [][]time.Time{sec(1, 1, 2), sec(2, 5, 9)}, 9, false},
		{"out of order on a page", asc, [][]time.Time{sec(1, 3, 2), sec(5)}, 5, true},
		{"out of order between pages", asc, [][]time.Time{sec(1, 3), sec(2, 5)}, 5, true},
		{"one does not tell", asc, [][]time.Time{sec(1, -1), sec(5)}, 5, true},
		{"not declared", none, [][]time.Time{sec(1, 2)}, -1, false},
		{"page numbers shift", numbers, [][]time.Time{sec(1, 2)}, -1, false},
	} {
		var pos harvest.Position
		id := 0
		for _, page := range c.pages {
			f := harvest.PageFacts{Updated: page, Token: fmt.Sprint("t", id)}
			for range page {
				id++
				f.IDs = append(f.IDs, fmt.Sprint(id))
			}
			next, end, err := c.p.Step(pos, f, func(uint64) bool { return false })
			if err != nil || end != "" {
				t.Fatalf("%s: %v, %s", c.name, err, end)
			}
			pos, err = harvest.ParsePosition(next.String())
			if err != nil || pos.String() != next.String() {
				t.Fatalf("%s: %s is read as %s, %v", c.name, next, pos, err)
			}
		}
		want := sec(c.last)[0]
		if !pos.At.Equal(want) || pos.Unsorted != c.unsorted {
			t.Errorf("%s: at %s, unsorted %v", c.name, pos.At, pos.Unsorted)
		}
	}
}

// TestC17_Thresholds: one case per threshold, just below and just above it.
func TestC17_Thresholds(t *testing.T) {
	type pages = []harvest.PageCost
	page := harvest.PageCost{At: recutFrom, Bytes: 1000}
	many := func(n int, p harvest.PageCost) (out pages) {
		for range n {
			out = append(out, p)
		}
		return out
	}
	throttled := func(apart time.Duration) (out pages) {
		for i := range 5 {
			out = append(out, harvest.PageCost{At: recutFrom.Add(time.Duration(i) * apart), Throttled: 1})
		}
		return out
	}
	failed := func(n, of int) pages {
		out := many(of, page)
		for i := range n {
			out[i*of/n].Failed = 1
		}
		return out
	}
	for _, c := range []struct {
		name  string
		pages pages
		want  harvest.Code
	}{
		{"bytes below", many(1, harvest.PageCost{Bytes: 5_000_000}), ""},
		{"bytes above", many(1, harvest.PageCost{Bytes: 5_000_001}), harvest.CutHeavy},
		{"bytes of a page before", pages{{Bytes: 5_000_001}, page}, ""},
		{"429 below", throttled(0)[:4], ""},
		{"429 at once", many(1, harvest.PageCost{Throttled: 5}), harvest.CutThrottled},
		{"429 within 300 s", throttled(75*time.Second - time.Millisecond), harvest.CutThrottled},
		{"429 over 300 s", throttled(75 * time.Second), ""},
		{"errors below", failed(2, 50), ""},
		{"errors above", failed(3, 50), harvest.CutErrors},
		{"errors of 49 pages", failed(3, 49), ""},
		{"errors long ago", append(failed(3, 3), many(50, page)...), ""},
	} {
		var g harvest.Gauge
		for _, p := range c.pages {
			g.Note(p)
		}
		if got := g.Strain(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		pages    int
		unsorted bool
		want     bool
	}{{999, false, false}, {1000, false, true}, {1000, true, false}, {1999, true, false}, {2000, true, true}} {
		r := recutOf(harvest.StrategyTime, harvest.Position{Pages: c.pages, At: hours(4), Unsorted: c.unsorted})
		if got := r.TooDeep(); got != c.want {
			t.Errorf("%d pages, unsorted %v: too deep %v", c.pages, c.unsorted, got)
		}
	}
}

// TestR69_EveryThresholdIsTheSources: a source's own value is in the place of the platform's,
// each alone, just below and just above it.
func TestR69_EveryThresholdIsTheSources(t *testing.T) {
	at := func(seconds int) time.Time { return recutFrom.Add(time.Duration(seconds) * time.Second) }
	for _, c := range []struct {
		name         string
		own          harvest.CutLimits
		below, above []harvest.PageCost
		want         harvest.Code
	}{
		{
			"bytes",
			harvest.CutLimits{PageBytes: 32 << 20},
			[]harvest.PageCost{{Bytes: 32 << 20}},
			[]harvest.PageCost{{Bytes: 32<<20 + 1}},
			harvest.CutHeavy,
		},
		{
			"429",
			harvest.CutLimits{Throttled: 2},
			[]harvest.PageCost{{At: at(0), Throttled: 1}},
			[]harvest.PageCost{{At: at(0), Throttled: 1}, {At: at(299), Throttled: 1}},
			harvest.CutThrottled,
		},
		{
			"time of 429",
			harvest.CutLimits{ThrottledWithin: time.Minute},
			[]harvest.PageCost{{At: at(0), Throttled: 4}, {At: at(60), Throttled: 1}},
			[]harvest.PageCost{{At: at(0), Throttled: 4}, {At: at(59), Throttled: 1}},
			harvest.CutThrottled,
		},
		{
			"errors",
			harvest.CutLimits{FailedPercent: 50},
			append(make([]harvest.PageCost, 49), harvest.PageCost{Failed: 24}), append(make([]harvest.PageCost, 49), harvest.PageCost{Failed: 25}), harvest.CutErrors,
		},
		{
			"sum of Retry-After, the platform's",
			harvest.CutLimits{RetryAfterSum: harvest.DefaultCuts().RetryAfterSum},
			[]harvest.PageCost{{RetryAfter: 20 * time.Minute}, {RetryAfter: 10*time.Minute - time.Second}, {}},
			[]harvest.PageCost{{RetryAfter: 20 * time.Minute}, {RetryAfter: 10 * time.Minute}, {}},
			harvest.CutThrottled,
		},
		{
			"sum of Retry-After",
			harvest.CutLimits{RetryAfterSum: time.Minute},
			[]harvest.PageCost{{RetryAfter: 59 * time.Second}},
			[]harvest.PageCost{{RetryAfter: time.Minute}},
			harvest.CutThrottled,
		},
		{
			"time of a walk, the platform's",
			harvest.CutLimits{WalkTime: harvest.DefaultCuts().WalkTime},
			[]harvest.PageCost{{At: at(6*3600 - 1)}},
			[]harvest.PageCost{{At: at(6 * 3600)}},
			harvest.CutBudget,
		},
		{
			"time of a walk",
			harvest.CutLimits{WalkTime: time.Minute},
			[]harvest.PageCost{{At: at(59)}},
			[]harvest.PageCost{{At: at(60)}},
			harvest.CutBudget,
		},
		{
			"time of a page",
			harvest.CutLimits{SlowPage: time.Second},
			slices.Repeat([]harvest.PageCost{{Took: time.Second}}, 10),
			slices.Repeat([]harvest.PageCost{{Took: time.Second + 1}}, 10),
			harvest.CutSlow,
		},
		{
			"time of a page, where the source says nothing",
			harvest.DefaultCuts(),
			slices.Repeat([]harvest.PageCost{{Took: time.Hour / 11}}, 10),
			append(slices.Repeat([]harvest.PageCost{{Took: time.Hour}}, 10), harvest.PageCost{Bytes: 5_000_001}),
			harvest.CutHeavy,
		},
		{
			"bytes, the platform's",
			harvest.CutLimits{},
			[]harvest.PageCost{{Bytes: 5_000_000}},
			[]harvest.PageCost{{Bytes: 5_000_001}},
			harvest.CutHeavy,
		},
		{
			"429, the platform's",
			harvest.CutLimits{},
			[]harvest.PageCost{{At: at(0), Throttled: 4}},
			[]harvest.PageCost{{At: at(0), Throttled: 5}},
			harvest.CutThrottled,
		},
		{
			"time of 429, the platform's",
			harvest.CutLimits{},
			[]harvest.PageCost{{At: at(0), Throttled: 4}, {At: at(300), Throttled: 1}},
			[]harvest.PageCost{{At: at(0), Throttled: 4}, {At: at(299), Throttled: 1}},
			harvest.CutThrottled,
		},
		{
			"errors, the platform's",
			harvest.CutLimits{},
			append(make([]harvest.PageCost, 49), harvest.PageCost{Failed: 2}), append(make([]harvest.PageCost, 49), harvest.PageCost{Failed: 3}), harvest.CutErrors,
		},
		{
			"pages of errors, the platform's",
			harvest.CutLimits{},
			append(make([]harvest.PageCost, 48), harvest.PageCost{Failed: 3}), append(make([]harvest.PageCost, 49), harvest.PageCost{Failed: 3}), harvest.CutErrors,
		},
		{
			"pages of errors",
			harvest.CutLimits{FailedOver: 4},
			[]harvest.PageCost{{Failed: 1}, {}, {}},
			[]harvest.PageCost{{Failed: 1}, {}, {}, {}},
			harvest.CutErrors,
		},
	} {
		for _, side := range []struct {
			pages []harvest.PageCost
			want  harvest.Code
		}{{c.below, ""}, {c.above, c.want}} {
			g := harvest.Gauge{Limits: c.own, Begun: at(0)}
			for _, p := range side.pages {
				g.Note(p)
			}
			if got := g.Strain(); got != side.want {
				t.Errorf("%s, %d pages: %q, want %q", c.name, len(side.pages), got, side.want)
			}
		}
	}
	for _, c := range []struct {
		own      harvest.CutLimits
		pages    int
		unsorted bool
		want     bool
	}{
		{harvest.CutLimits{PagesSoft: 7}, 6, false, false},
		{harvest.CutLimits{PagesSoft: 7}, 7, false, true},
		{harvest.CutLimits{PagesSoft: 7, PagesHard: 9}, 8, true, false},
		{harvest.CutLimits{PagesSoft: 7, PagesHard: 9}, 9, true, true},
	} {
		r := recutOf(harvest.StrategyTime, harvest.Position{Pages: c.pages, At: hours(4), Unsorted: c.unsorted})
		r.Limits = c.own
		if got := r.TooDeep(); got != c.want {
			t.Errorf("%+v, %d pages, unsorted %v: too deep %v", c.own, c.pages, c.unsorted, got)
		}
	}
}

// TestR26_HeavyPagesAreHalved, where the source gives pages of a size at all;
// no other cut changes their size, and children of children keep it.
func TestR26_HeavyPagesAreHalved(t *testing.T) {
	size := func(r harvest.Recut, code harvest.Code) (out []int) {
		kids, _ := r.Children(code)
		for _, k := range kids {
			out = append(out, harvest.Paging{Size: 100}.Of(k.Spec).Size)
		}
		return out
	}
	r := recutOf(harvest.StrategyTime, harvest.Position{})
	if got := fmt.Sprint(size(r, harvest.CutHeavy), size(r, harvest.CutErrors)); got != "[50 50] [100 100]" {
		t.Errorf("pages of %s", got)
	}
	kids, _ := r.Children(harvest.CutHeavy)
	small := r
	small.Slice = kids[0].Spec
	small.Paging = harvest.Paging{Size: 100}.Of(small.Slice)
	if got := fmt.Sprint(size(small, "over_wall"), size(small, harvest.CutHeavy)); got != "[50 50] [25 25]" {
		t.Errorf("children of children have pages of %s", got)
	}
	plain := kids[0].Spec
	plain.PageSize = 0
	if plain.Signature("TOKEN", 100) == kids[0].Spec.Signature("TOKEN", 100) {
		t.Error("the page size is no part of the signature")
	}
	r.Sized = false
	if got := size(r, harvest.CutHeavy); got != nil {
		t.Errorf("pages of a size the source does not know: %v", got)
	}
	r = recutOf(harvest.StrategyTime, harvest.Position{})
	r.Paging.Size = 1
	if got := size(r, harvest.CutHeavy); got != nil {
		t.Errorf("pages of less than one: %v", got)
	}
}

// TestPageRange_EndsAtItsLastPage: a slice that is a range of pages begins at
// its first and is over after its last; the last slice ends as the source says.
func TestPageRange_EndsAtItsLastPage(t *testing.T) {
	p := harvest.Paging{Type: harvest.PageNumber, Size: 2, Snapshot: true, End: []harvest.EndProof{harvest.EndTotal}, TotalExact: true}
	total := int64(9)
	for _, c := range []struct {
		from, to int64
		pages    []int
		end      harvest.EndProof
	}{
		{0, 2, []int{0, 1}, harvest.EndPageRange},
		{2, 4, []int{2, 3}, harvest.EndPageRange},
		{4, 0, []int{4}, harvest.EndTotal},
	} {
		s := harvest.SliceSpec{Strategy: harvest.StrategyPage, Range: harvest.NewRange(harvest.RangePage, c.from, c.to)}
		own := p.Of(s)
		pos := own.Start(s, 1)
		end := harvest.EndProof("")
		asked := []int(nil)
		for end == "" && len(asked) < 9 {
			asked = append(asked, pos.Page)
			f := harvest.PageFacts{Total: &total}
			for i := 2 * pos.Page; i < min(2*pos.Page+2, 9); i++ {
				f.IDs = append(f.IDs, fmt.Sprint(i))
			}
			var err error
			pos, end, err = own.Step(pos, f, func(uint64) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(asked) != fmt.Sprint(c.pages) || end != c.end {
			t.Errorf("pages [%d, %d): asked for %v, ended by %s", c.from, c.to, asked, end)
		}
	}
}

// TestLandmark_WalksBeginAtTheToken, but for those that follow a failed one.
func TestLandmark_WalksBeginAtTheToken(t *testing.T) {
	s := harvest.SliceSpec{
		Strategy: harvest.StrategyLandmark, Range: harvest.NewRange(harvest.RangePage, 7, 0),
		Cursor: &harvest.CursorSpec{StartToken: "t7", Held: map[string]string{"s": "1"}, Seen: 140},
	}
	p := harvest.Paging{Type: harvest.PageToken, Size: 20, End: []harvest.EndProof{harvest.EndTotal, harvest.EndNoToken}, TotalExact: true}
	if got := p.Start(s, 1); got.Token != "t7" || got.Before != 7 || got.Seen != 140 || got.Held["s"] != "1" {
		t.Errorf("the first walk begins at %s", got)
	}
	if got := p.Start(s, 2); got.String() != (harvest.Position{}).String() {
		t.Errorf("the second walk begins at %s", got)
	}
	if got := fmt.Sprint(p.Of(s).End); got != "[NO_TOKEN]" {
		t.Errorf("a part of a walk ends by %s", got)
	}
}

// TestBudget_Spent counts what is given, and only that.
func TestBudget_Spent(t *testing.T) {
	for _, c := range []struct {
		b        *harvest.BudgetSpec
		requests int
		records  int64
		d        time.Duration
		want     bool
	}{
		{nil, 9, 9, time.Hour, false},
		{&harvest.BudgetSpec{}, 9, 9, time.Hour, false},
		{&harvest.BudgetSpec{MaxRequests: 10}, 9, 99, time.Hour, false},
		{&harvest.BudgetSpec{MaxRequests: 10}, 10, 0, 0, true},
		{&harvest.BudgetSpec{MaxRecords: 10}, 99, 9, time.Hour, false},
		{&harvest.BudgetSpec{MaxRecords: 10}, 0, 10, 0, true},
		{&harvest.BudgetSpec{MaxDurationSec: 10}, 99, 99, 9 * time.Second, false},
		{&harvest.BudgetSpec{MaxDurationSec: 10}, 0, 0, 10 * time.Second, true},
	} {
		if got := c.b.Spent(c.requests, c.records, c.d); got != c.want {
			t.Errorf("%+v with %d, %d, %s: %v", c.b, c.requests, c.records, c.d, got)
		}
	}
}

// TestR82_TrailEndsWhereCutsDoNotHelp: generations that are cut for one cause and
// have no less of it end, others lead on.
func TestR82_TrailEndsWhereCutsDoNotHelp(t *testing.T) {
	much := func(n int64) harvest.Excess { return harvest.Excess{Size: n, Known: true} }
	for _, c := range []struct {
		name  string
		code  []harvest.Code
		size  []harvest.Excess
		ends  int // the generation that is not cut any more, 0 if all are
		idles int
	}{
		{"always as much", []harvest.Code{"a"}, []harvest.Excess{much(9), much(9), much(9), much(9)}, 4, 3},
		{"more and more", []harvest.Code{"a"}, []harvest.Excess{much(9), much(10), much(11), much(12)}, 4, 3},
		{"half of it each time", []harvest.Code{"a"}, []harvest.Excess{much(64), much(32), much(16), much(8), much(4), much(2), much(1)}, 0, 0},
		{"as much twice, then less", []harvest.Code{"a"}, []harvest.Excess{much(9), much(9), much(9), much(8), much(8), much(8), much(7)}, 0, 4},
		{"less once, then more than that", []harvest.Code{"a"}, []harvest.Excess{much(9), much(2), much(8), much(3), much(7)}, 5, 3},
		{"another cause each time", []harvest.Code{"a", "b"}, []harvest.Excess{much(9), much(9), much(9), much(9), much(9), much(9)}, 0, 0},
		{"nobody knows", []harvest.Code{"a"}, make([]harvest.Excess, 20), 0, 0},
		{"advice", []harvest.Code{harvest.CutHeavy}, []harvest.Excess{much(9), much(9), much(9), much(9), much(9)}, 0, 0},
	} {
		r := harvest.Recut{}
		ends, idles := 0, 0
		for i, e := range c.size {
			trail := r.NextTrail(c.code[i%len(c.code)], e)
			if trail.Vain() {
				idles++
			}
			if trail.Hopeless() {
				ends = i + 1
				break
			}
			r.Slice.Cut = trail
		}
		if ends != c.ends || idles != c.idles {
			t.Errorf("%s: ended with generation %d, want %d; %d cuts did not help, want %d", c.name, ends, c.ends, idles, c.idles)
		}
	}
}

// TestR82_PlanThatCostsFarTooMuch and proves nothing is one of another source.
func TestR82_PlanThatCostsFarTooMuch(t *testing.T) {
	for _, c := range []struct {
		name    string
		cost    harvest.PlanCost
		drifted bool
	}{
		{"as expected", harvest.PlanCost{Slices: 10, Records: 1000, Sent: 20, Cuts: 3}, false},
		{"ten times as much", harvest.PlanCost{Slices: 10, Records: 1000, Sent: 200, Cuts: 3}, true},
		{"ten times as much, and something proven", harvest.PlanCost{Slices: 10, Records: 1000, Sent: 200, Cuts: 3, Done: 1}, false},
		{"ten times next to nothing", harvest.PlanCost{Slices: 1, Records: 10, Sent: 99, Cuts: 3}, false},
		{"a hundred for next to nothing", harvest.PlanCost{Slices: 1, Records: 10, Sent: 100, Cuts: 3}, true},
		{"nothing was counted", harvest.PlanCost{Sent: 5000, Cuts: 3}, false},
		{"a thousand cuts", harvest.PlanCost{Cuts: 1000, Done: 5}, false},
		{"one more", harvest.PlanCost{Cuts: 1001, Done: 5}, true},
	} {
		if why := c.cost.Drifted(100); (why != "") != c.drifted {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}
