package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// session is one run of one task.
type session struct {
	e    *Executor
	job  harvest.Job
	spec *source.Spec
	cal  harvest.Calendar
	// paging by which this slice is walked, with its own page size and range.
	paging harvest.Paging
	log    *slog.Logger
	// trust in the lease, without which nothing is asked.
	trust *trust
	// stop ends when no new page should be begun.
	stop context.Context

	asking sync.WaitGroup // requests in flight
	// died: an owner of the task has died and nothing was brought since, so that
	// the reply in hand is marked before it is taken apart.
	died atomic.Bool

	run     harvest.RunID
	spent   int // runs in a row before this one that were
	mapping string
	notices bool // records of the source may speak of others
	walk    int
	batchNo int
	ids     []string // found by SEARCH pages of a two-phase walk
	// takes tells which ids a list of them can hold.
	takes func(id string) bool
	// seen are the ids of the walk, of a two-phase one those in ids; buried are
	// those of which its list has told that they were deleted, or nothing that
	// can be read.
	seen, buried map[uint64]struct{}
	// over is where this walk was proven over, prior where the one before was.
	over, prior *harvest.Position
	// at is where the walk stood after its last committed SEARCH page.
	at harvest.Position
	// odd is the page that had a fault which may happen once, 0 if none had, or
	// it has come since.
	odd int
	// unasked: no request went out for the SEARCH page in hand.
	unasked bool
	// gauge and begun are what this run measures itself by.
	gauge harvest.Gauge
	begun time.Time
	// toCut measures what the fault in hand would have the slice cut for.
	toCut harvest.Excess
	// unheard counts ids refused one by one since details last came; only the
	// request in hand touches it.
	unheard int
	traffic harvest.RunStats
}

// runJob runs a leased task to its end. It returns an error only if going on with
// any task is pointless, as when the store is away; whatever became of this one
// otherwise has been written, or will be found by the next owner.
func (e *Executor) runJob(stop, work context.Context, job harvest.Job) error {
	log := e.log.With("source", job.Provenance, "plan", job.Plan, "task", job.Lease.Task, "lease", job.Lease.Fence)
	ctx, cancel := context.WithCancelCause(work)
	defer cancel(nil)
	begun := time.Now()
	res, err := e.store.StartRun(ctx, job.Lease)
	if err != nil {
		return e.storeEnd(ctx, job, log, err)
	}
	s := &session{
		e: e, job: job, log: log.With("attempt", res.Attempt), stop: stop, trust: newTrust(e.cfg.LeaseTTL, begun),
		run: res.Run, spent: res.Spent, walk: res.Walk, batchNo: res.BatchNo, begun: time.Now(),
	}
	s.died.Store(res.Died)
	if err := s.describe(ctx); err != nil {
		return s.end(work, err)
	}
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		s.renew(ctx, cancel)
	}()
	err = s.execute(ctx, res)
	lost := context.Cause(ctx)
	cancel(nil)
	<-renewing
	s.asking.Wait()
	if err == nil || errors.Is(err, errDone) {
		return nil
	}
	if errors.Is(lost, harvest.ErrLeaseLost) || errors.Is(lost, harvest.ErrHeld) || errors.Is(lost, harvest.ErrStoreGone) {
		err = lost
	}
	return s.end(work, err)
}

// describe takes up how the plan of the task describes its source.
func (s *session) describe(ctx context.Context) error {
	spec, err := s.e.spec(ctx, s.job)
	if err != nil {
		return err
	}
	s.cal, err = spec.Window.Calendar()
	if err != nil {
		return err
	}
	s.spec = spec
	s.gauge.MaxBytes = spec.HTTP.MaxPage()
	s.mapping = spec.Mapping.Version()
	s.paging = spec.Paging.Of(s.job.Spec)
	s.takes = spec.Detail.Takes()
	s.notices = slices.ContainsFunc(spec.Mapping.Fields, func(f source.Field) bool { return harvest.IsSignal(f.Name) })
	return nil
}

