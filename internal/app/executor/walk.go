package executor

import (
	"context"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// step is one page to ask for.
type step struct {
	phase   harvest.Phase
	ordinal int
	pos     harvest.Position
	ids     []string // DETAIL: what to ask for
	opened  *harvest.OpenedBatch
}

// begin works out the first step of a run from what is committed.
func (s *session) begin(res harvest.Resume) step {
	s.ids = res.IDs
	s.seen = make(map[uint64]struct{}, len(res.Seen)+len(res.IDs))
	for _, h := range res.Seen {
		s.seen[h] = struct{}{}
	}
	for _, id := range res.IDs {
		s.seen[harvest.IDHash(id)] = struct{}{}
	}
	if res.SearchEnd != "" {
		return s.detail(res.DetailDone+1, res.DetailAt)
	}
	st := s.first()
	if res.SearchDone > 0 {
		st.ordinal, st.pos = res.SearchDone+1, res.Search
	}
	return st
}

// first is the first page of a walk.
func (s *session) first() step {
	return step{phase: harvest.PhaseSearch, ordinal: 1}
}

// detail is the page of details that begins at id number at.
func (s *session) detail(ordinal int, at int64) step {
	n := min(at+int64(s.spec.Batching.IDs), int64(len(s.ids)))
	return step{phase: harvest.PhaseDetail, ordinal: ordinal, pos: harvest.Position{Offset: at}, ids: s.ids[at:n]}
}

func (s *session) batchOpen(st step) harvest.BatchOpen {
	o := harvest.BatchOpen{Run: s.run, BatchNo: s.batchNo, Walk: s.walk, Phase: st.phase, Ordinal: st.ordinal, Before: st.pos}
	s.batchNo++
	return o
}

// open claims the page of st in a transaction of its own.
func (s *session) open(ctx context.Context, st step) (step, error) {
	o, err := s.e.store.OpenBatch(ctx, s.job.Lease, s.batchOpen(st))
	if err != nil {
		return st, err
	}
	st.opened = &o
	return st, nil
}

// reply is what came of asking for a page.
type reply struct {
	ans source.Answer
	err error
}

// walkFrom asks for and commits pages from st on, until the slice is done.
func (s *session) walkFrom(ctx context.Context, st step) (done bool, err error) {
	if st.opened == nil {
		if st, err = s.open(ctx, st); err != nil {
			return false, err
		}
	}
	pending := s.ask(ctx, st)
	for {
		r := <-pending
		if err := context.Cause(ctx); err != nil {
			return false, err
		}
		if r.err != nil {
			s.count(r.ans.Traffic)
			return false, fmt.Errorf("%s %s page %d: %w", s.job.Provenance, st.phase, st.ordinal, r.err)
		}
		b, following, err := s.take(ctx, st, r.ans)
		if err != nil {
			return false, err
		}
		var open *harvest.BatchOpen
		ahead := func(harvest.Committed) {}
		pending = nil
		if !b.Finish {
			if err := s.stopping(); err == nil {
				o := s.batchOpen(following)
				open = &o
				ahead = func(c harvest.Committed) {
					following.opened = c.Next
					pending = s.ask(ctx, following)
				}
			}
		}
		c, err := s.e.store.CommitBatch(ctx, s.job, b, open, ahead)
		if err != nil {
			return false, err
		}
		s.committed(b, c)
		if c.Done {
			return true, nil
		}
		if pending == nil {
			return false, errStopping
		}
		following.opened.ID = c.Next.ID // the last try's, if the transaction ran again
		st = following
	}
}

// ask sends the request for st beside whatever goes on here.
func (s *session) ask(ctx context.Context, st step) chan reply {
	out := make(chan reply, 1)
	call := source.Call{
		Purpose: source.ForSearch, Window: s.job.Spec.RequestWindow(), Position: st.pos, BaseURL: s.job.BaseURL,
		Correlation: fmt.Sprintf("ing-%d-%d", s.run, st.opened.BatchNo),
	}
	if st.phase == harvest.PhaseDetail {
		call.Purpose, call.IDs = source.ForDetail, st.ids
	}
	s.asking.Go(func() {
		ans, err := s.e.up.Ask(ctx, s.spec, call)
		out <- reply{ans, err}
	})
	return out
}

// take turns an answer into a batch and the step after it.
func (s *session) take(ctx context.Context, st step, ans source.Answer) (harvest.Batch, step, error) {
	b := harvest.Batch{OpenedBatch: *st.opened, RecordType: s.spec.RecordType, Evidence: evidence(ans)}
	if st.phase == harvest.PhaseDetail {
		return s.takeDetails(ctx, st, ans, b)
	}
	facts := ans.Page.Facts()
	next, end, err := s.spec.Paging.Step(st.pos, facts, func(h uint64) bool { _, ok := s.seen[h]; return ok })
	if err != nil {
		s.count(ans.Traffic)
		return b, st, fmt.Errorf("%s page %d: %w", s.job.Provenance, st.ordinal, err)
	}
	if end != "" && !ans.UpstreamAt.IsZero() && ans.UpstreamAt.Before(s.job.Spec.Window.To) {
		// By its own clock the upstream has not reached the end of the window,
		// so nothing it says can prove the window complete.
		s.count(ans.Traffic)
		f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: "upstream_clock_behind", RetryAfter: s.job.Spec.Window.To.Sub(ans.UpstreamAt)}
		return b, st, fmt.Errorf("upstream's clock says %s: %w", harvest.FormatInstant(ans.UpstreamAt), f)
	}
	b.After, b.End = next, end
	following := step{phase: harvest.PhaseSearch, ordinal: st.ordinal + 1, pos: next}
	if s.spec.TwoPhase() {
		if err := s.takeIDs(ans.Page, &b); err != nil {
			return b, st, err
		}
		if end != "" {
			b.Finish = len(s.ids) == 0
			if !b.Finish {
				following = s.detail(1, 0)
			}
		}
		return b, following, nil
	}
	b.Finish = end != ""
	s.takeItems(ans.Page, &b)
	for _, id := range facts.IDs {
		h := harvest.IDHash(id)
		if _, ok := s.seen[h]; !ok {
			s.seen[h] = struct{}{}
			b.Seen = append(b.Seen, h)
		}
	}
	return b, following, drift(&b, s.spec.Paging.Size)
}

