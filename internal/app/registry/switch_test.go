package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
)

// bent is the shipped Crossref with several dimensions changed at once, so that
// a mixture of old and new rows would show.
func bent(t *testing.T) registry.Described {
	d := described(t, "crossref", registry.File)
	rate := *d.Definition.RateLimit
	retry := *d.Definition.Retry
	pages := *d.Definition.Pagination
	rate.QPS = 1
	retry.Attempts = 7
	pages.PageSize = 500
	d.Definition.RateLimit = &rate
	d.Definition.Retry = &retry
	d.Definition.Pagination = &pages
	d.Definition.HTTP = &source.HTTP{BaseURL: "https://mirror.example.org", ReadTimeout: source.Duration(40 * time.Second)}
	d.Definition.Tasks = map[harvest.Operation]*source.Overrides{harvest.Harvest: {Batching: &source.Batching{IDs: 9}}}
	return d
}

// TestR46_EverySnapshotIsWhollyOldOrWhollyNew: a hundred compiles at a time
// while the source is switched and rolled back again and again.
func TestR46_EverySnapshotIsWhollyOldOrWhollyNew(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		l, s := newRegistry(t, e)
		fresh := func() *registry.Registry { // without another's cache
			return registry.New(s, registry.Read(nil), map[string]string{"contact": "a@example.org", "tool": "patra"}, nil, patratest.Logger(t))
		}
		read := func() (string, error) {
			con, err := fresh().Contract(t.Context(), "crossref", harvest.Harvest)
			if err != nil {
				return "", err
			}
			return con.Spec.Fingerprint()
		}
		if _, err := l.Contents(t.Context(), "crossref"); err != nil {
			t.Fatal(err)
		}
		before, err := read()
		if err != nil {
			t.Fatal(err)
		}
		next := bent(t)
		if _, err := l.Apply(t.Context(), next, registry.Order{}); err != nil {
			t.Fatal(err)
		}
		after, err := read()
		if err != nil || after == before {
			t.Fatalf("the switch is not felt: %v", err)
		}
		if _, err := l.Rollback(t.Context(), "crossref", registry.Order{}); err != nil {
			t.Fatal(err)
		}
		if back, err := read(); err != nil || back != before {
			t.Fatalf("the rollback is not felt: %v", err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]int{}
		for range 100 {
			wg.Go(func() {
				for range 3 {
					f, err := read()
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					seen[f]++
					mu.Unlock()
				}
			})
		}
		for range 3 {
			if _, err := l.Apply(t.Context(), next, registry.Order{}); err != nil {
				t.Error(err)
			}
			if _, err := l.Rollback(t.Context(), "crossref", registry.Order{}); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		for f, n := range seen {
			if f != before && f != after {
				t.Errorf("%d of 300 snapshots are neither old nor new", n)
			}
		}
	})
}

