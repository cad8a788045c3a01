package sqlstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR7_TuningKeepsTheNamespace changes each tunable of a source in turn, over
// one store: there is one cursor all along, and the harvest goes on.
func TestR7_TuningKeepsTheNamespace(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		t.Parallel()
		dsn := e.DSN(t)
		lifetime(t, e, func(t *testing.T) { tune(t, dsn) })
	})
}

// lifetime runs f in virtual time on SQLite, and in real time on servers, whose
// clocks are their own.
func lifetime(t *testing.T, e patratest.Engine, f func(t *testing.T)) {
	t.Helper()
	if e == patratest.SQLite {
		synctest.Test(t, f)
		return
	}
	f(t)
}

func tune(t *testing.T, dsn string) {
	oracle, err := sim.New(sim.Config{Records: 60, Seed: 2, LimitRPS: -1, Sources: []string{"crossref"}})
	if err != nil {
		t.Fatal(err)
	}
	db := patratest.Raw(t, dsn)
	for _, c := range []struct {
		name  string
		tweak func(*source.Spec)
	}{
		{"as shipped", func(*source.Spec) {}},
		{"safety lag", func(s *source.Spec) { s.Window.SafetyLag *= 2 }},
		{"overlap", func(s *source.Spec) { s.Window.Overlap = 0 }},
		{"align", func(s *source.Spec) { s.Window.Align = source.Duration(time.Minute) }},
		{"step", func(s *source.Spec) { s.Window.Step /= 2 }},
		{"min step", func(s *source.Spec) { s.Window.MinStep *= 10 }},
		{"baseline", func(s *source.Spec) { s.Window.Baseline *= 2 }},
		{"target", func(s *source.Spec) { s.Window.Target = 5 }},
		{"page size", func(s *source.Spec) { s.Paging.Size = 7 }},
		{"max pages", func(s *source.Spec) { s.Paging.MaxPages = 9 }},
		{"retries", func(s *source.Spec) { s.Retry.Attempts = 2 }},
		{"timeouts", func(s *source.Spec) { s.HTTP.ReadTimeout *= 2 }},
		{"mapping", func(s *source.Spec) { s.Mapping.Fields = s.Mapping.Fields[1:] }},
	} {
		pack := patratest.ShippedPack(t, "crossref", func(s *source.Spec) { patratest.Fast(s); c.tweak(s) })
		r := patratest.NewRig(t, patratest.RigConfig{DSN: dsn, Oracle: oracle, Packs: map[string]registry.Pack{"crossref": pack}})
		rep := r.MustHarvest("crossref")
		r.MustBeExact("crossref", rep)
		if rep.Noop {
			t.Errorf("%s: nothing was harvested", c.name)
		}
		var cursors int
		if err := db.QueryRow(`SELECT COUNT(*) FROM ing_cursor`).Scan(&cursors); err != nil || cursors != 1 {
			t.Fatalf("%s: %d cursors (%v)", c.name, cursors, err)
		}
		oracle.Advance(6 * time.Hour)
	}
}

// TestR7_AnotherCalendarGoesOn changes the precision and the zone of a source, to
// and fro: what was harvested by one calendar ends within a grain of the other,
// and the next window begins exactly there.
func TestR7_AnotherCalendarGoesOn(t *testing.T) {
	t.Parallel()
	days := func(s *source.Spec) {
		s.Window.Precision = harvest.PrecisionDay
		s.Window.Step = source.Duration(5 * 24 * time.Hour)
		s.Window.MinStep = source.Duration(24 * time.Hour)
		for _, e := range []*source.Endpoint{&s.Search, s.Count} {
			e.Query["filter"] = strings.ReplaceAll(e.Query["filter"], "2006-01-02T15:04:05", "2006-01-02")
		}
	}
	zone := func(name string) func(*source.Spec) {
		return func(s *source.Spec) { s.Window.Zone = name }
	}
	for code, tweaks := range map[string][]func(*source.Spec){
		"crossref": {nil, days, days, nil, days},
		"pubmed":   {nil, zone("UTC"), zone("UTC"), zone("Asia/Kolkata"), nil},
	} {
		t.Run(code, func(t *testing.T) {
			patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
				t.Parallel()
				dsn := e.DSN(t)
				lifetime(t, e, func(t *testing.T) {
					oracle, err := sim.New(sim.Config{Records: 300, Seed: 2, LimitRPS: -1, Sources: []string{code}})
					if err != nil {
						t.Fatal(err)
					}
					db := patratest.Raw(t, dsn)
					reached := time.Time{}
					for i, tweak := range tweaks {
						pack := patratest.ShippedPack(t, code, func(s *source.Spec) {
							patratest.Fast(s)
							if tweak != nil {
								tweak(s)
							}
						})
						r := patratest.NewRig(t, patratest.RigConfig{DSN: dsn, Oracle: oracle, Packs: map[string]registry.Pack{code: pack}})
						rep := r.MustHarvest(code)
						patratest.MustVerify(t, r.Node.Store)
						c, err := control.Compare(t.Context(), r.Node.Store, code, patratest.Truth(oracle, code), rep.Watermark.Time())
						if err != nil {
							t.Fatal(err)
						}
						for _, d := range c.Differences {
							// A day is midnight in the zone in force when it was read.
							if !strings.HasPrefix(d.Detail, "updated_at is ") || code != "pubmed" {
								t.Errorf("change %d: %s: %s", i, d.ID, d.Detail)
							}
						}
						if w := rep.Window.From.Time(); rep.Noop || i > 0 && !w.Equal(reached) {
							t.Errorf("change %d: the window begins at %s, the last ended at %s", i, w, reached)
						}
						reached = rep.Watermark.Time()
						var cursors int
						if err := db.QueryRow(`SELECT COUNT(*) FROM ing_cursor`).Scan(&cursors); err != nil || cursors != 1 {
							t.Fatalf("change %d: %d cursors (%v)", i, cursors, err)
						}
						oracle.Advance(55 * time.Hour)
					}
				})
			})
		})
	}
}

