package node_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestHarvest_ThreeRounds is the whole promise on one page: a first harvest,
// two more after the upstream moved on, and one with nothing new.
func TestHarvest_ThreeRounds(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		for _, faults := range []string{"none", "heavy"} {
			t.Run(faults, func(t *testing.T) {
				f, err := sim.ParseFaults(faults)
				if err != nil {
					t.Fatal(err)
				}
				r := patratest.NewRig(t, patratest.RigConfig{
					DSN: e.SpareDSN(t),
					Sim: sim.Config{Records: 600, Seed: 3, LimitRPS: -1, Faults: f, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
				})
				for _, code := range []string{"pubmed", "crossref"} {
					first := r.MustHarvest(code)
					r.MustBeExact(code, first)
					if first.Records.Inserted == 0 || first.Status != "COMPLETED" {
						t.Fatalf("first harvest: %+v", first)
					}
				}
				for round := 2; round <= 3; round++ {
					r.Sim.Advance(48 * time.Hour)
					for _, code := range []string{"pubmed", "crossref"} {
						rep := r.MustHarvest(code)
						r.MustBeExact(code, rep)
						if rep.Records.Updated == 0 || rep.Records.Inserted == 0 {
							t.Errorf("round %d of %s brought nothing: %+v", round, code, rep.Records)
						}
						again := r.MustHarvest(code)
						if !again.Noop || again.Requests.Sent > 1+again.Requests.Retried {
							t.Errorf("nothing new, yet %+v", again)
						}
						r.MustBeExact(code, again)
					}
				}
			})
		}
	})
}

// TestHarvest_InABubble shows that a whole node runs in virtual time.
func TestHarvest_InABubble(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.SpareDSN(t)
	synctest.Test(t, func(t *testing.T) {
		r := patratest.NewRig(t, patratest.RigConfig{DSN: dsn, Sim: sim.Config{Records: 300, Seed: 5}})
		rep := r.MustHarvest("pubmed")
		r.MustBeExact("pubmed", rep)
	})
}

// TestR17_SourceWithoutCount: the upstream's clock is learned from a page where
// nothing can be counted, so that no window ends past it.
func TestR17_SourceWithoutCount(t *testing.T) {
	t.Parallel()
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t),
		Sim: sim.Config{Records: 200, Seed: 3, LimitRPS: -1},
		Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
			patratest.Fast(s)
			s.Count = nil
		})},
	})
	rep := r.MustHarvest("crossref")
	r.MustBeExact("crossref", rep)
	if !rep.Window.To.Time().Before(r.Sim.Now()) {
		t.Errorf("window ends at %s, upstream's clock says %s", rep.Window.To, r.Sim.Now())
	}
	if again := r.MustHarvest("crossref"); !again.Noop {
		t.Errorf("nothing new, yet %+v", again)
	}
}

// TestHarvest_WaitsSayWhy: while the source is down the watch says that it does not
// answer, then that it rests and until when, and never a time that is past.
func TestHarvest_WaitsSayWhy(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.SpareDSN(t)
	synctest.Test(t, func(t *testing.T) {
		r := patratest.NewRig(t, patratest.RigConfig{DSN: dsn, Sim: sim.Config{Records: 300, Seed: 5, LimitRPS: -1}, Node: node.Config{Poll: 5 * time.Second}, Packs: map[string]registry.Pack{
			"crossref": patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
				patratest.Fast(s)
				s.Retry.Base, s.Retry.Max = source.Duration(5*time.Second), source.Duration(10*time.Second)
			}),
		}})
		r.Sim.Script(
			sim.Script{Fault: sim.HTTP500, Times: 3},
			sim.Script{Fault: sim.HTTP500, Times: -1, When: func(r *http.Request) bool { return r.Form.Get("rows") != "0" }})
		watch := new(control.Watch)
		ended := make(chan error, 1)
		go func() {
			_, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", BaseURL: r.Base + "/crossref", Watch: watch})
			ended <- err
		}()
		seen := map[string]bool{}
		waited := 0
		bare := 0
		for time.Sleep(time.Second); len(ended) == 0; time.Sleep(time.Second) {
			p := watch.Progress()
			if p.Wait == "" {
				bare++
			}
			for _, word := range []string{"attempt 1 of", "circuit_open", "last try failed"} {
				if strings.Contains(p.Wait, word) {
					seen[p.State+" "+word] = true
				}
			}
			if at, ok := strings.CutPrefix(p.Wait, "waiting until "); ok {
				waited++
				until, err := time.Parse(time.RFC3339, at[:20])
				if err != nil || until.Add(time.Second).Before(time.Now()) {
					t.Fatalf("at %s: %s (%v)", time.Now().UTC(), p.Wait, err)
				}
			}
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if !seen["planning attempt 1 of"] || !seen["harvesting attempt 1 of"] || !seen["harvesting circuit_open"] || waited < 1800 || bare > waited/20 {
			t.Errorf("seen %v, waits shown for %d seconds, none for %d", seen, waited, bare)
		}
		if w := watch.Progress().Wait; w != "" {
			t.Errorf("in the end it waits: %s", w)
		}
	})
}
