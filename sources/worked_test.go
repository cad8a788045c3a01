package sources_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestWorkedExamples_HarvestWhatThereIs: the whole packs of docs/write-a-source.md
// bring all that the source they are written for has.
func TestWorkedExamples_HarvestWhatThereIs(t *testing.T) {
	doc := must(os.ReadFile("../docs/write-a-source.md"))
	packs := regexp.MustCompile("(?s)```yaml\nsource: lakeside-([a-z]+)\n(.*?)```").FindAllSubmatch(doc, -1)
	if len(packs) != 7 {
		t.Errorf("%d worked examples were found", len(packs))
	}
	for _, p := range packs {
		t.Run(string(p[1]), func(t *testing.T) {
			t.Parallel()
			style := sim.GenericStyle{}
			if string(p[1]) == "oai" {
				style.Format = "oai"
			}
			text := append([]byte("source: generic\n"), p[2]...)
			r := patratest.NewRig(t, patratest.RigConfig{
				DSN:   patratest.SQLite.DSN(t),
				Sim:   sim.Config{Sources: []string{sim.Generic}, Records: 70, Seed: 5, LimitRPS: -1, Generic: style, Span: 20 * 24 * time.Hour},
				Packs: map[string]registry.Pack{sim.Generic: patratest.TextPack(t, "generic.yaml", text, patratest.Fast)},
				Node:  node.Config{Workers: 1, Poll: 50 * time.Millisecond},
			})
			rep := r.MustHarvest(sim.Generic)
			if rep.Status != "COMPLETED" {
				t.Errorf("%+v", rep)
			}
			r.MustBeExact(sim.Generic, rep)
		})
	}
}
