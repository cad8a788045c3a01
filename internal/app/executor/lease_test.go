package executor_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
)

// TestTrust_NothingIsAskedOnceTheLeaseMayBeAnothers: the store stands still while a
// page is asked for again and again. From the moment on at which the lease may have
// run out for want of a renewal, no request leaves. When the store moves again the
// task is given back and gone on with, and nothing is missing.
func TestTrust_NothingIsAskedOnceTheLeaseMayBeAnothers(t *testing.T) {
	t.Parallel()
	const ttl, margin = time.Minute, 6 * time.Second
	const outage = 4 * time.Minute
	every(t, []string{"token", "two-phase"}, func(t *testing.T, m manner) {
		var still atomic.Bool
		moves := make(chan struct{})
		hook := func(string) error {
			if still.Load() {
				<-moves
			}
			return nil
		}
		b := newBench(t, m, setup{hook: hook, node: node.Config{LeaseTTL: ttl}, tweak: func(s *source.Spec) {
			s.Retry = source.Retry{Attempts: 1000, Base: source.Duration(time.Second), Max: source.Duration(2 * time.Second)}
		}})
		page := func(r *http.Request) bool { return r.Form.Get("only") != "count" }
		b.Sim.Script(sim.Script{Fault: sim.HTTP500, After: 1, Times: -1, When: page})
		var stood time.Time // no time passes between the last renewal and this
		b.onPage(2, func(*http.Request) {
			stood = time.Now()
			still.Store(true)
			time.AfterFunc(outage, func() {
				b.Sim.ClearScripts()
				still.Store(false)
				close(moves)
			})
		})
		b.exact()
		before, after := 0, 0
		for _, r := range b.Sim.Requests() {
			at := r.At.Sub(stood)
			switch {
			case at > 0 && at < ttl-margin:
				before++
			case at >= ttl-margin && at < outage:
				after++
			}
		}
		if before < 20 {
			t.Errorf("%d requests while the lease was sure: the page was not asked for again", before)
		}
		if after > 0 {
			t.Errorf("%d requests after the lease could have been another's", after)
		}
		if code := b.text(`SELECT error_code FROM ing_task_run WHERE status_code='PARTIAL'`); code != "lease_unrenewed" {
			t.Errorf("the run that stood still ended as %q", code)
		}
	})
}
