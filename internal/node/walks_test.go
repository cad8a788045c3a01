package node_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestC21_OneWalkAtATimeIsAsFast: Crossref allows one request at a time, so one
// slice is walked at a time, whatever workers there are; and the next is begun in
// the instant that one is done, so that the rate allowed is used to the full.
func TestC21_OneWalkAtATimeIsAsFast(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]time.Duration{"polling often": 500 * time.Millisecond, "hardly polling": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			servedBubble(t, func(t *testing.T) {
				var rate source.Rate
				pack := patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
					s.Paging.Size, s.Window.Target = 20, 240
					rate = s.Rate
				})
				dsn := patratest.SQLite.SpareDSN(t)
				r := patratest.NewRig(t, patratest.RigConfig{
					DSN: dsn, Sim: sim.Config{Records: 2000, Seed: 3, LimitRPS: -1},
					Packs: map[string]registry.Pack{"crossref": pack}, Node: node.Config{Workers: 4, Poll: poll},
				})
				db := patratest.Raw(t, dsn)
				began := time.Now()
				rep := r.MustHarvest("crossref")
				took := time.Since(began)
				r.MustBeExact("crossref", rep)
				var begun, together int
				err := db.QueryRow(`SELECT COUNT(*), COALESCE(SUM(EXISTS (SELECT 1 FROM ing_task_run o WHERE o.id < r.id AND o.finished_at > r.started_at)), 0) FROM ing_task_run r`).Scan(&begun, &together)
				if err != nil {
					t.Fatal(err)
				}
				if begun < 10 || together != 0 {
					t.Errorf("%d of %d walks were begun while another was under way", together, begun)
				}
				allowed := time.Duration(float64(rep.Requests.Sent) / rate.QPS * float64(time.Second))
				t.Logf("%d requests in %s, the rate allows %s", rep.Requests.Sent, took, allowed)
				if took > allowed*102/100 {
					t.Errorf("%d requests took %s, the rate allows %s", rep.Requests.Sent, took, allowed)
				}
			})
		})
	}
}
