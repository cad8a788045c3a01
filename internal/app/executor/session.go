package executor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// session is one run of one task. It walks over the slice of the task, asks for
// details of what the walk found where the source gives them apart, and commits
// both page by page, for as long as it holds the lease.
type session struct {
	e   *Executor
	job harvest.Job
	log *slog.Logger
	// span is that of the run.
	span trace.Span
	// stop ends when no new page should be begun.
	stop context.Context

	// How the plan of the task describes its source; paging is that of this
	// slice, with its own page size and range.
	spec   *source.Spec
	cal    harvest.Calendar
	paging harvest.Paging
	items  source.ItemSorter

	lease   *leaseKeeper
	walk    walk
	details *details
	effort  effort

	run     harvest.RunID
	batchNo int // of the next page
	// inHand is the page that is waited for or was last; nil before the first.
	inHand *harvest.OpenedBatch
}

// effort is what a run measures itself by.
type effort struct {
	begun time.Time
	gauge harvest.Gauge
	// excess measures what the fault in hand would have the slice cut for.
	excess harvest.Excess
}

// runJob runs a leased task to its end. It returns an error only if going on with
// any task is pointless, as when the store is away; whatever became of this one
// otherwise has been written, or will be found by the next owner.
func (e *Executor) runJob(stop, work context.Context, job harvest.Job) error {
	log := e.log.With("source", job.Provenance, "endpoint", job.Endpoint, "operation", string(job.Operation),
		"instance", job.Instance, "plan", job.Plan, "slice", job.Slice, "task", job.Lease.Task, "lease", job.Lease.Fence)
	ctx, cancel := context.WithCancelCause(work)
	defer cancel(nil)
	e.observe(Event{Kind: TaskTaken, Job: job})
	defer e.observe(Event{Kind: TaskLeft, Job: job})
	ctx, span := e.beginRunSpan(ctx, job)
	defer span.End()
	begun := time.Now()
	pick := span.Child(trace.PickTask)
	res, err := e.store.StartRun(ctx, job.Lease)
	pick.Fail(err)
	pick.End()
	if err != nil {
		span.Fail(err)
		return e.sortStoreError(ctx, job, log, err)
	}
	span.Number(trace.RunID, int64(res.Run))
	span.Number(trace.Attempt, int64(res.Attempt))
	s := &session{
		e: e, job: job, log: log.With("run", res.Run, "attempt", res.Attempt), stop: stop, run: res.Run, batchNo: res.BatchNo,
		effort: effort{begun: time.Now()}, span: span,
	}
	s.log.Info("task taken", "owner", job.Lease.Owner, "lease_for", e.cfg.LeaseTTL, "workers", e.cfg.Workers)
	s.lease = keepLease(e.store, job.Lease, e.cfg.LeaseTTL, begun, s.log)
	s.lease.ownerDied.Store(res.Died)
	if err := s.loadSpec(ctx); err != nil {
		return s.endRun(work, err)
	}
	if err := s.recallEffort(ctx, res); err != nil {
		return s.endRun(work, err)
	}
	s.walk = resumeWalk(res, s.spec.TwoPhase())
	s.details = newDetails(s.spec.Detail, res)
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		s.lease.keepRenewing(ctx, cancel)
	}()
	err = s.execute(ctx, res)
	lost := context.Cause(ctx)
	cancel(nil)
	<-renewing
	if err == nil || errors.Is(err, errDone) {
		return nil
	}
	if errors.Is(lost, harvest.ErrLeaseLost) || errors.Is(lost, harvest.ErrHeld) || errors.Is(lost, harvest.ErrStoreGone) {
		err = harvest.FailedPageOf(err).Because(lost)
	}
	return s.endRun(work, err)
}

// pageLog is the log of the run with the page in hand on its lines.
func (s *session) pageLog() *slog.Logger {
	log := s.log.With("correlation", s.correlation())
	if s.inHand == nil {
		return log
	}
	return log.With("batch", s.inHand.ID)
}

// correlation names the page in hand, before the first one that to come.
func (s *session) correlation() string {
	no := s.batchNo
	if s.inHand != nil {
		no = s.inHand.BatchNo
	}
	return harvest.Correlation(s.run, no)
}

