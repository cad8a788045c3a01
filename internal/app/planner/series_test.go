package planner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// said is a BACKFILL of Crossref as a person asks for it by words.
func (b *bench) said(activity, from, to string) control.HarvestRequest {
	return control.HarvestRequest{
		Source: "crossref", Operation: harvest.Backfill, Activity: activity, Spoken: control.Spoken{From: from, To: to}, BaseURL: b.Base + "/crossref",
	}
}

// pass lets time go by, here and there.
func (b *bench) pass(d time.Duration) {
	b.Sim.Advance(d)
	time.Sleep(d)
}

// ends runs a request that has to end with exit 0 and in a state.
func (b *bench) ends(t *testing.T, req control.HarvestRequest, status string) *control.Report {
	t.Helper()
	rep, err := b.Node.Control.Harvest(t.Context(), req)
	if err != nil || rep.Status != status || rep.Noop != (status == "NOOP") || rep.Waits {
		t.Fatalf("%+v, %v: want %s", rep, err, status)
	}
	patratest.MustVerify(t, b.Node.Store)
	return rep
}

// TestR8_TheSameWordsGoOn: a BACKFILL whose window is told from now goes on in the window
// it was begun with, however long after, with and without a name of its own; when that is
// read, the same command on the same day has nothing to do.
func TestR8_TheSameWordsGoOn(t *testing.T) {
	t.Parallel()
	for name, activity := range map[string]string{"by its words": "", "by its name": "mine"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				b := newBench(t, sim.Config{Now: time.Now()}, nil)
				req := b.said(activity, "-20d", "-10d")
				planned, err := b.Node.Control.PlanHarvest(t.Context(), req)
				if err != nil || planned.Noop || len(planned.Warnings) > 0 {
					t.Fatalf("%+v, %v", planned, err)
				}
				for _, passed := range []time.Duration{time.Minute, 72 * time.Hour} {
					b.pass(passed)
					again, err := b.Node.Control.PlanHarvest(t.Context(), req)
					if err != nil || !strings.Contains(strings.Join(again.Warnings, ""), "goes on with ["+planned.From.String()) {
						t.Fatalf("after %s: %+v, %v", passed, again, err)
					}
				}
				rep := b.ends(t, req, "COMPLETED")
				if rep.Window.From != planned.From || rep.Window.To != planned.To {
					t.Errorf("read %s, was begun with [%s, %s)", rep.Window, planned.From, planned.To)
				}
				if n := b.ask(`SELECT COUNT(*) FROM ing_plan`); n != 1 {
					t.Errorf("%d plans", n)
				}
			})
		})
	}
}

// TestR8_TheSameWordsOnTheSameDay: a second run is a NOOP and says which window was read.
func TestR8_TheSameWordsOnTheSameDay(t *testing.T) {
	t.Parallel()
	for name, activity := range map[string]string{"by its words": "", "by its name": "mine"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				b := newBench(t, sim.Config{Now: time.Now()}, nil)
				b.pass(time.Until(time.Now().Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute))) // a day just begun
				req := b.said(activity, "-20d", "-10d")
				first := b.ends(t, req, "COMPLETED")
				b.pass(20 * time.Hour)
				second := b.ends(t, req, "NOOP")
				if !strings.Contains(strings.Join(second.Notes, ""), first.Window.From.String()) || len(second.Warnings) > 0 {
					t.Errorf("%+v", second)
				}
			})
		})
	}
}

// TestR8_WordsOfAnotherDayAreAnotherActivity: who runs the same words week after week
// reads a new window each time, which begins where the one before ended; after a long pause
// only what was asked for is read.
func TestR8_WordsOfAnotherDayAreAnotherActivity(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{Now: time.Now()}, nil)
		req := b.said("", "-7d", "today")
		last := b.ends(t, req, "COMPLETED").Window.To
		for range 3 {
			b.pass(7*24*time.Hour + 3*time.Minute)
			rep := b.ends(t, req, "COMPLETED")
			if rep.Window.From != last || !last.Before(rep.Window.To) || !strings.Contains(strings.Join(rep.Notes, ""), "where the last run of the same command ended") {
				t.Errorf("read %s, the week before ended at %s: %q", rep.Window, last, rep.Notes)
			}
			last = rep.Window.To
		}
		b.pass(60 * 24 * time.Hour)
		rep := b.ends(t, req, "COMPLETED")
		if length := rep.Window.To.Time().Sub(rep.Window.From.Time()); length > 7*24*time.Hour {
			t.Errorf("after a pause read %s, %s", rep.Window, length)
		}
	})
}
