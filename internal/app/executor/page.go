package executor

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// step is one page to ask for.
type step struct {
	phase   harvest.Phase
	ordinal int
	pos     harvest.Position
	ids     []string // DETAIL: what to ask for
	opened  *harvest.OpenedBatch
}

// resumeStep is the first step of a run: the one after what is committed.
func (s *session) resumeStep(res harvest.Resume) step {
	if res.SearchEnd != "" {
		return s.detailStep(res.DetailDone+1, res.DetailAt)
	}
	st := s.firstStep()
	if res.SearchDone > 0 {
		st.ordinal = res.SearchDone + 1
		st.pos = res.Search
	}
	return st
}

// frozen reports whether the ids of the task were fixed with its plan: an UPDATE
// has no walk, only details to ask for (R9).
func (s *session) idsFrozen() bool { return s.job.Operation == harvest.Update }

// firstStep is the step over the first page of the walk.
func (s *session) firstStep() step {
	return step{phase: harvest.PhaseSearch, ordinal: 1, pos: s.paging.Start(s.job.Spec, s.walk.no)}
}

// detailStep is the step over the page of details that begins at id number at.
func (s *session) detailStep(ordinal int, at int64) step {
	n := min(at+int64(s.spec.Batching.IDs), int64(len(s.walk.ids)))
	return step{phase: harvest.PhaseDetail, ordinal: ordinal, pos: harvest.Position{Offset: at}, ids: s.walk.ids[at:n]}
}

// detailStepAfter is the step after one over a page of details, nil if that is the last.
func (s *session) detailStepAfter(st step) *step {
	at := st.pos.Offset + int64(len(st.ids))
	if at >= int64(len(s.walk.ids)) {
		return nil
	}
	return new(s.detailStep(st.ordinal+1, at))
}

// batchOpen claims the page of a step, under the next number of the run.
func (s *session) batchOpen(st step) harvest.BatchOpen {
	o := harvest.BatchOpen{Run: s.run, BatchNo: s.batchNo, Walk: s.walk.no, Phase: st.phase, Ordinal: st.ordinal, Before: st.pos}
	s.batchNo++
	return o
}

// batchOpens claims the pages of steps, in their order.
func (s *session) batchOpens(steps []step) []harvest.BatchOpen {
	out := make([]harvest.BatchOpen, len(steps))
	for i, st := range steps {
		out[i] = s.batchOpen(st)
	}
	return out
}

// open claims the page of st in a transaction of its own.
func (s *session) open(ctx context.Context, st step) (step, error) {
	begun := time.Now()
	o, err := s.e.store.OpenBatch(ctx, s.job.Lease, s.batchOpen(st))
	if err != nil {
		return st, err
	}
	s.lease.noteRenewal(begun)
	st.opened = &o
	return st, nil
}

// reply is what came of asking for a page.
type reply struct {
	ans source.Answer
	err error
	// begun is when it was first asked for, span that of the page.
	begun time.Time
	span  trace.Span
	// DETAIL only: the ids that were asked for; those of them that are on the list of
	// bad ids and due to be asked for again; and those that the upstream refused.
	asked, dueAgain []string
	// resting are ids of the page that were not asked for.
	resting []string
	refused refusals
}

