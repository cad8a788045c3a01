package planner_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/sim"
)

// TestHealing_PlansReachLessFarWhileTheDatabaseIsSlow: what is planned while the database is
// slow has a safety lag one step longer, says so and is counted; the next plan after it has
// recovered reaches as far as ever. A plan that was shown is made as it was shown, and a lag
// outside the bounds is left alone.
func TestHealing_PlansReachLessFarWhileTheDatabaseIsSlow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		declared := map[string]time.Duration{"crossref": 10 * time.Minute, "pubmed": 24 * time.Hour}
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Window.SafetyLag = source.Duration(declared[s.Source])
			s.Window.Precision = harvest.PrecisionSecond
			s.Window.Align = 0
		})
		slow := ""
		raised := 0
		b.Node.Planner.Strained = func() string { return slow }
		b.Node.Planner.LagRaised = func() { raised++ }
		trigger := func(code string) harvest.Trigger {
			return harvest.Trigger{Provenance: code, Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.BaseOf(code)}
		}
		check := func(when, code string, lag time.Duration, why string, times int) {
			t.Helper()
			var plan int
			var text string
			b.scan(&plan, `SELECT MAX(id) FROM ing_plan WHERE provenance_code=?`, code)
			b.scan(&text, `SELECT record_remarks FROM ing_plan WHERE id=?`, plan)
			var said struct {
				Window struct {
					To        time.Time
					SafetyLag source.Duration
					LagRaised string
				}
			}
			if err := json.Unmarshal([]byte(text), &said); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			w := said.Window
			if w.SafetyLag.D() != lag || w.LagRaised != why || raised != times {
				t.Errorf("%s: counted %d times, remarked %s", when, raised, text)
			}
			if behind := b.Sim.Now().Sub(w.To); behind < lag || behind > lag+2*time.Second {
				t.Errorf("%s: the plan ends %s ago, its lag is %s", when, behind, lag)
			}
			if n := b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE plan_id=? AND JSON_EXTRACT(slice_spec, '$.hints.safetyLagSec') <> ?`, plan, int(lag.Seconds())); n != 0 {
				t.Errorf("%s: %d slices have another lag", when, n)
			}
		}
		plan := func(code string) {
			t.Helper()
			if got, err := b.Node.Planner.Plan(t.Context(), trigger(code)); err != nil || got.Noop {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		plan("crossref")
		check("quick", "crossref", 10*time.Minute, "", 0)
		b.Sim.Advance(time.Hour)
		slow = "writes take 5s"
		plan("crossref")
		check("slow", "crossref", 15*time.Minute, slow, 1)
		plan("pubmed")
		check("slow, outside the bounds", "pubmed", 24*time.Hour, "", 1)
		slow = ""
		b.Sim.Advance(time.Hour)
		plan("crossref")
		check("quick again", "crossref", 10*time.Minute, "", 1)

		b.Sim.Advance(time.Hour)
		shown, err := b.Node.Planner.Preview(t.Context(), trigger("crossref"))
		if err != nil {
			t.Fatal(err)
		}
		slow = "writes take 5s"
		if _, err := b.Node.Planner.Apply(t.Context(), shown.Token, trigger("crossref")); err != nil {
			t.Errorf("what was shown cannot be made while the database is slow: %v", err)
		}
		check("slow since it was shown", "crossref", 10*time.Minute, "", 1)
	})
}
