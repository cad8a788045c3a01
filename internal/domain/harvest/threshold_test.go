package harvest_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestR69_EstimatesAreHeldAgainstTheWalk: a walk that brings many times what the slice was
// expected to hold is cut, ten times by the platform or as many as the source says; not a
// short one, not one of which nothing was expected, and not for what it reads of the time
// before it.
func TestR69_EstimatesAreHeldAgainstTheWalk(t *testing.T) {
	for _, c := range []struct {
		name     string
		factor   int
		expected int64
		by       harvest.Estimation
		overlap  int
		pages    int
		seen     int64
		want     bool
	}{
		{"just below the platform's", 10, 1000, harvest.ByHistory, 0, 100, 9_999, false},
		{"just above the platform's", 10, 1000, harvest.ByHistory, 0, 100, 10_000, true},
		{"just below its own", 3, 1000, harvest.ByHistory, 0, 100, 2_999, false},
		{"just above its own", 3, 1000, harvest.ByHistory, 0, 100, 3_000, true},
		{"too few pages to tell", 10, 1000, harvest.ByHistory, 0, 49, 90_000, false},
		{"just enough pages", 10, 1000, harvest.ByHistory, 0, 50, 90_000, true},
		{"nothing was expected", 10, 0, "", 0, 100, 90_000, false},
		{"a first page is no estimate", 10, 1000, harvest.ByFirstPage, 0, 100, 90_000, false},
		{"expected to be empty", 10, 0, harvest.ByCount, 0, 100, 90_000, true},
		{"an older plan", 0, 1000, harvest.ByHistory, 0, 100, 90_000, false},
		{"an overlap as long as the slice", 10, 1000, harvest.ByHistory, 10 * 3600, 100, 19_999, false},
		{"more than such an overlap holds", 10, 1000, harvest.ByHistory, 10 * 3600, 100, 20_000, true},
	} {
		r := recutOf(harvest.StrategyTime, harvest.Position{Pages: c.pages, Seen: c.seen})
		r.Slice.Hints = &harvest.SliceHints{ExpectedRecords: c.expected, EstimatedBy: c.by, OverlapSec: c.overlap}
		r.Limits = harvest.CutLimits{OverEstimate: c.factor}
		if got := r.BeyondEstimate(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if n := harvest.DefaultCuts().OverEstimate; n != 10 {
		t.Errorf("the platform's is %d", n)
	}
}

// TestR69_SlowPagesAreMadeSmaller: down to ten items, for smaller ones would not come sooner.
func TestR69_SlowPagesAreMadeSmaller(t *testing.T) {
	for size, want := range map[int]int{100: 50, 20: 10, 19: 0} {
		r := recutOf(harvest.StrategyTime, harvest.Position{})
		r.Sized = true
		r.Paging.Size = size
		kids, ok := r.Children(harvest.CutSlow)
		if ok != (want > 0) || ok && kids[0].Spec.PageSize != want {
			t.Errorf("pages of %d: %v, %+v", size, ok, kids)
		}
	}
}

// TestR69_EverySliceHasABudget: what the source says, and the platform's beside it, which no
// walk comes to that is cut for anything else.
func TestR69_EverySliceHasABudget(t *testing.T) {
	platform := harvest.DefaultBudget(harvest.DefaultCuts(), 100)
	if want := (harvest.BudgetSpec{MaxRequests: 100_000, MaxRecords: 10_000_000, MaxDurationSec: 24 * 3600}); platform != want {
		t.Errorf("the platform's is %+v", platform)
	}
	long := harvest.CutLimits{PagesHard: 10_000, WalkTime: 48 * time.Hour}
	if got := harvest.DefaultBudget(long, 1); got.MaxRequests <= 10_000 || got.MaxDurationSec <= 48*3600 {
		t.Errorf("%+v is spent before a walk of %+v is cut for its length", got, long)
	}
	own := &harvest.BudgetSpec{MaxRequests: 7}
	if got := own.Over(platform); got.MaxRequests != 7 || got.MaxRecords != platform.MaxRecords {
		t.Errorf("beside its own there is %+v", got)
	}
	records := (&harvest.BudgetSpec{MaxRecords: 50}).Over(platform)
	seconds := (&harvest.BudgetSpec{MaxDurationSec: 60}).Over(platform)
	for _, c := range []struct {
		budget   harvest.BudgetSpec
		requests int
		records  int64
		took     time.Duration
		want     bool
	}{
		{platform, 99_999, 9_999_999, 24*time.Hour - 1, false},
		{platform, 100_000, 0, 0, true},
		{platform, 0, 10_000_000, 0, true},
		{platform, 0, 0, 24 * time.Hour, true},
		{own.Over(platform), 6, 0, 0, false},
		{own.Over(platform), 7, 0, 0, true},
		{records, 0, 49, 0, false},
		{records, 0, 50, 0, true},
		{seconds, 0, 0, time.Minute - 1, false},
		{seconds, 0, 0, time.Minute, true},
	} {
		if got := c.budget.Spent(c.requests, c.records, c.took); got != c.want {
			t.Errorf("%+v: %d requests, %d records, %s: spent %v", c.budget, c.requests, c.records, c.took, got)
		}
	}
}
