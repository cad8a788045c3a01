package planner_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/sim"
)

// TestForecast_IsThePlannersArithmetic: what `source check` foresees of a first
// harvest is what its plan then says.
func TestForecast_IsThePlannersArithmetic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code   string
		tweak  func(*source.Spec)
		slices int // 0: not known beforehand
	}{
		"counted": {"pubmed", planned, 0},
		"not counted, a step of days": {"crossref", func(s *source.Spec) {
			s.Count = nil
			s.Paging.TotalExact = false
		}, 30},
		"not counted, no step": {"crossref", func(s *source.Spec) {
			s.Count = nil
			s.Window.Step = 0
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var spec *source.Spec
				b := newBench(t, sim.Config{}, func(s *source.Spec) {
					c.tweak(s)
					if s.Source == c.code {
						spec = s
					}
				})
				shown, err := b.Node.Planner.Preview(t.Context(), harvest.Trigger{Provenance: c.code, Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/" + c.code})
				if err != nil {
					t.Fatal(err)
				}
				got, err := spec.Forecast(shown.Span.Window(), 200)
				if err != nil {
					t.Fatal(err)
				}
				takes := shown.Requests + int64(shown.Counted)
				if c.slices > 0 && (shown.Slices.Len() != c.slices || got.Slices != c.slices || got.Requests != takes) {
					t.Errorf("foreseen %d slices and %d requests, planned %d and %d, want %d slices", got.Slices, got.Requests, shown.Slices.Len(), takes, c.slices)
				}
				// Records are not spread quite evenly: one more halving here or there.
				if d := got.Requests - takes; d > takes/4 || d < -takes/4 {
					t.Errorf("foreseen %d requests, planned %d", got.Requests, takes)
				}
				if w := shown.Span.Window().Duration(); w < 29*24*time.Hour {
					t.Errorf("the window lasts %s", w)
				}
				t.Logf("foreseen %d slices and %d requests, planned %d and %d", got.Slices, got.Requests, shown.Slices.Len(), takes)
			})
		})
	}
}
