package harvest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestR77_NoLocalZoneInTheBoundsOfASlice: bounds are in UTC and say so; the zone of the
// source's days is a hint, kept by what is cut off a slice, by which a list that has its
// newest records first is read. A slice of an older version, whose bounds name the zone,
// is read by that, and what is cut off it is as slices are now.
func TestR77_NoLocalZoneInTheBoundsOfASlice(t *testing.T) {
	const york = "America/New_York"
	days := harvest.Calendar{Precision: harvest.PrecisionDay, Zone: zone(t, york)}
	from := days.Floor(t0)
	now := harvest.NewSliceSpec(harvest.PartOf(harvest.Window{From: from, To: days.Step(from, 8)}), days, 100, 0, time.Minute)
	now.Hints.Order = "updated asc"
	before := now
	before.Window.Timezone = york
	before.Hints = &harvest.SliceHints{Order: "updated asc"}
	if err := before.Validate(); err == nil || !strings.Contains(err.Error(), york) {
		t.Errorf("a slice with bounds in %s is stored: %v", york, err)
	}
	read := func(what string, s harvest.SliceSpec) {
		if of := (harvest.Paging{NewestFirst: true, Size: 100}).Of(s); of.Calendar.Zone.String() != york || of.Calendar.Precision != harvest.PrecisionDay {
			t.Errorf("%s is read by %+v", what, of.Calendar)
		}
	}
	read("a slice of before", before)
	told := func(what string, s harvest.SliceSpec) {
		read(what, s)
		window, err := json.Marshal(s.Window)
		if err != nil || !strings.Contains(string(window), `"timezone":"UTC"`) || strings.Contains(string(window), "York") {
			t.Errorf("%s has bounds %s, %v", what, window, err)
		}
		if h := s.Hints; h == nil || h.Timezone != york || h.Order != "updated asc" {
			t.Errorf("%s has hints %+v", what, h)
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	told("a slice", now)
	for what, s := range map[string]harvest.SliceSpec{"a child of a slice": now, "a child of one of before": before} {
		r := harvest.Recut{Slice: s, Paging: harvest.Paging{Size: 100}, Calendar: days, MinStep: 24 * time.Hour}
		kids, ok := r.Children(harvest.CutDepth)
		if !ok || len(kids) < 2 {
			t.Fatalf("%s: %d, %v", what, len(kids), ok)
		}
		for _, k := range kids {
			told(what, k.Spec)
		}
	}
	utc := harvest.NewSliceSpec(harvest.PartOf(harvest.Window{From: hour(0), To: hour(1)}), bySecond, 100, 0, 0)
	if utc.Hints.Timezone != "" || utc.Validate() != nil {
		t.Errorf("a slice of a source in UTC has hints %+v, %v", utc.Hints, utc.Validate())
	}
}
