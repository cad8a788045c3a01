package harvest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"pgregory.net/rapid"
)

// TestBuckets_AnyCutsTile: whatever is cut, in whatever order, every id is in
// exactly one bucket, and Tile says so; with one bucket less, or one twice, it
// does not. No cut makes more buckets than the source has.
func TestBuckets_AnyCutsTile(t *testing.T) {
	w := harvest.Window{From: hour(0), To: hour(4)}
	rapid.Check(t, func(t *rapid.T) {
		split := &harvest.Split{Key: harvest.RangeBucket, Buckets: rapid.Int64Range(1, 200).Draw(t, "buckets")}
		leaves := []harvest.Part{harvest.PartOf(w)}
		for range rapid.IntRange(0, 40).Draw(t, "cuts") {
			i := rapid.IntRange(0, len(leaves)-1).Draw(t, "cut")
			_, of := leaves[i].Range.Bucket()
			a, b, ok := split.Halve(leaves[i])
			if ok != (2*of <= split.Buckets) {
				t.Fatalf("%s of at most %d buckets: cut %v", leaves[i], split.Buckets, ok)
			}
			if !ok {
				continue
			}
			if err := harvest.Tile(leaves[i], []harvest.Part{b, a}); err != nil {
				t.Fatalf("%s and %s of %s: %v", a, b, leaves[i], err)
			}
			leaves[i] = a
			leaves = append(leaves, b)
		}
		all := harvest.PartOf(w)
		if err := harvest.Tile(all, leaves); err != nil {
			t.Fatalf("%v: %v", leaves, err)
		}
		for id := range int64(500) {
			n := 0
			for _, p := range leaves {
				if among(p.Range, id) {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("id %d is in %d of %v", id, n, leaves)
			}
		}
		i := rapid.IntRange(0, len(leaves)-1).Draw(t, "spoilt")
		if without := slices.Delete(slices.Clone(leaves), i, i+1); harvest.Tile(all, without) == nil {
			t.Fatalf("%v tile without %s", without, leaves[i])
		}
		if twice := append(slices.Clone(leaves), leaves[i]); harvest.Tile(all, twice) == nil {
			t.Fatalf("%v tile with %s twice", twice, leaves[i])
		}
	})
}

func TestTile_FindsHolesAndOverlapsOfBuckets(t *testing.T) {
	w := harvest.Window{From: hour(0), To: hour(2)}
	later := harvest.PartOf(harvest.Window{From: hour(2), To: hour(4)})
	part := func(no, of int64) harvest.Part {
		return harvest.Part{Span: w.Span(), Range: harvest.NewBucket(no, of)}
	}
	all, bad := harvest.PartOf(w), part(1, 2)
	bad.Range.To = 0
	ids := harvest.Part{Span: w.Span(), Range: harvest.NewRange("uid", 0, 9)}
	for name, c := range map[string]struct {
		of    harvest.Part
		parts []harvest.Part
		ok    bool
	}{
		"halves":                {all, []harvest.Part{part(1, 2), part(0, 2)}, true},
		"uneven":                {all, []harvest.Part{part(0, 4), part(1, 2), part(6, 8), part(2, 8)}, true},
		"beside a window":       {harvest.PartOf(harvest.Window{From: hour(0), To: hour(4)}), []harvest.Part{part(0, 2), part(1, 2), later}, true},
		"hole":                  {all, []harvest.Part{part(0, 4), part(1, 2)}, false},
		"overlap":               {all, []harvest.Part{part(0, 2), part(1, 2), part(3, 4)}, false},
		"overlap of halves":     {all, []harvest.Part{part(0, 2), part(1, 2), part(1, 4), part(3, 4)}, false},
		"another number":        {all, []harvest.Part{part(0, 2), part(1, 4), part(2, 4)}, false},
		"not a power of two":    {all, []harvest.Part{part(0, 3), part(1, 3), part(2, 3)}, false},
		"beside all":            {all, []harvest.Part{all, part(1, 2)}, false},
		"beside ids":            {all, []harvest.Part{ids, part(1, 2)}, false},
		"buckets of ids":        {ids, []harvest.Part{part(0, 2), part(1, 2)}, false},
		"without a bound":       {all, []harvest.Part{part(0, 2), bad}, false},
		"past the number":       {all, []harvest.Part{part(0, 2), part(3, 2)}, false},
		"within a bucket":       {part(1, 2), []harvest.Part{part(1, 4), part(3, 4)}, true},
		"past its bucket":       {part(1, 2), []harvest.Part{part(1, 4), part(3, 4), part(0, 2)}, false},
		"the other bucket":      {part(1, 2), []harvest.Part{part(0, 2)}, false},
		"more than its bucket":  {part(1, 2), []harvest.Part{all}, false},
		"ranges in its bucket":  {part(1, 2), []harvest.Part{ids}, false},
		"less than its buckets": {part(1, 2), []harvest.Part{part(1, 4)}, false},
	} {
		if err := harvest.Tile(c.of, c.parts); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHash_CutsByBucketsAlone: never by time, to the number of buckets that the
// counts, or what is guessed of all, ask for.
func TestHash_CutsByBucketsAlone(t *testing.T) {
	r := harvest.SliceRequest{
		Span: harvest.Window{From: hour(0), To: hour(100)}.Span(), Calendar: bySecond, Step: time.Hour, MinStep: time.Second, Target: 30, Overlap: time.Minute,
		Split: &harvest.Split{Key: harvest.RangeBucket, Buckets: 16}, PageSize: 10, MaxSlices: 2,
	}
	even := func(by harvest.Estimation, parts bool) harvest.Estimator {
		return func(_ context.Context, p harvest.Part) (harvest.Estimate, error) {
			if _, of := p.Range.Bucket(); of == 1 || parts {
				return harvest.Estimate{Records: 100 / of, Known: true, By: by}, nil
			}
			return harvest.Estimate{}, nil
		}
	}
	uneven := func(_ context.Context, p harvest.Part) (harvest.Estimate, error) {
		n := map[string]int64{"bucket 0 of 2": 20, "bucket 1 of 4": 5, "bucket 3 of 8": 17}[p.Range.String()]
		if p.Range.Whole() {
			n = 60
		}
		return harvest.Estimate{Records: n, Known: true, By: harvest.ByCount}, nil
	}
	for name, c := range map[string]struct {
		estimate harvest.Estimator
		target   int64
		want     string
		by       harvest.Estimation
	}{
		"counted":            {even(harvest.ByCount, true), 30, "[0 of 4 2 of 4 1 of 4 3 of 4]", harvest.ByCount},
		"counted once":       {even(harvest.ByCount, false), 30, "[0 of 4 2 of 4 1 of 4 3 of 4]", harvest.ByFirstPage},
		"from history":       {even(harvest.ByHistory, false), 50, "[0 of 2 1 of 2]", harvest.ByHistory},
		"uneven":             {uneven, 30, "[0 of 2 1 of 4 3 of 8 7 of 8]", harvest.ByCount},
		"fits":               {even(harvest.ByCount, true), 100, "[0 of 1]", harvest.ByCount},
		"no limit":           {even(harvest.ByCount, true), 0, "[0 of 1]", harvest.ByCount},
		"nothing is known":   {nil, 30, "[0 of 1]", ""},
		"more would be more": {even(harvest.ByCount, true), 1, "", harvest.ByCount},
	} {
		r := r
		r.Estimate, r.Target = c.estimate, c.target
		out, err := cutBy(harvest.HashStrategy{}, r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range out {
			no, of := s.Range.Bucket()
			got = append(got, fmt.Sprintf("%d of %d", no, of))
			if s.Strategy != harvest.StrategyHash || s.Span() != r.Span || s.Hints.OverlapSec != 60 || s.Hints.EstimatedBy != c.by || s.Validate() != nil {
				t.Errorf("%s: %+v %+v, %v", name, s, s.Hints, s.Validate())
			}
		}
		if c.want == "" && len(got) == 16 {
			continue
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// TestR13_BucketsAreHalved: a slice of HASH only by buckets, also where a cut is
// but advised; one of HYBRID by buckets where time does not help.
func TestR13_BucketsAreHalved(t *testing.T) {
	sorted := harvest.Position{Pages: 7, At: hours(4)}
	for _, c := range []struct {
		name         string
		strategy     harvest.StrategyCode
		code         harvest.Code
		no, of, most int64
		pos          harvest.Position
		want         string
	}{
		{"all", harvest.StrategyHash, "over_wall", 0, 1, 8, harvest.Position{}, "0-10 bucket 0 of 2 0-10 bucket 1 of 2 "},
		{"a bucket", harvest.StrategyHash, harvest.CutErrors, 3, 4, 8, sorted, "0-10 bucket 3 of 8 0-10 bucket 7 of 8 "},
		{"as many as there are", harvest.StrategyHash, "over_wall", 3, 8, 8, sorted, ""},
		{"a number that is no power of two", harvest.StrategyHash, "over_wall", 3, 4, 7, sorted, ""},
		{"what is proven stays", harvest.StrategyHash, "over_wall", 0, 1, 8, sorted, "(0-4) 4-10 bucket 0 of 2 4-10 bucket 1 of 2 "},
		{"only too long", harvest.StrategyHash, harvest.CutDepth, 0, 1, 8, sorted, "(0-4) 4-10 "},
		{"a window", harvest.StrategyHybrid, "over_wall", 0, 1, 8, harvest.Position{}, "0-5 5-10 "},
		{"a bucket of a window", harvest.StrategyHybrid, "over_wall", 1, 2, 8, sorted, "0-10 bucket 1 of 4 0-10 bucket 3 of 4 "},
	} {
		r := recutOf(c.strategy, c.pos)
		r.Split = &harvest.Split{Key: harvest.RangeBucket, Buckets: c.most}
		if c.of > 1 {
			r.Slice.Range = harvest.NewBucket(c.no, c.of)
		} else {
			r.Slice.Strategy = c.strategy
			if c.strategy == harvest.StrategyHybrid {
				r.Slice.Strategy = harvest.StrategyTime
			}
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
		}
		if err := harvest.Tile(r.Slice.Part(), parts); ok && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestC8_BucketsAsStored: the shape of a slice over a bucket, and what is none.
func TestC8_BucketsAsStored(t *testing.T) {
	good := harvest.NewSliceSpec(harvest.Part{Span: harvest.Window{From: hour(0), To: hour(1)}.Span(), Range: harvest.NewBucket(5, 8)}, bySecond, 10, 0, 0)
	b, err := json.Marshal(good.Range)
	if err != nil || good.Strategy != harvest.StrategyHybrid || good.Validate() != nil {
		t.Fatalf("%s: %v, %v", good.Strategy, err, good.Validate())
	}
	if want := `{"key":"bucket","from":5,"to":6,"of":8,"boundary":{"from":"CLOSED","to":"OPEN"}}`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	sibling := good
	sibling.Range = harvest.NewBucket(5, 16)
	if good.Signature("TOKEN", 10) == sibling.Signature("TOKEN", 10) {
		t.Error("the number of buckets is no part of the signature")
	}
	for name, r := range map[string]harvest.Range{
		"past the number":    harvest.NewBucket(8, 8),
		"not a power of two": harvest.NewBucket(5, 6),
		"too many":           harvest.NewBucket(5, 2*harvest.MaxBuckets),
		"several":            {Key: harvest.RangeBucket, From: 2, To: 4, Of: 8, Boundary: good.Range.Boundary},
		"of an unknown":      harvest.NewRange(harvest.RangeBucket, 2, 3),
		"of ids":             {Key: "uid", From: 2, To: 3, Of: 8, Boundary: good.Range.Boundary},
	} {
		s := good
		s.Range = r
		if s.Validate() == nil {
			t.Errorf("%s: %s is stored", name, r)
		}
	}
	good.Strategy, good.Range = harvest.StrategyHash, harvest.NewRange("uid", 5, 9)
	if good.Validate() == nil {
		t.Error("HASH with a range of ids is stored")
	}
}
