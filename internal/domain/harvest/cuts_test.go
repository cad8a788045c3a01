package harvest_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// cutBy are all the slices that a strategy cuts.
func cutBy(s harvest.Strategy, r harvest.SliceRequest) (out []harvest.SliceSpec, err error) {
	err = s.Slice(context.Background(), r, func(one harvest.SliceSpec) { out = append(out, one) })
	return out, err
}

// TestCuts_GiveBackWhatWasAdded: slices of all kinds, more of them than are kept together, come
// back as they were, and the parts of one window are kept or left out together.
func TestCuts_GiveBackWhatWasAdded(t *testing.T) {
	cal := harvest.Calendar{Precision: harvest.PrecisionSecond, Zone: zone(t, "Europe/Berlin")}
	begin := time.Date(1969, 12, 31, 22, 0, 0, 123_000, time.UTC)
	budget := &harvest.BudgetSpec{MaxRequests: 7}
	var want []harvest.SliceSpec
	for i := range 10_000 {
		from := begin.Add(time.Duration(i/2) * time.Hour)
		p := harvest.PartOf(harvest.Window{From: from, To: from.Add(time.Hour)})
		p.Range = harvest.NewBucket(int64(i%2), 2)
		s := harvest.NewSliceSpec(p, cal, 100, int64(i), time.Minute)
		s.Budget = budget
		s.Hints.ExpectedRequests = int64(i / 3)
		if i < 3 {
			s.Hints.OverlapSec = 60
		}
		want = append(want, s)
	}
	id := harvest.NewIDSlice("pmid", 7, 9, 10)
	bare := id
	bare.Hints = nil
	want = append(want, id, bare, harvest.SliceSpec{})
	var c harvest.Cuts
	for _, s := range want {
		c.Add(s)
	}
	if got := slices.Collect(c.All()); c.Len() != len(want) || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d slices came back of %d, or not as they were", len(got), len(want))
	}
	c.At(0).Hints.OverlapSec = 1
	if c.At(0).Hints.OverlapSec != 60 || c.At(1).Hints.OverlapSec != 60 {
		t.Error("who changes a slice that was looked at changes what is kept")
	}
	c.KeepFirst(5001)
	if got := slices.Collect(c.All()); !reflect.DeepEqual(got, want[:5002]) {
		t.Errorf("%d slices are kept, want 5002", len(got))
	}
	c.DropFirst(4997)
	if got := slices.Collect(c.All()); !reflect.DeepEqual(got, want[4996:5002]) {
		t.Errorf("%d slices are left, want 6", len(got))
	}
}