// storeEnd sorts errors of the store into those that end the run and those that
// end the executor.
func (e *Executor) storeEnd(ctx context.Context, job harvest.Job, log *slog.Logger, err error) error {
	switch {
	case errors.Is(err, harvest.ErrLeaseLost):
		e.observe(Event{Kind: LeaseLost, Job: job, Err: err})
		log.Info("lease lost", "err", err)
		return nil
	case errors.Is(err, harvest.ErrHeld):
		log.Info("task held", "err", err)
		return nil
	case errors.Is(err, harvest.ErrUnknownOutcome):
		log.Warn("commit outcome unknown, the next owner will read it", "err", err)
		return nil
	case ctx.Err() != nil:
		return nil
	case !errors.Is(err, harvest.ErrStoreAway):
		// It concerns this task alone, whose lease will run out.
		log.Error("the store refused, the next owner will try", "err", err)
		return nil
	}
	return err
}

// renew keeps the lease while the work goes on, and cancels it if refused. While
// the store cannot be reached the work goes on as long as the lease is trusted.
func (s *session) renew(ctx context.Context, cancel context.CancelCauseFunc) {
	t := time.NewTicker(s.e.cfg.LeaseTTL / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		begun := time.Now()
		err := s.e.store.RenewLease(ctx, s.job.Lease)
		if err == nil {
			s.trust.renewed(begun)
			continue
		}
		if errors.Is(err, harvest.ErrLeaseLost) || errors.Is(err, harvest.ErrHeld) || errors.Is(err, harvest.ErrStoreGone) {
			cancel(err)
			return
		}
		if ctx.Err() == nil {
			s.log.Warn("lease not renewed", "trusted_for", max(0, s.trust.left()), "err", err)
		}
	}
}

// end closes a run that did not finish its slice.
func (s *session) end(work context.Context, err error) error {
	// Last writes go through even when the work was cancelled, but only for a while.
	ctx, cancel := context.WithCancel(context.WithoutCancel(work))
	defer cancel()
	defer context.AfterFunc(work, func() {
		select {
		case <-time.After(s.e.cfg.Grace):
			cancel()
		case <-ctx.Done():
		}
	})()
	end := harvest.RunEnd{Run: s.run, Stats: s.traffic, Error: err.Error(), Unasked: s.unasked}
	f, isFault := harvest.FaultOf(err)
	kind := TaskReleased
	switch {
	case errors.Is(err, harvest.ErrLeaseLost):
		return s.e.storeEnd(ctx, s.job, s.log, err)
	case errors.Is(err, harvest.ErrUnknownOutcome):
		// Whoever takes the task next reads what is there. Giving it back waits
		// for the lost transaction to be over, one way or the other, since both
		// write the task's row, and changes nothing if that closed the task.
		end.Outcome, end.Code = harvest.Released, harvest.CodeUnknown
	case errors.Is(err, harvest.ErrHeld):
		end.Outcome, end.Code = harvest.Released, harvest.CodeHeld
	case errors.Is(err, errStopping), errors.Is(err, context.Canceled):
		end.Outcome, end.Code = harvest.Released, harvest.CodeShutdown
	case errors.Is(err, harvest.ErrStoreAway):
		return err
	case !isFault:
		end.Outcome = harvest.Refused
		end.Code = harvest.CodeStore
		kind = TaskFailed
	case f.Code == harvest.CodeRate:
		end.Outcome = harvest.Released
		end.Code = f.Code
		end.Delay = f.RetryAfter
	case f.Code == harvest.CodeQuota: // nobody asked us to stay away: no reason to pause the source
		end.Outcome = harvest.Released
		end.Code = f.Code
		end.Delay = min(f.RetryAfter, harvest.LongestWait)
	case f.Code == harvest.CodeUnrenewed: // the task may be another's by now: then the store refuses this too
		end.Outcome = harvest.Released
		end.Code = f.Code
	case f.Code == harvest.CodeQuiet: // who takes tasks knows until when
		end.Outcome, end.Code = harvest.Released, f.Code
	case f.Level == harvest.Fatal:
		end.Outcome = harvest.Stopped
		end.Code = f.Code
		kind = TaskFailed
	case f.Level == harvest.Transient:
		end.Outcome = harvest.Spent
		end.Code = f.Code
		end.Delay = f.RetryAfter
		end.Throttled = f.Throttled()
	default:
		end.Outcome = harvest.Refused
		end.Code = f.Code
		kind = TaskFailed
	}
	if err := s.e.store.EndRun(ctx, s.job.Lease, end); err != nil {
		return s.e.storeEnd(ctx, s.job, s.log, err)
	}
	s.e.observe(Event{Kind: kind, Job: s.job, Err: err, Reason: end.Code})
	if kind == TaskFailed {
		s.log.Error("task failed", "code", end.Code, "window", s.part(), "err", err)
	} else {
		s.log.Info("task released", "code", end.Code, "delay", end.Delay, "err", err)
	}
	return nil
}

