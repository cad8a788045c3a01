// Package role keeps the parts of patra running that work by themselves.
//
// It promises that a role which fails is begun again, after a growing rest, until it
// is told to stop or the store is gone for good. Roles run together or apart, each in
// any number, over one store; none keeps anything in memory that matters, so that one
// which is begun again takes up what the store says. What a role does is left to its
// loop.
package role

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Role is a part of patra that runs by itself.
type Role string

// The roles.
const (
	// Scheduler triggers what schedules say is due, and watches over what comes late.
	Scheduler Role = "scheduler"
	// Planner goes on with plans that stopped early because enough was open.
	Planner Role = "planner"
	// Executor works on the tasks of all sources.
	Executor Role = "executor"
	// Relay tells other programs of what is stored.
	Relay Role = "relay"
	// Console shows pages to people, where the process can be asked over HTTP.
	Console Role = "console"
)

// All lists those there are.
var All = []Role{Scheduler, Planner, Executor, Relay, Console}

// Parse reads role names; none, or all, means every role there is.
func Parse(names []string) ([]Role, error) {
	want := map[Role]bool{}
	for _, name := range names {
		switch role := Role(strings.ToLower(name)); {
		case role == "all":
			for _, r := range All {
				want[r] = true
			}
		case slices.Contains(All, role):
			want[role] = true
		default:
			return nil, fmt.Errorf("%q is not a role: there are scheduler, planner, executor, relay, console and all", name)
		}
	}
	var out []Role
	for _, r := range All {
		if len(names) == 0 || want[r] {
			out = append(out, r)
		}
	}
	return out, nil
}

// Loop is something that is kept running, under the name of its role.
type Loop struct {
	Name string
	Run  func(context.Context) error
}

// Keep runs loops until ctx ends and all of them have come to an end. A loop that
// fails, as when the store is away for a while, is begun again after a rest. If the
// store is gone for good all of them end, and that is the error. ready, if given, is
// called when everything runs; board, if given, shows which loops do.
func Keep(ctx context.Context, loops []Loop, board *Board, log *slog.Logger, ready func()) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var wg sync.WaitGroup
	for _, l := range loops {
		board.set(l.Name, true)
		wg.Go(func() {
			defer board.set(l.Name, false)
			if err := l.keepRunning(ctx, board, log); err != nil {
				end(err)
			}
		})
	}
	if ready != nil {
		ready()
	}
	wg.Wait()
	if gone := context.Cause(ctx); errors.Is(gone, harvest.ErrStoreGone) {
		return gone
	}
	return nil
}

// keepRunning runs a loop until ctx ends, and again after a rest if it fails. It
// returns an error only if no rest can help.
func (l Loop) keepRunning(ctx context.Context, board *Board, log *slog.Logger) error {
	const shortest, longest = time.Second, time.Minute
	for rest := shortest; ; rest = min(2*rest, longest) {
		began := time.Now()
		board.set(l.Name, true)
		err := l.Run(ctx)
		board.set(l.Name, false)
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, context.Canceled) {
				log.Error("role ended badly", "role", l.Name, "err", err)
			}
			return nil
		}
		if errors.Is(err, harvest.ErrStoreGone) {
			return err
		}
		if time.Since(began) > longest {
			rest = shortest
		}
		log.Error("role failed, begun again", "role", l.Name, "rest", rest, "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
	}
}

// Every calls f now and again until ctx ends or f fails. A commit of unknown outcome
// is no failure: the next call sees what is there.
func Every(poll time.Duration, f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			if err := f(ctx); err != nil && !errors.Is(err, harvest.ErrUnknownOutcome) {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(poll):
			}
		}
	}
}
