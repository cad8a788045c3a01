package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR17_AWildClockIsNotBelieved: windows end by the upstream's clock only as far
// as that can be true: within a day at the source's own host, within ten years at
// one that stands in for it and may live in a time of its own.
func TestR17_AWildClockIsNotBelieved(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	epoch := time.Unix(0, 0)
	ago := func(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(-d) } }
	for name, c := range map[string]struct {
		date    func() time.Time
		standIn bool
		back    time.Duration // how far before the store's the horizon is
		warns   bool
	}{
		"1970":                       {func() time.Time { return epoch }, false, 0, true},
		"far ahead":                  {func() time.Time { return epoch.AddDate(8000, 0, 0) }, false, 0, true},
		"a day and an hour back":     {ago(25 * time.Hour), false, 0, true},
		"an hour less than a day":    {ago(23 * time.Hour), false, 23 * time.Hour, false},
		"stand-in, 1970":             {func() time.Time { return epoch }, true, 0, true},
		"stand-in, sixty days back":  {ago(60 * day), true, 60 * day, false},
		"stand-in, three years back": {ago(3 * 365 * day), true, 3 * 365 * day, false},
	} {
		t.Run(name, func(t *testing.T) {
			servedBubble(t, func(t *testing.T) {
				s := newServed(t, "5", `{harvest: "@hourly"}`, sim.Config{Records: 60, Span: 5 * 365 * day, Churn: &sim.Churn{}})
				s.date = c.date
				req := control.HarvestRequest{Source: "generic", From: time.Now().AddDate(-6, 0, 0)}
				if c.standIn {
					req.BaseURL = "http://127.0.0.1/generic"
				}
				harvested := func() *control.Report {
					rep, err := s.Control.Harvest(t.Context(), req)
					if err != nil || rep.Status != "COMPLETED" {
						t.Fatalf("%+v, %v", rep, err)
					}
					want := time.Now().Add(-c.back - 10*time.Minute)
					if off := rep.Window.To.Time().Sub(want).Abs(); off > time.Minute {
						t.Errorf("the window ends %s, want about %s", rep.Window.To, want.UTC())
					}
					return rep
				}
				rep := harvested()
				if said := strings.Contains(strings.Join(rep.Warnings, "\n"), "too far off"); said != c.warns {
					t.Errorf("warnings: %q", rep.Warnings)
				}
				time.Sleep(2 * time.Hour)
				rep = harvested()
				if d := rep.Window.To.Time().Sub(rep.Window.From.Time()); d > 3*time.Hour {
					t.Errorf("the next window lasts %s", d)
				}
				patratest.MustEqual(t, s.Store, s.oracle, "generic", rep.Watermark.Time())
				patratest.MustVerify(t, s.Store)
			})
		})
	}
}