// walkFrom asks for and commits pages from st on, until the slice is done. Pages are
// committed in their order, one at a time; the one that follows is asked for while the
// one in hand is made durable.
//
//	page 1   ask ---- build, commit ----.
//	page 2                        ask --'-- build, commit ----.
//	page 3                                              ask --'-- ...
//
// Where the source says so several pages of details are asked for side by side. One that
// has come and is not stored counts as one of them: a store that is slow holds back what
// is asked for.
//
//	page 4   ask ----'-- build, commit ----.
//	page 5   ask ----------'               '-- build, commit ----.
//	page 6                             ask --'                   '-- ...
func (s *session) walkFrom(ctx context.Context, st step) (done bool, err error) {
	if st.opened == nil {
		st, err = s.open(ctx, st)
		if err != nil {
			return false, err
		}
	}
	ahead := []askedPage{s.ask(ctx, st)}
	releasePage := func() {} // gives back the memory of the page in hand
	defer func() {
		releasePage()
		err = s.giveUpBeside(err, ahead)
	}()
	for {
		page := ahead[0]
		ahead = ahead[1:]
		st = page.step
		s.inHand = st.opened
		r := <-page.replied
		if r.ans.Done != nil {
			releasePage = r.ans.Done
		}
		if err := context.Cause(ctx); err != nil {
			return false, s.failed(st, r, evidence(r.ans), err)
		}
		if r.err != nil {
			s.effort.excess = excessOfReply(r)
			err := fmt.Errorf("%s %s page %d: %w", s.job.Provenance, st.phase, st.ordinal, s.walk.escalate(st.ordinal, r.err))
			return false, s.failed(st, r, evidence(r.ans), err)
		}
		b, following, err := s.buildBatch(ctx, st, r)
		if err != nil {
			return false, s.failed(st, r, b.Evidence, err)
		}
		s.noteCost(r.ans)
		halt := s.whyHalt()
		if following != nil && halt == nil && st.phase == harvest.PhaseSearch {
			halt = s.adviseCut(&b)
		}
		var steps []step
		if halt == nil {
			steps = s.stepsToAsk(following, ahead)
		}
		var next []askedPage
		askNext := func(c harvest.Committed) {
			for i := range steps {
				steps[i].opened = &c.Next[i]
				next = append(next, s.ask(ctx, steps[i]))
			}
		}
		begun := time.Now()
		commit := r.span.Child(trace.Commit)
		c, err := s.e.store.CommitBatch(ctx, s.job, b, s.batchOpens(steps), askNext)
		commit.Fail(err)
		commit.End()
		if err != nil {
			for _, r := range s.forget(next) { // they are not claimed, or nobody knows whether they are
				r.span.End()
			}
			return false, s.failed(st, r, b.Evidence, err)
		}
		s.lease.noteRenewal(begun)
		s.e.noteCommit(time.Since(begun))
		took := time.Since(r.begun)
		b.Records = nil // they point into the memory that is given back
		b.Quarantined = nil
		endPageSpan(r.span, c, len(ahead)+len(next) > 0)
		r = reply{}
		releasePage()
		s.reportCommitted(b, c, took)
		if st.phase == harvest.PhaseSearch {
			s.walk.committed(st.ordinal, b.After)
		}
		for i := range next {
			next[i].opened.ID = c.Next[i].ID // if the transaction ran again, that of its last try
		}
		ahead = append(ahead, next...)
		switch {
		case c.Done:
			return true, nil
		case following == nil:
			return false, s.unconfirmed()
		case len(ahead) == 0:
			return false, halt
		}
	}
}

// failed is the error of a page that is not stored, with what was asked and what came.
func (s *session) failed(st step, r reply, e harvest.Evidence, cause error) *harvest.FailedPage {
	if e.Sent > 0 {
		s.e.observe(Event{Kind: PageFailed, Job: s.job, Traffic: traffic(e)})
	}
	asked := r.ans.Asked
	if st.phase == harvest.PhaseDetail { // which may be many requests
		asked = e.Sent > 0
	}
	r.span.Fail(cause)
	r.span.End()
	return &harvest.FailedPage{Batch: st.opened.ID, Asked: asked, Evidence: e, Cause: cause}
}

// askUpstream asks the upstream while the lease can be trusted. Every request of a run
// goes this way.
func (s *session) askUpstream(ctx context.Context, call source.Call) (source.Answer, error) {
	return s.lease.askWhileTrusted(ctx, func(trusted context.Context) (source.Answer, error) {
		if s.lease.ownerDied.Load() {
			call.InHand = s.lease.markReply
		}
		return s.e.up.Ask(trusted, s.spec, call)
	})
}

// callFor is the question that asks for the page of st.
func (s *session) callFor(st step) source.Call {
	c := s.spec.PageCall(s.job.Operation, s.job.Spec, st.phase, st.pos)
	c.BaseURL = s.job.BaseURL
	c.Plan = s.job.Plan
	c.Correlation = harvest.Correlation(s.run, st.opened.BatchNo)
	c.Held = st.phase == harvest.PhaseSearch
	return c
}

// clockBehind is for how long the upstream's clock has still to go to the end of the
// window. It is 0 if the clock has reached it, or is so far off that the window was
// planned without it.
func (s *session) clockBehind(ans source.Answer) time.Duration {
	if ans.UpstreamAt.IsZero() {
		return 0
	}
	behind := s.job.Spec.Window.To.Sub(ans.UpstreamAt)
	if !harvest.ClockBelieved(behind, s.spec.StandsIn(s.job.BaseURL)) {
		return 0
	}
	return max(0, behind)
}

