package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR87_WhatTheGateHears: server errors, timeouts and connections that fail or
// break off are failures of the upstream; what it answers otherwise is none, and
// of what we ended ourselves nothing is said.
func TestR87_WhatTheGateHears(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	for _, c := range []struct {
		name  string
		reply func(*http.Request) (*http.Response, error)
		leave bool
		want  []pace.Outcome
	}{
		{"good", status(200, `{"items":["a"]}`, "Content-Type", "application/json"), false, []pace.Outcome{{Kind: pace.Fine}}},
		{"server error", status(500, ""), false, []pace.Outcome{{Kind: pace.Unwell}}},
		{"not found", status(404, ""), false, []pace.Outcome{{Kind: pace.Fine}}},
		{"timeout", hang, false, []pace.Outcome{{Kind: pace.Unwell}}},
		{"reset", broken(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), false, []pace.Outcome{{Kind: pace.Unwell}}},
		{"refused", broken(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), false, []pace.Outcome{{Kind: pace.Unwell}}},
		{"a proxy's refusal", broken(errProxy), false, nil},
		{"we leave", hang, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := testSpec()
				spec.Retry.Attempts = 1
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.leave {
					time.AfterFunc(time.Second, cancel)
				}
				g := new(free)
				_, _ = client(play(c.reply), g).Ask(ctx, spec, source.Call{Purpose: source.ForSearch})
				if len(g.told) != len(c.want) || len(c.want) > 0 && g.told[0] != c.want[0] {
					t.Errorf("the gate heard %+v, want %+v", g.told, c.want)
				}
			})
		})
	}
}

// brief is a gate whose seats are lost after a second.
type brief struct{ free }

func (g *brief) Acquire(ctx context.Context, r source.Rate, cost int, d time.Duration) (context.Context, func(bool), pace.Pass, error) {
	ctx, release, waited, err := g.free.Acquire(ctx, r, cost, d)
	if err != nil {
		return nil, nil, waited, err
	}
	ctx, end := context.WithCancelCause(ctx)
	time.AfterFunc(time.Second, func() {
		end(harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: "seat_lost"})
	})
	return ctx, release, waited, nil
}

// TestR86_ALostSeatEndsTheRequest: another may be in flight in its place, so the
// request is given up; it is a passing fault, and none of the upstream.
func TestR86_ALostSeatEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec()
		spec.Retry.Attempts = 1
		hang := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		g := new(brief)
		start := time.Now()
		_, err := client(play(hang), g).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		f := mustFault(t, err)
		if f.Code != "seat_lost" || f.Level != harvest.Transient || !f.Lost || errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", f, err)
		}
		if d := time.Since(start); d != time.Second || len(g.told) != 0 || g.inside != 0 {
			t.Errorf("after %v, told %v, %d inside", d, g.told, g.inside)
		}
	})
}
