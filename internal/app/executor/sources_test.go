package executor_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// shipped is a rig over the shipped packs with small pages.
func shipped(t *testing.T, cfg sim.Config, tweak func(*source.Spec)) *patratest.Rig {
	t.Helper()
	cfg.Seed = 9
	cfg.LimitRPS = -1
	cfg.KeepLog = -1
	fast := func(s *source.Spec) {
		patratest.Fast(s)
		if tweak != nil {
			tweak(s)
		}
	}
	c := patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: cfg, Packs: map[string]registry.Pack{}}
	for _, code := range []string{"pubmed", "crossref"} {
		c.Packs[code] = patratest.ShippedPack(t, code, fast)
	}
	c.Node.Workers = 1
	return patratest.NewRig(t, c)
}

func small(s *source.Spec) { s.Paging.Size = 20 }

// TestR63_CrossrefFaultInMidWalkBeginsAtTheStar: whatever goes wrong, the
// cursor is never sent again.
func TestR63_CrossrefFaultInMidWalkBeginsAtTheStar(t *testing.T) {
	t.Parallel()
	for _, f := range []sim.Fault{
		sim.HTTP500, sim.HTTP502HTML, sim.HTTP503, sim.HTTP429, sim.ResetMidBody, sim.TruncatedBody, sim.ServedLost, sim.BadJSON,
		sim.CursorExpired, sim.Empty200, sim.HTML200,
	} {
		t.Run(string(f), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := shipped(t, sim.Config{Records: 70}, small)
				r.Sim.Script(sim.Script{Fault: f, Source: "crossref", When: func(q *http.Request) bool { return len(q.Form.Get("cursor")) > 1 }, After: 1})
				rep := r.MustHarvest("crossref")
				r.MustBeExact("crossref", rep)
				log := r.Sim.Requests()
				for i, q := range log {
					if q.Fault == f && log[i+1].Params.Get("cursor") != "*" {
						t.Errorf("after the fault came cursor %.10q", log[i+1].Params.Get("cursor"))
					}
				}
				if r.Sim.Scripted() != 0 {
					t.Error("the fault was never served")
				}
			})
		})
	}
}

// TestR63_PubMedWallCutsTheSlice: an answer of 200 that says the result cannot
// be reached whole.
func TestR63_PubMedWallCutsTheSlice(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := shipped(t, sim.Config{Records: 300, PubMedWall: 60}, func(s *source.Spec) { s.Paging.Size = 40 })
		rep := r.MustHarvest("pubmed")
		r.MustBeExact("pubmed", rep)
		if rep.Slices.Resliced == 0 || rep.Status != "COMPLETED" {
			t.Errorf("%s %+v", rep.Status, rep.Slices)
		}
	})
}

// TestR63_PubMedEFetch400IsTransient when its body says so.
func TestR63_PubMedEFetch400IsTransient(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := shipped(t, sim.Config{Records: 100}, nil)
		r.Sim.Script(sim.Script{Fault: sim.Viewer400, Source: "pubmed", Times: 2})
		rep := r.MustHarvest("pubmed")
		r.MustBeExact("pubmed", rep)
		if rep.Requests.Retried != 2 {
			t.Errorf("%d requests repeated, want 2", rep.Requests.Retried)
		}
	})
}

// TestR63_PubMedLostSessionRestartsTheSearch, not the details.
func TestR63_PubMedLostSessionRestartsTheSearch(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := shipped(t, sim.Config{Records: 100}, small)
		r.Sim.Script(sim.Script{Fault: sim.WebEnvLost, Source: "pubmed"})
		rep := r.MustHarvest("pubmed")
		r.MustBeExact("pubmed", rep)
		if r.Sim.Scripted() != 0 {
			t.Error("the fault was never served")
		}
	})
}

// TestR63_WidenedQueryIsNeverData: an errorlist means the answer is to another
// question.
func TestR63_WidenedQueryIsNeverData(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := shipped(t, sim.Config{Records: 100}, nil)
		r.Sim.Script(sim.Script{Fault: sim.Errorlist, Source: "pubmed", When: func(q *http.Request) bool { return q.Form.Get("retmax") != "0" }})
		rep := r.MustHarvest("pubmed")
		if rep.Status != "PARTIAL" || len(rep.Gaps) != 1 || !strings.Contains(rep.Gaps[0].Reason, "query_widened") || rep.Records.Inserted != 0 {
			t.Errorf("%s %+v %+v", rep.Status, rep.Records, rep.Gaps)
		}
	})
}
