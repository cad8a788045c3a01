package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Role is a part of patra that runs by itself. Roles run together or apart, each
// in any number, over one store.
type Role string

// The roles.
const (
	// SchedulerRole triggers what schedules say is due, and watches over what
	// comes late.
	SchedulerRole Role = "scheduler"
	// PlannerRole goes on with plans that stopped early because enough was open.
	PlannerRole Role = "planner"
	// ExecutorRole works on the tasks of all sources.
	ExecutorRole Role = "executor"
)

// Roles lists those there are.
var Roles = []Role{SchedulerRole, PlannerRole, ExecutorRole}

// later are roles that are named but not built yet.
var later = []Role{"relay", "console"}

// ParseRoles reads role names; none, or all, means every role there is.
func ParseRoles(names []string) ([]Role, error) {
	want := map[Role]bool{}
	for _, name := range names {
		switch role := Role(strings.ToLower(name)); {
		case role == "all":
			for _, r := range Roles {
				want[r] = true
			}
		case slices.Contains(Roles, role):
			want[role] = true
		case slices.Contains(later, role):
			return nil, fmt.Errorf("the role %s is not built yet: there are scheduler, planner, executor and all", role)
		default:
			return nil, fmt.Errorf("%q is not a role: there are scheduler, planner, executor and all", name)
		}
	}
	var out []Role
	for _, r := range Roles {
		if len(names) == 0 || want[r] {
			out = append(out, r)
		}
	}
	return out, nil
}

// ServeConfig says what a node does by itself.
type ServeConfig struct {
	Roles []Role
	// Poll is how often schedules and plans are looked at.
	Poll time.Duration
	// Ready, if set, is called when everything runs.
	Ready func()
	// Observe and Triggers, if set, are told what happens.
	Observe  func(executor.Event)
	Triggers func(scheduler.Event)
}

// Serve runs roles until ctx ends, and then lets what is in hand finish within
// the executor's grace time. A role that fails, as when the store is away for a
// while, is begun again after a rest: all of them take up what the store says.
// If the store is gone for good all of them end, and it is an error.
func (n *Node) Serve(ctx context.Context, c ServeConfig) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c.Poll = cmp.Or(c.Poll, 10*time.Second)
	if n.schedules == nil && slices.Contains(c.Roles, SchedulerRole) {
		return errors.New("this node has no registry to read schedules from")
	}
	var wg sync.WaitGroup
	begin := func(name Role, run func(context.Context) error) {
		wg.Go(func() {
			if err := n.keep(ctx, name, run); err != nil {
				end(err)
			}
		})
	}
	for _, role := range c.Roles {
		switch role {
		case SchedulerRole:
			begin(role, scheduler.New(scheduler.Config{Poll: c.Poll, Observe: c.Triggers}, n.schedules, n.Store, plans{n.Planner}, n.cfg.Logger).Run)
			begin("steward", every(max(c.Poll, stewardEvery), n.Steward().Tick))
		case PlannerRole:
			begin(role, every(c.Poll, n.goOn))
		case ExecutorRole:
			begin(role, n.Executor(executor.Config{Observe: c.Observe}).Run)
		}
	}
	begin("upkeep", every(c.Poll, n.requeue))
	if c.Ready != nil {
		c.Ready()
	}
	wg.Wait()
	if gone := context.Cause(ctx); errors.Is(gone, harvest.ErrStoreGone) {
		return gone
	}
	return nil
}

// keep runs a role until ctx ends, again after a rest if it fails. It returns an
// error only if no rest can help.
func (n *Node) keep(ctx context.Context, name Role, run func(context.Context) error) error {
	const shortest, longest = time.Second, time.Minute
	for rest := shortest; ; rest = min(2*rest, longest) {
		began := time.Now()
		err := run(ctx)
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, context.Canceled) {
				n.cfg.Logger.Error("role ended badly", "role", name, "err", err)
			}
			return nil
		}
		if errors.Is(err, harvest.ErrStoreGone) {
			return err
		}
		if time.Since(began) > longest {
			rest = shortest
		}
		n.cfg.Logger.Error("role failed, begun again", "role", name, "rest", rest, "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
	}
}

// every calls f now and again until ctx ends or f fails. A commit of unknown outcome
// is no failure: the next call sees what is there.
func every(poll time.Duration, f func(context.Context) error) func(context.Context) error {
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

// requeue queues failed slices again whose rest is over (R4). Its transaction looks
// for the file of the store too: where nothing is due, nobody else does.
func (n *Node) requeue(ctx context.Context) error {
	count, err := n.Store.RequeueDue(ctx)
	if count > 0 {
		n.cfg.Logger.Info("failed slices queued again", "slices", count)
	}
	return err
}

// goOn goes on with plans that are not whole, of sources that may be asked now.
func (n *Node) goOn(ctx context.Context) error {
	_, err := n.Planner.GoOn(ctx, func(ns harvest.Namespace) bool {
		return n.may(ctx, ns.Provenance, ns.Operation)
	})
	return err
}

// plans is the planner as the scheduler sees it.
type plans struct{ *planner.Planner }

// Plan implements scheduler.Planner.
func (p plans) Plan(ctx context.Context, t harvest.Trigger) (scheduler.Answer, error) {
	out, err := p.Planner.Plan(ctx, t)
	return scheduler.Answer{Plan: out.Plan.ID, Before: out.Answered, Reason: out.Reason}, err
}
