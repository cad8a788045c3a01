package node_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// shown is a record of the oracle: when it was updated, and when it showed.
type shown struct{ updated, visible time.Time }

// lateOracle is a served source with an overlap, whose records come evenly, one
// in every so many of them 40 minutes late.
func lateOracle(t *testing.T, schedule string, overlap, span time.Duration, perHour, every int) (*served, []shown) {
	t.Helper()
	s := newServed(t, "5", schedule, sim.Config{Records: 20, Churn: &sim.Churn{}})
	d := s.packs["generic"]
	win, pages := *d.Definition.Window, *d.Definition.Pagination
	win.Overlap = new(source.Duration(overlap))
	pages.PageSize = 100
	d.Definition.Window, d.Definition.Pagination = &win, &pages
	s.packs["generic"] = d
	var all []shown
	start, step := time.Now().UTC(), time.Hour/time.Duration(perHour)
	for at := start; at.Before(start.Add(span)); at = at.Add(step) {
		r := shown{at.Truncate(time.Second), at.Truncate(time.Second)}
		if len(all)%every == every/2 {
			r.visible = r.visible.Add(40 * time.Minute)
		}
		if _, err := s.oracle.AddLate("generic", r.updated, r.visible); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return s, all
}

// live lets time pass, with a harvest every so often and the work of the day done.
func (s *served) live(span, every time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); {
		time.Sleep(every)
		if _, err := s.Control.Harvest(s.t.Context(), control.HarvestRequest{Source: "generic"}); err != nil {
			s.t.Fatal(err)
		}
		if err := s.Steward().Tick(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		ex := s.Executor(executor.Config{Idle: func(ctx context.Context, _ int) (bool, error) {
			w, err := s.Control.Work(ctx, "generic", harvest.Backfill)
			return w.Ready+w.Leased+w.Later == 0, err
		}})
		if err := ex.Run(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// rate is what `patra coverage` tells.
func (s *served) rate() (float64, bool, string) {
	s.t.Helper()
	all, err := s.Store.Coverage(s.t.Context(), "generic")
	if err != nil || len(all) != 1 || all[0].LateRate == nil {
		s.t.Fatalf("%+v, %v", all, err)
	}
	if l := all[0].LateRate; l.Rate != nil {
		return *l.Rate, true, l.Reason
	}
	return 0, false, all[0].Reason
}

// slice is one that is done.
type slice struct {
	harvest.Window
	began, done time.Time
	overlap     bool
}

// slices reads the slices of the harvest past the store.
func (s *served) slices() (out []slice) {
	s.t.Helper()
	rows, err := patratest.Raw(s.t, s.dsn).Query(`SELECT s.window_from, s.window_to, s.updated_at, s.slice_spec LIKE '%overlapSec%',
		(SELECT MIN(b.opened_at) FROM ing_task_run_batch b WHERE b.slice_id=s.id)
		FROM ing_plan_slice s JOIN ing_plan p ON p.id=s.plan_id WHERE p.operation_code='HARVEST' AND s.status_code='DONE'`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var one slice
		var text [4]string
		if err := rows.Scan(&text[0], &text[1], &text[2], &one.overlap, &text[3]); err != nil {
			s.t.Fatal(err)
		}
		for i, to := range []*time.Time{&one.From, &one.To, &one.done, &one.began} {
			*to, err = time.Parse("2006-01-02 15:04:05.000000", text[i])
			if err != nil {
				s.t.Fatal(err)
			}
		}
		out = append(out, one)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// trueRate is the share of records that showed after their window was done, by
// what the oracle knows.
func trueRate(all []shown, slices []slice) float64 {
	var late, seen float64
	for _, r := range all {
		for _, w := range slices {
			if r.updated.Before(w.From) || !r.updated.Before(w.To) {
				continue
			}
			seen++
			if r.visible.After(w.done) {
				late++
			}
		}
	}
	return late / seen
}

// TestR11_LateRateWithinTwoTenths: 1 % of the records show 40 minutes late. An
// overlap of an hour sees how many of them come after their window was done,
// and every one of them is stored.
func TestR11_LateRateWithinTwoTenths(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a harvest of many records or days")
	// With harvests every 15 minutes every window is done well before they show;
	// with hourly ones a part of them still comes in time.
	for _, every := range []time.Duration{15 * time.Minute, time.Hour} {
		t.Run(every.String(), func(t *testing.T) {
			servedBubble(t, func(t *testing.T) {
				s, all := lateOracle(t, `{harvest: "@hourly"}`, time.Hour, 72*time.Hour, 97, 100)
				s.live(75*time.Hour, every)
				rate, known, _ := s.rate()
				truth := trueRate(all, s.slices())
				t.Logf("rate %.4f, truth %.4f", rate, truth)
				if !known || rate < truth-0.002 || rate > truth+0.002 {
					t.Errorf("rate %.4f, known %v; the oracle says %.4f", rate, known, truth)
				}
				if every < time.Hour && (rate < 0.008 || rate > 0.012) {
					t.Errorf("rate %.4f, want 0.01", rate)
				}
				if w, last := s.watermark(), all[len(all)-1].updated; !w.After(last) {
					t.Errorf("watermark %s is not past %s", w, last)
				}
				patratest.MustEqual(t, s.Store, s.oracle, "generic", s.watermark())
				patratest.MustVerify(t, s.Store)
			})
		})
	}
}

// TestR11_UnknownWithoutALook: with neither overlap nor sentinel the rate is not
// known, however much comes late, and nothing is tuned by it.
func TestR11_UnknownWithoutALook(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	servedBubble(t, func(t *testing.T) {
		s, _ := lateOracle(t, `{harvest: "@hourly"}`, 0, 24*time.Hour, 60, 10)
		s.live(30*time.Hour, time.Hour)
		if rate, known, why := s.rate(); known || !strings.Contains(why, "neither an overlap nor a sentinel") {
			t.Errorf("rate %g, known %v, %q", rate, known, why)
		}
		if n := s.count(`SELECT COUNT(*) FROM ing_tuning WHERE tuned_at IS NOT NULL`); n != 0 {
			t.Errorf("%d namespaces were tuned", n)
		}
		patratest.MustVerify(t, s.Store)
	})
}

// TestR11_SentinelAlone: without an overlap the sentinel, once a day, last in the
// queue and in a namespace of its own, sees how much the harvest has missed, and
// what it walks is whole then.
func TestR11_SentinelAlone(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	servedBubble(t, func(t *testing.T) {
		s, all := lateOracle(t, `{harvest: "@hourly", sentinel: true}`, 0, 96*time.Hour, 97, 10)
		s.live(95*time.Hour, time.Hour)
		rate, known, _ := s.rate()
		truth := trueRate(all, s.slices())
		t.Logf("rate %.4f, truth %.4f", rate, truth)
		if !known || rate < truth-0.02 || rate > truth+0.02 {
			t.Errorf("rate %.4f, known %v; the oracle says %.4f", rate, known, truth)
		}
		db := patratest.Raw(t, s.dsn)
		rows, err := db.Query(`SELECT activity_id, window_from, window_to, date(created_at), (SELECT MIN(priority) FROM ing_task t WHERE t.plan_id=p.id) FROM ing_plan p WHERE operation_code='BACKFILL' ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		days := map[string]bool{}
		for rows.Next() {
			var activity, from, to, day string
			var priority int
			if err := rows.Scan(&activity, &from, &to, &day, &priority); err != nil {
				t.Fatal(err)
			}
			if days[day] || priority != 900 || !strings.HasPrefix(activity, "sentinel-"+strings.ReplaceAll(day, "-", "")+"-") {
				t.Errorf("%s on %s with priority %d", activity, day, priority)
			}
			days[day] = true
			var want int
			for _, r := range all {
				if u := r.updated.Format("2006-01-02 15:04:05.000000"); u >= from && u < to {
					want++
				}
			}
			var got int
			if err := db.QueryRow(`SELECT COUNT(*) FROM ing_record WHERE updated_at>=? AND updated_at<?`, from, to).Scan(&got); err != nil || got != want {
				t.Errorf("[%s, %s) has %d records, the oracle %d (%v)", from, to, got, want, err)
			}
		}
		if err := rows.Err(); err != nil || len(days) != 3 {
			t.Errorf("sentinels on %d days, %v", len(days), err)
		}
		patratest.MustVerify(t, s.Store) // I9: no event of theirs in the harvest's namespace
	})
}

// TestServe_SendsSentinelsAndTunes: what a day asks for is done by serving alone,
// once, though two nodes serve.
func TestServe_SendsSentinelsAndTunes(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s, _ := lateOracle(t, `{harvest: "@hourly", sentinel: true}`, time.Hour, 26*time.Hour, 60, 20)
		for range 23 {
			time.Sleep(time.Hour)
			if _, err := s.Control.Harvest(t.Context(), control.HarvestRequest{Source: "generic"}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour + time.Minute) // the next day
		stop, other := s.begin(role.All...), s.begin(role.Scheduler)
		time.Sleep(25 * time.Minute)
		stop()
		other()
		if n := s.count(`SELECT COUNT(*) FROM ing_plan WHERE watches_cursor_id IS NOT NULL AND status_code='COMPLETED'`); n != 1 {
			t.Errorf("%d sentinels have walked", n)
		}
		if n := s.count(`SELECT COUNT(*) FROM sys_audit WHERE action_code='lag.tune'`); n != 1 {
			t.Errorf("tuned %d times", n)
		}
		patratest.MustVerify(t, s.Store)
	})
}

// TestC13_TuningIsNoConfiguration: a day of lateness moves the safety lag. The
// registry is what it was, the next plan has the same fingerprint and ends
// earlier, and the audit says who moved what and why.
func TestC13_TuningIsNoConfiguration(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s, _ := lateOracle(t, `{harvest: "@hourly"}`, time.Hour, 48*time.Hour, 60, 20)
		harvestNow := func() {
			t.Helper()
			if _, err := s.Control.Harvest(t.Context(), control.HarvestRequest{Source: "generic"}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		harvestNow()
		before := s.registrySum()
		for range 21 {
			time.Sleep(time.Hour)
			harvestNow()
		}
		type plan struct{ fingerprint, config, to, at string }
		newest := func() (p plan) {
			t.Helper()
			if err := patratest.Raw(t, s.dsn).QueryRow(`SELECT spec_fingerprint, provenance_config_hash, window_to, strftime('%Y-%m-%d %H:%M', created_at) FROM ing_plan ORDER BY id DESC LIMIT 1`).
				Scan(&p.fingerprint, &p.config, &p.to, &p.at); err != nil {
				t.Fatal(err)
			}
			return p
		}
		old := newest()
		if want := time.Now().UTC().Add(-10 * time.Minute).Truncate(time.Minute).Format("2006-01-02 15:04"); !strings.HasPrefix(old.to, want) {
			t.Errorf("ends at %s, want %s", old.to, want)
		}
		for range 3 { // once a day, however often
			if err := s.Steward().Tune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		harvestNow()
		tuned := newest()
		if want := time.Now().UTC().Add(-15 * time.Minute).Truncate(time.Minute).Format("2006-01-02 15:04"); !strings.HasPrefix(tuned.to, want) {
			t.Errorf("ends at %s, want %s", tuned.to, want)
		}
		if tuned.fingerprint != old.fingerprint || tuned.config != old.config {
			t.Errorf("fingerprints %+v and %+v", old, tuned)
		}
		time.Sleep(2 * time.Hour) // the next day
		harvestNow()
		if err := s.Steward().Tune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := s.registrySum(); after != before {
			t.Error("the registry was changed")
		}
		lines, err := s.Store.Audits(t.Context(), "source/generic", 100)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, l := range lines {
			if l.Action == "lag.tune" {
				said = append(said, l.Actor+": "+l.Reason)
			}
		}
		if len(said) != 2 || !strings.HasPrefix(said[1], "patra: ") || !strings.Contains(said[1], "from 10m0s to 15m0s") || !strings.Contains(said[0], "from 15m0s to 20m0s") {
			t.Errorf("the audit says %q", said)
		}
		patratest.MustVerify(t, s.Store)
	})
}

func (s *served) count(q string) (n int) {
	s.t.Helper()
	if err := patratest.Raw(s.t, s.dsn).QueryRow(q).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// registrySum is a checksum of every row of the registry.
func (s *served) registrySum() string {
	s.t.Helper()
	db := patratest.Raw(s.t, s.dsn)
	var tables []string
	eachText(s.t, db, `SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'reg%' ORDER BY name`, func(v []string) { tables = append(tables, v[0]) })
	h, n := sha256.New(), 0
	for _, table := range tables {
		eachText(s.t, db, `SELECT * FROM `+table+` ORDER BY 1, 2`, func(v []string) {
			n++
			fmt.Fprintf(h, "%s %q\n", table, v)
		})
	}
	if n < 5 {
		s.t.Fatalf("the registry has %d rows", n)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func eachText(t *testing.T, db *sql.DB, q string, f func([]string)) {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		vals := make([]sql.NullString, len(cols))
		ptrs := make([]any, len(cols))
		out := make([]string, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		for i, v := range vals {
			out[i] = v.String
		}
		f(out)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
