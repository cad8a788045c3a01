package executor_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
)

// TestR38_SpentQuotaIsNoFailure: with three requests an hour, or a week, a harvest
// takes its time. The tasks are put back, nothing is held against them, and the
// source is not paused.
func TestR38_SpentQuotaIsNoFailure(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		t.Run(window.String(), func(t *testing.T) { spentQuota(t, window) })
	}
}

func spentQuota(t *testing.T, window time.Duration) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Time
		b := newBench(t, manners["token"], setup{
			sim: sim.Config{Records: 90}, node: node.Config{Workers: 2, Poll: window / 60},
			tweak: func(s *source.Spec) {
				s.Rate.Quotas = []source.QuotaConfig{{Limit: 3, Window: source.Duration(window)}}
			},
		})
		b.Sim.SetOnRequest(func(*http.Request) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
		})
		rep := b.exact()
		slices.SortFunc(at, time.Time.Compare)
		for i := range len(at) - 3 {
			if d := at[i+3].Sub(at[i]); d < window {
				t.Errorf("four requests within %v", d)
			}
		}
		if took := at[len(at)-1].Sub(at[0]); len(at) < 6 || took < window || took > 3*window {
			t.Errorf("%d requests in %v", len(at), took)
		}
		if rep.Slices.Failed != 0 {
			t.Errorf("slices %+v", rep.Slices)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task_run WHERE status_code='FAILED'`); n != 0 {
			t.Errorf("%d runs failed for want of quota", n)
		}
	})
}

// TestR22_WaitingForAPermitKeepsThePlace: nothing was sent, so that the server
// holds the place it held, and a walk goes on where it was. Each page is asked for
// once.
func TestR22_WaitingForAPermitKeepsThePlace(t *testing.T) {
	t.Parallel()
	every(t, []string{"token", "token-const", "scroll"}, func(t *testing.T, m manner) {
		b := newBench(t, m, setup{
			sim: sim.Config{CursorLife: 48 * time.Hour}, node: node.Config{Poll: time.Minute},
			tweak: func(s *source.Spec) {
				s.Rate.Quotas = []source.QuotaConfig{{Limit: 3, Window: source.Duration(time.Hour)}}
			},
		})
		b.exact()
		if n := b.ask(walks); n != 1 {
			t.Errorf("%d walks", n)
		}
		if n, want := b.pages(), b.ask(committed); n != want {
			t.Errorf("%d pages asked for, %d stored", n, want)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SKIPPED'`); n == 0 {
			t.Error("no page had to wait")
		}
	})
}

// TestR22_ThrottledNeighbourCostsNoWalk: two walks at a time, and one of them is
// told to stay away for long. It begins again (R63); the other, which waits at the
// gate and sends nothing, goes on.
func TestR22_ThrottledNeighbourCostsNoWalk(t *testing.T) {
	t.Parallel()
	every(t, []string{"token-const", "scroll"}, func(t *testing.T, m manner) {
		b := newBench(t, m, setup{
			sim: sim.Config{Records: 200, CursorLife: 48 * time.Hour}, node: node.Config{Workers: 2, Poll: time.Second},
			wrap: func(next http.RoundTripper) http.RoundTripper {
				return &throttledOnce{next: next, both: make(chan struct{}), walks: map[string]bool{}}
			},
		})
		b.exact()
		if n := b.ask(`SELECT SUM(walk_no-1) FROM ing_task`); n != 1 {
			t.Errorf("%d walks begun again", n)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SKIPPED' AND ordinal>1`); n == 0 {
			t.Error("nobody had to wait in the middle of a walk")
		}
	})
}

// throttledOnce lets two walks go on by one page each, the first not before the
// second, and refuses whichever goes on next: the other is in the middle then. A page
// of a walk that goes on takes a second, which passes only when all that a moment
// brings is done: so the other has at most one page on its way when the refusal is
// heard, however slow the machine is, and does not come to its end before.
type throttledOnce struct {
	next http.RoundTripper
	both chan struct{} // closed when two walks went on

	mu      sync.Mutex
	walks   map[string]bool // guarded by mu; that went on, by the beginning of their window
	refused bool            // guarded by mu
}

func (o *throttledOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	if q.Get("token")+q.Get("scroll_id") == "" {
		return o.next.RoundTrip(r)
	}
	if o.refuses(q.Get("from")) {
		return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"600"}}, Body: http.NoBody, Request: r}, nil
	}
	<-o.both
	time.Sleep(time.Second)
	return o.next.RoundTrip(r)
}

func (o *throttledOnce) refuses(walk string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.walks) == 2 {
		first := !o.refused
		o.refused = true
		return first
	}
	o.walks[walk] = true
	if len(o.walks) == 2 {
		close(o.both)
	}
	return false
}
