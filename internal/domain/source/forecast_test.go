package source_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// stateful is a source like Crossref: the server holds the place of a walk, and
// only an empty page ends it.
func stateful() *source.Spec {
	return &source.Spec{
		Count:  &source.Endpoint{},
		Rate:   source.Rate{QPS: 2.7},
		Paging: harvest.Paging{Type: harvest.PageToken, Size: 1000, Stateful: true, TotalExact: true, End: []harvest.EndProof{harvest.EndEmpty}},
		Window: source.Window{Precision: harvest.PrecisionSecond, Zone: "UTC", MinStep: source.Duration(time.Second), Step: source.Duration(24 * time.Hour), Target: 12_000},
	}
}

// TestR63_BeginningAStatefulSliceAgainTakesAMinuteAtMost of what the rate allows,
// whatever target is declared.
func TestR63_BeginningAStatefulSliceAgainTakesAMinuteAtMost(t *testing.T) {
	for name, c := range map[string]struct {
		target, want int64
		qps          float64
		free         bool
	}{
		"a smaller target is kept":     {target: 12_000, qps: 2.7, want: 12_000},
		"a larger one is not":          {target: 1_000_000, qps: 2.7, want: 145_800},
		"nor none at all":              {target: 0, qps: 2.7, want: 145_800},
		"a slow source":                {target: 20_000, qps: 0.1, want: 5_400},
		"a very slow one: two pages":   {target: 20_000, qps: 0.001, want: 1_800},
		"no rate is known":             {target: 20_000, qps: 0, want: 20_000},
		"the place is anybody's to go": {target: 20_000, qps: 0.1, free: true, want: 20_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateful()
			s.Window.Target = c.target
			s.Rate.QPS = c.qps
			s.Paging.Stateful = !c.free
			got := s.SliceRequest(harvest.Span{}, harvest.Calendar{}).Target
			if got != c.want {
				t.Errorf("%d records in a slice, want %d", got, c.want)
			}
		})
	}
}

// TestR63_SmallStatefulSlicesCostNoMoreRequests: with fewer counts in between, a
// month of Crossref in slices of a dozen pages takes hardly more requests than cut
// by halves into slices of twenty.
func TestR63_SmallStatefulSlicesCostNoMoreRequests(t *testing.T) {
	month := harvest.Window{From: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC)}
	const records = 30_000_000
	takes := func(s *source.Spec) (all int64, parts int) {
		f, err := s.Forecast(month, records)
		if err != nil {
			t.Fatal(err)
		}
		return f.Requests + int64(f.Slices), f.Slices // each walk ends with an empty page
	}
	now, parts := takes(stateful())
	halves := stateful()
	halves.Window.Target, halves.Paging.Stateful = 20_000, false
	before, were := takes(halves)
	t.Logf("%d requests for %d slices, %d for %d before", now, parts, before, were)
	if now > before {
		t.Errorf("%d requests, by halves into larger slices %d", now, before)
	}
}

// TestR63_CountsThatMoveALittleLeaveTheBounds: works are indexed anew all the time,
// and a plan is cut as its preview was though counts are no longer quite the same.
func TestR63_CountsThatMoveALittleLeaveTheBounds(t *testing.T) {
	month := harvest.Window{From: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC)}
	cut := func(records float64) (bounds []time.Time) {
		s := stateful()
		cal, err := s.Window.Calendar()
		if err != nil {
			t.Fatal(err)
		}
		r := s.SliceRequest(month.Span(), cal)
		r.Estimate = func(_ context.Context, p harvest.Part) (harvest.Estimate, error) {
			// Twice as dense at the end as at the beginning.
			share := func(at time.Time) float64 {
				x := at.Sub(month.From).Seconds() / month.Duration().Seconds()
				return (x*x/2 + x) / 1.5
			}
			return harvest.Estimate{Records: int64(records * (share(p.To.Time()) - share(p.From.Time()))), Known: true, By: harvest.ByCount}, nil
		}
		var specs []harvest.SliceSpec
		err = harvest.TimeStrategy{}.Slice(t.Context(), r, func(s harvest.SliceSpec) { specs = append(specs, s) })
		if err != nil {
			t.Fatal(err)
		}
		for i := range specs {
			if n := specs[i].Hints.ExpectedRecords; n > r.Most {
				t.Errorf("a slice of %d records, at most %d are wanted", n, r.Most)
			}
			bounds = append(bounds, specs[i].Window.To)
		}
		return bounds
	}
	was := cut(30_000_000)
	now := cut(29_990_000)
	same := 0
	for _, at := range now {
		if slices.ContainsFunc(was, at.Equal) {
			same++
		}
	}
	t.Logf("%d slices, %d of %d bounds as they were", len(was), same, len(now))
	if 1000*same < 995*len(now) {
		t.Errorf("%d of %d bounds have moved", len(now)-same, len(now))
	}
}
