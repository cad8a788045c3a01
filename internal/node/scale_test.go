package node_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestScale_OneDayOverTheWall: a day that holds six times what PubMed lets
// through, and a Crossref day of many slices: both are whole, no slice is over
// the cap, and what was planned is what was found. PATRA_SOAK=1 takes a day of
// 60,000 and one of 1,000,000.
func TestScale_OneDayOverTheWall(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a harvest of many records or days")
	pubmed := 6_000
	wall := 999
	crossref := 20_000
	target := int64(1_000)
	if os.Getenv("PATRA_SOAK") != "" {
		pubmed = 60_000
		wall = 9_999
		crossref = 1_000_000
		target = 50_000
	}
	t.Run("pubmed", func(t *testing.T) {
		oneDay(t, "pubmed", pubmed, sim.Config{PubMedWall: wall}, patratest.ShippedPack(t, "pubmed", func(s *source.Spec) {
			patratest.Fast(s)
			s.Paging.MaxItems = int64(wall)
			s.Paging.Size = wall
			s.Window.Target = int64(wall) * 9 / 10
		}))
	})
	t.Run("crossref", func(t *testing.T) {
		oneDay(t, "crossref", crossref, sim.Config{}, patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
			patratest.Fast(s)
			s.Window.Target, s.Paging.MaxItems = target, target
		}))
	})
}

// TestScale_OneDayInBuckets: a day that cannot be cut by time, of a source whose
// ids are no numbers and that lets through a tenth of it, whole by hash buckets:
// as the second dimension, and as the only one. PATRA_SOAK=1 takes 100,000 records.
func TestScale_OneDayInBuckets(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a harvest of many records or days")
	records := 4_000
	if os.Getenv("PATRA_SOAK") != "" {
		records = 100_000
	}
	for _, strategy := range []harvest.StrategyCode{harvest.StrategyHybrid, harvest.StrategyHash} {
		t.Run(string(strategy), func(t *testing.T) {
			pack := strings.NewReplacer("STRATEGY", string(strategy), "WALL", strconv.Itoa(records/10)).Replace(bucketPack)
			style := sim.GenericStyle{Paging: "offset", End: "total", Depth: records / 10, Beyond: "refuse"}
			parts := oneDay(t, sim.Generic, records, sim.Config{Generic: style}, patratest.TextPack(t, "generic.yaml", []byte(pack), patratest.Fast))
			buckets := map[int64]int{}
			for _, s := range parts {
				if _, of := s.Range.Bucket(); of > 1 {
					buckets[of]++
				}
			}
			if len(buckets) == 0 || buckets[16]+buckets[32] < 8 {
				t.Errorf("slices by number of buckets: %v", buckets)
			}
		})
	}
}

// bucketPack is a source of days that parts its ids into hash buckets.
const bucketPack = `source: generic
name: Generic
baseUrl: https://generic.example
zone: America/New_York
recordType: item
identity: TEXT
window:
  key: updated
  filters: {from: updated, to: updated}
  precision: DAY
  bound: OPEN
  updatedAt: PATH
  strategy: STRATEGY
  split: {buckets: 100}
pagination: {type: OFFSET, pageSize: 100, order: "updated,id", total: EXACT, end: TOTAL, maxItems: WALL}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: "${page.size}", offset: "${page.offset}", bucket: "${bucket}", buckets: "${buckets}"}
    response: {items: items, id: id, updatedAt: {path: updated, key: updated}, version: v, total: total}
  count:
    usage: COUNT
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: 1, bucket: "${bucket}", buckets: "${buckets}"}
    response: {root: total, total: total}
mapping:
  fields: {title: title}
`

// oneDay harvests a day of so many records and returns its slices.
func oneDay(t *testing.T, code string, records int, cfg sim.Config, pack registry.Pack) (parts []harvest.SliceSpec) {
	t.Helper()
	cfg.Sources = []string{code}
	cfg.Records = records
	cfg.Seed = 5
	cfg.LimitRPS = -1
	cfg.KeepLog = 10
	cfg.Churn = &sim.Churn{}
	// From midnight to midnight in New York.
	cfg.Now, cfg.Span = time.Date(2026, 2, 11, 4, 59, 59, 0, time.UTC), 24*time.Hour-2*time.Second
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t), Sim: cfg,
		Packs: map[string]registry.Pack{code: pack},
	})
	r.Sim.Advance(3 * 24 * time.Hour)
	rep := r.MustHarvest(code)
	r.MustBeExact(code, rep)
	var slices, over, planned int64
	limit := int64(0)
	for _, p := range must(r.Node.Store.Plans(t.Context(), control.PlanQuery{Source: code}, 100))(t) {
		rows := must(r.Node.Store.Slices(t.Context(), control.SliceQuery{Plan: p.ID}, 0, 100_000))(t)
		for _, s := range rows {
			spec := parseSpec(t, s.Spec)
			parts = append(parts, spec)
			slices++
			planned += spec.Hints.ExpectedRecords
			limit = max(limit, spec.Hints.ExpectedRecords)
			if s.Status == "RESLICED" {
				over++
			}
		}
	}
	t.Logf("%s: %d records in %d slices, the largest of %d, %d requests, %d cut again", code, rep.Records.Inserted, slices, limit, rep.Requests.Sent, over)
	if rep.Records.Inserted < int64(records) || planned < rep.Records.Inserted || over > 0 || rep.Slices.Failed > 0 {
		t.Errorf("%d records planned, %+v found in %+v, %d slices cut again", planned, rep.Records, rep.Slices, over)
	}
	return parts
}

// must unwraps a result or fails the test.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func parseSpec(t *testing.T, s string) (spec harvest.SliceSpec) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}