// TestR46_OnlyTheSupersededMayOverlap: any other overlap is refused, before a
// row is written.
func TestR46_OnlyTheSupersededMayOverlap(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		s := patratest.Open(t, e.DSN(t), sqlstore.Options{})
		day := func(n int) time.Time { return pickAt.Add(time.Duration(n) * 24 * time.Hour) }
		con := plant(t, s, "a", []source.Row{rateRow(source.ScopeSource, "", [2]time.Time{day(0), day(10)}, 0.5)})
		first := con.Rows[0].ID
		for _, c := range []struct {
			name       string
			span       [2]time.Time
			supersedes int64
			refused    bool
		}{
			{"inside", [2]time.Time{day(2), day(3)}, 0, true},
			{"over the end", [2]time.Time{day(9), {}}, 0, true},
			{"over the beginning", [2]time.Time{day(-5), day(1)}, 0, true},
			{"around", [2]time.Time{day(-5), {}}, 0, true},
			{"supersedes another", [2]time.Time{day(5), {}}, first + 77, true},
			{"supersedes it", [2]time.Time{day(5), {}}, first, false},
			{"from its end on", [2]time.Time{day(10), {}}, 0, false},
			{"up to its beginning", [2]time.Time{day(-5), day(0)}, 0, false},
			{"empty", [2]time.Time{day(20), day(20)}, 0, true},
			{"backwards", [2]time.Time{day(21), day(20)}, 0, true},
		} {
			r := rateRow(source.ScopeSource, "", c.span, 0.25)
			r.Supersedes = c.supersedes
			bad := source.CheckRows(con.Rows, []source.Row{r})
			_, err := s.ChangeSource(t.Context(), con.Provenance, source.Audit{Actor: "t", Action: "TEST", Object: "x"}, func(source.Contents) ([]source.Change, error) {
				return []source.Change{{Add: &r, Slot: r.Slot}}, errors.Join(errNotKept(c.refused))
			})
			if (len(bad) > 0) != c.refused || c.refused != isViolation(err) {
				t.Errorf("%s: %v, %v", c.name, bad, err)
			}
		}
		if again, err := s.LoadSource(t.Context(), "a"); err != nil || len(again.Rows) != 1 {
			t.Errorf("rows were written: %v, %v", again.Rows, err)
		}
		// A TASK row needs its operation, a SOURCE row has none.
		for _, r := range []source.Row{rateRow(source.ScopeTask, "", inForce, 1), rateRow(source.ScopeSource, harvest.Update, inForce, 1), rateRow("BOTH", "", inForce, 1)} {
			if bad := source.CheckRows(nil, []source.Row{r}); len(bad) != 1 {
				t.Errorf("%s %s: %v", r.Scope, r.Task, bad)
			}
		}
	})
}

var errKeepNothing = errors.New("keep nothing")

// errNotKept ends a change that would succeed, so that each case starts alike.
func errNotKept(refused bool) error {
	if refused {
		return nil
	}
	return errKeepNothing
}

func isViolation(err error) bool {
	_, ok := errors.AsType[source.Violations](err)
	return ok
}

