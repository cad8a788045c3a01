package planner_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// bench is a node over the shipped packs.
type bench struct {
	*patratest.Rig
	t   *testing.T
	dsn string
}

// benchPoll is long: some plans wait for days of virtual time.
const benchPoll = 5 * time.Minute

func newBench(t *testing.T, cfg sim.Config, tweak func(*source.Spec)) *bench {
	t.Helper()
	return newBenchOn(t, patratest.SQLite, cfg, tweak)
}

func newBenchOn(t *testing.T, e patratest.Engine, cfg sim.Config, tweak func(*source.Spec)) *bench {
	t.Helper()
	cfg.Seed = 5
	cfg.LimitRPS = -1
	cfg.KeepLog = -1
	if cfg.Records == 0 {
		cfg.Records = 200
	}
	if cfg.Churn == nil {
		cfg.Churn = &sim.Churn{New: 10, Changed: 5}
	}
	b := &bench{t: t, dsn: e.SpareDSN(t)}
	c := patratest.RigConfig{DSN: b.dsn, Sim: cfg, Packs: map[string]registry.Pack{}, Node: node.Config{Workers: 1, Poll: benchPoll}}
	if e != patratest.SQLite {
		c.Node.Poll = 50 * time.Millisecond
	}
	for _, code := range []string{"pubmed", "crossref"} {
		c.Packs[code] = patratest.ShippedPack(t, code, func(s *source.Spec) {
			patratest.Fast(s)
			if tweak != nil {
				tweak(s)
			}
		})
	}
	b.Rig = patratest.NewRig(t, c)
	return b
}

// ask reads one number from the store.
func (b *bench) ask(query string, args ...any) (n int) {
	b.t.Helper()
	b.scan(&n, query, args...)
	return n
}

func (b *bench) scan(into any, query string, args ...any) {
	b.t.Helper()
	if err := patratest.Raw(b.t, b.dsn).QueryRow(query, args...).Scan(into); err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
}

// crowd adds n records to a day of PubMed, which is returned.
func (b *bench) crowd(n int) time.Time {
	b.t.Helper()
	day := b.Sim.Now().Add(-10 * 24 * time.Hour)
	for range n {
		if _, err := b.Sim.AddLate("pubmed", day, day); err != nil {
			b.t.Fatal(err)
		}
	}
	return day
}

var warm sync.Once

// bubble runs f in virtual time, after what lives as long as the process has
// come to life outside.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	warm.Do(func() { newBench(t, sim.Config{Records: 5}, nil).MustHarvest("crossref") })
	synctest.Test(t, f)
}

func planned(s *source.Spec) { s.Window.Target = 40 }

// state is everything a refused plan must leave as it was.
func (b *bench) state() string {
	b.t.Helper()
	var values string
	b.scan(&values, `SELECT GROUP_CONCAT(cursor_value) FROM ing_cursor`)
	return fmt.Sprint(b.ask(`SELECT COUNT(*) FROM ing_plan`), b.ask(`SELECT COUNT(*) FROM ing_plan_slice`), b.ask(`SELECT COUNT(*) FROM ing_task`),
		b.ask(`SELECT COUNT(*) FROM ing_cursor_event`), values)
}

