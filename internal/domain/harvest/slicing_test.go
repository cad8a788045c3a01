package harvest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"pgregory.net/rapid"
)

// world is what an upstream holds: instants, and an id each.
type world struct {
	at []time.Time
	id []int64
}

func (w world) in(p harvest.Part) (n int64) {
	for i, at := range w.at {
		if p.Window().Contains(at) && among(p.Range, w.id[i]) {
			n++
		}
	}
	return n
}

// among reports whether an id lies in a range, or in a bucket.
func among(r harvest.Range, id int64) bool {
	if no, of := r.Bucket(); of > 1 {
		return int64(uint64(id)*0x9e3779b97f4a7c15>>40)%of == no
	}
	return id >= r.From && (r.To == 0 || id < r.To)
}

func drawRequest(t *rapid.T) harvest.SliceRequest {
	cal := harvest.Calendar{
		Precision: rapid.SampledFrom([]harvest.Precision{harvest.PrecisionDay, harvest.PrecisionSecond, harvest.PrecisionMilli, harvest.PrecisionMicro}).Draw(t, "precision"),
		Zone:      zone(t, rapid.SampledFrom([]string{"UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"}).Draw(t, "zone")),
	}
	from := cal.Floor(t0.Add(time.Duration(rapid.Int64Range(-1e6, 1e8).Draw(t, "from")) * time.Second))
	to := cal.Ceil(from.Add(time.Duration(rapid.Int64Range(1, 40*24*3600*1e6).Draw(t, "length")) * time.Microsecond))
	// Where another calendar was in force before, or will be.
	grain := cal.Step(from, 1).Sub(from).Microseconds()
	from = from.Add(time.Duration(rapid.Int64Range(0, grain-1).Draw(t, "into the first grain")) * time.Microsecond)
	if cut := to.Add(-time.Duration(rapid.Int64Range(0, grain-1).Draw(t, "off the last grain")) * time.Microsecond); cut.After(from) {
		to = cut
	}
	r := harvest.SliceRequest{
		Span: harvest.Window{From: from, To: to}.Span(), Calendar: cal, PageSize: 10, Overlap: time.Hour,
		Step:    time.Duration(rapid.Int64Range(0, 20*24*3600).Draw(t, "step")) * time.Second,
		MinStep: max(time.Duration(rapid.Int64Range(0, 3600).Draw(t, "min step"))*time.Second, to.Sub(from)/4096),
		Target:  rapid.Int64Range(0, 40).Draw(t, "target"), Cap: rapid.Int64Range(0, 40).Draw(t, "cap"),
		Budget: &harvest.BudgetSpec{MaxRequests: 7},
		Pages:  rapid.Int64Range(1, 4).Draw(t, "pages"),
		Fan:    rapid.IntRange(0, 9).Draw(t, "fan"),
		Most:   rapid.Int64Range(0, 50).Draw(t, "most"),
	}
	if r.Step > 0 { // not a million slices
		r.Step = max(r.Step, to.Sub(from)/500)
	}
	switch rapid.IntRange(0, 2).Draw(t, "second dimension") {
	case 1:
		r.Split = &harvest.Split{Key: "uid", Max: rapid.Int64Range(1, 1<<40).Draw(t, "max")}
	case 2:
		r.Split = &harvest.Split{Key: harvest.RangeBucket, Buckets: rapid.Int64Range(2, 100).Draw(t, "buckets")}
	}
	if rapid.Bool().Draw(t, "partial") {
		r.MaxSlices = rapid.IntRange(1, 5).Draw(t, "max slices")
	}
	return r
}

// drawWorld fills the window, unevenly.
func drawWorld(t *rapid.T, r harvest.SliceRequest) world {
	var w world
	window := r.Span.Window()
	length := window.Duration().Microseconds()
	bunch := length
	for range rapid.IntRange(0, 150).Draw(t, "records") {
		if rapid.IntRange(0, 9).Draw(t, "move on") == 0 {
			bunch = max(1, length/rapid.Int64Range(1, 1000).Draw(t, "bunch"))
		}
		w.at = append(w.at, window.From.Add(time.Duration(rapid.Int64Range(0, bunch-1).Draw(t, "at"))*time.Microsecond))
		top := int64(1 << 40)
		if r.Split != nil && r.Split.Max > 0 {
			top = r.Split.Max
		}
		w.id = append(w.id, rapid.Int64Range(0, top).Draw(t, "id"))
	}
	return w
}

