package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// recut is what the slice would be cut by if its walk ended at a committed position.
func (s *session) recut(at harvest.Position) harvest.Recut {
	r := harvest.Recut{
		Slice: s.job.Spec, Paging: s.paging, At: at, TwoPhase: s.spec.TwoPhase(), Calendar: s.cal,
		MinStep: s.spec.Window.MinStep.D(), Sized: s.spec.Search.Sized(),
		Limits: s.effort.gauge.Limits,
	}
	if s.job.Spec.Strategy == harvest.StrategyHash {
		r.Split = s.spec.Window.Split // there is nothing else to cut by
	}
	return r
}

// noteCost takes note of what a page cost, be it of the search or of details (R69).
func (s *session) noteCost(ans source.Answer) {
	s.effort.gauge.Note(harvest.PageCost{
		At: time.Now(), Bytes: ans.BodyBytes, Failed: ans.Traffic.Retried, Throttled: ans.Traffic.HTTP429,
		Took:       ans.Traffic.Network,
		RetryAfter: time.Duration(ans.Traffic.Gate.RetryAfterMs) * time.Millisecond,
	})
}

// adviseCut is the fault that has the slice cut once b is committed, nil if it should
// not be, or cannot. What details cost counts, and the verdict is that of the next page
// of a search: while the ids of a walk are known, to cut the slice would be to look for
// them again, and to ask once more for the details that are stored (R69).
func (s *session) adviseCut(b *harvest.Batch) error {
	if b.After.Tail != nil {
		return nil // by all signs the walk is over: to cut now would be to walk again
	}
	r := s.recut(b.After)
	var code harvest.Code
	switch {
	case s.job.Spec.Budget.Spent(s.costUpTo(b)):
		code = harvest.CutBudget
	case b.End != "": // only details are still to be asked for
	case r.TooDeep():
		code = harvest.CutDepth
	case r.BeyondEstimate():
		code = harvest.CutEstimate
	default:
		code = s.effort.gauge.Strain()
	}
	if code == "" {
		return nil
	}
	if _, ok := r.Children(code); !ok {
		s.pageLog().Debug("slice stays whole", "code", code, "window", s.job.Spec.Part().String())
		return nil
	}
	return harvest.Fault{Level: harvest.Transient, Reaction: harvest.CutSlice, Code: code}
}

// costUpTo is what the slice has cost up to b in requests, records and time. To a
// two-phase walk the requests for the details of its ids are added, which are still
// to come. Time is that of this run: how long a slice waited is not its fault.
func (s *session) costUpTo(b *harvest.Batch) (requests int, records int64, d time.Duration) {
	requests = b.After.Requests
	records = b.After.Seen - s.firstStep().pos.Seen
	if n := s.spec.Batching.IDs; s.spec.TwoPhase() && n > 0 {
		requests += (len(s.walk.ids) + n - 1) / n
	}
	return requests, records, time.Since(s.effort.begun)
}

// excessOfReply measures a reply that was too large. Nothing is known of how much lies
// behind a wall, or behind whatever else a source declares a reason to cut.
func excessOfReply(r reply) harvest.Excess {
	f, _ := harvest.FaultOf(r.err)
	return harvest.Excess{Size: r.ans.BodyBytes, Known: f.Code == harvest.CodeTooLarge, Volume: true}
}

// excessOfWalk measures what the slice is to be cut for by a fault of the walk at a
// page: the records that a total promised and that did not come, where there is a
// total, else the ids that did come. That a walk is too long has no such measure: a
// walk over a half may be as long as a walk may be.
func (s *session) excessOfWalk(err error, pos harvest.Position, facts harvest.PageFacts) harvest.Excess {
	f, _ := harvest.FaultOf(err)
	if f.Reaction != harvest.RestartWalk && f.Code != harvest.CodeNothingNew {
		return harvest.Excess{}
	}
	seen := pos.Seen
	for _, id := range facts.IDs {
		if !s.walk.known(harvest.IDHash(id)) {
			seen++
		}
	}
	total := pos.Total
	if facts.Total != nil && (total == nil || *facts.Total > *total) {
		total = facts.Total
	}
	if total != nil && *total > seen {
		return harvest.Excess{Size: *total - seen, Known: true}
	}
	return harvest.Excess{Size: seen, Known: true}
}