// TestR3_LaterStartIsRefusedOfAPartialPlan: that a plan is not whole yet makes a
// hole behind it no better.
func TestR3_LaterStartIsRefusedOfAPartialPlan(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Window.Target = 20
			s.Window.MaxOpen = 4
			s.Paging.Size = 20
		})
		trigger := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/crossref"}
		p, err := b.Node.Planner.Plan(t.Context(), trigger)
		if err != nil || p.Plan.Status != harvest.PlanPartial {
			t.Fatalf("%+v, %v", p, err)
		}
		b.exec(`UPDATE ing_task SET status_code='FAILED' WHERE status_code='QUEUED'`) // there is room again
		slices := b.ask(`SELECT COUNT(*) FROM ing_plan_slice`)
		trigger.From = p.Plan.Span.To.Time().Add(time.Hour)
		_, err = b.Node.Planner.Plan(t.Context(), trigger)
		if past, ok := errors.AsType[*harvest.PastFrontierError](err); !ok || !past.Frontier.Equal(p.Plan.Span.To.Time()) {
			t.Errorf("got %v", err)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_plan_slice`); n != slices {
			t.Errorf("%d slices, %d before", n, slices)
		}
		trigger.From = p.Plan.Span.From.Time()
		p, err = b.Node.Planner.Plan(t.Context(), trigger)
		if err != nil || p.Noop {
			t.Errorf("an earlier start: %+v, %v", p, err)
		}
	})
}

// TestR3_LaterStartIsRefused: it would leave a hole, and nothing is changed.
func TestR3_LaterStartIsRefused(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		if e != patratest.SQLite {
			laterStart(t, e)
			return
		}
		bubble(t, func(t *testing.T) { laterStart(t, e) })
	})
}

func laterStart(t *testing.T, e patratest.Engine) {
	b := newBenchOn(t, e, sim.Config{}, nil)
	rep := b.MustHarvest("crossref")
	before := b.state()
	sent := len(b.Sim.Requests())
	b.Sim.Advance(72 * time.Hour)
	w := rep.Watermark.Time()
	_, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", From: w.Add(24 * time.Hour), BaseURL: b.Base + "/crossref"})
	past, ok := errors.AsType[*harvest.PastFrontierError](err)
	if !ok || !past.Watermark.Equal(w) || !strings.Contains(err.Error(), "would skip") {
		t.Fatalf("refused with %v", err)
	}
	if after := b.state(); after != before {
		t.Errorf("the store changed from %s to %s", before, after)
	}
	if n := len(b.Sim.Requests()); n != sent {
		t.Errorf("%d requests for a plan that cannot be", n-sent)
	}
	if n := b.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE outcome_code='REFUSED' AND record_remarks LIKE '%would skip%'`); n != 1 {
		t.Error("the trigger left no trace")
	}
	// Not later than the frontier: no hole, no refusal.
	if _, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", From: w, BaseURL: b.Base + "/crossref"}); err != nil {
		t.Errorf("from the frontier: %v", err)
	}
}

