package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// Config of an executor.
type Config struct {
	// Owner names this process in leases.
	Owner   string
	Workers int
	// LeaseTTL is how long a task stays with its owner without being renewed.
	LeaseTTL time.Duration
	// Poll is how long to wait when there is nothing to take.
	Poll time.Duration
	// Grace is how long work in hand may go on after the executor was told to stop.
	Grace time.Duration
	// Weights are those of sources that are to have more than others, where all have work.
	Weights map[string]int
	// Database is how slow the database may be before fewer slices are worked on at once.
	Database harvest.DatabaseLimits
	// Provenance and Operation restrict what is taken, if set.
	Provenance string
	Operation  harvest.Operation
	// Resting, if set, lists what is to be left alone now: none of its tasks is
	// taken, and no page of those in hand is begun. It must be quick.
	Resting func(ctx context.Context) []harvest.Rest
	// Gone, if set, reports that another owner is known to have ended. It must be quick.
	Gone func(owner string) bool
	// Idle, if set, is asked when there is nothing to take, and told how many tasks of
	// this process go on; true ends the run.
	Idle func(ctx context.Context, working int) (bool, error)
	// Observe, if set, is told what happens. It must be quick.
	Observe func(Event)
	// Trace, if set, is told of runs and pages while they go on.
	Trace trace.Tracer
}

func (c Config) withDefaults() Config {
	c.Owner = cmp.Or(c.Owner, "executor")
	c.Workers = cmp.Or(c.Workers, 4)
	c.LeaseTTL = cmp.Or(c.LeaseTTL, time.Minute)
	c.Poll = cmp.Or(c.Poll, 500*time.Millisecond)
	c.Grace = cmp.Or(c.Grace, 5*time.Second)
	if c.Trace == nil {
		c.Trace = trace.Off
	}
	return c
}

// Event is something an onlooker may want to show.
type Event struct {
	Kind    EventKind
	Job     harvest.Job
	Counts  harvest.Counts
	Traffic source.Traffic
	// Page is more about a page that was committed.
	Page PageFacts
	// Watermark after a slice was done.
	Watermark harvest.Mark
	Err       error
	Reason    harvest.Code
}

// PageFacts are about a page that was committed.
type PageFacts struct {
	// Took is the time from asking for the page until it was committed.
	Took time.Duration
	// Repeated ids were on an earlier page of the walk.
	Repeated int
	// Fresh and Late are the versions that a look back found new, and those of them
	// that came late.
	Fresh, Late int64
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	TaskTaken     EventKind = "task_taken"
	TaskLeft      EventKind = "task_left"
	PageCommitted EventKind = "page"
	PageFailed    EventKind = "page_failed"
	Faulted       EventKind = "fault"
	SliceDone     EventKind = "slice_done"
	SliceCut      EventKind = "slice_cut"
	WalkRestarted EventKind = "walk_restarted"
	TaskReleased  EventKind = "task_released"
	TaskFailed    EventKind = "task_failed"
	LeaseLost     EventKind = "fenced"
	SourceSlow    EventKind = "source_slow"
)

// Executor runs tasks.
type Executor struct {
	cfg   Config
	store Store
	up    Upstream
	log   *slog.Logger
	// health is how many tasks the database lets us have in hand.
	health *Health
	// slow is how many tasks of each source we have in hand, by how long its pages take.
	slow *SlowSources

	mu    sync.Mutex
	specs map[string]*source.Spec // guarded by mu; by fingerprint
	// lacks are the operations of sources whose credential this process cannot read, each until it
	// looks again. Guarded by mu.
	lacks []harvest.Rest
}

// New returns an executor; [Executor.Run] starts it.
func New(cfg Config, store Store, up Upstream, log *slog.Logger) *Executor {
	cfg = cfg.withDefaults()
	return &Executor{
		cfg: cfg, store: store, up: up, log: log.With("component", "executor"), health: NewHealth(cfg.Workers, cfg.Database), slow: NewSlowSources(cfg.Workers), specs: map[string]*source.Spec{},
	}
}

// Run takes and runs tasks until ctx ends, Idle says so, or the store is away.
// When ctx ends it takes nothing more, lets pages in hand finish within the
// grace time, and releases what is left.
func (e *Executor) Run(ctx context.Context) error {
	// Two contexts: when taking ends no task and no page is begun any more; when
	// work ends what is in hand is broken off.
	work, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(e.cfg.Grace):
			abort(errStopping)
		case <-work.Done():
		}
	})
	defer stop()

	taking, stopTaking := context.WithCancelCause(ctx)
	defer stopTaking(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error // guarded by mu
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
		stopTaking(err) // the store fails: further tasks would fare no better
	}
	// busy holds a token for every worker that has a task.
	busy := make(chan struct{}, e.cfg.Workers)
	someEnded := make(chan struct{}, 1)
	err := e.feed(taking, work, busy, someEnded, func(job harvest.Job) {
		e.slow.Count(job.Partition(), 1) // before the next is looked for
		wg.Go(func() {
			defer func() {
				e.slow.Count(job.Partition(), -1)
				<-busy
				select {
				case someEnded <- struct{}{}:
				default: // feed has still to look at an end before this one
				}
			}()
			if err := e.runJob(taking, work, job); err != nil {
				fail(err)
			}
		})
	})
	wg.Wait()
	return errors.Join(append([]error{err}, errs...)...)
}

