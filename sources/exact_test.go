package sources_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/sourcecases"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/tape"
	"github.com/papertrace/patra/internal/infra/upstream"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// exactElsewhere are the modes of the oracle that suites of the node harvest.
var exactElsewhere = []string{sim.PubMed, sim.Crossref, sim.EuropePMC, sim.Generic}

// TestExact_EveryPackAgainstItsOracle harvests every pack that has a mode of the
// oracle, calm and with everything going wrong, lets the clock move on and harvests
// again: what is stored is what the oracle has, byte for byte.
func TestExact_EveryPackAgainstItsOracle(t *testing.T) {
	for _, code := range sim.Upstreams {
		if slices.Contains(exactElsewhere, code) || slices.Contains(sim.LookupOnly, code) {
			continue
		}
		for _, faults := range []string{"none", "heavy"} {
			t.Run(code+" "+faults, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { exactAgainst(t, code, faults) })
			})
		}
	}
}

func exactAgainst(t *testing.T, code, faults string) {
	time.Sleep(time.Until(operatorsNow.AddDate(0, 0, 60))) // bubbles begin when some sources did not exist
	f := must(sim.ParseFaults(faults))
	for kind := range f.Rates { // a plan is one walk, which has to see some
		f.Rates[kind] *= 2
	}
	f.MaxPerQuery *= 3
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t),
		Sim: sim.Config{
			Sources: []string{code}, Records: 150, Seed: 10, LimitRPS: -1, Faults: f, Now: operatorsNow, Span: 50 * 24 * time.Hour, ListSize: 4,
		},
		Packs: map[string]registry.Pack{code: patratest.ShippedPack(t, code, func(s *source.Spec) {
			patratest.Fast(s)
			s.Rate.Quotas = nil
			s.Window.Baseline = source.Duration(60 * 24 * time.Hour)
			if s.Paging.MaxPages > 1 || s.Paging.MaxPages == 0 { // else a slice is a page
				s.Paging.Size = min(s.Paging.Size, 4)
			}
		})},
		Node: node.Config{Workers: 2, Poll: 50 * time.Millisecond},
	})
	first := readExactly(t, r, code)
	if first.Status != "COMPLETED" || first.Records.Inserted == 0 {
		t.Errorf("first harvest: %+v", first)
	}
	r.Sim.Advance(72 * time.Hour)
	time.Sleep(time.Minute) // what has no date is told apart by when it was seen
	second := readExactly(t, r, code)
	if second.Records.Inserted+second.Records.Updated == 0 {
		t.Errorf("second harvest: %+v", second.Records)
	}
	if served := r.Sim.Stats().Sources[code].Faults; faults == "heavy" && len(served) < 2 {
		t.Errorf("few faults were served in %d and %d requests: %v", first.Requests.Sent, second.Requests.Sent, served)
	}
}

// readExactly harvests a source, or reads all of it if it does not tell of changes, and
// holds what is stored against the truth.
func readExactly(t *testing.T, r *patratest.Rig, code string) *control.Report {
	t.Helper()
	if code != sim.SemanticScholar {
		rep := r.MustHarvest(code)
		r.MustBeExact(code, rep)
		return rep
	}
	now := r.Sim.Now().Truncate(24*time.Hour).AddDate(0, 0, -1) // a day of lag
	rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{
		Source: code, Operation: harvest.Backfill, Activity: now.String(), BaseURL: r.BaseOf(code), From: now.AddDate(0, -6, 0), To: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	patratest.MustEqual(t, r.Node.Store, r.Sim, code, now)
	patratest.MustVerify(t, r.Node.Store)
	return rep
}

// TestPlanted_AWrongStopRuleFailsACase: whatever other rule than its own a pack is
// given to end a walk by, one of the cases beside it fails.
func TestPlanted_AWrongStopRuleFailsACase(t *testing.T) {
	planted := 0
	for _, code := range sim.Upstreams {
		if code == sim.Generic { // which has no pack
			continue
		}
		t.Run(code, func(t *testing.T) {
			cases := must(sourcefile.ParseCases(code, must(sources.FS.ReadFile(code+".cases.yaml"))))
			cases = slices.DeleteFunc(cases, func(c sourcecases.Case) bool { return c.Want.End == "" })
			declared := compile(t, code, cases[0].Operation).Paging
			if bad := tried(t, code, cases, declared); len(bad) > 0 {
				t.Fatalf("the pack as it is: %v", bad)
			}
			for _, wrong := range wrongRules(declared) {
				planted++
				if bad := tried(t, code, cases, wrong); len(bad) == 0 {
					t.Errorf("no case fails with end %v, total exact %v", wrong.End, wrong.TotalExact)
				}
			}
		})
	}
	if least := 2 * (len(sim.Upstreams) - 1); planted < least {
		t.Errorf("only %d wrong rules were planted in all packs, want %d", planted, least)
	}
}

// wrongRules are other ends than those declared, alone, and with pages that are
// counted also the belief that a short page is the last.
func wrongRules(declared harvest.Paging) (out []harvest.Paging) {
	proofs := []harvest.EndProof{harvest.EndEmpty, harvest.EndTotal, harvest.EndShortPage}
	if declared.Type == harvest.PageToken {
		proofs = append(proofs, harvest.EndNoToken, harvest.EndNextEmpty, harvest.EndRepeat)
	}
	for _, e := range proofs {
		wrong := declared
		wrong.End = []harvest.EndProof{e}
		wrong.TotalExact = wrong.TotalExact || e == harvest.EndTotal
		if !slices.Contains(declared.End, e) {
			out = append(out, wrong)
		}
	}
	if declared.Type == harvest.PageOffset || declared.Type == harvest.PageNumber {
		wrong := declared
		wrong.End = append([]harvest.EndProof{harvest.EndShortPage}, declared.End...)
		out = append(out, wrong)
	}
	return out
}

// tried runs cases of a pack with another paging and returns those that fail.
func tried(t *testing.T, code string, cases []sourcecases.Case, paging harvest.Paging) (bad []string) {
	t.Helper()
	pack := must(sourcefile.Parse(code+".yaml", must(sources.FS.ReadFile(code+".yaml"))))
	bench := sourcecases.Bench{
		Compile: func(op harvest.Operation, query string) (*source.Spec, error) {
			spec, _, err := pack.Compile(source.Trigger{Operation: op, Query: query, Vars: map[string]string{"contact": "ops@example.org", "tool": "patra"}})
			if err == nil {
				spec.Paging = paging
			}
			return spec, err
		},
		Answering: func(r sourcecases.Reply) sourcecases.Upstream {
			return upstream.New(upstream.Config{Transport: tape.Canned(r)}, gate.New(gate.Config{}, nil), upstream.DecodersFrom(new(decode.Cache).Of))
		},
	}
	for _, r := range must(bench.Run(context.WithoutCancel(t.Context()), cases)) {
		if len(r.Differences) > 0 {
			bad = append(bad, r.Name+": "+strings.Join(r.Differences, "; "))
		}
	}
	return bad
}