// execute walks the slice until it is done or a fault ends the run.
func (s *session) execute(ctx context.Context, res harvest.Resume) error {
	if err := s.stopping(); err != nil {
		return err
	}
	st := s.begin(res)
	err := s.mustRestart(res, st)
	for {
		if err == nil {
			var done bool
			done, err = s.walkFrom(ctx, st)
			if done {
				return nil
			}
		}
		if err == nil {
			return errors.New("walk ended without an end")
		}
		f, ok := harvest.FaultOf(err)
		if !ok || s.frozen() {
			return err // candidates are neither walked nor cut: rest, or a gap
		}
		switch {
		case f.Reaction == harvest.CutSlice:
			return s.cut(ctx, err)
		case f.Level != harvest.Transient:
			return err // no new walk mends a refusal
		case f.Reaction == harvest.RestartWalk:
			st, err = s.restart(ctx, err)
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// mustRestart says why a walk that was left cannot be gone on with.
func (s *session) mustRestart(res harvest.Resume, st step) error {
	switch {
	case res.Unknown && s.paging.ServerHolds(st.pos):
		// A page may have been served that nobody stored, and the server's
		// cursor has moved past it: only a new walk sees it again (R22).
		return harvest.Fault{Level: harvest.Transient, Reaction: harvest.RestartWalk, Code: harvest.CodePageUnknown}
	case st.phase == harvest.PhaseSearch && s.paging.Expired(st.pos, res.SearchAge):
		return s.spec.TokenExpired() // known without asking (R23)
	case s.over != nil && !s.paging.Confirmed(*s.over, s.prior):
		return s.unconfirmed()
	}
	return nil
}

// unconfirmed is why a walk that was proven over is walked once more (R25).
func (s *session) unconfirmed() error {
	f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.RestartWalk, Code: harvest.CodeUnconfirmed}
	if s.prior != nil {
		f.Code = harvest.CodeWalksDiffer
	}
	return f
}

// restart begins the walk again, or cuts the slice after too many that failed.
func (s *session) restart(ctx context.Context, why error) (step, error) {
	f, _ := harvest.FaultOf(why)
	walk, walks, err := s.e.store.NewWalk(ctx, s.job.Lease, f.Code, f.Code != harvest.CodeUnconfirmed)
	if err != nil {
		return step{}, err
	}
	s.e.observe(Event{Kind: WalkRestarted, Job: s.job, Err: why, Reason: f.Code})
	s.log.Debug("walk begun again", "walk", walk, "err", why)
	s.walk = walk
	s.ids = nil
	s.seen = make(map[uint64]struct{})
	s.buried = make(map[uint64]struct{})
	s.prior = s.over
	s.over = nil
	s.at = harvest.Position{}
	if walks >= harvest.MaxWalks {
		return step{}, s.cut(ctx, why)
	}
	if err := s.stopping(); err != nil {
		return step{}, err
	}
	return s.open(ctx, s.first())
}

// errDone reports that the run was closed together with its slice.
var errDone = errors.New("run closed")

// stopping says why no new page should be begun, nil if it may.
func (s *session) stopping() error {
	if s.stop.Err() != nil {
		return errStopping
	}
	for _, r := range s.e.resting(s.stop) {
		if r.Provenance == s.job.Provenance && r.Operation == s.job.Operation {
			return r.Fault()
		}
	}
	return nil
}

// part is the slice for people.
func (s *session) part() string {
	if w := s.job.Spec.NominalWindow(); s.frozen() {
		return fmt.Sprintf("records %s to %s", harvest.PlaceOf(harvest.Update, w.From), harvest.PlaceOf(harvest.Update, w.To))
	}
	return s.job.Spec.Part().String()
}
