package registry_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/sources"
)

func described(t *testing.T, code, origin string) registry.Described {
	t.Helper()
	b, err := sources.FS.ReadFile(code + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := sourcefile.Parse(code+".yaml", b)
	if err != nil {
		t.Fatal(err)
	}
	return registry.Described{Definition: p.Definition, Hash: p.Hash(), Origin: origin}
}

func newRegistry(t *testing.T, e patratest.Engine) (*registry.Registry, *sqlstore.Store) {
	t.Helper()
	s := patratest.Open(t, e.DSN(t), sqlstore.Options{})
	packs := map[string]registry.Described{"pubmed": described(t, "pubmed", registry.Shipped), "crossref": described(t, "crossref", registry.Shipped)}
	return registry.New(s, registry.Read(packs), map[string]string{"contact": "a@example.org", "tool": "patra"}, node.CheckSpec, patratest.Logger(t)), s
}

// TestRegistry_RowsSayWhatThePackSays: through the tables and back, a pack
// compiles to the same spec, and applying what came out changes nothing.
func TestRegistry_RowsSayWhatThePackSays(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		l, s := newRegistry(t, e)
		for _, code := range []string{"pubmed", "crossref"} {
			d := described(t, code, registry.Shipped)
			want, _, err := source.Compile(d.Definition, source.Trigger{Operation: harvest.Harvest, Vars: map[string]string{"contact": "a@example.org", "tool": "patra"}})
			if err != nil {
				t.Fatal(err)
			}
			con, err := l.Contract(t.Context(), code, harvest.Harvest)
			if err != nil {
				t.Fatal(err)
			}
			a, _ := want.Fingerprint()
			b, _ := con.Spec.Fingerprint()
			if a != b {
				wb, _ := want.Canonical()
				gb, _ := con.Spec.Canonical()
				t.Errorf("%s compiles differently from its rows:\n%s\n%s", code, wb, gb)
			}
			c, err := s.LoadSource(t.Context(), code)
			if err != nil {
				t.Fatal(err)
			}
			d.Definition = c.Pack(c.ReadAt)
			p, err := l.Apply(t.Context(), d, registry.Order{DryRun: true})
			if err != nil || len(p.Changes) != 0 {
				t.Errorf("%s: applying what is there gives %v, %v", code, p.Changes, err)
			}
			text := sourcefile.Format(d.Definition)
			again, err := sourcefile.Parse("again.yaml", text)
			if err != nil {
				t.Fatalf("%s: exported pack does not parse: %v", code, err)
			}
			d.Definition = again.Definition
			if p, err := l.Apply(t.Context(), d, registry.Order{DryRun: true}); err != nil || len(p.Changes) != 0 {
				t.Errorf("%s: applying the exported pack gives %v, %v", code, p.Changes, err)
			}
		}
	})
}

// TestR44_NullHeadersThroughTheTables: what is taken away stays so from pack to
// rows and back, differs from a text of four letters, and is shown.
func TestR44_NullHeadersThroughTheTables(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		l, s := newRegistry(t, e)
		d := described(t, "crossref", registry.File)
		h := *d.Definition.HTTP
		h.Headers = source.Headers{"Accept": nil, "X-Word": new("null"), "X-Own": new("1")}
		d.Definition.HTTP, d.Definition.Endpoints = &h, slices.Clone(d.Definition.Endpoints)
		d.Definition.Endpoints[0].Headers = source.Headers{"X-Own": nil}
		if _, err := l.Apply(t.Context(), d, registry.Order{}); err != nil {
			t.Fatal(err)
		}
		c, err := s.LoadSource(t.Context(), "crossref")
		if err != nil {
			t.Fatal(err)
		}
		text := sourcefile.Format(c.Pack(c.ReadAt))
		again, err := sourcefile.Parse("again.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := sourcefile.Diff(d.Definition, again.Definition); len(diff) != 0 {
			t.Errorf("the pack came back different: %v", diff)
		}
		if got := again.Definition.HTTP.Headers; len(got) != 3 || got["Accept"] != nil || *got["X-Word"] != "null" {
			t.Errorf("headers %v in\n%s", got, text)
		}
		con, err := l.Contract(t.Context(), "crossref", harvest.Harvest)
		if err != nil {
			t.Fatal(err)
		}
		if own, there := con.Spec.Search.Headers["X-Own"]; !there || own != nil {
			t.Errorf("compiled to %v", con.Spec.Search.Headers)
		}
		h.Headers["Accept"] = new("null")
		if diff := sourcefile.Diff(again.Definition, d.Definition); len(diff) != 1 || diff[0].String() != "http.headers.Accept: (taken away) -> null" {
			t.Errorf("differences %v", diff)
		}
		d.Hash = "another"
		if p, err := l.Apply(t.Context(), d, registry.Order{DryRun: true}); err != nil || len(p.Changes) == 0 {
			t.Errorf("a text in place of null is no change: %v, %v", p.Changes, err)
		}
	})
}

