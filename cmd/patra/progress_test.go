package main

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// TestProgress_SaysWhyItWaits: the reason comes before the figures, which a
// narrow terminal cuts off.
func TestProgress_SaysWhyItWaits(t *testing.T) {
	for _, c := range []struct {
		p    control.Progress
		want string
	}{
		{control.Progress{State: "planning"}, "crossref  planning"},
		{control.Progress{State: "planning", Wait: "crossref does not answer"}, "crossref  planning: crossref does not answer"},
		{control.Progress{State: "harvesting", Wait: "waiting until T: x", Expected: 100, Items: 50}, "crossref  50%  waiting until T: x;  50 of about 100 records, 0 slices done, 0.0 req/s, 5 records/s"},
		{control.Progress{State: "harvesting", Expected: 100, Items: 50, Slices: 2, Sent: 20}, "crossref  50%, about 10s left;  50 of about 100 records, 2 slices done, 2.0 req/s, 5 records/s"},
		{control.Progress{State: "harvesting", Items: 1200}, "crossref  1200 records, 0 slices done, 0.0 req/s, 120 records/s"},
		{control.Progress{State: "harvesting", Items: 1200, Waited: 6 * time.Second}, "crossref  waits for its turn at the source;  1200 records, 0 slices done, 0.0 req/s, 120 records/s"},
	} {
		if got := progressLine("crossref", c.p, 10*time.Second); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.p, got, c.want)
		}
	}
	long := strings.Repeat("\u00e9", 50)
	if got := cut(long, 39); len([]rune(got)) != 39 || !strings.HasSuffix(got, "..") {
		t.Errorf("cut to %q", got)
	}
	if cut(long, -1) != long || cut("short", 39) != "short" {
		t.Error("a line that fits, or whose room is not known, was cut")
	}
}

// TestSearchWatch_TellsNoShareOfAllBeforeItKnows: where one source has not said how many records there are, how far
// the others are is not told as how far all are.
func TestSearchWatch_TellsNoShareOfAllBeforeItKnows(t *testing.T) {
	parts := []searchPart{
		{"crossref", control.Progress{State: "harvesting", Expected: 100, Items: 100}},
		{"arxiv", control.Progress{State: "harvesting", Items: 50, Waited: 9 * time.Second}},
	}
	want := "s  150 records, 0 slices done, 0.0 req/s, 15 records/s  (crossref 100%; arxiv 50 records, waits for its turn)"
	if got := searchLine("s", parts, 10*time.Second); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	parts[1].Expected = 100
	want = "s  75%, about 3s left;  150 of about 200 records, 0 slices done, 0.0 req/s, 15 records/s  (crossref 100%; arxiv 50%, waits for its turn)"
	if got := searchLine("s", parts, 10*time.Second); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
