// Package scheduler begins operations by themselves: it looks at the standing
// selections, those that were set and those that packs suggest, and triggers a plan
// for what is due.
//
// It promises that a time is triggered once, however many schedulers there are:
// a trigger carries the name of the schedule and the time it was due, and the
// planner answers no trigger twice. Times that were missed, because nothing ran
// or the source was held, are made up by one trigger for the latest of them. A
// trigger that failed is tried again until the next is due. An UPDATE, or a BACKFILL
// whose window moves on, waits until the plan it has is done, so that plans do not
// pile up while a source is out. One source's trouble does not keep the others.
//
// It keeps nothing in memory that matters: after a crash the store says what was
// triggered. Working on the plans is the executor's.
package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// Code is the scheduler_code of triggers made here.
const Code = "patra"

// RetryAfter is how long a trigger that failed rests, unless it is told otherwise.
const RetryAfter = 5 * time.Minute

// Config of a scheduler.
type Config struct {
	// Poll is how often the schedules are looked at.
	Poll time.Duration
	// Retry is how long a trigger that failed rests, [RetryAfter] if not given.
	Retry time.Duration
	// Observe, if set, is told what happens. It must be quick.
	Observe func(Event)
	// Strained, if set, says why nothing should be planned now, empty if it may be.
	Strained func() string
}

func (c Config) withDefaults() Config {
	c.Poll = cmp.Or(c.Poll, 10*time.Second)
	c.Retry = cmp.Or(c.Retry, RetryAfter)
	return c
}

// Event is what became of a time that was due.
type Event struct {
	Kind      EventKind
	Schedule  string
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
	busy map[string]bool  // guarded by mu; schedules with a trigger under way
	told map[string]Event // guarded by mu; by schedule, what was logged last
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
	defer s.Wait()
	for {
		s.Look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.cfg.Poll):
		}
	}
}

// Wait waits for the triggers under way.
func (s *Scheduler) Wait() { s.running.Wait() }