// TestR4_AGapHoldsTheWatermarkNotNewWindows: a slice in the middle fails over
// three triggers; nothing is planned twice, and one jump follows its repair.
func TestR4_AGapHoldsTheWatermarkNotNewWindows(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, planned)
		var terms []string
		b.Sim.Script(sim.Script{Fault: sim.Errorlist, Source: "pubmed", Times: -1, When: func(r *http.Request) bool {
			term := r.Form.Get("term")
			if r.Form.Get("retmax") == "0" {
				return false
			}
			if len(terms) == 0 || terms[len(terms)-1] != term {
				terms = append(terms, term)
			}
			return len(terms) > 2 && term == terms[2]
		}})
		var held time.Time
		for n := range 3 {
			rep := b.MustHarvest("pubmed")
			if rep.Status != "PARTIAL" || len(rep.Gaps) != 1 {
				t.Fatalf("trigger %d: %s, gaps %+v", n, rep.Status, rep.Gaps)
			}
			if w := rep.Watermark.Time(); !w.Equal(rep.Gaps[0].From.Time()) || n > 0 && !w.Equal(held) {
				t.Errorf("trigger %d: watermark %s, gap from %s", n, w, rep.Gaps[0].From)
			}
			held = rep.Watermark.Time()
			b.Sim.Advance(72 * time.Hour)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_plan`); n != 3 {
			t.Errorf("%d plans for 3 triggers", n)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_plan_slice a JOIN ing_plan_slice b ON a.id<b.id AND a.window_from<b.window_to AND b.window_from<a.window_to
			WHERE a.status_code<>'RESLICED' AND b.status_code<>'RESLICED'`); n != 0 {
			t.Errorf("%d slices overlap: an instant was planned twice", n)
		}
		moves := b.ask(`SELECT COUNT(*) FROM ing_cursor_event`)
		b.Sim.ClearScripts()
		time.Sleep(25 * time.Hour)
		rep, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "pubmed", To: held, BaseURL: b.Base + "/pubmed"}) // no new window
		if err != nil || rep.Status != "COMPLETED" {
			t.Fatalf("repair: %v %+v", err, rep)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_cursor_event`); n != moves+1 {
			t.Errorf("%d moves of the watermark on repair, want 1", n-moves)
		}
		b.MustBeExact("pubmed", rep)
	})
}

// TestR17_WindowGivesWayToTheUpstreamsClock, and never to one that is ahead.
func TestR17_WindowGivesWayToTheUpstreamsClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"behind": -90 * time.Minute, "alike": 0, "ahead": 100 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				now := time.Now().UTC()
				b := newBench(t, sim.Config{Now: now.Add(ahead)}, nil)
				rep := b.MustHarvest("crossref")
				want := now.Add(min(ahead, 0)).Add(-10 * time.Minute)
				if to := rep.Window.To.Time(); !to.Equal(want) {
					t.Errorf("window ends %s, want %s", to, want)
				}
			})
		})
	}
}

// TestC12_PlansWithTheEstimatorDown: slices are cut by step then; but whose
// clock was never seen is not planned for.
func TestC12_PlansWithTheEstimatorDown(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		down := sim.Script{Fault: sim.ResetBeforeHeader, Source: "crossref", Times: -1, When: func(r *http.Request) bool { return r.Form.Get("rows") == "0" }}
		b.Sim.Script(sim.Script{Fault: sim.ResetBeforeHeader, Source: "crossref", Times: -1})
		if _, err := b.Harvest(t.Context(), "crossref"); err == nil {
			t.Fatal("planned for an upstream nobody has heard of")
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_plan`); n != 0 {
			t.Errorf("%d plans", n)
		}
		b.Sim.ClearScripts()
		b.MustHarvest("crossref")
		b.Sim.Advance(72 * time.Hour)
		time.Sleep(72 * time.Hour) // its clock is as far off as when last seen
		b.Sim.Script(down)
		rep := b.MustHarvest("crossref")
		if rep.Status != "COMPLETED" || rep.Slices.Done != 3 { // three days, a day each
			t.Errorf("%s %+v", rep.Status, rep.Slices)
		}
		b.MustBeExact("crossref", rep)
	})
}

// TestC12_ReckonsWithWhatIsDeclared: nothing counts and nothing is known of
// before, but the source says how much a day may bring.
func TestC12_ReckonsWithWhatIsDeclared(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) { s.Window.PerDay, s.Window.Target = 1000, 250 })
		b.MustHarvest("crossref")
		const declared = `SELECT COUNT(*) FROM ing_plan_slice WHERE slice_spec LIKE '%"CONSTANT"%'`
		if n := b.ask(declared); n != 0 {
			t.Errorf("%d slices by what is declared, though the source counts", n)
		}
		b.Sim.Script(sim.Script{Fault: sim.ResetBeforeHeader, Source: "crossref", Times: -1, When: func(r *http.Request) bool { return r.Form.Get("rows") == "0" }})
		to := b.Sim.Now().Add(-40 * 24 * time.Hour)
		rep, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{
			Source: "crossref", Operation: harvest.Backfill, Activity: "two days", From: to.Add(-48 * time.Hour), To: to, BaseURL: b.Base + "/crossref",
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := b.ask(declared); n != 8 || rep.Slices.Done != 8 {
			t.Errorf("%d slices of a quarter of a day in two days, %+v", n, rep.Slices)
		}
		patratest.MustVerify(t, b.Node.Store)
	})
}

// TestC12_NoRequestInsideATransaction: while a count is answered the only
// writing connection must be free.
func TestC12_NoRequestInsideATransaction(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, planned)
		counts := 0
		b.Sim.SetOnRequest(func(r *http.Request) {
			if r.Form.Get("retmax") != "0" {
				return
			}
			counts++
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := b.Node.Store.UpdateGate(ctx, "probe", func(s []byte, _, _ time.Time) []byte { return append(s, '.') }); err != nil {
				t.Errorf("the store is busy while the planner asks: %v", err)
			}
		})
		b.MustHarvest("pubmed")
		if counts < 5 {
			t.Errorf("only %d counts", counts)
		}
	})
}