// forPage is a context for what is done about the page in hand.
func (s *session) forPage(ctx context.Context) context.Context {
	return trace.WithCorrelation(ctx, s.correlation())
}

// loadSpec takes up how the plan of the task describes its source.
func (s *session) loadSpec(ctx context.Context) error {
	spec, err := s.e.spec(ctx, s.job)
	if err != nil {
		return err
	}
	s.cal, err = spec.Window.Calendar()
	if err != nil {
		return err
	}
	s.spec = spec
	s.effort.gauge.Limits = spec.CutLimits()
	s.paging = spec.Paging.Of(s.job.Spec)
	s.items, err = source.SorterOf(spec)
	return err
}

// recallEffort takes up what the pages of earlier attempts cost: a slice strains its
// source no less because a worker was stopped in between (R69).
func (s *session) recallEffort(ctx context.Context, res harvest.Resume) error {
	s.effort.gauge.Begun = s.effort.begun
	if res.Attempt < 2 {
		return nil
	}
	pages, err := s.e.store.PageCosts(ctx, s.job.Lease.Task, max(pagesRecalled, s.effort.gauge.Limits.FailedOver))
	for _, p := range pages {
		s.effort.gauge.Note(p)
	}
	return err
}

// pagesRecalled is how many pages of earlier attempts are looked at.
const pagesRecalled = 200