// Look begins a trigger for everything that is due. A source that takes long to
// plan holds up nobody but itself.
func (s *Scheduler) Look(ctx context.Context) {
	packs, err := s.sources.Schedules(ctx)
	rows, rerr := s.store.Standing(ctx)
	if ctx.Err() == nil {
		s.unread(errors.Join(err, rerr))
	}
	if rerr != nil && rows == nil {
		return // what packs suggest may be what a row that was not read has ended
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error("clock not read", "err", err)
		}
		return
	}
	for _, st := range source.Standing(packs, rows) {
		if !st.Enabled || !s.claim(st.Name) {
			continue
		}
		s.running.Go(func() {
			defer s.release(st.Name)
			quiet := source.QuietUntil(packs, st.Source, st.Operation, now)
			if err := s.serve(ctx, st, quiet, now); err != nil && ctx.Err() == nil {
				s.log.Error("schedule not served", "schedule", st.Name, "source", st.Source, "operation", st.Operation, "err", err)
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

func (s *Scheduler) claim(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[name] {
		return false
	}
	s.busy[name] = true
	return true
}

func (s *Scheduler) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, name)
}

// serve triggers a standing selection if it is due and may be. Its source is left
// alone until quiet, if that is not zero.
func (s *Scheduler) serve(ctx context.Context, st schedule.Standing, quiet, now time.Time) error {
	due, ok, err := s.due(ctx, st, now)
	if err != nil || !ok {
		return err
	}
	ev := Event{Schedule: st.Name, Source: st.Source, Operation: st.Operation, Due: due}
	before, err := s.store.LastPlanned(ctx, Code, st.Name)
	if err != nil {
		return err
	}
	why, err := s.waits(ctx, st, before, quiet)
	if err != nil {
		return err
	}
	if why != "" {
		ev.Kind = Skipped
		ev.Reason = why
		s.tell(ev)
		return nil
	}
	t, err := trigger(st, due, before, now)
	if err != nil {
		return err
	}
	a, err := s.planner.Answer(ctx, t)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // whoever comes next makes it up
	case err != nil:
		ev.Kind, ev.Reason = Failed, err.Error()
	case a.Waits:
		ev.Kind = Skipped
		ev.Reason = a.Reason
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

// waits says why what is due may not begin yet, if it may not: its source is held or
// in quiet hours, the database is slow, or the plan it has is not done and a second one would only pile up.
func (s *Scheduler) waits(ctx context.Context, st schedule.Standing, before harvest.Triggered, quiet time.Time) (string, error) {
	why, held, err := s.store.Held(ctx, st.Source)
	switch {
	case err != nil || held:
		return why, err
	case !quiet.IsZero():
		return string(harvest.CodeQuiet) + " until " + harvest.FormatInstant(quiet), nil
	}
	why = s.strained()
	switch {
	case why != "":
		return why, nil
	case before.Plan == 0 || !st.OneAtATime():
		return "", nil
	}
	busy, err := s.store.Unfinished(ctx, before.Plan)
	if err != nil || !busy {
		return "", err
	}
	return fmt.Sprintf("plan %d, which was due at %s, is not done yet", before.Plan, before.LogID), nil
}

// strained says why nothing should be planned now for the sake of the database.
func (s *Scheduler) strained() string {
	if s.cfg.Strained == nil {
		return ""
	}
	return s.cfg.Strained()
}

// due is the time to trigger now, if there is one: the latest that came since
// the newest trigger, and since the schedule is in force; else the newest trigger
// itself if nothing came of it, or nobody has answered it yet, and it has rested.
func (s *Scheduler) due(ctx context.Context, st schedule.Standing, now time.Time) (time.Time, bool, error) {
	last, err := s.store.LastTriggered(ctx, Code, st.Name)
	if err != nil {
		return time.Time{}, false, err
	}
	newest, err := dueOf(last)
	if err != nil {
		return newest, false, err
	}
	since := st.Since
	if newest.After(since) {
		since = newest
	}
	if at, ok := st.Due(since, now); ok {
		return at, true, nil
	}
	again := last.Outcome != "" && !last.Answered() && newest.After(st.Since) && now.Sub(last.At) >= s.cfg.Retry
	return newest, again, nil
}

// dueOf is the time at which a trigger was due; zero if there was none.
func dueOf(t harvest.Triggered) (time.Time, error) {
	if t.LogID == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(harvest.TimeLayout, t.LogID)
	if err != nil {
		return at, fmt.Errorf("log id of a trigger: %w", err)
	}
	return at, nil
}

// trigger is the wish for a plan that was due at an instant, when the one before it
// has led to what it has.
func trigger(st schedule.Standing, due time.Time, before harvest.Triggered, now time.Time) (harvest.Trigger, error) {
	params, err := json.Marshal(map[string]any{
		"schedule": st.Name, "line": st.Cron.String(), "zone": st.Zone.String(), "due": harvest.FormatInstant(due), "query": st.Query, "wants": st.Wants,
	})
	if err != nil {
		return harvest.Trigger{}, fmt.Errorf("marshal trigger: %w", err)
	}
	t := harvest.Trigger{
		Provenance: st.Source, Operation: st.Operation, Kind: harvest.TriggerScheduled, Scheduler: Code, JobID: st.Name, LogID: harvest.FormatInstant(due),
		Query: st.Query, Priority: st.Priority, Activity: st.Activity(due), Params: string(params),
		Endpoint: st.Wants.Endpoint, Pacing: st.Wants.Pacing,
	}
	switch st.Operation {
	case harvest.Backfill:
		last, err := dueOf(before)
		if err != nil {
			return t, err
		}
		t.From, t.To = st.Window(due, last)
	case harvest.Update:
		t.Pick = harvest.CandidatePick{MappingChanged: st.Wants.MappingChanged, Signals: st.Wants.Signals, Max: st.Wants.Max}
		if st.Wants.OlderThan > 0 {
			t.Pick.SeenBefore = now.Add(-st.Wants.OlderThan)
		}
	}
	return t, nil
}

// tell logs what became of a time that was due, a reason to wait only when it is
// new.
func (s *Scheduler) tell(ev Event) {
	s.mu.Lock()
	old := s.told[ev.Schedule]
	s.told[ev.Schedule] = ev
	s.mu.Unlock()
	if s.cfg.Observe != nil {
		s.cfg.Observe(ev)
	}
	log := s.log.With("schedule", ev.Schedule, "source", ev.Source, "operation", ev.Operation, "due", harvest.FormatInstant(ev.Due))
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