// TestR12_SlicesTile is the law of every strategy: no gap, no overlap, no
// overrun, whatever the counts, the calendar, the steps and the budgets; and a
// record lies in exactly one slice.
func TestR12_SlicesTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		w := drawWorld(t, r)
		by := rapid.SampledFrom([]harvest.Estimation{"", harvest.ByCount, harvest.ByHistory}).Draw(t, "estimated by")
		counted := false
		if by != "" {
			windows := rapid.Bool().Draw(t, "windows only")
			r.Estimate = func(_ context.Context, p harvest.Part) (harvest.Estimate, error) {
				if windows && !p.Range.Whole() {
					return harvest.Estimate{}, nil
				}
				return harvest.Estimate{Records: w.in(p), Known: true, By: by}, nil
			}
			counted = by == harvest.ByCount && !windows
		}
		ordinals := harvest.OrdinalSpan(rapid.Int64Range(0, 50).Draw(t, "sliced to"), rapid.Int64Range(51, 500).Draw(t, "candidates"))
		for code, strategy := range harvest.Strategies() {
			r := r
			if code == harvest.StrategyID {
				r.Span = ordinals
			}
			out, err := cutBy(strategy, r)
			if code == harvest.StrategyHash && (r.Split == nil || r.Split.Buckets == 0) {
				if err == nil {
					t.Fatal("buckets of a source that has none")
				}
				continue
			}
			if err != nil {
				t.Fatal(code, err)
			}
			of := harvest.Part{Span: r.Span}
			if r.MaxSlices > 0 { // a beginning is tiled
				of.To = out[len(out)-1].Span().To
			}
			var parts []harvest.Part
			seen := map[string]bool{}
			for i, s := range out {
				if err := s.Validate(); err != nil {
					t.Fatal(code, err)
				}
				if sig := s.Signature("TOKEN", 10); seen[sig] {
					t.Fatalf("%s: slice %d has a signature that is taken", code, i)
				} else {
					seen[sig] = true
				}
				parts = append(parts, s.Part())
				if code == harvest.StrategyID {
					continue
				}
				whole := r.Span.Window()
				if w := s.NominalWindow(); !onGrain(r.Calendar, w.From, whole) || !onGrain(r.Calendar, w.To, whole) {
					t.Fatalf("%s: %s of %s is not cut by %s", code, w, whole, r.Calendar.Precision)
				}
				rw, first := s.RequestWindow(), s.Window.From.Equal(whole.From)
				if !rw.To.Equal(s.Window.To) || first != rw.From.Before(s.Window.From) {
					t.Fatalf("%s: slice %d asks for %s of %s", code, i, rw, s.NominalWindow())
				}
			}
			if err := harvest.Tile(of, parts); err != nil {
				t.Fatalf("%s: %v", code, err)
			}
			if code == harvest.StrategyID || code == harvest.StrategyPage {
				continue
			}
			for i, at := range w.at {
				n := 0
				for _, p := range parts {
					if p.Window().Contains(at) && among(p.Range, w.id[i]) {
						n++
					}
				}
				if want := map[bool]int{true: 1, false: 0}[of.Window().Contains(at)]; n != want {
					t.Fatalf("%s: record %d at %s lies in %d slices", code, w.id[i], at, n)
				}
			}
			if code == harvest.StrategyHybrid && counted {
				capped(t, r, w, parts)
			}
			for _, p := range parts {
				_, of := p.Range.Bucket()
				if of > 1 && of > r.Split.Buckets {
					t.Fatalf("%s: %s is one of too many", code, p)
				}
				if limit := limitOf(r); code == harvest.StrategyHash && counted && limit > 0 && w.in(p) > limit && 2*of <= r.Split.Buckets {
					t.Fatalf("%s holds %d, the limit is %d, and there could be %d buckets", p, w.in(p), limit, r.Split.Buckets)
				}
			}
		}
	})
}

