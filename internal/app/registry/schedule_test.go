package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
)

// TestRegistry_SchedulesThroughTheTables: what a pack says of its schedule comes
// back from the rows, for the operations it is for, and plans do not feel it.
func TestRegistry_SchedulesThroughTheTables(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		l, s := newRegistry(t, e)
		if all, err := l.Schedules(t.Context()); err != nil || len(all) != 0 {
			t.Fatalf("shipped packs have schedules: %v, %v", all, err)
		}
		before, err := l.Contract(t.Context(), "pubmed", harvest.Harvest)
		if err != nil {
			t.Fatal(err)
		}
		d := described(t, "pubmed", registry.File)
		d.Definition.Schedule = &source.ScheduleConfig{
			Harvest: "15 * * * *", Update: "@weekly", OlderThan: source.Duration(90 * 24 * time.Hour), Zone: "America/New_York", Sentinel: true,
			Quiet: []schedule.QuietHours{{Days: "Mon-Fri", From: "05:00", To: "21:00"}, {From: "23:00", To: "01:00"}},
		}
		d.Definition.Tasks = map[harvest.Operation]*source.Overrides{harvest.Backfill: {Schedule: &source.ScheduleConfig{Quiet: []schedule.QuietHours{{From: "06:00", To: "22:00"}}}}}
		prev, err := l.Apply(t.Context(), d, registry.Order{Audit: source.Audit{Actor: "t", Reason: "every hour"}})
		if err != nil || len(prev.Changes) != 2 {
			t.Fatalf("%d changes, %v", len(prev.Changes), err)
		}
		all, err := l.Schedules(t.Context())
		if err != nil || len(all) != 3 {
			t.Fatalf("%d schedules, %v", len(all), err)
		}
		noon := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC) // a Monday, 08:00 in New York
		for i, want := range []struct {
			op    harvest.Operation
			line  string
			until string
		}{{harvest.Harvest, "15 * * * *", "2026-03-10T01:00:00Z"}, {harvest.Backfill, "", "2026-03-09T22:00:00Z"}, {harvest.Update, "@weekly", "2026-03-10T01:00:00Z"}} {
			got := all[i]
			until, _ := got.Schedule.QuietUntil(noon)
			if got.Source != "pubmed" || got.Operation != want.op || got.Schedule.Line(want.op).String() != want.line || until.Format(time.RFC3339) != want.until || got.Since.IsZero() {
				t.Errorf("%+v, quiet until %s, want %+v", got, until, want)
			}
		}
		if h := all[0].Schedule; h.OlderThan != 90*24*time.Hour || !h.Sentinel || h.Zone.String() != "America/New_York" {
			t.Errorf("%+v", h)
		}
		after, err := l.Contract(t.Context(), "pubmed", harvest.Harvest)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := before.Spec.Fingerprint()
		b, _ := after.Spec.Fingerprint()
		if a != b || before.ConfigHash == after.ConfigHash || before.Schedule != nil || after.Schedule == nil {
			t.Errorf("fingerprint %s then %s, schedule %v then %v", a, b, before.Schedule, after.Schedule)
		}
		// Applying what the rows say changes nothing; a bad line is refused whole.
		c, err := s.LoadSource(t.Context(), "pubmed")
		if err != nil {
			t.Fatal(err)
		}
		d.Definition = c.Pack(c.ReadAt)
		if prev, err := l.Apply(t.Context(), d, registry.Order{DryRun: true}); err != nil || len(prev.Changes) != 0 {
			t.Errorf("%d changes, %v", len(prev.Changes), err)
		}
		cfg := *d.Definition.Schedule
		cfg.Harvest = "61 * * * *"
		d.Definition.Schedule = &cfg
		if _, err := l.Apply(t.Context(), d, registry.Order{Audit: source.Audit{Actor: "t"}}); err == nil || !strings.Contains(err.Error(), `schedule.harvest: minute "61"`) {
			t.Errorf("a bad line: %v", err)
		}
	})
}
