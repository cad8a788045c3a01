package executor_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// willing is an upstream that answers whatever the hour is, as one without a
// gate before it would: pages of one record, minutes apart.
type willing struct {
	pages int
	takes time.Duration

	mu    sync.Mutex
	asked []time.Time // guarded by mu; when each page was
}

func (w *willing) Ask(_ context.Context, _ *source.Spec, c source.Call) (source.Answer, error) {
	w.mu.Lock()
	w.asked = append(w.asked, time.Now())
	n := len(w.asked)
	w.mu.Unlock()
	time.Sleep(w.takes)
	p := &harvest.Page{}
	for _, id := range c.IDs {
		p.Items = append(p.Items, item(id, c.Window.From))
	}
	if c.Purpose == source.ForSearch {
		p.Items = append(p.Items, item(fmt.Sprint("q", n), c.Window.From))
		if c.Position.Pages+1 < w.pages {
			p.Token = fmt.Sprint("t", n)
		} else {
			p.HasMore = new(false)
		}
	}
	return source.Answer{Page: p, Status: 200, Traffic: source.Traffic{Sent: 1}}, nil
}

func item(id string, at time.Time) harvest.Item {
	raw := []byte(id)
	return harvest.Item{ID: id, Raw: raw, UpdatedAt: at, Fields: []byte(`{}`), Status: harvest.RecordActive}
}

// TestP20_WalkHaltsWhereQuietHoursBegin: the executor itself begins no page in
// the quiet hours of its source, whoever else would have let it: the page in
// hand is stored, the next is not asked for and no walk begun again, and
// afterwards it goes on from there, as if nothing had been. That is no failure
// of the task. An operation that does not rest is not kept.
func TestP20_WalkHaltsWhereQuietHoursBegin(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "two-phase"} {
		for _, resting := range []harvest.Operation{harvest.Harvest, harvest.Backfill} {
			t.Run(fmt.Sprintf("%s/%s rests", name, resting), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := newBench(t, manners[name], setup{})
					if _, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "generic", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/generic"}); err != nil {
						t.Fatal(err)
					}
					tasks := b.ask(`SELECT COUNT(*) FROM ing_task`)
					began := time.Now()
					from, to := began.Add(150*time.Second), began.Add(3*time.Hour)
					w := &willing{pages: 5, takes: time.Minute}
					released := 0
					ex := executor.New(executor.Config{
						Workers: 1, Poll: time.Minute,
						Resting: func(context.Context) []harvest.Rest {
							if now := time.Now(); now.Before(from) || !now.Before(to) {
								return nil
							}
							return []harvest.Rest{{Provenance: "generic", Operation: resting, Until: to}, {Provenance: "other", Operation: harvest.Harvest, Until: to}}
						},
						Observe: func(e executor.Event) {
							if e.Kind == executor.TaskReleased && e.Reason == harvest.CodeQuiet {
								released++
								if n := b.ask(`SELECT MAX(deaths)+MAX(spent_runs) FROM ing_task`); n != 0 {
									t.Errorf("the halt counts as %d failures", n)
								}
							}
						},
						Idle: func(context.Context, int) (bool, error) {
							return b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='SUCCEEDED'`) == tasks, nil
						},
					}, b.Node.Store, w, slog.New(slog.DiscardHandler))
					if err := ex.Run(t.Context()); err != nil {
						t.Fatal(err)
					}
					in := 0
					for _, at := range w.asked {
						if !at.Before(from) && at.Before(to) {
							in++
						}
					}
					if quiet := resting == harvest.Harvest; quiet && (in != 0 || released != 1) || !quiet && (in == 0 || released != 0) {
						t.Errorf("%d pages were asked for in quiet hours, released %d times: %v", in, released, w.asked)
					}
					want := 5 * tasks
					if name == "two-phase" {
						want += tasks // all ids fit one page of details
					}
					if len(w.asked) != want || b.ask(doubled) != 0 || b.ask(walks) != 1 {
						t.Errorf("%d pages were asked for, want %d", len(w.asked), want)
					}
				})
			})
		}
	}
}
