package planner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/sim"
)

// TestPreview_IsWhatRuns: a plan that would be cut otherwise than was shown is
// refused, with what moved; one whose records are a few more is not.
func TestPreview_IsWhatRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		move  func(b *bench)
		moved string
	}{
		"nothing":  {func(*bench) {}, ""},
		"a record": {func(b *bench) { b.late(1) }, ""},
		"many":     {func(b *bench) { b.late(200) }, "are spread otherwise"},
		"the clock, by two hours": {func(b *bench) {
			var err error
			b.Sim, err = sim.New(sim.Config{Seed: 5, Records: 200, LimitRPS: -1, Now: b.Sim.Now().Add(-2 * time.Hour)})
			if err != nil {
				b.t.Fatal(err)
			}
			*b = *b.again(planned)
		}, "clock of crossref was set back"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, sim.Config{}, planned)
				shown, err := b.Node.Planner.Preview(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/crossref"})
				if err != nil || shown.Slices.Len() < 3 {
					t.Fatalf("%+v, %v", shown, err)
				}
				c.move(b)
				p, err := b.Node.Planner.Apply(t.Context(), shown.Token, harvest.Trigger{Kind: "MANUAL"})
				if c.moved == "" {
					if n := b.ask(`SELECT COUNT(*) FROM ing_plan_slice`); err != nil || n != shown.Slices.Len() || p.Span != shown.Span {
						t.Errorf("%d slices of %d, %+v, %v", n, shown.Slices.Len(), p, err)
					}
					return
				}
				if moved, ok := errors.AsType[*planner.MovedError](err); !ok || !strings.Contains(moved.Error(), c.moved) || b.ask(`SELECT COUNT(*) FROM ing_plan`) != 0 {
					t.Errorf("%+v, %v", p, err)
				}
			})
		})
	}
}

// late adds n records to a day of Crossref.
func (b *bench) late(n int) {
	b.t.Helper()
	day := b.Sim.Now().Add(-10 * 24 * time.Hour)
	for range n {
		if _, err := b.Sim.AddLate("crossref", day, day); err != nil {
			b.t.Fatal(err)
		}
	}
}
