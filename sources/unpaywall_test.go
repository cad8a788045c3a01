package sources_test

import (
	"strings"
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

// TestUnpaywall_ReadsDOIsOneByOne: what the oracle knows of the DOIs of a list is
// stored, byte for byte, whatever goes wrong on the way; those it has never heard of
// leave nothing. What is recorded is read in TestRecordings_Replies.
func TestUnpaywall_ReadsDOIsOneByOne(t *testing.T) {
	t.Parallel()
	packTest{name: "unpaywall", ops: []harvest.Operation{harvest.Update}}.compile(t)
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN:   patratest.SQLite.DSN(t),
		Sim:   sim.Config{Sources: []string{sim.Unpaywall}, Records: 40, Seed: 3, LimitRPS: -1, Faults: must(sim.ParseFaults("heavy"))},
		Packs: map[string]registry.Pack{sim.Unpaywall: patratest.ShippedPack(t, sim.Unpaywall, patratest.Fast)},
		Node:  node.Config{Workers: 2, Poll: 50 * time.Millisecond},
	})
	want, ids := map[string]string{}, []string{}
	for row := range r.Sim.Truth(sim.Unpaywall) {
		ids = append(ids, row.ID)
		want[row.ID] = row.RawSHA256
	}
	rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{
		Source: sim.Unpaywall, Operation: harvest.Update, Activity: "list", BaseURL: r.BaseOf(sim.Unpaywall), Pick: harvest.CandidatePick{IDs: ids},
	})
	if err != nil || rep.Status != "COMPLETED" {
		t.Fatalf("%+v, %v", rep, err)
	}
	stored := 0
	if err := r.Node.Store.Export(t.Context(), control.ExportQuery{Sources: []string{sim.Unpaywall}}, func(e *control.Exported) error {
		stored++
		if e.RawSHA256 != want[e.ID] {
			t.Errorf("%s has other bytes", e.ID)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if stored != 36 { // one in ten is not known
		t.Errorf("%d are stored", stored)
	}
	patratest.MustVerify(t, r.Node.Store)
}

// TestUnpaywall_ThatItListsNothingIsNoMistake: who wants to harvest a source that answers for
// single records alone is told that, and what to do instead; its description has no mistake.
func TestUnpaywall_ThatItListsNothingIsNoMistake(t *testing.T) {
	t.Parallel()
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN:   patratest.SQLite.DSN(t),
		Sim:   sim.Config{Sources: []string{sim.Unpaywall}, Records: 4, Seed: 3, LimitRPS: -1},
		Packs: map[string]registry.Pack{sim.Unpaywall: patratest.ShippedPack(t, sim.Unpaywall, patratest.Fast)},
	})
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill} {
		_, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: sim.Unpaywall, Operation: op, BaseURL: r.BaseOf(sim.Unpaywall)})
		p, told := problem.Of(err)
		if !told || p.Code != "lists_nothing" || strings.Contains(p.Title, "mistake") || !strings.Contains(p.Next, "patra refresh unpaywall --ids FILE") {
			t.Errorf("%s is refused with %+v (%v)", op, p, err)
		}
	}
}
