package control

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestCoverageMap_IsBoundedAndTellsTheGravest: a map has no more steps than were asked
// for, whatever lies in the time; a step stands as the gravest part of it does, and what
// is over without a plan is late.
func TestCoverageMap_IsBoundedAndTellsTheGravest(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	day := func(n float64) harvest.Mark {
		return harvest.TimeMark(begin.Add(time.Duration(n * 24 * float64(time.Hour))))
	}
	n := Coverage{Operation: harvest.Harvest, Direction: harvest.Forward, Watermark: day(6)}
	for i := range 5000 { // far more than steps
		n.Proven = append(n.Proven, Interval{From: day(float64(i) * 0.001), To: day(float64(i+1) * 0.001)})
	}
	n.Failed = []Interval{{From: day(2.4), To: day(2.5)}}
	n.Open = []Interval{{From: day(6), To: day(7)}}
	q := CoverageQuery{From: begin, To: begin.AddDate(0, 0, 10), Steps: 10}
	got := spansOf(n, q, 24*time.Hour, begin.AddDate(0, 0, 10))
	want := []CoverageState{CoverageProven, CoverageGap, CoverageProven, CoverageNone, CoverageOpen, CoverageLate, CoverageNone}
	steps := 0
	for i, s := range got {
		steps += s.Steps
		if i >= len(want) || s.State != want[i] {
			t.Fatalf("span %d is %+v of %+v", i, s, got)
		}
	}
	if steps != q.Steps || len(got) != len(want) {
		t.Errorf("%d steps in %d spans", steps, len(got))
	}
	wide := CoverageQuery{Steps: 1 << 30}
	if err := wide.complete(begin); err != nil || wide.Steps != MapSteps {
		t.Errorf("%d steps are taken: %v", wide.Steps, err)
	}
}