// TestRegistry_ScheduleAndRollback: a change in the future is not felt before its
// time, is felt after it, and can be taken back at any moment.
func TestRegistry_ScheduleAndRollback(t *testing.T) {
	t.Parallel()
	l, _ := newRegistry(t, patratest.SQLite)
	ctx := t.Context()
	qps := func(at time.Time) float64 {
		t.Helper()
		e, err := l.Show(ctx, "crossref", harvest.Harvest, at)
		if err != nil || len(e.Violations) > 0 {
			t.Fatal(err, e.Violations)
		}
		return e.Contract.Spec.Rate.QPS
	}
	now := time.Now()
	if qps(time.Time{}) != 2.7 {
		t.Fatal("shipped rate is not 2.7")
	}
	d := described(t, "crossref", registry.API)
	rate := *d.Definition.RateLimit
	rate.QPS = 1
	d.Definition.RateLimit = &rate
	o := registry.Order{From: now.Add(time.Hour), Observe: 30 * time.Minute, Audit: source.Audit{Actor: "t", Reason: "slower"}}
	o.DryRun = true
	prev, err := l.Apply(ctx, d, o)
	if err != nil || len(prev.Changes) != 2 {
		t.Fatalf("preview: %v, %v", prev, err)
	}
	o.DryRun, o.Token = false, "stale"
	if _, err := l.Apply(ctx, d, o); !errors.Is(err, registry.ErrStale) {
		t.Errorf("another token: %v", err)
	}
	o.Token = prev.Token
	if _, err := l.Apply(ctx, d, o); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Duration]float64{time.Minute: 2.7, 59 * time.Minute: 2.7, 61 * time.Minute: 1, 89 * time.Minute: 1, 91 * time.Minute: 1} {
		if got := qps(now.Add(at)); got != want {
			t.Errorf("after %s the rate is %v, want %v", at, got, want)
		}
	}
	if _, err := l.Rollback(ctx, "crossref", registry.Order{Audit: source.Audit{Actor: "t", Reason: "back"}}); err != nil {
		t.Fatal(err)
	}
	if got := qps(now.Add(2 * time.Hour)); got != 2.7 {
		t.Errorf("after the rollback the rate is %v", got)
	}
}

// TestRegistry_AContractIsKeptUntilItsDescriptionChanges: a contract asked for again is
// the same one, also after the description was read anew; a change takes effect at its
// hour, though it was known long before.
func TestRegistry_AContractIsKeptUntilItsDescriptionChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _ := newRegistry(t, patratest.SQLite)
		spec := func(query string) *source.Spec {
			t.Helper()
			con, err := l.Select(t.Context(), "crossref", harvest.Harvest, query)
			if err != nil {
				t.Fatal(err)
			}
			return con.Spec
		}
		first := spec("")
		if spec("type:book") == first {
			t.Error("another query has the same contract")
		}
		time.Sleep(10 * time.Minute)
		if spec("") != first {
			t.Error("compiled again, though nothing was changed")
		}
		d := described(t, "crossref", registry.API)
		rate := *d.Definition.RateLimit
		rate.QPS = 1
		d.Definition.RateLimit = &rate
		o := registry.Order{From: time.Now().Add(time.Hour), Audit: source.Audit{Actor: "t", Reason: "slower"}}
		if _, err := l.Apply(t.Context(), d, o); err != nil {
			t.Fatal(err)
		}
		if got := spec("").Rate.QPS; got != 2.7 {
			t.Errorf("an hour before the change the rate is %v", got)
		}
		time.Sleep(59 * time.Minute)
		if got := spec("").Rate.QPS; got != 2.7 {
			t.Errorf("a minute before the change the rate is %v", got)
		}
		for range 6 {
			time.Sleep(10 * time.Second) // each of them sooner than all is read again
			spec("")
		}
		time.Sleep(5 * time.Second)
		if got := spec("").Rate.QPS; got != 1 {
			t.Errorf("after the change the rate is %v", got)
		}
	})
}

