// Package scheduler begins operations by themselves: it looks at the schedules
// in force and triggers a plan for what is due.
//
// It promises that a time is triggered once, however many schedulers there are:
// a trigger carries the source, the operation and the time it was due, and the
// planner answers no trigger twice. Times that were missed, because nothing ran
// or the source was held, are made up by one trigger for the latest of them. A
// trigger that failed is tried again until the next is due. One source's trouble
// does not keep the others.
//
// It keeps nothing in memory that matters: after a crash the store says what was
// triggered. Working on the plans is the executor's.
package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Code is the scheduler_code of triggers made here.
const Code = "patra"

// Config of a scheduler.
type Config struct {
	// Poll is how often the schedules are looked at.
	Poll time.Duration
	// Retry is how long a trigger that failed rests.
	Retry time.Duration
	// Observe, if set, is told what happens. It must be quick.
	Observe func(Event)
}

func (c Config) withDefaults() Config {
	c.Poll = cmp.Or(c.Poll, 10*time.Second)
	c.Retry = cmp.Or(c.Retry, 5*time.Minute)
	return c
}

// Event is what became of a time that was due.
type Event struct {
	Kind      EventKind
	Source    string
	Operation harvest.Operation
	Due       time.Time
	Plan      harvest.PlanID
	Reason    string
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	Triggered EventKind = "triggered" // a plan was made or gone on with, or there was nothing to do
	Before    EventKind = "before"    // another scheduler was faster
	Skipped   EventKind = "skipped"   // not now; looked at again with the next poll
	Failed    EventKind = "failed"
)

// Scheduler triggers what is due.
type Scheduler struct {
	cfg     Config
	sources Sources
	store   Store
	planner Planner
	log     *slog.Logger

	running sync.WaitGroup // triggers under way

	mu   sync.Mutex
	busy map[string]bool  // guarded by mu; jobs with a trigger under way
	told map[string]Event // guarded by mu; by job, what was logged last
	// trouble is why schedules could not be read last; guarded by mu.
	trouble string
}

// New returns a scheduler; [Scheduler.Run] starts it.
func New(cfg Config, sources Sources, store Store, planner Planner, log *slog.Logger) *Scheduler {
	return &Scheduler{
		cfg: cfg.withDefaults(), sources: sources, store: store, planner: planner, log: log.With("component", "scheduler"),
		busy: map[string]bool{}, told: map[string]Event{},
	}
}

// Run looks at the schedules again and again until ctx ends, and then waits for
// the triggers under way, which end with it. What they left is made up by the
// next scheduler.
func (s *Scheduler) Run(ctx context.Context) error {
	defer s.running.Wait()
	for {
		s.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.cfg.Poll):
		}
	}
}

// look begins a trigger for everything that is due. A source that takes long to
// plan holds up nobody but itself.
func (s *Scheduler) look(ctx context.Context) {
	all, err := s.sources.Schedules(ctx)
	if ctx.Err() == nil {
		s.unread(err)
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error("clock not read", "err", err)
		}
		return
	}
	for _, sch := range all {
		if sch.Schedule.Line(sch.Operation).IsZero() || !s.claim(job(sch)) {
			continue
		}
		s.running.Go(func() {
			defer s.release(job(sch))
			if err := s.serve(ctx, sch, now); err != nil && ctx.Err() == nil {
				s.log.Error("schedule not served", "source", sch.Source, "operation", sch.Operation, "err", err)
			}
		})
	}
}

// unread logs why schedules could not be read, once as long as it stays so.
func (s *Scheduler) unread(err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	s.mu.Lock()
	same := s.trouble == why
	s.trouble = why
	s.mu.Unlock()
	switch {
	case same:
	case err != nil:
		s.log.Error("schedules not read", "err", err)
	default:
		s.log.Info("schedules are read again")
	}
}

func job(sch source.Scheduled) string { return sch.Source + "/" + string(sch.Operation) }

func (s *Scheduler) claim(job string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[job] {
		return false
	}
	s.busy[job] = true
	return true
}

func (s *Scheduler) release(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, job)
}

