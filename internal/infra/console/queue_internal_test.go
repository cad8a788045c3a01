package console

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// visitOfPage is a visit of a page by somebody who reads English.
func visitOfPage(t *testing.T, path string) *visit {
	t.Helper()
	c, err := New(Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c.newVisit(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil), control.Visit{})
}

// TestQueue_DrawsWhatTasksWaitFor: each reason is a part of one bar, named in the legend and
// counted in the table.
func TestQueue_DrawsWhatTasksWaitFor(t *testing.T) {
	p := visitOfPage(t, "/queue").reasonsPanel([]control.WaitingShare{
		{Reason: control.ReasonSourcePaused, Text: control.ReasonSourcePaused.Meaning(), Tasks: 30, More: true},
		{Text: "they are next in turn", Tasks: 10},
	})
	drawing := string(p.Figure.Drawing)
	if !strings.Contains(drawing, `class="f-off" x="0.00%" y="0" width="74.70%"`) || !strings.Contains(drawing, `class="f-active" x="75.00%"`) {
		t.Errorf("the bar is %s", drawing)
	}
	if words := p.Figure.Legend[0].Word; words != "source paused 30+" {
		t.Errorf("the legend begins with %q", words)
	}
	if !strings.Contains(p.Figure.Summary, "40") || len(p.Figure.Data.Rows) != 2 {
		t.Errorf("it is told as %q", p.Figure.Summary)
	}
}

// TestRate_ListsStepsDown: a key that was slowed down tells when, from what and to what.
func TestRate_ListsStepsDown(t *testing.T) {
	v := visitOfPage(t, "/rate/pubmed")
	if p := v.downshiftPanel(control.RateRow{}); p.Table != nil || p.Empty == "" {
		t.Error("a key that never stepped down lists steps")
	}
	at := control.Time(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	p := v.downshiftPanel(control.RateRow{Downshifts: []control.Downshift{{At: at, From: 5, To: 2.5}}})
	if cells := p.Table.Rows[0].Cells; !cells[0].At.Equal(time.Time(at)) || cells[1].Text != "5" || cells[2].Text != "2.5" {
		t.Errorf("the step is told as %+v", cells)
	}
}
