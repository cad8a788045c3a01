package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/app/steward"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/console"
	"github.com/papertrace/patra/internal/infra/httpapi"
)

// ParseRoles reads role names; none, or all, means every role there is.
func ParseRoles(names []string) ([]role.Role, error) { return role.Parse(names) }

// API says how a node can be asked over HTTP.
type API = httpapi.API

// ServeConfig says what a node does by itself.
type ServeConfig struct {
	Roles []role.Role
	// Poll is how often schedules and plans are looked at.
	Poll time.Duration
	// API, if set, is what the node can be asked over HTTP.
	API *API
	// Demo, if set, is the simulator that the pages are about.
	Demo console.Demo
	// Ready, if set, is called when everything runs.
	Ready func()
	// Observe and Triggers, if set, are told what happens.
	Observe  func(executor.Event)
	Triggers func(scheduler.Event)
}

// pruneEvery is how often what every target got is removed.
const pruneEvery = time.Minute

// Serve runs roles until ctx ends, and then lets what is in hand finish within
// the executor's grace time. It is an error only if the store is gone for good.
func (n *Node) Serve(ctx context.Context, c ServeConfig) error {
	if n.schedules == nil && slices.Contains(c.Roles, role.Scheduler) {
		return errors.New("this node has no registry to read schedules from")
	}
	if err := n.alerts.Check(); err != nil {
		return err
	}
	if err := n.events.Check(); err != nil {
		return err
	}
	poll := cmp.Or(c.Poll, 10*time.Second)
	log := n.cfg.Logger
	var loops []role.Loop
	begin := func(name role.Role, run func(context.Context) error) {
		loops = append(loops, role.Loop{Name: string(name), Run: run})
	}
	for _, r := range c.Roles {
		switch r {
		case role.Scheduler:
			begin(r, scheduler.New(scheduler.Config{Poll: poll, Observe: c.Triggers, Strained: n.pause.Why}, n.schedules, n.Store, n.Planner, log).Run)
			begin("steward", role.Every(max(poll, steward.Every), n.Steward().Tick))
			begin("alerts", role.Every(max(poll, alert.Every), n.alerts.Tick))
			begin("alert sender", role.Every(alert.SendEvery, n.alerts.Send))
			begin("linking", role.Every(poll, n.Control.LinkWorks))
			begin("retention", role.Every(max(poll, retention.LookEvery), n.Control.ArchiveWhatIsOld))
			begin("outbox", role.Every(max(poll, pruneEvery), n.Control.PruneOutbox))
		case role.Planner:
			begin(r, role.Every(poll, n.Planner.GoingOn(n.mayPlan)))
		case role.Executor:
			begin(r, n.Executor(executor.Config{Observe: c.Observe}).Run)
		case role.Relay:
			begin(r, n.Relay().Run)
		}
	}
	if slices.ContainsFunc(c.Roles, requeues) {
		begin("upkeep", role.Every(poll, steward.Requeue(n.Store, log)))
	}
	board := new(role.Board)
	if c.API != nil {
		pages, err := console.New(console.Config{Control: n.Control, Board: board, Build: c.API.Build, Base: c.API.Base, Redact: n.cfg.redact.Text, Demo: c.Demo, Logger: log})
		if err != nil {
			return err
		}
		show := httpapi.Config{Control: n.Control, Board: board, Redact: n.cfg.redact.Text, Metrics: n.Metrics, Logger: log}
		if slices.Contains(c.Roles, role.Console) {
			show.Pages = pages
		}
		door, err := c.API.Door(show)
		if err != nil {
			return err
		}
		begin("api", func(ctx context.Context) error { return door.Serve(ctx, c.API.Listener) })
	}
	return role.Keep(ctx, loops, board, log, c.Ready)
}

// requeues reports whether a role queues again what failed, beside its work. A relay and a
// console leave that to those whose work it is, and need no right to change tasks for it.
func requeues(r role.Role) bool {
	return r == role.Scheduler || r == role.Planner || r == role.Executor
}

// Steward returns a steward over the node's parts.
func (n *Node) Steward() *steward.Steward {
	return steward.New(steward.Config{May: n.quiet.May}, n.schedules, n.Store, n.Planner, n.cfg.Logger)
}

// mayPlan reports whether a plan of a source and operation may go on now.
func (n *Node) mayPlan(ctx context.Context, provenance string, op harvest.Operation) bool {
	return n.pause.Why() == "" && n.quiet.May(ctx, provenance, op)
}