// onGrain reports whether a bound of a slice lies on a grain, or is that of the
// whole window.
func onGrain(c harvest.Calendar, at time.Time, whole harvest.Window) bool {
	return c.Floor(at).Equal(at) || at.Equal(whole.From) || at.Equal(whole.To)
}

// capped: with counts no slice is over the cap that could have been cut, and no
// two neighbours were left apart that fit together.
func capped(t *rapid.T, r harvest.SliceRequest, w world, parts []harvest.Part) {
	limit := limitOf(r)
	for i, p := range parts {
		n := w.in(p)
		if _, _, ok := p.Halve(r.Calendar, r.MinStep, r.Split); ok && r.Cap > 0 && n > r.Cap {
			t.Fatalf("%s holds %d, the cap is %d", p, n, r.Cap)
		}
		if i > 0 && p.Range.Whole() && parts[i-1].Range.Whole() && limit > 0 && n+w.in(parts[i-1]) <= limit {
			t.Fatalf("%s with %d and its neighbour with %d were left apart under %d", p, n, w.in(parts[i-1]), limit)
		}
	}
}

func limitOf(r harvest.SliceRequest) int64 {
	if r.Cap > 0 && (r.Target == 0 || r.Cap < r.Target) {
		return r.Cap
	}
	return r.Target
}

// TestR13_HalvesTile: what a slice is cut into tiles it, ids included.
func TestR13_HalvesTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		p := harvest.Part{Span: r.Span}
		for range rapid.IntRange(1, 70).Draw(t, "depth") {
			a, b, ok := p.Halve(r.Calendar, r.MinStep, r.Split)
			if !ok {
				return
			}
			if err := harvest.Tile(p, []harvest.Part{b, a}); err != nil {
				t.Fatalf("halves of %s are %s and %s: %v", p, a, b, err)
			}
			p = a
			if rapid.Bool().Draw(t, "upper half") {
				p = b
			}
		}
	})
}

