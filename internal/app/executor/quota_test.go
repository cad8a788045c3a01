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
