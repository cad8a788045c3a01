package steward_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/steward"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// fake is a store and a planner that remember what they were asked.
type fake struct {
	now     time.Time
	watched []harvest.Watched
	windows []harvest.Window
	late    harvest.Lateness
	lag     time.Duration
	since   time.Time
	by      time.Time
	claimed bool
	tuned   []harvest.Tuning
	plans   []harvest.Trigger
	refuse  error
}

func (f *fake) Now(context.Context) (time.Time, error)                { return f.now, nil }
func (f *fake) Watched(context.Context) ([]harvest.Watched, error)    { return f.watched, nil }
func (f *fake) Schedules(context.Context) ([]source.Scheduled, error) { return nil, nil }

func (f *fake) Lateness(context.Context, harvest.CursorID) (harvest.Lateness, error) {
	return f.late, nil
}

func (f *fake) ProvenWindows(_ context.Context, _ harvest.CursorID, since, by time.Time) ([]harvest.Window, error) {
	f.since, f.by = since, by
	return f.windows, nil
}

func (f *fake) ClaimSentinel(context.Context, harvest.Namespace, time.Time) (bool, error) {
	won := !f.claimed
	f.claimed = true
	return won, nil
}

func (f *fake) TunedLag(context.Context, harvest.Namespace, time.Duration) (time.Duration, bool, error) {
	return f.lag, f.lag != 0, nil
}

func (f *fake) TuneLag(_ context.Context, t harvest.Tuning) (bool, error) {
	f.tuned = append(f.tuned, t)
	return true, nil
}

func (f *fake) Answer(_ context.Context, t harvest.Trigger) (harvest.TriggerAnswer, error) {
	f.plans = append(f.plans, t)
	return harvest.TriggerAnswer{Plan: 1}, f.refuse
}

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// watched is a namespace whose source declares a lag.
func watched(t *testing.T, lag time.Duration, updatedAt source.UpdatedAt) harvest.Watched {
	t.Helper()
	spec := &source.Spec{Version: source.SpecVersion, Source: "lab", Query: &source.Selection{Text: `title:"a b"`}}
	spec.Window.SafetyLag, spec.Window.UpdatedAt = source.Duration(lag), updatedAt
	b, err := spec.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return harvest.Watched{Cursor: 7, Namespace: harvest.HarvestNamespace("lab", "search", "updated", "all"), Snapshot: b, BaseURL: "http://mirror"}
}

func (f *fake) steward(c steward.Config) *steward.Steward {
	return steward.New(c, nil, f, f, slog.New(slog.DiscardHandler))
}

// TestTune_LeavesAlone: a lag declared outside the bounds, a rate that is not
// known and a day that was tuned already change nothing (C7, R11).
func TestTune_LeavesAlone(t *testing.T) {
	much, none := harvest.Lateness{LookedBack: true, Fresh: 1000, Late: 100}, harvest.Lateness{LookedBack: true, Fresh: 1000}
	for _, c := range []struct {
		name     string
		declared time.Duration
		tuned    time.Duration
		late     harvest.Lateness
		at       time.Time
		want     string
	}{
		{"raised", 10 * time.Minute, 0, much, time.Time{}, "10m0s->15m0s"},
		{"raised again", 10 * time.Minute, 15 * time.Minute, much, noon.Add(-13 * time.Hour), "15m0s->20m0s"},
		{"at the top", 10 * time.Minute, time.Hour, much, time.Time{}, "1h0m0s->1h0m0s"},
		{"lowered", 10 * time.Minute, 0, none, time.Time{}, "10m0s->9m0s"},
		{"at the bottom", 5 * time.Minute, 0, none, time.Time{}, "5m0s->5m0s"},
		{"declared above", 2 * time.Hour, 0, none, time.Time{}, ""},
		{"declared below", time.Minute, 0, much, time.Time{}, ""},
		{"unknown", 10 * time.Minute, 0, harvest.Lateness{Fresh: 1000}, time.Time{}, ""},
		{"tuned today", 10 * time.Minute, 0, much, noon.Add(-12 * time.Hour), ""},
	} {
		w := watched(t, c.declared, "PATH")
		w.TunedAt = c.at
		f := &fake{now: noon, watched: []harvest.Watched{w}, late: c.late, lag: c.tuned}
		if err := f.steward(steward.Config{}).Tune(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, x := range f.tuned {
			got.WriteString(fmt.Sprintf("%s->%s", x.From, x.To))
		}
		if got.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.String(), c.want)
		}
	}
}

