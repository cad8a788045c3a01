package executor_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestUpdate_WhatNoListHoldsIsLookedUp: Crossref's lists cannot hold a DOI with a
// comma. It is asked for alone, answered for like any other, and never a bad id.
// What has become another work redirects, and is merged.
func TestUpdate_WhatNoListHoldsIsLookedUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var r *patratest.Rig
		aliases := map[string]string{}
		r = patratest.NewRig(t, patratest.RigConfig{
			DSN:   patratest.SQLite.SpareDSN(t),
			Sim:   sim.Config{Sources: []string{"crossref"}, Records: 400, Seed: 7, LimitRPS: -1, KeepLog: -1, Churn: &sim.Churn{}, Now: time.Now().Add(-90 * 24 * time.Hour).Truncate(time.Hour)},
			Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", patratest.Fast)},
			Node:  node.Config{Workers: 1, Poll: 10 * time.Second},
		})
		r.MustHarvest("crossref")
		var held, commas []string
		if err := r.Node.Store.Export(t.Context(), control.ExportQuery{Sources: []string{"crossref"}}, func(e *control.Exported) error {
			held = append(held, e.ID)
			if strings.Contains(e.ID, ",") {
				commas = append(commas, e.ID)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(commas) < 2 || len(commas) > 20 {
			t.Fatalf("%d of %d DOIs have a comma", len(commas), len(held))
		}
		refresh := func(activity string) *control.Report {
			t.Helper()
			rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", Operation: harvest.Update, Activity: activity, Pick: harvest.CandidatePick{IDs: held}, BaseURL: r.Base + "/crossref"})
			if err != nil || rep.Status != "COMPLETED" {
				t.Fatalf("%+v, %v", rep, err)
			}
			return rep
		}
		left := len(r.Sim.Requests())
		if rep := refresh("all"); rep.Records.Unchanged != int64(len(held)) || rep.Records.Missing != 0 {
			t.Errorf("of %d: %+v", len(held), rep.Records)
		}
		var alone []string
		for _, q := range r.Sim.Requests()[left:] {
			if doi, one := strings.CutPrefix(q.Path, "/works/"); one {
				alone = append(alone, doi)
			} else if n := strings.Count(q.Params.Get("filter"), ","); n != strings.Count(q.Params.Get("filter"), ",doi:") {
				t.Errorf("a list holds a DOI with a comma: %s", q.Params.Get("filter"))
			}
		}
		slices.Sort(alone)
		slices.Sort(commas)
		if !slices.Equal(alone, commas) {
			t.Errorf("asked for alone: %v\nwant %v", alone, commas)
		}

		// One is not there, two go by another name now, of which lists know nothing.
		plain := slices.DeleteFunc(slices.Clone(held), func(id string) bool { return strings.Contains(id, ",") })
		for _, id := range []string{commas[0], plain[1]} {
			if err := r.Sim.Delete("crossref", id); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{commas[1], plain[1]} {
			aliases["/crossref/works/"+id] = "/crossref/works/" + plain[0]
		}
		redirect := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if to := aliases[q.URL.Path]; to != "" {
				w.Header().Set("Location", (&url.URL{Path: to}).EscapedPath())
				w.WriteHeader(http.StatusMovedPermanently)
				return
			}
			r.Sim.ServeHTTP(w, q)
		})
		r.Node = node.Assemble(node.Config{Workers: 1, Poll: 10 * time.Second}, r.Node.Store,
			registry.NewStatic(map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", patratest.Fast)}, nil), patratest.Direct{Handler: redirect})
		if rep := refresh("changed"); rep.Records.Missing != 1 || rep.Records.Merged != 2 {
			t.Errorf("%+v", rep.Records)
		}
		time.Sleep(25 * time.Hour)
		if rep := refresh("a day later"); rep.Records.Gone != 1 {
			t.Errorf("%+v", rep.Records)
		}
		patratest.MustVerify(t, r.Node.Store)
	})
}