// buildBatch turns a reply into a batch and the step after it. No step follows the
// page that finishes the slice, or that ends a walk which another has to confirm.
func (s *session) buildBatch(ctx context.Context, st step, r reply) (harvest.Batch, *step, error) {
	ans := r.ans
	b := harvest.Batch{OpenedBatch: *st.opened, RecordType: s.spec.RecordType, Evidence: evidence(ans)}
	s.noteSlow(&b, ans.Traffic.Network)
	if st.phase == harvest.PhaseDetail {
		return s.buildDetailBatch(ctx, st, r, b)
	}
	facts := ans.Page.Facts()
	next, end, more, err := s.stepOver(ctx, st.pos, facts)
	b.Evidence = addTraffic(b.Evidence, more)
	ans.Traffic = ans.Traffic.Add(more)
	if err != nil {
		s.effort.excess = s.excessOfWalk(err, st.pos, facts)
		return b, nil, fmt.Errorf("%s page %d: %w", s.job.Provenance, st.ordinal, err)
	}
	if behind := s.clockBehind(ans); end != "" && behind > 0 {
		// By its own clock the upstream has not reached the end of the window,
		// so nothing it says can prove the window complete.
		f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeClockBehind, RetryAfter: behind}
		return b, nil, fmt.Errorf("upstream's clock says %s: %w", harvest.FormatInstant(ans.UpstreamAt), f)
	}
	if spend := s.job.Spec.Budget; spend != nil && spend.MaxRequests > 0 {
		next.Requests += ans.Traffic.Sent
	}
	b.After = next
	b.End = end
	switch {
	case st.pos.Tail != nil && end != "" && next.Seen == st.pos.Seen:
		// The last page was asked for once more and is the same: it is stored already.
	case next.Back > 0:
		// The page does not join what was read: it comes again when its turn is.
	case s.spec.TwoPhase():
		inWindow := s.leaveOutside(ans.Page, facts.IDs, &b)
		err = drift(&b, s.collectIDs(ans.Page, inWindow, &b), s.paging.Size)
	default:
		s.leaveOutside(ans.Page, facts.IDs, &b)
		s.items.SortInto(ans.Page, &b)
		ans.Page.Items = nil // a large page has many
		unseen := s.walk.addSeen(facts.IDs)
		b.Seen = append(b.Seen, unseen...)
		b.Repeated = len(facts.IDs) - len(unseen)
		err = drift(&b, 0, s.paging.Size)
	}
	if err != nil {
		return b, nil, err
	}
	return b, s.nextStep(st, &b), nil
}

// leaveOutside takes the items off a page that lie outside the slice's window, of a
// source that cannot be asked for one: they are counted and not stored. It returns the
// names of those that are left.
func (s *session) leaveOutside(p *harvest.Page, names []string, b *harvest.Batch) []string {
	if !s.paging.NewestFirst {
		return names
	}
	var left []harvest.Item
	var leftNames []string
	for i := range p.Items {
		it := p.Items[i]
		if it.Problem != nil || !s.paging.Outside(it.UpdatedAt) {
			left = append(left, it)
			leftNames = append(leftNames, names[i])
			continue
		}
		b.Filtered = append(b.Filtered, it.ID)
		h := harvest.IDHash(names[i])
		if s.spec.TwoPhase() && s.walk.addTombstone(h) { // there are no details to ask for
			b.Seen = append(b.Seen, h)
		}
	}
	p.Items = left
	return leftNames
}

// nextStep is the step that follows the SEARCH page b of st, nil if none does.
func (s *session) nextStep(st step, b *harvest.Batch) *step {
	if b.End == "" {
		return &step{phase: harvest.PhaseSearch, ordinal: st.ordinal + 1, pos: b.After}
	}
	end := b.After // by itself: a pointer into the batch would keep the page in memory
	s.walk.endedAt = &end
	if !s.paging.Confirmed(b.After, s.walk.previousEnd) {
		return nil
	}
	b.Finish = len(s.walk.ids) == 0
	if b.Finish { // nothing to ask details for, or all came with the pages
		return nil
	}
	return new(s.detailStep(1, 0))
}