// TestPlanner_DaysOverTheWall: slices are halved until they fit, and a day
// that cannot fit is a gap with a reason that holds the watermark.
func TestPlanner_DaysOverTheWall(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{PubMedWall: 40}, func(s *source.Spec) {
			s.Paging.MaxItems = 40
			s.Paging.Size = 40
			s.Window.Target = 40
			s.Window.Split, s.Window.Strategy = nil, harvest.StrategyTime
		})
		day := b.crowd(60)
		rep := b.MustHarvest("pubmed")
		if len(rep.Gaps) != 1 || !strings.Contains(rep.Gaps[0].Reason, "cannot be cut smaller") {
			t.Fatalf("gaps %+v", rep.Gaps)
		}
		g := rep.Gaps[0]
		from, to := g.From.Time(), g.To.Time()
		if day.Before(from) || !day.Before(to) || to.Sub(from) > 25*time.Hour {
			t.Errorf("the gap is [%s, %s), the day %s", g.From, g.To, day)
		}
		if w := rep.Watermark.Time(); !w.Equal(from) {
			t.Errorf("watermark %s is not held by the gap from %s", w, g.From)
		}
		if rep.Slices.Failed != 1 || rep.Slices.Open != 0 || rep.Slices.Resliced != 0 {
			t.Errorf("slices %+v: the others are to be done, and none planned too large", rep.Slices)
		}
		for _, q := range b.Sim.Requests() {
			if term := q.Params.Get("term"); q.Params.Get("retmax") == "40" && strings.HasPrefix(term, day.In(eastern(t)).Format("2006/01/02")) {
				t.Errorf("the day over the wall was searched: %s", term)
			}
		}
		patratest.MustVerify(t, b.Node.Store)
	})
}

// TestPlanner_DaysOverTheWallByIDs: with a second dimension a day that holds more
// than can be paged through is read by ranges of ids, whole, and the watermark
// passes it when all of them are done.
func TestPlanner_DaysOverTheWallByIDs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{PubMedWall: 40}, func(s *source.Spec) {
			s.Paging.MaxItems = 40
			s.Paging.Size = 40
			s.Window.Target = 40
		})
		b.crowd(200)
		rep := b.MustHarvest("pubmed")
		b.MustBeExact("pubmed", rep)
		if len(rep.Gaps) != 0 || rep.Slices.Resliced != 0 {
			t.Errorf("slices %+v, gaps %+v", rep.Slices, rep.Gaps)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE slice_spec LIKE '%"HYBRID"%'`); n < 5 || n > 20 {
			t.Errorf("%d slices by ids for some 200 records, 40 at a time", n)
		}
		patratest.MustVerify(t, b.Node.Store)
	})
}

func eastern(t *testing.T) *time.Location {
	t.Helper()
	z, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestPlanner_NothingNewIsANoop: recorded, and no plan is made.
func TestPlanner_NothingNewIsANoop(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		first := b.MustHarvest("crossref")
		for range 3 {
			rep := b.MustHarvest("crossref")
			if !rep.Noop || rep.Requests.Sent > 1 || rep.Watermark == nil || !rep.Watermark.Time().Equal(first.Watermark.Time()) {
				t.Errorf("%+v", rep)
			}
		}
		if p, n := b.ask(`SELECT COUNT(*) FROM ing_plan`), b.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE outcome_code='NOOP'`); p != 1 || n != 3 {
			t.Errorf("%d plans, %d noops", p, n)
		}
	})
}

