package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestCoverage_DrawsEachStateWhereItLies: what is proven, open, late and missing is drawn
// where it lies on the axis, each in its own way; a gap is hatched and leads on; the sentence
// and the numbers say the same as the drawing.
func TestCoverage_DrawsEachStateWhereItLies(t *testing.T) {
	looks, err := loadLooks()
	if err != nil {
		t.Fatal(err)
	}
	v := &visit{Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/coverage", nil), look: looks["en"]}
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	day := func(n int) control.Time { return control.Time(from.AddDate(0, 0, n)) }
	span := func(a, b int, s control.CoverageState) control.CoverageSpan {
		return control.CoverageSpan{From: day(a), To: day(b), Steps: b - a, State: s}
	}
	m := control.CoverageMap{From: day(0), To: day(10), Rows: []control.CoverageRow{
		{Source: "a<b", Operation: harvest.Harvest, Spans: []control.CoverageSpan{span(0, 5, control.CoverageProven), span(5, 6, control.CoverageGap), span(6, 10, control.CoverageOpen)}},
		{Source: "late", Operation: harvest.Harvest, Spans: []control.CoverageSpan{span(0, 8, control.CoverageProven), span(8, 10, control.CoverageLate)}},
		{Source: "whole", Operation: harvest.Harvest, Spans: []control.CoverageSpan{span(0, 10, control.CoverageProven)}},
	}}
	drawing := string(v.coverageMap(m))
	for _, want := range []string{
		`<rect class="f-ok" x="0.00%" y="18" width="50.00%"`,
		`<rect class="f-gap" x="50.00%" y="18" width="10.00%"`,
		`<rect class="f-waiting" x="60.00%" y="18" width="40.00%"`,
		`<rect class="f-remarked" x="80.00%" y="60" width="20.00%"`,
		`<rect class="f-ok" x="0.00%" y="102" width="100.00%"`,
		`a&lt;b harvest`, `href="/coverage?source=late#gaps"`,
	} {
		if !strings.Contains(drawing, want) {
			t.Errorf("the map has no %s", want)
		}
	}
	if strings.Contains(drawing, "a<b") {
		t.Error("a name is more than text")
	}
	if said := v.coverageSummary(m); said != "Namespaces: 3, of which 1 with gaps, 1 late, 1 without either." {
		t.Errorf("the sentence is %q", said)
	}
	var numbers []string
	for _, c := range v.coverageTable(m).Rows[0].Cells[4:] {
		numbers = append(numbers, c.Text)
	}
	if got := strings.Join(numbers, " "); got != "10.0 0.0 40.0 50.0" {
		t.Errorf("the numbers are %s", got)
	}
}