// collectIDs keeps the ids of a SEARCH page to ask details for, each once in a walk,
// and returns how many the page has. A tombstone is all there is of its record: it is
// stored as it is, not asked for (R31). A list that tells of every change may name a
// record both ways, in any order: then its details are asked for as well, and the
// order of versions decides which of the two is newer (R28). An item whose id cannot
// be read goes to quarantine (R32).
func (s *session) collectIDs(p *harvest.Page, names []string, b *harvest.Batch) (n int) {
	var whole []harvest.Item
	for i := range p.Items {
		it := p.Items[i]
		h := harvest.IDHash(names[i])
		if tomb := it.Status == harvest.RecordGone && it.Problem == nil && !it.UpdatedAt.IsZero(); tomb || it.ID == "" {
			whole = append(whole, source.Bare(it))
			if s.walk.addTombstone(h) {
				b.Seen = append(b.Seen, h)
			}
			continue
		}
		n++
		if s.walk.addID(it.ID, h) {
			b.IDs = append(b.IDs, it.ID)
		}
	}
	b.Asked = len(b.IDs)
	b.Repeated = n - len(b.IDs)
	if len(whole) > 0 {
		s.items.SortInto(&harvest.Page{Items: whole}, b)
	}
	return n
}

// drift refuses a page of which too much cannot be read: that is not bad data but
// another schema, and nothing of the page may be committed (R32). ids counts what was
// read of it besides records.
func drift(b *harvest.Batch, ids, pageSize int) error {
	bad, all := len(b.Quarantined), len(b.Quarantined)+len(b.Records)+len(b.Filtered)+ids
	flood := bad >= 20 && bad*5 > all
	full := bad > 0 && bad == all && all >= min(20, max(1, pageSize))
	if !flood && !full {
		return nil
	}
	f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeSchemaDrift}
	p := b.Quarantined[0].Problem
	return fmt.Errorf("%d of %d items cannot be read, the first for %s at %q: %w", bad, all, p.Code, p.Path, f)
}

// toldOfPages: one page in so many is told of in the log of an ordinary day; a
// debugging one has all of them.
const toldOfPages = 100

// reportCommitted tells onlookers of a stored page, and of the slice if that is done.
func (s *session) reportCommitted(b harvest.Batch, c harvest.Committed, took time.Duration) {
	s.e.observe(Event{
		Kind: PageCommitted, Job: s.job, Counts: c.Counts, Traffic: traffic(b.Evidence),
		Page: PageFacts{Took: took, Repeated: b.Repeated, Fresh: c.Fresh, Late: c.Late},
	})
	level := slog.LevelDebug
	if b.ID%toldOfPages == 0 {
		level = slog.LevelInfo
	}
	if s.log.Enabled(s.stop, level) {
		s.pageLog().Log(s.stop, level, "page stored", "phase", b.Phase, "ordinal", b.Ordinal, "items", c.Counts.Items(), "inserted", c.Counts.Inserted,
			"updated", c.Counts.Updated, "quarantined", c.Counts.Quarantined, "took", took)
	}
	if c.Done {
		s.e.observe(Event{Kind: SliceDone, Job: s.job, Watermark: c.Watermark})
		s.pageLog().Info("slice done", "window", s.partText(), "watermark", c.Watermark.String())
	}
}

func evidence(a source.Answer) harvest.Evidence {
	e := harvest.Evidence{
		Request: a.Request, RequestSHA256: a.RequestSHA256, ReplySHA256: a.ReplySHA256,
		HTTPStatus: a.Status, Headers: a.Headers, Sample: a.Sample, Credential: a.Credential, IDs: a.IDs, Rate: a.Rate,
	}
	return addTraffic(e, a.Traffic)
}

func traffic(e harvest.Evidence) source.Traffic {
	return source.Traffic{Sent: e.Sent, Retried: e.Retried, HTTP429: e.HTTP429, HTTP5xx: e.HTTP5xx, Bytes: e.Bytes, Gate: e.Gate}
}

func addTraffic(e harvest.Evidence, t source.Traffic) harvest.Evidence {
	e.Sent += t.Sent
	e.Retried += t.Retried
	e.HTTP429 += t.HTTP429
	e.HTTP5xx += t.HTTP5xx
	e.Bytes += t.Bytes
	e.WaitGate += t.WaitGate
	e.Network += t.Network
	e.Gate = e.Gate.Add(t.Gate)
	return e
}
