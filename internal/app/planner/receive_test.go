package planner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

func anySource(context.Context, string, harvest.Operation) bool { return true }

// stuckBench is a bench whose source answers nothing before it is released, and tells
// when it was asked.
func stuckBench(t *testing.T) (b *bench, asked, release chan struct{}) {
	t.Helper()
	asked = make(chan struct{}, 100)
	release = make(chan struct{})
	b = &bench{t: t, dsn: patratest.SQLite.SpareDSN(t)}
	b.Rig = patratest.NewRig(t, patratest.RigConfig{
		DSN: b.dsn, Sim: sim.Config{Seed: 5, Records: 200, LimitRPS: -1, KeepLog: -1}, Node: node.Config{Workers: 1, Poll: benchPoll},
		Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", patratest.Fast)},
		Bend: func(_ string, body []byte) []byte {
			asked <- struct{}{}
			<-release
			return body
		},
	})
	return b, asked, release
}

// outcomes counts the triggers with an outcome.
func (b *bench) outcomes(is harvest.TriggerOutcome) int {
	b.t.Helper()
	return b.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE outcome_code=?`, is)
}

func (b *bench) mustVerify() {
	b.t.Helper()
	findings, err := b.Node.Control.Verify(b.t.Context(), control.VerifyRequest{})
	if err != nil || len(findings.Findings) > 0 {
		b.t.Errorf("verify: %+v, %v", findings, err)
	}
}

// TestR73_PlannerThatDiesLeavesItsTrigger: a planner that ends while it waits for a count
// leaves its trigger received; of the planners that come after it one answers it, with
// one plan, and nobody does so again.
func TestR73_PlannerThatDiesLeavesItsTrigger(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b, asked, release := stuckBench(t)
		trigger := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: harvest.TriggerManual, BaseURL: b.BaseOf("crossref")}
		ctx, die := context.WithCancel(t.Context())
		died := make(chan error)
		go func() {
			_, err := b.Node.Planner.Plan(ctx, trigger)
			died <- err
		}()
		<-asked
		if n := b.outcomes(harvest.TriggerReceived); n != 1 {
			t.Fatalf("%d triggers are received while the count is waited for, not 1", n)
		}
		// While somebody is at it, nobody takes it over, however long the count takes.
		time.Sleep(3 * harvest.ClaimTTL)
		if n, err := b.Node.Planner.PickUp(t.Context(), anySource); n != 0 || err != nil {
			t.Fatalf("picked up %d of a planner that lives, %v", n, err)
		}
		die()
		close(release)
		if err := <-died; !errors.Is(err, context.Canceled) {
			t.Fatalf("the planner ended with %v", err)
		}
		if plans := b.ask(`SELECT COUNT(*) FROM ing_plan`); b.outcomes(harvest.TriggerReceived) != 1 || plans != 0 {
			t.Fatalf("the planner that died left %d plans", plans)
		}
		picked := make(chan int)
		for range 2 {
			go func() {
				n, err := b.Node.Planner.PickUp(t.Context(), anySource)
				if err != nil {
					t.Error(err)
				}
				picked <- n
			}()
		}
		if n := <-picked + <-picked; n != 1 {
			t.Errorf("two planners answered it %d times", n)
		}
		if again, err := b.Node.Planner.PickUp(t.Context(), anySource); again != 0 || err != nil {
			t.Errorf("answered again: %d, %v", again, err)
		}
		plans := b.ask(`SELECT COUNT(*) FROM ing_plan`)
		rows := b.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE plan_id IS NOT NULL AND trigger_type_code='MANUAL'`)
		if plans != 1 || rows != 1 || b.outcomes(harvest.TriggerPlanned) != 1 {
			t.Errorf("%d plans, %d triggers that have one", plans, rows)
		}
		b.mustVerify()
	})
}

// TestR73_SameCommandTakesTheTriggerOver: of a planner that was killed nothing is given
// back; who runs the same command again, later, goes on in its row, and reads everything.
func TestR73_SameCommandTakesTheTriggerOver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		killed := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: harvest.TriggerManual, BaseURL: b.BaseOf("crossref")}
		if _, err := b.Node.Planner.Receive(t.Context(), killed); err != nil {
			t.Fatal(err)
		}
		time.Sleep(harvest.ClaimTTL)
		rep := b.MustHarvest("crossref")
		b.MustBeExact("crossref", rep)
		if rows := b.ask(`SELECT COUNT(*) FROM ing_schedule_instance`); rows != 1 || b.outcomes(harvest.TriggerPlanned) != 1 {
			t.Errorf("%d triggers", rows)
		}
		b.mustVerify()
	})
}