// TestR38_PlansWithinTheDaysQuota: planning stops where the quota of a day is
// spoken for by open tasks, says so, and goes on with the same plan when they are
// done; in the end everything is there, and no day has seen more than its quota.
func TestR38_PlansWithinTheDaysQuota(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const quota = 11
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Window.Target = 60
			s.Paging.Size = 20
			s.Rate.QPS = 5
			s.Rate.Quotas = []source.QuotaConfig{{Limit: quota, Window: source.Duration(24 * time.Hour)}}
		})
		p, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/crossref"})
		if err != nil || p.Plan.Status != harvest.PlanPartial || !strings.Contains(p.Reason, "quota of 11 per 24h") {
			t.Fatalf("%+v, %v", p, err)
		}
		if again, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/crossref"}); err != nil || !again.Noop || !strings.Contains(again.Reason, "spoken for") {
			t.Fatalf("%+v, %v", again, err)
		}
		rep := b.MustHarvest("crossref") // goes on until nothing is left
		if rep.Status != "COMPLETED" {
			t.Errorf("%+v", rep)
		}
		b.MustBeExact("crossref", rep)
		var at []time.Time
		for _, q := range b.Sim.Requests() {
			at = append(at, q.At)
		}
		for i := range at {
			n := 0
			for _, x := range at[i:] {
				if x.Sub(at[i]) < 24*time.Hour {
					n++
				}
			}
			if n > quota {
				t.Fatalf("%d requests in a day from %s", n, at[i])
			}
		}
	})
}

// TestC1_PlanKeepsItsPriority: slices that a plan gets later stand in the queue
// where its first ones do, or where the trigger wants them that goes on with it.
func TestC1_PlanKeepsItsPriority(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) { s.Window.Target, s.Window.MaxOpen = 20, 4 })
		for i, c := range []struct{ wish, want int }{{170, 170}, {0, 170}, {180, 180}, {0, 170}} {
			p, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", Priority: c.wish, BaseURL: b.Base + "/crossref"})
			if err != nil || p.Noop || p.Plan.Status != harvest.PlanPartial && i < 2 {
				t.Fatalf("trigger %d: %+v, %v", i+1, p, err)
			}
			if n, other := b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='QUEUED' AND priority=?`, c.want), b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='QUEUED' AND priority<>?`, c.want); n == 0 || other != 0 {
				t.Errorf("trigger %d: %d tasks at %d, %d elsewhere", i+1, n, c.want, other)
			}
			if p.Plan.Status != harvest.PlanPartial {
				break
			}
			b.exec(`UPDATE ing_task SET status_code='FAILED' WHERE status_code='QUEUED'`) // there is room again
		}
	})
}

func (b *bench) exec(query string) {
	b.t.Helper()
	if _, err := patratest.Raw(b.t, b.dsn).Exec(query); err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
}

// TestC12_ARefusedCountIsUnknown: a source whose counts are refused is planned by
// step, for its searches may work; one whose fault stops the source is not.
func TestC12_ARefusedCountIsUnknown(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		counts := func(f sim.Fault) {
			b.Sim.ClearScripts()
			b.Sim.Script(sim.Script{Fault: f, Source: "pubmed", Times: -1, When: func(r *http.Request) bool { return r.Form.Get("retmax") == "0" }})
		}
		counts(sim.HTML200)
		if _, err := b.Harvest(t.Context(), "pubmed"); err == nil || b.ask(`SELECT COUNT(*) FROM ing_plan`) != 0 {
			t.Errorf("planned although it was to be stopped: %v", err)
		}
		if st, err := b.Node.Store.SourceState(t.Context(), "pubmed"); err != nil || !st.Stopped {
			t.Errorf("not stopped: %+v, %v", st, err)
		}
		if err := b.Node.Store.HoldSource(t.Context(), "pubmed", false, false, ""); err != nil {
			t.Fatal(err)
		}
		counts(sim.Errorlist)
		rep := b.MustHarvest("pubmed")
		if rep.Status != "COMPLETED" || rep.Slices.Done < 2 {
			t.Errorf("%s %+v", rep.Status, rep.Slices)
		}
		b.MustBeExact("pubmed", rep)
		plans := b.ask(`SELECT COUNT(*) FROM ing_plan`)
		_, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "pubmed", Operation: harvest.Harvest, Kind: "MANUAL", Query: "year:2020", BaseURL: b.Base + "/pubmed"})
		if f, _ := harvest.FaultOf(err); f.Level != harvest.Rejected || b.ask(`SELECT COUNT(*) FROM ing_plan`) != plans {
			t.Errorf("a query that the source refuses was planned: %v", err)
		}
	})
}

