package harvest_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestR75_IDsAreCutIntoRanges: slices of ids tile the window of a plan, have an end each,
// and a slice that is cut is halved until one id is left.
func TestR75_IDsAreCutIntoRanges(t *testing.T) {
	of := harvest.IDSpan(7, 128)
	specs, err := cutBy(harvest.IDStrategy{}, harvest.SliceRequest{Span: of, Key: "pmid", Target: 50, PageSize: 10})
	if err != nil || len(specs) != 3 {
		t.Fatalf("%d slices, %v", len(specs), err)
	}
	var parts []harvest.Part
	for _, s := range specs {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if s.Range.To == 0 || !s.ByID() || s.Range.Key != "pmid" {
			t.Errorf("%+v is no range of ids with an end", s.Range)
		}
		parts = append(parts, s.Part())
	}
	if err := harvest.Tile(harvest.Part{Span: of}, parts); err != nil {
		t.Error(err)
	}
	r := harvest.Recut{Slice: specs[0], Paging: harvest.Paging{Type: harvest.PageOffset, Size: 10}}
	kids, ok := r.Children(harvest.CodeOverWall)
	if !ok || len(kids) != 2 {
		t.Fatalf("cut into %d", len(kids))
	}
	if err := harvest.Tile(specs[0].Part(), []harvest.Part{kids[0].Spec.Part(), kids[1].Spec.Part()}); err != nil {
		t.Error(err)
	}
	r.Slice = harvest.NewIDSlice("pmid", 4, 5, 10)
	if _, ok := r.Children(harvest.CodeOverWall); ok {
		t.Error("one id was cut")
	}
	r.Slice = harvest.NewIDSlice(harvest.RangeOrdinal, 4, 50, 10)
	if _, ok := r.Children(harvest.CodeOverWall); ok {
		t.Error("candidates were cut")
	}
}