// nextTrail is the trail of the slices that this one is cut into for a fault. It is an
// error where cutting has to end.
func (s *session) nextTrail(ctx context.Context, r harvest.Recut, f harvest.Fault, page *harvest.FailedPage) (*harvest.CutTrail, error) {
	if harvest.CutAdvised(f.Code) {
		return nil, nil
	}
	trail := r.NextTrail(f.Code, s.effort.excess)
	within := s.job.Spec.NominalWindow()
	if trail.Vain() {
		within = trail.Of
	}
	cost, err := s.e.store.PlanCost(ctx, s.job.Plan, within)
	if err != nil {
		return nil, err
	}
	if page != nil {
		cost.Sent += int64(page.Evidence.Sent)
	}
	if why := cost.Drifted(int64(s.paging.Size)); why != "" {
		drifted := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeSchemaDrift}
		return nil, fmt.Errorf("%s, the last for %s: %w", why, f.Code, drifted)
	}
	if trail.Vain() && s.effort.excess.Volume && cost.DoneWithin > 0 {
		// All of it lies in this half, so that it is no smaller. The other half is
		// proven, which shows that cutting helps.
		return &harvest.CutTrail{Cause: trail.Cause, Size: trail.Size, Of: s.job.Spec.NominalWindow()}, nil
	}
	if trail.Hopeless() {
		f.Level = harvest.Rejected
		f.Reaction = harvest.GiveUp
		return nil, fmt.Errorf("%s is not cut again: it was %d times for the same cause, and there was no less of it: %w",
			s.job.Spec.Part(), trail.VainCuts, f)
	}
	return trail, nil
}

// cut replaces the slice by smaller ones. Where it cannot be cut the fault stands, as
// one that may pass or as one that will not. Cutting ends where it has not helped for
// generations: then the slice is a gap for its cause. It also ends where the plan has
// cost far too much and nothing came of it: then the source is not what its
// description says, and is stopped (R82).
func (s *session) cut(ctx context.Context, why error) error {
	f, _ := harvest.FaultOf(why)
	page := harvest.FailedPageOf(why)
	r := s.recut(s.walk.committedAt)
	r.Split = s.spec.Window.Split // ids are cut only where nothing else helps
	trail, err := s.nextTrail(ctx, r, f, page)
	if err != nil {
		return page.Because(err)
	}
	r.Slice.Cut = trail // its children remember it
	kids, ok := r.Children(f.Code)
	if !ok {
		if f.Reaction == harvest.CutSlice {
			f.Level = harvest.Rejected
			f.Reaction = harvest.GiveUp
			if s.paging.NewestFirst {
				return page.Because(fmt.Errorf("%s cannot be cut: the list is read from its newest record, whatever the window is: %w", s.job.Spec.Part(), f))
			}
			least := s.spec.Window.MinStep.D().String()
			if r.Split != nil && r.Split.Buckets > 0 {
				least = fmt.Sprintf("one of %d buckets", r.Split.Buckets)
			}
			return page.Because(fmt.Errorf("%s cannot be cut smaller than %s: %w", s.job.Spec.Part(), least, f))
		}
		f.Reaction = harvest.Retry // the task rests and is tried again
		return page.Because(fmt.Errorf("%d walks did not finish: %w", harvest.MaxWalks, f))
	}
	children := make([]harvest.SliceDraft, 0, len(kids))
	for _, c := range kids {
		child, err := source.DraftSlice(s.spec, s.job.Operation, "", c.Spec)
		if err != nil {
			return page.Because(err)
		}
		child.Done = c.Done
		children = append(children, child)
	}
	// A cut that has not helped counts for the breaker as a failure, any other as
	// the answer that it is.
	end := harvest.RunEnd{Run: s.run, Outcome: harvest.Refused, Code: f.Code, Error: why.Error(), Page: page, Breaker: s.breaker()}
	if trail.Vain() {
		end.Outcome = harvest.Spent
	}
	if err := s.e.store.Reslice(s.forPage(ctx), s.job, end, children, s.spec.Paging.Type, s.spec.Paging.Size); err != nil {
		return page.Because(err)
	}
	s.e.observe(Event{Kind: SliceCut, Job: s.job, Err: why, Reason: f.Code})
	s.traceCut(ctx, children)
	s.span.Text(trace.Outcome, string(f.Code))
	s.pageLog().Info("slice cut", "window", s.partText(), "code", f.Code,
		"children", len(children), "proven", kids[0].Done, "err", why)
	return errDone
}