// serve triggers one operation of one source if it is due and may be.
func (s *Scheduler) serve(ctx context.Context, sch source.Scheduled, now time.Time) error {
	due, ok, err := s.due(ctx, sch, now)
	if err != nil || !ok {
		return err
	}
	ev := Event{Source: sch.Source, Operation: sch.Operation, Due: due}
	if why, held, err := s.store.Held(ctx, sch.Source); err != nil {
		return err
	} else if held {
		ev.Kind, ev.Reason = Skipped, why
		s.tell(ev)
		return nil
	}
	if until, quiet := sch.Schedule.QuietUntil(now); quiet {
		ev.Kind, ev.Reason = Skipped, string(harvest.CodeQuiet)+" until "+harvest.FormatInstant(until)
		s.tell(ev)
		return nil
	}
	t, err := trigger(sch, due, now)
	if err != nil {
		return err
	}
	a, err := s.planner.Plan(ctx, t)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // whoever comes next makes it up
	case err != nil:
		ev.Kind, ev.Reason = Failed, err.Error()
	case a.Before:
		ev.Kind = Before
		ev.Plan = a.Plan
		ev.Reason = a.Reason
	default:
		ev.Kind = Triggered
		ev.Plan = a.Plan
		ev.Reason = a.Reason
	}
	s.tell(ev)
	return nil
}

// due is the time to trigger now, if there is one: the latest that came since
// the newest trigger, and since the schedule is in force; else the newest trigger
// itself if that failed and has rested.
func (s *Scheduler) due(ctx context.Context, sch source.Scheduled, now time.Time) (time.Time, bool, error) {
	last, err := s.store.LastTriggered(ctx, Code, job(sch))
	if err != nil {
		return time.Time{}, false, err
	}
	since, newest := sch.Since, time.Time{}
	if last.LogID != "" {
		newest, err = time.Parse(harvest.TimeLayout, last.LogID)
		if err != nil {
			return newest, false, fmt.Errorf("log id of the last trigger: %w", err)
		}
		if newest.After(since) {
			since = newest
		}
	}
	if at, ok := sch.Schedule.Due(sch.Operation, since, now); ok {
		return at, true, nil
	}
	again := last.Outcome == harvest.TriggerFailed && newest.After(sch.Since) && now.Sub(last.At) >= s.cfg.Retry
	return newest, again, nil
}

// trigger is the wish for a plan that was due at an instant.
func trigger(sch source.Scheduled, due, now time.Time) (harvest.Trigger, error) {
	params, err := json.Marshal(map[string]string{
		"line": sch.Schedule.Line(sch.Operation).String(), "zone": sch.Schedule.Zone.String(), "due": harvest.FormatInstant(due),
	})
	if err != nil {
		return harvest.Trigger{}, fmt.Errorf("marshal trigger: %w", err)
	}
	t := harvest.Trigger{
		Provenance: sch.Source, Operation: sch.Operation, Kind: harvest.TriggerScheduled, Scheduler: Code, JobID: job(sch), LogID: harvest.FormatInstant(due), Params: string(params),
	}
	if sch.Operation == harvest.Update {
		// Named after the time it was due: the same time is the same activity.
		t.Activity = "update-" + due.UTC().Format("2006-01-02T15:04Z")
		t.Pick = harvest.CandidatePick{SeenBefore: now.Add(-sch.Schedule.OlderThan), Signals: true}
	}
	return t, nil
}

// tell logs what became of a time that was due, a reason to wait only when it is
// new.
func (s *Scheduler) tell(ev Event) {
	s.mu.Lock()
	old := s.told[ev.Source+"/"+string(ev.Operation)]
	s.told[ev.Source+"/"+string(ev.Operation)] = ev
	s.mu.Unlock()
	if s.cfg.Observe != nil {
		s.cfg.Observe(ev)
	}
	log := s.log.With("source", ev.Source, "operation", ev.Operation, "due", harvest.FormatInstant(ev.Due))
	switch {
	case ev.Kind == Failed:
		log.Error("trigger failed", "err", ev.Reason, "retry", s.cfg.Retry)
	case ev.Kind == Skipped && old != ev:
		log.Info("not triggered yet", "reason", ev.Reason)
	case ev.Kind == Triggered:
		log.Info("triggered", "plan", ev.Plan, "reason", ev.Reason)
	default:
		log.Debug(string(ev.Kind), "reason", ev.Reason)
	}
}
