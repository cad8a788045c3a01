package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
)

// TestCountText_SaysHowFarItWasCounted: whatever number counting ended at, with a space
// between its thousands.
func TestCountText_SaysHowFarItWasCounted(t *testing.T) {
	for want, n := range map[string]control.Counted{
		"12":         {Count: 12},
		"999+":       {Count: 999, More: true},
		"1 000+":     {Count: 1000, More: true},
		"10 000+":    {Count: 10_000, More: true},
		"1 002 003+": {Count: 1_002_003, More: true},
	} {
		if got := countText(n); got != want {
			t.Errorf("%+v: %q, want %q", n, got, want)
		}
	}
}

// TestExport_TellsWhatASearchHasNotRead: whoever exports a search of which a source was not
// read to the end is told, since the file looks whole.
func TestExport_TellsWhatASearchHasNotRead(t *testing.T) {
	var out bytes.Buffer
	c := &cli{printer: printer{out: &out, err: &out}}
	summary := control.ExportSummary{Records: 3, Incomplete: []control.IncompleteSource{
		{Source: "biorxiv", Status: control.SearchFailed, Reason: "does not answer"},
		{Source: "doaj", Status: control.SearchPartial},
	}}
	if err := c.tellExport(summary, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"biorxiv was not read to the end by the last run of the search (does not answer)", "doaj was not read to the end by the last run of the search (PARTIAL)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not told:\n%s", want, out.String())
		}
	}
}