// TestRegistry_AReadingIsGoodForAsLongAsIsSet: what another process changes is seen when the reading has grown old,
// which is after two seconds unless another time is set.
func TestRegistry_AReadingIsGoodForAsLongAsIsSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		other, s := newRegistry(t, patratest.SQLite)
		reader := func() *registry.Registry {
			return registry.New(s, registry.Read(nil), map[string]string{"contact": "a@example.org", "tool": "patra"}, node.CheckSpec, patratest.Logger(t))
		}
		rate := func(l *registry.Registry) float64 {
			t.Helper()
			con, err := l.Select(t.Context(), "crossref", harvest.Harvest, "")
			if err != nil {
				t.Fatal(err)
			}
			return con.Spec.Rate.QPS
		}
		rate(other) // the pack is applied by whoever asks first
		usual := reader()
		patient := reader().CacheFor(time.Minute)
		if rate(usual) != 2.7 || rate(patient) != 2.7 {
			t.Fatalf("before the change: %v, %v", rate(usual), rate(patient))
		}
		d := described(t, "crossref", registry.API)
		slower := *d.Definition.RateLimit
		slower.QPS = 1
		d.Definition.RateLimit = &slower
		if _, err := other.Apply(t.Context(), d, registry.Order{Audit: source.Audit{Actor: "t", Reason: "slower"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if rate(usual) != 1 || rate(patient) != 2.7 {
			t.Errorf("three seconds after the change: %v, and %v where a minute is set", rate(usual), rate(patient))
		}
		time.Sleep(time.Minute)
		if rate(patient) != 1 {
			t.Errorf("a minute after it: %v", rate(patient))
		}
	})
}

// leftAlone is a store whose sources nobody may change.
type leftAlone struct{ *sqlstore.Store }

func (leftAlone) ChangeSource(context.Context, source.Provenance, source.Audit, func(source.Contents) ([]source.Change, error)) ([]source.Change, error) {
	return nil, errors.New("INSERT command denied to user 'scheduler'")
}

// TestR74_PacksAreLeftToPeople: a registry that leaves packs alone writes nothing: a source
// that was never applied is refused with what to do, one whose pack has changed is as it was
// applied, with a line in the log for each pack that waits. Another that applies them has both.
func TestR74_PacksAreLeftToPeople(t *testing.T) {
	t.Parallel()
	store := patratest.Open(t, patratest.SQLite.DSN(t), sqlstore.Options{})
	packs := registry.Read{"pubmed": described(t, "pubmed", registry.File)}
	vars := map[string]string{"contact": "a@example.org", "tool": "patra"}
	applied := func() string {
		t.Helper()
		con, err := registry.New(store, packs, vars, node.CheckSpec, patratest.Logger(t)).Contract(t.Context(), "pubmed", harvest.Harvest)
		if err != nil {
			t.Fatal(err)
		}
		return con.ConfigHash
	}
	var log strings.Builder
	l := registry.New(leftAlone{store}, packs, vars, node.CheckSpec, slog.New(slog.NewTextHandler(&log, nil))).CacheFor(1).ApplyPacks(false)

	_, err := l.Contract(t.Context(), "pubmed", harvest.Harvest)
	p, _ := problem.Of(err)
	if _, is := errors.AsType[*registry.UnappliedError](err); !is || p.Code != "source_not_applied" || p.Next != "patra source apply pubmed" {
		t.Errorf("a source that was never applied: %v, %+v", err, p)
	}
	if errors.Is(err, harvest.ErrNotFound) {
		t.Error("a source that was never applied is taken for one that nobody describes")
	}
	if _, err := l.Contract(t.Context(), "pubmd", harvest.Harvest); !errors.Is(err, harvest.ErrNotFound) {
		t.Errorf("a source that there is not: %v", err)
	}
	first := applied()

	d := packs["pubmed"]
	d.Hash = "another"
	d.Definition.Schedule = &source.ScheduleConfig{Harvest: "15 * * * *"}
	packs["pubmed"] = d
	for range 3 {
		con, err := l.Contract(t.Context(), "pubmed", harvest.Harvest)
		if err != nil || con.ConfigHash != first {
			t.Errorf("with a pack that has changed: %s, %v; in force is %s", con.ConfigHash, err, first)
		}
		if list, err := l.Schedules(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("schedules of a pack that is not in force: %v, %v", list, err)
		}
	}
	if n := strings.Count(log.String(), `next="patra source apply pubmed"`); n != 1 {
		t.Errorf("the pack that waits is told of %d times:\n%s", n, log.String())
	}
	applied()
	if list, err := l.Schedules(t.Context()); err != nil || len(list) == 0 {
		t.Errorf("once somebody has applied it: %v, %v", list, err)
	}
}
