package source_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestChoose_TellsWhatEachRowWasPickedOver: of every other row about the same it is said
// why it does not count.
func TestChoose_TellsWhatEachRowWasPickedOver(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }
	row := func(id int64, task harvest.Operation, from, to int) source.Row {
		r := source.Row{ID: id, Slot: source.Slot{Dimension: source.DimRetry, Scope: source.ScopeSource}, From: day(from), Body: &source.Retry{}}
		if task != "" {
			r.Scope = source.ScopeTask
			r.Task = task
		}
		if to > 0 {
			r.To = day(to)
		}
		return r
	}
	rows := []source.Row{
		row(1, "", 1, 5), row(2, "", 5, 0), row(3, harvest.Harvest, 6, 0), row(4, harvest.Harvest, 4, 0), row(5, harvest.Harvest, 6, 0),
		row(6, harvest.Backfill, 3, 0), row(7, "", 20, 0), row(8, "", 7, 7),
	}
	other := row(9, "", 2, 0)
	other.Dimension = source.DimHTTP
	for _, c := range source.Choose(append(rows, other), harvest.Harvest, day(10)) {
		if c.Dimension != source.DimRetry {
			continue
		}
		if c.Row == nil || c.Row.ID != 5 {
			t.Fatalf("picked %+v", c.Row)
		}
		got := map[int64]string{}
		for _, p := range c.Passed {
			got[p.Row.ID] = p.Why
		}
		want := map[int64]string{
			1: "ended at 2026-03-05T00:00:00.000000Z",
			2: "is for every operation, and row 5 for HARVEST alone",
			3: "began with row 5, which has the higher number",
			4: "began earlier than row 5",
			6: "is for BACKFILL",
			7: "begins at 2026-03-20T00:00:00.000000Z",
			8: "was taken back before it began",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if c.Passed[0].Row.ID != 7 {
			t.Errorf("the newest is not first: %+v", c.Passed[0].Row)
		}
	}
}