// takeIDs keeps the ids of a SEARCH page, each once in a walk.
func (s *session) takeIDs(p *harvest.Page, b *harvest.Batch) error {
	for i := range p.Items {
		it := &p.Items[i]
		if it.ID == "" {
			f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: "schema_drift"}
			return fmt.Errorf("an id of the result cannot be read: %w", f)
		}
		h := harvest.IDHash(it.ID)
		if _, ok := s.seen[h]; ok {
			continue
		}
		s.seen[h] = struct{}{}
		s.ids = append(s.ids, it.ID)
		b.IDs = append(b.IDs, it.ID)
	}
	b.Asked = len(b.IDs)
	return nil
}

// takeItems sorts the items of a page into records and quarantine.
func (s *session) takeItems(p *harvest.Page, b *harvest.Batch) {
	b.Records = make([]harvest.Record, 0, len(p.Items))
	for i := range p.Items {
		it := &p.Items[i]
		if it.Problem != nil {
			b.Quarantined = append(b.Quarantined, harvest.Quarantined{ID: it.ID, Problem: *it.Problem, Raw: it.Raw, RawSHA256: it.RawSHA256})
			continue
		}
		if it.UpdatedAt.After(b.ObservedMax) {
			b.ObservedMax = it.UpdatedAt
		}
		b.Records = append(b.Records, harvest.Record{
			ID:        it.ID,
			Version:   harvest.Version{UpdatedAt: it.UpdatedAt, Provider: it.Version, ObservedAt: b.OpenedAt, ContentHash: it.ContentHash},
			RawSHA256: it.RawSHA256, Raw: it.Raw, Fields: it.Fields, Status: it.Status, MappingVersion: s.mapping,
		})
	}
}

// missingAsks is how often ids that were left out of a reply are asked for once
// more before they count as bad: replies have been seen to drop ids in passing.
const missingAsks = 2