// TestR7_ANewSelectionSaysSo: the first harvest of a source begins at its baseline, that
// of a query where the source does, and says so where the plan is kept; the next one has
// nothing to say.
func TestR7_ANewSelectionSaysSo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		const said = `SELECT COUNT(*) FROM ing_plan WHERE record_remarks LIKE '%first harvest of crossref%begun at %'`
		for i, c := range []struct {
			query string
			want  int
			at    string
		}{
			{"", 1, "begun at its baseline, "},
			{"", 1, ""},
			{"year:2020", 2, "begun at the beginning of the source, 1900-01-01T00:00:00Z"},
			{"year:2020", 2, ""},
		} {
			p, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", Query: c.query, BaseURL: b.Base + "/crossref"})
			if err != nil || p.Noop {
				t.Fatalf("%+v, %v", p, err)
			}
			if n := b.ask(said); n != c.want || c.at != "" && !strings.Contains(fmt.Sprint(p.Warnings), c.at) {
				t.Errorf("plan %d: %d plans say so, want %d; %v", i+1, n, c.want, p.Warnings)
			}
			b.Sim.Advance(48 * time.Hour)
			time.Sleep(48 * time.Hour)
		}
	})
}

// TestApprove_IsAskedBeforeTheFirstPlanIsSaved: who asked for a query is shown how many
// records there are for it, before the first plan of it is saved and never after. A no
// leaves no plan and no cursor behind.
func TestApprove_IsAskedBeforeTheFirstPlanIsSaved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		var shown []harvest.Forecast
		no := errors.New("no")
		var answer error
		trigger := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/crossref"}
		trigger.Approve = func(f harvest.Forecast) error {
			shown = append(shown, f)
			return answer
		}
		answer = no
		_, err := b.Node.Planner.Plan(t.Context(), trigger)
		if !errors.Is(err, no) || len(shown) != 1 || shown[0].Records == 0 || shown[0].Slices == 0 || shown[0].Source != "crossref" {
			t.Fatalf("shown %+v, and then %v", shown, err)
		}
		if plans := b.ask(`SELECT COUNT(*) FROM ing_plan`); plans != 0 {
			t.Errorf("%d plans were saved in spite of a no", plans)
		}
		if cursors := b.ask(`SELECT COUNT(*) FROM ing_cursor`); cursors != 0 {
			t.Errorf("%d cursors were made in spite of a no", cursors)
		}
		answer = nil
		p, err := b.Node.Planner.Plan(t.Context(), trigger)
		if err != nil || len(shown) != 2 || shown[1].Records != p.Expected || shown[1].Span != p.Span {
			t.Fatalf("shown %+v, planned %+v, %v", shown, p, err)
		}
		b.Sim.Advance(48 * time.Hour)
		time.Sleep(48 * time.Hour)
		p, err = b.Node.Planner.Plan(t.Context(), trigger)
		if err != nil || p.Noop || len(shown) != 2 {
			t.Errorf("the second plan: %+v, %v, shown %d times", p, err, len(shown))
		}
	})
}

// TestApprove_SaysThatNobodyCanSay: of a source that cannot count, who asks for a query is told that nobody knows
// how many records there are. Who asks for what has changed lately is not.
func TestApprove_SaysThatNobodyCanSay(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Count = nil
			s.Paging.NewestFirst = true // the total of its pages is of all times
		})
		for query, uncounted := range map[string]bool{"ti:insulin": true, "": false} {
			var shown []harvest.Forecast
			_, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{
				Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/crossref", Query: query,
				Approve: func(f harvest.Forecast) error {
					shown = append(shown, f)
					return nil
				},
			})
			if err != nil || len(shown) != 1 || shown[0].Uncounted != uncounted {
				t.Errorf("query %q: shown %+v, %v", query, shown, err)
			}
		}
	})
}

// TestR17_ClocksAreApart: what the clock of one host said is not taken for that
// of another, so that a simulator's past does not cut the source's windows.
func TestR17_ClocksAreApart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		b.MustHarvest("crossref")
		b.Sim.Script(sim.Script{Fault: sim.ResetBeforeHeader, Times: -1})
		_, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: "http://elsewhere/crossref"})
		if err == nil || !strings.Contains(err.Error(), "first contact") {
			t.Errorf("planned by the clock of another host: %v", err)
		}
	})
}