// sortStoreError returns the errors of the store that end the executor. Those that
// only end the run are logged: the next owner of the task goes on with what is stored.
func (e *Executor) sortStoreError(ctx context.Context, job harvest.Job, log *slog.Logger, err error) error {
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

// breaker is when the partition rests, the platform's where the source is not known.
func (s *session) breaker() harvest.BreakerLimits {
	if s.spec == nil {
		return harvest.BreakerLimits{}
	}
	return s.spec.Retry.Breaker()
}

// endRun closes a run that did not finish its slice. What the error means decides
// whether the task is given back, rests, is given up or stops its source.
func (s *session) endRun(work context.Context, err error) error {
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
	end := harvest.RunEnd{Run: s.run, Error: err.Error(), Page: harvest.FailedPageOf(err), Breaker: s.breaker()}
	f, isFault := harvest.FaultOf(err)
	kind := TaskReleased
	switch {
	case errors.Is(err, harvest.ErrLeaseLost):
		return s.e.sortStoreError(ctx, s.job, s.pageLog(), err)
	case errors.Is(err, harvest.ErrUnknownOutcome):
		// Whoever takes the task next reads what is there. Giving it back waits
		// for the lost transaction to be over, one way or the other, since both
		// write the task's row, and changes nothing if that closed the task.
		end.Outcome = harvest.Released
		end.Code = harvest.CodeUnknown
	case errors.Is(err, harvest.ErrHeld):
		end.Outcome = harvest.Released
		end.Code = harvest.CodeHeld
	case errors.Is(err, errStopping), errors.Is(err, context.Canceled):
		end.Outcome = harvest.Released
		end.Code = harvest.CodeShutdown
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
	case f.OfQuota(): // a longer delay would be taken for the source's wish, and pause it
		end.Outcome = harvest.Released
		end.Code = f.Code
		end.Delay = min(f.RetryAfter, harvest.LongestWait)
	case f.Code == harvest.CodeUnrenewed: // the task may be another's by now: then the store refuses this too
		end.Outcome = harvest.Released
		end.Code = f.Code
	case f.Code == harvest.CodeQuiet: // no delay: whoever takes tasks knows the quiet hours
		end.Outcome = harvest.Released
		end.Code = f.Code
	case f.Code == harvest.CodeCredentialUnreadable: // here: another process may have what it takes
		end.Outcome = harvest.Released
		end.Code = f.Code
		s.e.leaveToOthers(s.job)
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
	if err := s.e.store.EndRun(s.forPage(ctx), s.job.Lease, end); err != nil {
		return s.e.sortStoreError(ctx, s.job, s.pageLog(), err)
	}
	s.e.observe(Event{Kind: kind, Job: s.job, Err: err, Reason: end.Code})
	s.span.Text(trace.Outcome, string(end.Code))
	if end.Outcome != harvest.Released {
		s.span.Fail(err)
	}
	if kind == TaskFailed {
		s.pageLog().Error("task failed", "code", end.Code, "window", s.partText(), "err", err)
	} else {
		s.pageLog().Info("task released", "code", end.Code, "delay", end.Delay, "err", err)
	}
	if end.Code == harvest.CodeCredentialUnreadable {
		if s.e.cfg.Provenance != "" {
			return err // this source is all there is to do
		}
		s.pageLog().Warn("this process cannot read the credential of the source, whose tasks are left to others", "for", lookAgainAfter, "err", err)
	}
	return nil
}

// execute walks the slice until it is done or a fault ends the run.
func (s *session) execute(ctx context.Context, res harvest.Resume) error {
	if err := s.whyHalt(); err != nil {
		return err
	}
	st := s.resumeStep(res)
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
		if ok && f.Code != harvest.CodeUnconfirmed && !f.Waits() && !harvest.CutAdvised(f.Code) {
			s.e.observe(Event{Kind: Faulted, Job: s.job, Err: err, Reason: f.Code})
		}
		if !ok || s.idsFrozen() {
			return err // there is no walk to begin again and nothing to cut
		}
		switch {
		case f.Reaction == harvest.CutSlice:
			return s.cut(ctx, err)
		case f.Level != harvest.Transient:
			return err // another walk would be refused as well
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

// mustRestart is the fault for which a walk that was left has to begin again, nil if
// it can be gone on with.
func (s *session) mustRestart(res harvest.Resume, st step) error {
	switch {
	case res.Unknown && s.paging.ServerHolds(st.pos):
		// A page may have been served that nobody stored, and the server's
		// cursor has moved past it: only a new walk sees it again (R22).
		return harvest.Fault{Level: harvest.Transient, Reaction: harvest.RestartWalk, Code: harvest.CodePageUnknown}
	case st.phase == harvest.PhaseSearch && s.paging.Expired(st.pos, res.SearchAge):
		return s.spec.TokenExpired() // no request is needed to know (R23)
	case s.walk.endedAt != nil && !s.paging.Confirmed(*s.walk.endedAt, s.walk.previousEnd):
		return s.unconfirmed()
	}
	return nil
}

// unconfirmed is the fault for which a slice is walked once more although its walk was
// proven over: one walk is not enough, or two did not see the same (R25).
func (s *session) unconfirmed() error {
	f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.RestartWalk, Code: harvest.CodeUnconfirmed}
	if s.walk.previousEnd != nil {
		f.Code = harvest.CodeWalksDiffer
	}
	return f
}

// restart begins the walk again, or cuts the slice after too many that failed.
func (s *session) restart(ctx context.Context, why error) (step, error) {
	f, _ := harvest.FaultOf(why)
	page := harvest.FailedPageOf(why)
	no, walks, err := s.e.store.NewWalk(ctx, s.job.Lease, f.Code, f.Code != harvest.CodeUnconfirmed, page)
	if err != nil {
		return step{}, page.Because(err)
	}
	s.e.observe(Event{Kind: WalkRestarted, Job: s.job, Err: why, Reason: f.Code})
	s.pageLog().Info("walk begun again", "walk", no, "code", f.Code, "err", why)
	s.walk = s.walk.beginAgain(no)
	if walks >= harvest.MaxWalks {
		return step{}, s.cut(ctx, why)
	}
	if err := s.whyHalt(); err != nil {
		return step{}, err
	}
	return s.open(ctx, s.firstStep())
}

// errDone reports that the run was closed together with its slice.
var errDone = errors.New("run closed")

// whyHalt says why no new page is to be begun, nil if one may be.
func (s *session) whyHalt() error {
	if s.stop.Err() != nil {
		return errStopping
	}
	for _, r := range s.e.resting(s.stop) {
		if r.Bars(s.job.Partition()) {
			return r.Fault()
		}
	}
	return nil
}

// partText names what the slice answers for in logs.
func (s *session) partText() string { return s.job.Spec.Part().String() }
