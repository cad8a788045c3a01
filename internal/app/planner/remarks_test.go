package planner_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/sim"
)

// TestR67_ThePlanRemarksWhatItDoesWithout: how many slices of what length there are, what
// they may cost, and what the source does not offer, stands with the plan.
func TestR67_ThePlanRemarksWhatItDoesWithout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Window.Budget = &harvest.BudgetSpec{MaxRequests: 7}
			if s.Source == "crossref" {
				s.Count = nil
				s.Paging.TotalExact = false
			}
		})
		read := func(code string) (out struct {
			SliceCount  int
			MeanWindow  source.Duration
			Degradation []string
			Budget      struct{ MaxRequests int }
			Window      struct{ From, To string }
		},
		) {
			if _, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: code, Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.BaseOf(code)}); err != nil {
				t.Fatal(err)
			}
			var text string
			b.scan(&text, `SELECT record_remarks FROM ing_plan WHERE provenance_code=?`, code)
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			t.Logf("%s: %s", code, text)
			if n := b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE provenance_code=?`, code); n != out.SliceCount {
				t.Errorf("%s: %d slices, and %d are remarked", code, n, out.SliceCount)
			}
			if out.MeanWindow <= 0 || out.Budget.MaxRequests != 7 || out.Window.From == "" {
				t.Errorf("%s: %s", code, text)
			}
			return out
		}
		if got := read("pubmed").Degradation; len(got) != 0 {
			t.Errorf("pubmed does without %q", got)
		}
		if got := read("crossref").Degradation; !slices.Contains(got, "noCount") {
			t.Errorf("crossref does without %q, and is not counted", got)
		}
		var expr, params string
		b.scan(&expr, `SELECT expr_snapshot FROM ing_plan_slice WHERE provenance_code='pubmed' LIMIT 1`)
		b.scan(&params, `SELECT params FROM ing_task WHERE provenance_code='pubmed' LIMIT 1`)
		if !json.Valid([]byte(expr)) || len(params) < 20 || !json.Valid([]byte(params)) {
			t.Errorf("expression %s, parameters %s", expr, params)
		}
	})
}

// TestR69_EverySliceCarriesBudgetAndPriority: what it may cost and when its turn is stands in
// every slice, by who triggered it, the source, or the platform, and its task has that turn.
func TestR69_EverySliceCarriesBudgetAndPriority(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			if s.Source == "crossref" {
				s.Window.Priority = 150
				s.Window.Budget = &harvest.BudgetSpec{MaxRequests: 70_000}
			}
		})
		for _, c := range []struct {
			code               string
			asked              int
			priority, requests int
		}{{"pubmed", 0, 100, 100_000}, {"crossref", 0, 150, 70_000}, {"crossref", 120, 120, 70_000}} {
			b.exec(`DELETE FROM ing_task`)
			b.exec(`DELETE FROM ing_plan_slice`)
			b.exec(`DELETE FROM ing_plan_group`)
			b.exec(`DELETE FROM ing_plan`)
			trigger := harvest.Trigger{Provenance: c.code, Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.BaseOf(c.code), Priority: c.asked}
			if _, err := b.Node.Planner.Plan(t.Context(), trigger); err != nil {
				t.Fatal(err)
			}
			all := b.ask(`SELECT COUNT(*) FROM ing_plan_slice`)
			has := b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE JSON_EXTRACT(slice_spec, '$.budget.maxRequests')=? AND JSON_EXTRACT(slice_spec, '$.budget.priority')=?
				AND JSON_EXTRACT(slice_spec, '$.budget.maxRecords')>0 AND JSON_EXTRACT(slice_spec, '$.budget.maxDurationSec')=86400`, c.requests, c.priority)
			if turn := b.ask(`SELECT COUNT(*) FROM ing_task WHERE priority=?`, c.priority); all == 0 || has != all || turn != all {
				t.Errorf("%+v: of %d slices %d have the budget, %d the turn", c, all, has, turn)
			}
		}
	})
}