// TestR10_OverlapIsNotCoverage: whatever the overlap, the same watermark and
// the same records.
func TestR10_OverlapIsNotCoverage(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		t.Parallel()
		var first *harvested
		var now time.Time // of the first life, so that all are the same
		for _, overlap := range []time.Duration{0, time.Minute, 24 * time.Hour} {
			dsn := e.DSN(t)
			lifetime(t, e, func(t *testing.T) {
				if now.IsZero() {
					now = time.Now()
				}
				got := overlapped(t, dsn, overlap, now)
				if first == nil {
					first = &got
				}
				if got != *first {
					t.Errorf("overlap %s: watermarks\n%s, with none\n%s; records equal: %v", overlap, got.watermarks, first.watermarks, got.records == first.records)
				}
			})
		}
	})
}

// harvested is what came of some harvests.
type harvested struct{ watermarks, records string }

// overlapped harvests a life of some days that begins at now.
func overlapped(t *testing.T, dsn string, overlap time.Duration, now time.Time) (got harvested) {
	pack := patratest.ShippedPack(t, "crossref", func(s *source.Spec) { patratest.Fast(s); s.Window.Overlap = source.Duration(overlap) })
	churn := sim.DefaultChurn(200)
	churn.Late = 0 // what comes late only an overlap can see
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: dsn, Packs: map[string]registry.Pack{"crossref": pack},
		Sim: sim.Config{Records: 200, Seed: 4, LimitRPS: -1, Churn: &churn, Sources: []string{"crossref"}, Now: now.AddDate(0, 0, -60)},
	})
	for range 3 {
		rep := r.MustHarvest("crossref")
		r.MustBeExact("crossref", rep)
		got.watermarks += rep.Watermark.String() + "\n"
		r.Sim.Advance(30 * time.Hour)
	}
	var b strings.Builder
	if err := r.Node.Store.Export(t.Context(), control.ExportQuery{}, func(e *control.Exported) error {
		_, err := fmt.Fprintln(&b, e.ID, e.UpdatedAt, e.RawSHA256, e.Revision)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	got.records = b.String()
	return got
}

// TestR56_TheLogCutAnywhere takes the write-ahead log of a run and cuts it at
// 200 random places: what is left is a state the store was in, and verifies.
func TestR56_TheLogCutAnywhere(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	path := strings.TrimPrefix(dsn, "sqlite:")
	patratest.Open(t, dsn, sqlstore.Options{}).Close()
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: dsn, Sim: sim.Config{Records: 60, Seed: 6, LimitRPS: -1, Span: 3 * 24 * time.Hour},
		Packs: map[string]registry.Pack{"pubmed": patratest.ShippedPack(t, "pubmed", smallPages), "crossref": patratest.ShippedPack(t, "crossref", smallPages)},
	})
	for _, code := range []string{"pubmed", "crossref"} {
		r.MustBeExact(code, r.MustHarvest(code))
	}
	base, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if len(wal) < 100_000 {
		t.Fatalf("the log has only %d bytes: it was folded in already", len(wal))
	}
	cuts := 200
	if testing.Short() {
		cuts = 30
	}
	dir := t.TempDir()
	most, states := int64(0), map[int64]bool{}
	for i := range cuts {
		n := rand.IntN(len(wal) + 1)
		if i == 0 {
			n = len(wal)
		}
		name := filepath.Join(dir, fmt.Sprint(i, ".db"))
		if err := os.WriteFile(name, base, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+"-wal", wal[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := sqlstore.Open(t.Context(), "sqlite:"+name, sqlstore.Options{})
		if err != nil {
			t.Fatalf("log cut at %d of %d: %v", n, len(wal), err)
		}
		patratest.MustVerify(t, s)
		var batches int64
		if err := patratest.Raw(t, "sqlite:"+name).QueryRow(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`).Scan(&batches); err != nil {
			t.Fatal(err)
		}
		most, states[batches] = max(most, batches), true
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("log cut at %d of %d", n, len(wal))
		}
	}
	if most < 8 || len(states) < 5 {
		t.Errorf("saw only %d states of at most %d pages", len(states), most)
	}
}