// TestR73_LeftTriggerIsPlannedFromItsRow: a trigger is planned as it was asked for, by
// somebody who knows its row alone: an UPDATE with its ids, a plan as its preview showed
// it, and nothing that a person was to be asked about first.
func TestR73_LeftTriggerIsPlannedFromItsRow(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, planned)
		b.MustHarvest("crossref")
		ids := []string{"10.5555/5.1", "10.5555/5.2"}
		base := b.BaseOf("crossref")
		preview, err := b.Node.Planner.Preview(t.Context(), harvest.Trigger{
			Provenance: "crossref", Operation: harvest.Backfill, Activity: "shown", BaseURL: base, Priority: 250,
			From: b.Sim.Now().Add(-20 * 24 * time.Hour), To: b.Sim.Now().Add(-10 * 24 * time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		asks := func(harvest.Forecast) error { return nil }
		left := []harvest.Trigger{
			{Provenance: "crossref", Operation: harvest.Update, Activity: "again", Pick: harvest.CandidatePick{IDs: ids}, BaseURL: base},
			{
				Provenance: "crossref", Operation: harvest.Backfill, Activity: "shown", BaseURL: base, Shown: preview.Token,
				From: preview.Span.From.Time(), To: preview.Span.To.Time(), Priority: 250,
			},
			{Provenance: "crossref", Operation: harvest.Harvest, Query: "year:2020", Approve: asks, BaseURL: base},
		}
		for _, trigger := range left {
			trigger.Kind = harvest.TriggerManual
			if _, err := b.Node.Planner.Receive(t.Context(), trigger); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(harvest.ClaimTTL)
		if n, err := b.Node.Planner.PickUp(t.Context(), anySource); n != 3 || err != nil {
			t.Fatalf("picked up %d, %v", n, err)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_plan_candidate`); n != len(ids) {
			t.Errorf("%d ids are to be read again, not %d", n, len(ids))
		}
		slices := b.ask(`SELECT COUNT(*) FROM ing_task t JOIN ing_plan p ON p.id=t.plan_id WHERE p.activity_id='shown' AND t.priority=250`)
		if slices != preview.Slices.Len() {
			t.Errorf("%d slices of the plan that was shown with %d", slices, preview.Slices.Len())
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE outcome_code='REFUSED' AND record_remarks LIKE '%was to be asked%'`); n != 1 {
			t.Errorf("what a person was to be asked about was not refused")
		}
		b.mustVerify()
	})
}

// TestR73_TriggerThatKillsItsPlannersIsGivenUp: a trigger that five planners in a row have
// left is no sixth one's.
func TestR73_TriggerThatKillsItsPlannersIsGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		trigger := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: harvest.TriggerManual, BaseURL: b.BaseOf("crossref")}
		received, err := b.Node.Planner.Receive(t.Context(), trigger)
		if err != nil {
			t.Fatal(err)
		}
		at := received.Receipt
		for range harvest.MaxClaims - 1 {
			time.Sleep(harvest.ClaimTTL)
			at, err = b.Node.Store.ClaimTrigger(t.Context(), at, harvest.ClaimTTL)
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(harvest.ClaimTTL)
		if _, err := b.Node.Planner.PickUp(t.Context(), anySource); err != nil {
			t.Fatal(err)
		}
		if plans := b.ask(`SELECT COUNT(*) FROM ing_plan`); plans != 0 || b.outcomes(harvest.TriggerFailed) != 1 {
			t.Errorf("%d plans", plans)
		}
	})
}

// TestR73_RefusedQueryLeavesItsReason: what is asked for and cannot be done is kept with
// the reason, and says nothing of the source.
func TestR73_RefusedQueryLeavesItsReason(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		_, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", Query: "foo:bar", BaseURL: b.BaseOf("crossref")})
		known, _ := problem.Of(err)
		if known.Kind != problem.Usage {
			t.Fatalf("got %v", err)
		}
		_, err = b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "pubmed", Query: "ti:insulin OR ti:qqqzzqq", BaseURL: b.BaseOf("pubmed")})
		if f, _ := harvest.FaultOf(err); f.Code != harvest.CodeQueryWidened {
			t.Fatalf("a word that the source does not know: %v", err)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE outcome_code='REFUSED' AND provenance_code='pubmed'`); n != 1 {
			t.Errorf("%d triggers were refused for a word that the source does not know", n)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE outcome_code='REFUSED' AND record_remarks LIKE '%foo%' AND trigger_params LIKE '%foo:bar%'`); n != 1 {
			t.Errorf("%d triggers were refused with their reason", n)
		}
		st, err := b.Node.Control.Status(t.Context(), "")
		if err != nil || len(st.Needs) > 0 {
			t.Errorf("status: %+v, %v", st.Needs, err)
		}
		if n, err := b.Node.Planner.PickUp(t.Context(), anySource); n != 0 || err != nil {
			t.Errorf("picked up %d, %v", n, err)
		}
	})
}