// TestSentinel_WalksAProvenWindow: what is sent is the selection of the harvest,
// last in the queue, named for day and namespace; which window it takes follows
// from both, and differs from day to day.
func TestSentinel_WalksAProvenWindow(t *testing.T) {
	var windows []harvest.Window
	for h := range 100 {
		at := noon.Add(time.Duration(h-150) * time.Hour)
		windows = append(windows, harvest.Window{From: at, To: at.Add(time.Hour)})
	}
	send := func(now time.Time) harvest.Trigger {
		t.Helper()
		f := &fake{now: now, watched: []harvest.Watched{watched(t, 10*time.Minute, "PATH")}, windows: windows}
		for i, want := range []int{1, 0} {
			if n, err := f.steward(steward.Config{}).Sentinel(t.Context(), "lab"); err != nil || n != want {
				t.Fatalf("try %d: %d sent, %v", i, n, err)
			}
		}
		day := now.Truncate(24 * time.Hour)
		if !f.by.Equal(day.Add(-time.Hour)) || !f.since.Equal(f.by.Add(-7*24*time.Hour)) {
			t.Errorf("looked at [%s, %s]", f.since, f.by)
		}
		return f.plans[0]
	}
	a := send(noon)
	if a.Operation != harvest.Backfill || a.Priority != 900 || a.Watches != 7 || a.BaseURL != "http://mirror" || a.Query != `title:"a b"` ||
		!strings.HasPrefix(a.Activity, "sentinel-20260310-") || !slices.Contains(windows, harvest.Window{From: a.From, To: a.To}) {
		t.Errorf("%+v", a)
	}
	if b := send(noon.Add(11 * time.Hour)); b.Activity != a.Activity || !b.From.Equal(a.From) {
		t.Errorf("later that day %+v", b)
	}
	seen := map[time.Time]bool{}
	for d := range 20 {
		seen[send(noon.AddDate(0, 0, d)).From] = true
	}
	if len(seen) < 10 {
		t.Errorf("%d windows in 20 days", len(seen))
	}
}

// TestSentinel_StaysAtHome: where nothing could be told, nothing is proven, the
// day is taken, or the source may not be asked, nothing is sent or claimed. A
// plan that fails is not tried again that day.
func TestSentinel_StaysAtHome(t *testing.T) {
	win := []harvest.Window{{From: noon.Add(-50 * time.Hour), To: noon.Add(-49 * time.Hour)}}
	for name, c := range map[string]struct {
		updatedAt source.UpdatedAt
		windows   []harvest.Window
		at        time.Time
		may       bool
	}{
		"no update time":  {"WINDOW", win, time.Time{}, true},
		"nothing proven":  {"PATH", nil, time.Time{}, true},
		"sent today":      {"PATH", win, noon.Add(-12 * time.Hour), true},
		"may not be sent": {"PATH", win, time.Time{}, false},
	} {
		w := watched(t, 10*time.Minute, c.updatedAt)
		w.SentinelAt = c.at
		f := &fake{now: noon, watched: []harvest.Watched{w}, windows: c.windows}
		s := f.steward(steward.Config{May: func(context.Context, string, harvest.Operation) bool { return c.may }})
		if n, err := s.Sentinel(t.Context(), "lab"); err != nil || n != 0 || f.claimed || len(f.plans) != 0 {
			t.Errorf("%s: %d sent, %v, claimed %v", name, n, err, f.claimed)
		}
	}
	f := &fake{now: noon, watched: []harvest.Watched{watched(t, 10*time.Minute, "PATH")}, windows: win, refuse: errors.New("not there")}
	if n, err := f.steward(steward.Config{}).Sentinel(t.Context(), "lab"); err == nil || n != 0 {
		t.Errorf("%d sent, %v", n, err)
	}
	f.refuse = nil
	if n, err := f.steward(steward.Config{}).Sentinel(t.Context(), "lab"); err != nil || n != 0 || len(f.plans) != 1 {
		t.Errorf("%d sent, %v, %d plans", n, err, len(f.plans))
	}
}