// TestRegistry_ChangesFollowEachOther: a change during another's observation, a
// schedule taken back and made again earlier, a part dropped and a part added,
// each of them rolled back.
func TestRegistry_ChangesFollowEachOther(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	s := patratest.Open(t, patratest.SQLite.DSN(t), sqlstore.Options{Wall: func() time.Time { now = now.Add(time.Millisecond); return now }})
	l := registry.New(s, registry.Read(nil), map[string]string{"contact": "a@example.org"}, node.CheckSpec, patratest.Logger(t))
	ctx := t.Context()
	qps := func(at time.Time) float64 {
		t.Helper()
		e, err := l.Show(ctx, "crossref", harvest.Harvest, at)
		if err != nil || len(e.Violations) > 0 {
			t.Fatal(err, e.Violations)
		}
		return e.Contract.Spec.Rate.QPS
	}
	with := func(rate float64) registry.Described {
		d := described(t, "crossref", registry.File)
		r := *d.Definition.RateLimit
		r.QPS = rate
		d.Definition.RateLimit = &r
		return d
	}
	must := func(_ registry.Preview, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(l.Apply(ctx, with(2), registry.Order{}))
	must(l.Apply(ctx, with(1), registry.Order{From: now.Add(2 * time.Hour)}))
	if _, err := l.Apply(ctx, with(0.5), registry.Order{}); !isViolation(err) || !strings.Contains(fmt.Sprint(err), "overlaps") {
		t.Errorf("a change under a scheduled one: %v", err)
	}
	must(l.Rollback(ctx, "crossref", registry.Order{}))
	must(l.Apply(ctx, with(1), registry.Order{From: now.Add(time.Hour)})) // earlier than what was taken back
	if qps(now.Add(30*time.Minute)) != 2 || qps(now.Add(90*time.Minute)) != 1 {
		t.Error("the second schedule is not in force")
	}
	must(l.Rollback(ctx, "crossref", registry.Order{}))
	must(l.Apply(ctx, with(1), registry.Order{From: now.Add(time.Hour), Observe: 24 * time.Hour}))
	now = now.Add(2 * time.Hour) // the switch has happened, the old row is being watched
	must(l.Apply(ctx, with(0.5), registry.Order{}))
	if got := qps(time.Time{}); got != 0.5 {
		t.Errorf("a change while the one before is observed: %v", got)
	}
	must(l.Rollback(ctx, "crossref", registry.Order{}))
	if got := qps(time.Time{}); got != 1 {
		t.Errorf("rolled back once: %v", got)
	}
	// A part dropped and a part added in one change come back and go again.
	d := with(1)
	d.Definition.Retry = nil
	d.Definition.Tasks = map[harvest.Operation]*source.Overrides{harvest.Backfill: {RateLimit: &source.Rate{QPS: 0.25}}}
	must(l.Apply(ctx, d, registry.Order{}))
	c, err := s.LoadSource(ctx, "crossref")
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Pack(c.ReadAt); p.Retry != nil || p.Tasks[harvest.Backfill].RateLimit.QPS != 0.25 {
		t.Errorf("applied: retry %v, tasks %v", p.Retry, p.Tasks)
	}
	must(l.Rollback(ctx, "crossref", registry.Order{}))
	c, err = s.LoadSource(ctx, "crossref")
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Pack(c.ReadAt); p.Retry == nil || p.Tasks[harvest.Backfill] != nil || p.Tasks[harvest.Update] == nil {
		t.Errorf("rolled back: retry %v, tasks %v", p.Retry, p.Tasks)
	}
	// What belongs to the source has no interval.
	d = with(1)
	d.Definition.BaseURL = "https://mirror.example.org"
	if _, err := l.Apply(ctx, d, registry.Order{From: now.Add(time.Hour)}); !isViolation(err) || !strings.Contains(fmt.Sprint(err), "http.baseUrl") {
		t.Errorf("a scheduled base URL: %v", err)
	}
	if _, err := l.Apply(ctx, d, registry.Order{From: now.Add(-time.Hour)}); !isViolation(err) {
		t.Errorf("a change in the past: %v", err)
	}
	if _, err := l.Rollback(ctx, "nowhere", registry.Order{}); err == nil {
		t.Error("rolled back a source that is not there")
	}
}

// TestM1_UnplainPicksAreAudited: fallback, ambiguity and a missing dimension
// each leave a line, once.
func TestM1_UnplainPicksAreAudited(t *testing.T) {
	t.Parallel()
	s := patratest.Open(t, patratest.SQLite.DSN(t), sqlstore.Options{})
	def := described(t, "crossref", registry.Shipped).Definition
	var rows []source.Row
	for _, r := range def.Rows(pickAt) {
		if r.Dimension != source.DimRetry {
			rows = append(rows, r)
		}
	}
	r := rateRow(source.ScopeTask, harvest.Harvest, inPast, 0.5)
	again := rows[0]
	again.From = again.From.Add(time.Hour)
	rows = append(rows, r, again)
	p := def.Provenance()
	p.Origin = registry.API
	plant(t, s, "crossref", rows)
	if _, err := s.ChangeSource(t.Context(), p, source.Audit{Actor: "t", Action: "T", Object: "o"}, func(source.Contents) ([]source.Change, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	l := registry.New(s, registry.Read(nil), nil, node.CheckSpec, patratest.Logger(t))
	pick := func(ctx context.Context) map[string]int {
		t.Helper()
		for range 3 {
			if _, err := l.Contract(ctx, "crossref", harvest.Harvest); err != nil {
				t.Fatal(err)
			}
		}
		lines, err := s.Audits(t.Context(), "source/crossref", 100)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, x := range lines {
			got[x.Action]++
		}
		return got
	}
	// A preview leaves no line, and takes none from what is planned after it by the
	// same process.
	if got := pick(l.Preview(t.Context())); got["PICK_AMBIGUOUS"] != 0 {
		t.Errorf("a preview left lines: %v", got)
	}
	got := pick(t.Context())
	for _, action := range []string{"PICK_AMBIGUOUS", "PICK_FALLBACK", "PICK_DEFAULT"} {
		if got[action] != 1 {
			t.Errorf("%s: %d lines", action, got[action])
		}
	}
}