// takeDetails accounts for every id of a DETAIL page (R27).
func (s *session) takeDetails(ctx context.Context, st step, ans source.Answer, b harvest.Batch) (harvest.Batch, step, error) {
	s.takeItems(ans.Page, &b)
	missing := left(st.ids, b.Records)
	for try := 0; try < missingAsks && len(missing) > 0; try++ {
		again, err := s.e.up.Ask(ctx, s.spec, source.Call{
			Purpose: source.ForDetail, Window: s.job.Spec.RequestWindow(), Position: st.pos, IDs: missing, BaseURL: s.job.BaseURL,
			Correlation: fmt.Sprintf("ing-%d-%d", s.run, st.opened.BatchNo),
		})
		if err != nil {
			s.count(ans.Traffic)
			s.count(again.Traffic)
			return b, st, fmt.Errorf("%s details left out before: %w", s.job.Provenance, err)
		}
		s.takeMore(again.Page, &b)
		b.Evidence = addTraffic(b.Evidence, again.Traffic)
		missing = left(missing, b.Records)
	}
	b.Asked, b.Missing = len(st.ids), notIn(missing, b.Quarantined)
	at := st.pos.Offset + int64(len(st.ids))
	b.After = harvest.Position{Offset: at}
	b.Finish = at >= int64(len(s.ids))
	following := st
	if !b.Finish {
		following = s.detail(st.ordinal+1, at)
	}
	return b, following, drift(&b, s.spec.Batching.IDs)
}

// takeMore adds the items of a second reply to the batch.
func (s *session) takeMore(p *harvest.Page, b *harvest.Batch) {
	more := harvest.Batch{OpenedBatch: b.OpenedBatch}
	s.takeItems(p, &more)
	b.Records = append(b.Records, more.Records...)
	for _, q := range more.Quarantined {
		if !slices.ContainsFunc(b.Quarantined, func(o harvest.Quarantined) bool { return o.RawSHA256 == q.RawSHA256 }) {
			b.Quarantined = append(b.Quarantined, q)
		}
	}
	if more.ObservedMax.After(b.ObservedMax) {
		b.ObservedMax = more.ObservedMax
	}
}

func left(asked []string, got []harvest.Record) []string {
	have := make(map[string]struct{}, len(got))
	for i := range got {
		have[got[i].ID] = struct{}{}
	}
	var out []string
	for _, id := range asked {
		if _, ok := have[id]; !ok {
			out = append(out, id)
		}
	}
	return out
}

// notIn leaves out the ids of items that are in quarantine: those had details.
func notIn(ids []string, q []harvest.Quarantined) []string {
	return slices.DeleteFunc(ids, func(id string) bool {
		return slices.ContainsFunc(q, func(o harvest.Quarantined) bool { return o.ID == id })
	})
}

// drift refuses a page of which too much is unreadable: that is not bad data
// but another schema, and nothing of it may be committed (R32).
func drift(b *harvest.Batch, pageSize int) error {
	bad, all := len(b.Quarantined), len(b.Quarantined)+len(b.Records)
	flood := bad >= 20 && bad*5 > all
	full := bad > 0 && bad == all && all >= min(20, max(1, pageSize))
	if !flood && !full {
		return nil
	}
	f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: "schema_drift"}
	p := b.Quarantined[0].Problem
	return fmt.Errorf("%d of %d items cannot be read, the first for %s at %q: %w", bad, all, p.Code, p.Path, f)
}

func (s *session) committed(b harvest.Batch, c harvest.Committed) {
	t := source.Traffic{Sent: b.Evidence.Sent, Retried: b.Evidence.Retried, HTTP429: b.Evidence.HTTP429, HTTP5xx: b.Evidence.HTTP5xx, Bytes: b.Evidence.Bytes}
	s.e.observe(Event{Kind: PageCommitted, Job: s.job, Counts: c.Counts, Traffic: t})
	if c.Done {
		s.e.observe(Event{Kind: SliceDone, Job: s.job, Watermark: c.Watermark})
		s.log.Info("slice done", "window", s.job.Spec.NominalWindow().String(), "watermark", harvest.FormatInstant(c.Watermark))
	}
}

// count keeps the traffic of requests whose page was not committed.
func (s *session) count(t source.Traffic) {
	s.traffic.Sent += t.Sent
	s.traffic.Retried += t.Retried
	s.traffic.HTTP429 += t.HTTP429
	s.traffic.HTTP5xx += t.HTTP5xx
	s.e.observe(Event{Kind: PageFailed, Job: s.job, Traffic: t})
}

func evidence(a source.Answer) harvest.Evidence {
	return addTraffic(harvest.Evidence{Request: a.Request, RequestSHA256: a.RequestSHA256, ReplySHA256: a.ReplySHA256, HTTPStatus: a.Status}, a.Traffic)
}

func addTraffic(e harvest.Evidence, t source.Traffic) harvest.Evidence {
	e.Sent += t.Sent
	e.Retried += t.Retried
	e.HTTP429 += t.HTTP429
	e.HTTP5xx += t.HTTP5xx
	e.Bytes += t.Bytes
	e.WaitGate += t.WaitGate
	e.Network += t.Network
	return e
}