func TestTile_FindsHolesAndOverlaps(t *testing.T) {
	day := func(from, to int, ranges ...int64) harvest.Part {
		p := harvest.PartOf(harvest.Window{From: hour(from), To: hour(to)})
		if len(ranges) > 0 {
			p.Range = harvest.NewRange("uid", ranges[0], ranges[1])
		}
		return p
	}
	whole := day(0, 4)
	for name, c := range map[string]struct {
		of    harvest.Part
		parts []harvest.Part
		ok    bool
	}{
		"plain":            {whole, []harvest.Part{day(2, 4), day(0, 2)}, true},
		"hole":             {whole, []harvest.Part{day(0, 1), day(2, 4)}, false},
		"overlap":          {whole, []harvest.Part{day(0, 3), day(2, 4)}, false},
		"overrun":          {whole, []harvest.Part{day(0, 2), day(2, 5)}, false},
		"short":            {whole, []harvest.Part{day(0, 2)}, false},
		"twice":            {whole, []harvest.Part{day(0, 4), day(0, 4)}, false},
		"ranges":           {whole, []harvest.Part{day(0, 2, 0, 9), day(0, 2, 9, 0), day(2, 4)}, true},
		"range hole":       {whole, []harvest.Part{day(0, 4, 0, 9), day(0, 4, 10, 0)}, false},
		"range overlap":    {whole, []harvest.Part{day(0, 4, 0, 9), day(0, 4, 8, 0)}, false},
		"range without 0":  {whole, []harvest.Part{day(0, 4, 1, 9), day(0, 4, 9, 0)}, false},
		"range with end":   {whole, []harvest.Part{day(0, 4, 0, 9), day(0, 4, 9, 20)}, false},
		"within a range":   {day(0, 4, 5, 9), []harvest.Part{day(0, 4, 5, 7), day(0, 4, 7, 9)}, true},
		"past its range":   {day(0, 4, 5, 9), []harvest.Part{day(0, 4, 5, 7), day(0, 4, 7, 0)}, false},
		"nothing":          {whole, nil, false},
		"range beside all": {whole, []harvest.Part{day(0, 4), day(0, 4, 9, 0)}, false},
	} {
		if err := harvest.Tile(c.of, c.parts); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestR1_APartOfAWindowIsNotTheWindow: a window that was cut by ids is passed
// when all of its parts are done, in whatever order they are done.
func TestR1_APartOfAWindowIsNotTheWindow(t *testing.T) {
	for _, dir := range []harvest.Direction{harvest.Forward, harvest.Backward} {
		windows := []int{0, 1, 1, 1, 2} // hour of each slice
		permute(len(windows), func(order []int) {
			start := mark(0)
			if dir == harvest.Backward {
				start = mark(3)
			}
			w := start
			done := make([]bool, len(windows))
			for _, i := range order {
				done[i] = true
				next := harvest.LowWatermark(w, dir, func(yield func(harvest.Covered) bool) {
					idx := []int{0, 1, 2, 3, 4}
					if dir == harvest.Backward {
						slices.Reverse(idx)
					}
					for _, k := range idx {
						c := harvest.Covered{Span: span(windows[k], windows[k]+1), Counts: done[k]}
						if dir == harvest.Forward && !c.To.After(w) || dir == harvest.Backward && !c.From.Before(w) {
							continue
						}
						if !yield(c) {
							return
						}
					}
				})
				want := 0
				hours := [][]int{{0}, {1, 2, 3}, {4}}
				for k := range hours {
					h := hours[nth(dir, k, 3)]
					if slices.ContainsFunc(h, func(i int) bool { return !done[i] }) {
						break
					}
					want++
				}
				edge := mark(want)
				if dir == harvest.Backward {
					edge = mark(3 - want)
				}
				if next != edge {
					t.Fatalf("%s, order %v, done %v: watermark %s, want %s", dir, order, done, next, edge)
				}
				w = next
			}
		})
	}
}

// TestR1_AnyOrderOfEventsCoversTheSame: slices, some of them parts of one window,
// are done in any order, some never. The cursor never moves back, and ends where
// it would be had all that is done been done in order.
func TestR1_AnyOrderOfEventsCoversTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir := rapid.SampledFrom([]harvest.Direction{harvest.Forward, harvest.Backward}).Draw(t, "direction")
		var all []harvest.Covered
		at := 0
		for range rapid.IntRange(1, 12).Draw(t, "windows") {
			next := at + rapid.IntRange(1, 5).Draw(t, "length")
			for range rapid.IntRange(1, 3).Draw(t, "parts") {
				all = append(all, harvest.Covered{Span: span(at, next)})
			}
			at = next
		}
		start := mark(0)
		sorted := slices.Clone(all)
		if dir == harvest.Backward {
			start = mark(at)
			slices.Reverse(sorted)
		}
		from := func(w harvest.Mark) func(func(harvest.Covered) bool) {
			return func(yield func(harvest.Covered) bool) {
				for _, c := range sorted {
					if dir == harvest.Forward && !c.To.After(w) || dir == harvest.Backward && !c.From.Before(w) {
						continue
					}
					if !yield(c) {
						return
					}
				}
			}
		}
		order := rapid.Permutation(makeRange(len(sorted))).Draw(t, "order")
		w := start
		for _, i := range order[:rapid.IntRange(0, len(order)).Draw(t, "done")] {
			sorted[i].Counts = true
			next := harvest.LowWatermark(w, dir, from(w))
			if next != w && !dir.Further(w, next) {
				t.Fatalf("%s: back from %s to %s", dir, w, next)
			}
			w = next
		}
		if whole := harvest.LowWatermark(start, dir, from(start)); whole != w {
			t.Fatalf("%s: at %s step by step, at %s in order", dir, w, whole)
		}
	})
}

func makeRange(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
