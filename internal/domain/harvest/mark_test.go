package harvest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestMark_OrderWithinOneKind: marks of one kind have an order, and are equal by ==
// however their instant was written; between kinds there is neither.
func TestMark_OrderWithinOneKind(t *testing.T) {
	for name, pair := range map[string][2]harvest.Mark{
		"instants": {mark(1), mark(2)},
		"ordinals": {harvest.OrdinalMark(2), harvest.OrdinalMark(10)},
		"ids":      {harvest.IDMark(2), harvest.IDMark(10)},
	} {
		a, b := pair[0], pair[1]
		if !a.Before(b) || b.Before(a) || !b.After(a) || a.After(b) || a.Before(a) || a.After(a) {
			t.Errorf("%s: %s and %s are not in order", name, a, b)
		}
	}
	if there := hour(1).In(zone(t, "Asia/Kolkata")).Add(999 * time.Nanosecond); harvest.TimeMark(there) != mark(1) {
		t.Errorf("%s and %s are the same place", harvest.TimeMark(there), mark(1))
	}
	// What one kind stands for is nothing to another, also where the bits are alike.
	if harvest.OrdinalMark(0) == harvest.TimeMark(time.UnixMicro(0)) || harvest.OrdinalMark(0).IsZero() || !(harvest.Mark{}).IsZero() {
		t.Error("candidate 0 is not an instant, and not nothing")
	}
	for name, mixed := range map[string]func(){
		"compare":              func() { mark(1).Before(harvest.OrdinalMark(1)) },
		"compare to nothing":   func() { harvest.OrdinalMark(1).After(harvest.Mark{}) },
		"instant of a number":  func() { harvest.OrdinalMark(1).Time() },
		"number of an instant": func() { mark(1).Ordinal() },
		"window of candidates": func() { harvest.OrdinalSpan(1, 2).Window() },
		"ids and ordinals":     func() { harvest.IDMark(1).Before(harvest.OrdinalMark(2)) },
		"a number of none":     func() { mark(1).Number() },
		"a watermark":          func() { harvest.Forward.Further(mark(1), harvest.OrdinalMark(2)) },
	} {
		if !panics(mixed) {
			t.Errorf("%s: kinds were mixed", name)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// TestMark_AsText: JSON has instants and numbers as texts; people read the same.
func TestMark_AsText(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for want, of := range map[string]harvest.Span{
		`{"from":"2026-03-04T05:06:07Z","to":"2026-03-04T05:06:07.5Z"}`: harvest.Window{From: at, To: at.Add(500 * time.Millisecond)}.Span(),
		`{"from":"0","to":"12"}`: harvest.OrdinalSpan(0, 12),
		`{"from":"3","to":"12"}`: harvest.IDSpan(3, 12),
	} {
		if got, err := json.Marshal(of); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	for want, got := range map[string]string{
		"[2026-03-04T05:06:07Z, 2026-03-04T05:06:08Z)":               harvest.Window{From: at, To: at.Add(time.Second)}.Span().Short(),
		"[2026-03-04T05:06:07.000000Z, 2026-03-04T05:06:08.000000Z)": harvest.Window{From: at, To: at.Add(time.Second)}.Span().String(),
		"ids [3, 12)":     harvest.NewIDSlice("pmid", 3, 12, 5).Part().String(),
		"records 3 to 12": harvest.NewIDSlice(harvest.RangeOrdinal, 3, 12, 5).Part().String(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMark_KeysOfOrdinalsStay: plans and slices that were saved before marks had
// kinds are found by the keys they have.
func TestMark_KeysOfOrdinalsStay(t *testing.T) {
	d := harvest.Draft{
		Namespace: harvest.ActivityNamespace("p", harvest.Update, harvest.RangeOrdinal, "act"), Endpoint: "e",
		Span: harvest.OrdinalSpan(0, 12), Trigger: harvest.Trigger{Activity: "act"},
	}
	plan := harvest.HashKey("p", "e", "UPDATE", "CUSTOM/act", "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000012Z", "act")
	if got := d.PlanKey(); got != plan {
		t.Errorf("plan key %s, want %s", got, plan)
	}
	slice := harvest.HashKey(string(harvest.StrategyID), "1970-01-01T00:00:00.000003Z", "1970-01-01T00:00:00.000012Z", "ID_RANGE", "5", "ordinal [3, 12)")
	if got := harvest.NewIDSlice(harvest.RangeOrdinal, 3, 12, 5).Signature(harvest.PageIDs, 5); got != slice {
		t.Errorf("signature %s, want %s", got, slice)
	}
}

// TestTile_Ordinals: slices of candidates are held against their span as windows
// are.
func TestTile_Ordinals(t *testing.T) {
	of := harvest.Part{Span: harvest.OrdinalSpan(0, 9)}
	part := func(from, to int64) harvest.Part { return harvest.NewIDSlice(harvest.RangeOrdinal, from, to, 5).Part() }
	for name, c := range map[string]struct {
		parts []harvest.Part
		ok    bool
	}{
		"whole":   {[]harvest.Part{part(4, 9), part(0, 4)}, true},
		"hole":    {[]harvest.Part{part(0, 4), part(5, 9)}, false},
		"overlap": {[]harvest.Part{part(0, 5), part(4, 9)}, false},
		"overrun": {[]harvest.Part{part(0, 10)}, false},
		"short":   {[]harvest.Part{part(0, 8)}, false},
		// An instant is nowhere among candidates.
		"another kind": {[]harvest.Part{part(0, 4), {Span: span(0, 9)}}, false},
	} {
		if err := harvest.Tile(of, c.parts); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