var errStopping = errors.New("stopping")

// feed leases a task whenever a worker is free and starts it: a task is never
// leased to wait for its turn, where its lease would run out and every owner
// after would look like one that the task had killed (R16). Where the source has
// as many in hand as it may, the end of one is the time to look for the next.
func (e *Executor) feed(taking, work context.Context, busy, someEnded chan struct{}, start func(harvest.Job)) error {
	turns := &harvest.Turns{Weights: e.cfg.Weights}
	for {
		select {
		case busy <- struct{}{}:
		case <-taking.Done():
			return nil
		}
		if taking.Err() != nil {
			return nil
		}
		if !e.health.mayHave(len(busy)) {
			<-busy
			select {
			case <-taking.Done():
				return nil
			case <-someEnded:
			case <-time.After(e.cfg.Poll):
			}
			continue
		}
		leave := append(e.resting(taking), e.leftToOthers()...)
		leave = append(leave, e.slow.Full()...)
		// Not cut off by the stop: a lease whose answer is lost has to run out.
		found, err := e.store.LeaseTasks(work, harvest.LeaseRequest{
			Owner: e.cfg.Owner, TTL: e.cfg.LeaseTTL, Max: 1, Provenance: e.cfg.Provenance, Operation: e.cfg.Operation,
			SpecVersion: source.SpecVersion, Resting: leave, Gone: e.cfg.Gone, Turns: turns,
		})
		switch {
		case err == nil:
		case taking.Err() != nil:
			return nil
		case errors.Is(err, harvest.ErrUnknownOutcome):
			// If a task was leased, nobody works on it: its lease will run out.
			e.log.Warn("outcome of a lease unknown", "err", err)
		default:
			return err
		}
		if len(found) > 0 && err == nil { // the task keeps the token until it ends
			start(found[0])
			continue
		}
		<-busy
		if e.cfg.Idle != nil {
			idle, err := e.cfg.Idle(taking, len(busy))
			if err != nil && taking.Err() == nil {
				return err
			}
			if idle {
				return nil
			}
		}
		select {
		case <-taking.Done():
			return nil
		case <-someEnded:
		case <-time.After(e.cfg.Poll):
		}
	}
}

// resting lists what is to be left alone now.
func (e *Executor) resting(ctx context.Context) []harvest.Rest {
	if e.cfg.Resting == nil {
		return nil
	}
	return e.cfg.Resting(ctx)
}

// lookAgainAfter is how long a process leaves the tasks of a source to others whose credential it could not
// read. Where there are no others, the store stops the source in the end.
const lookAgainAfter = harvest.UnreadableFor / 3

// leaveToOthers takes no tasks like this one for a while.
func (e *Executor) leaveToOthers(job harvest.Job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lacks = append(e.lacks, harvest.Rest{Provenance: job.Provenance, Operation: job.Operation, Until: time.Now().Add(lookAgainAfter)})
}

// leftToOthers are the operations of sources that this process takes no tasks of.
func (e *Executor) leftToOthers() []harvest.Rest {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lacks = slices.DeleteFunc(e.lacks, func(r harvest.Rest) bool { return !time.Now().Before(r.Until) })
	return slices.Clone(e.lacks)
}

// TellAll makes one observer of several, of which nil ones are left out.
func TellAll(observers ...func(Event)) func(Event) {
	return func(ev Event) {
		for _, tell := range observers {
			if tell != nil {
				tell(ev)
			}
		}
	}
}

func (e *Executor) observe(ev Event) {
	if e.cfg.Observe != nil {
		e.cfg.Observe(ev)
	}
}

// spec is the description that the plan of a job was made with. Plans that have the
// same one share it.
func (e *Executor) spec(ctx context.Context, job harvest.Job) (*source.Spec, error) {
	e.mu.Lock()
	s := e.specs[job.Fingerprint]
	e.mu.Unlock()
	if s != nil {
		return s, nil
	}
	b, err := e.store.Spec(ctx, job.Plan)
	if err != nil {
		return nil, err
	}
	if got := source.FingerprintBytes(b); got != job.Fingerprint {
		return nil, fmt.Errorf("spec of plan %d hashes to %s, its fingerprint is %s: run patra verify", job.Plan, got, job.Fingerprint)
	}
	s, err = source.ParseSpec(b)
	if err != nil {
		return nil, fmt.Errorf("plan %d: %w", job.Plan, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.specs) > 256 { // many plans, few of them alive
		clear(e.specs)
	}
	e.specs[job.Fingerprint] = s
	return s, nil
}
