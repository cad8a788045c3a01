package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// details is what a run knows about asking for details.
type details struct {
	// takes reports whether a request for many ids can name one; the others are asked
	// for one by one.
	takes func(id string) bool
	// lasting: so many runs in a row were ended by faults that should have passed
	// that the cause is looked for in single ids.
	lasting bool
	// refusedInARow counts ids refused one by one since details last came.
	refusedInARow atomic.Int64
	// searching has room for the one page whose ids are asked for one by one: the others
	// wait, so that a request is not followed by many from each of them at once.
	searching chan struct{}

	mu    sync.Mutex
	taken map[string]struct{} // guarded by mu; ids whose rest is over and that this run asks for again
}

func newDetails(e *source.Endpoint, res harvest.Resume) *details {
	return &details{
		takes: e.Takes(), lasting: res.Spent >= lastingRuns,
		searching: make(chan struct{}, 1), taken: make(map[string]struct{}),
	}
}

// takeDue reports whether a page may ask for an id of another page, whose rest is over.
// It is asked for once in a run, however many pages are asked for side by side.
func (d *details) takeDue(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, taken := d.taken[id]
	d.taken[id] = struct{}{}
	return !taken
}

// countRefused counts the ids that were refused since the upstream last gave details.
func (d *details) countRefused(h *halving) {
	if h.accepted {
		d.refusedInARow.Store(0)
	} else {
		d.refusedInARow.Add(int64(len(h.guilty)))
	}
}

// askDetails asks for the details of a page of ids. It leaves out those that rest on
// the list of bad ids. Where there is room it adds some whose rest is over, from
// whatever slice, since no search may ever name them again (R27). An UPDATE asks for
// the ids that were frozen, no more and no less.
func (s *session) askDetails(ctx context.Context, st step) reply {
	more := s.spec.Batching.IDs
	if s.idsFrozen() {
		more = 0
	}
	bad, err := s.e.store.BadIDs(ctx, s.job.Provenance, s.spec.RecordType, st.ids, more)
	if err != nil {
		return reply{err: err}
	}
	if s.idsFrozen() {
		bad = harvest.BadIDs{Due: append(bad.Due, bad.Resting...)}
	}
	r := reply{asked: without(st.ids, bad.Resting), resting: bad.Resting}
	for _, id := range bad.Due {
		if !slices.Contains(r.asked, id) {
			if len(r.asked) >= s.spec.Batching.IDs || !s.details.takeDue(id) {
				continue
			}
			r.asked = append(r.asked, id)
		}
		r.dueAgain = append(r.dueAgain, id)
	}
	if len(r.asked) == 0 {
		r.ans.Page = new(harvest.Page)
		return r
	}
	call := s.callFor(st)
	call.IDs = r.asked
	r.ans, r.refused, r.err = s.askForIDs(ctx, call, s.details.takes)
	return r
}

// missingAsks is how often ids that were left out of a reply are asked for once
// more before they count as bad: replies have been seen to drop ids in passing.
const missingAsks = 2

// buildDetailBatch turns the reply to a DETAIL page into a batch and the step after
// it. Every id that was asked for is accounted for (R27):
//
//	it came                                     a record, filtered, or in quarantine
//	it was refused alone                        missing: a bad id
//	it was left out, also when asked for again  missing: a bad id
//	the search itself had told it deleted       neither: that was to be expected
//
// Of an UPDATE those that are missing are sorted further, into absent and merged.
func (s *session) buildDetailBatch(ctx context.Context, st step, r reply, b harvest.Batch) (harvest.Batch, *step, error) {
	s.items.SortInto(r.ans.Page, &b)
	missing := unaccounted(without(r.asked, r.refused.all()), &b)
	alias := aliases{}
	alias.noteAnswer(r.asked, r.ans.Page)
	maps.Copy(alias, r.refused.alias)
	witnesses, err := s.witnesses(ctx, missing, &b)
	if err != nil {
		return b, nil, err
	}
	anyAnswered := len(b.Records)+len(b.Filtered) > 0
asking:
	for try := 0; try < missingAsks && len(missing) > 0; try++ {
		groups := s.groupsToAskAgain(try, missing, r.asked, len(witnesses), &b)
		for _, ids := range groups {
			call := s.callFor(st)
			call.IDs = slices.Concat(ids, witnesses)
			again, refused, err := s.askForIDs(ctx, call, s.takesAgain(try))
			if err != nil && !refuses(err) {
				b.Evidence = addTraffic(evidence(again), traffic(b.Evidence))
				return b, nil, fmt.Errorf("%s details left out before: %w", s.job.Provenance, err)
			}
			b.Evidence = addTraffic(b.Evidence, again.Traffic)
			if err != nil && len(groups) == 1 {
				break asking // all of them are refused now and were left out before: none is there
			}
			if err != nil {
				continue
			}
			anyAnswered = anyAnswered || len(again.Page.Items) > 0
			dropWitnesses(again.Page, &refused, witnesses)
			s.items.AddSorted(again.Page, &b)
			alias.noteAnswer(ids, again.Page)
			maps.Copy(alias, refused.alias)
			r.refused.add(refused)
		}
		missing = unaccounted(without(missing, r.refused.all()), &b)
	}
	missing = s.walk.withoutTombstones(missing)
	if err := s.refuseSilence(r, missing, anyAnswered, &b); err != nil {
		return b, nil, err
	}
	b.Asked = len(st.ids)
	b.Missing = s.walk.withoutTombstones(append(missing, r.refused.all()...))
	// Among the missing may be ids of other pages whose rest was over.
	b.Unread = slices.DeleteFunc(slices.Clone(st.ids), func(id string) bool {
		return !slices.Contains(b.Missing, id) && !slices.Contains(r.resting, id)
	})
	b.Mended = without(r.dueAgain, b.Missing)
	size := s.spec.Batching.IDs
	if s.idsFrozen() {
		s.sortAbsent(&b, r.refused, alias, anyAnswered)
		size = max(size, 20) // records are asked for one by one, too: one of them is no flood
	}
	b.After = harvest.Position{Offset: st.pos.Offset + int64(len(st.ids))}
	following := s.detailStepAfter(st)
	b.Finish = following == nil
	if b.Finish && s.idsFrozen() {
		b.End = harvest.EndFrozen
	}
	return b, following, drift(&b, 0, size)
}

// mayBeGone reports whether an id that is not there may be one that was.
func (s *session) mayBeGone(id string) bool { return s.idsFrozen() || s.walk.isTombstone(id) }

// sortAbsent sorts the ids of an UPDATE that are missing: some are not there, some are
// there under another id. Nothing is said of any if an item came whose own id cannot
// be read, since it may be any of them. An id that was only left out of a reply is not
// there if the source declares its replies complete; but a list of which nothing at
// all came says nothing (R31).
func (s *session) sortAbsent(b *harvest.Batch, refused refusals, alias aliases, anyAnswered bool) {
	if slices.ContainsFunc(b.Quarantined, func(q harvest.Quarantined) bool { return q.ID == "" }) {
		return
	}
	b.Merged, b.Absent = alias.separate(without(b.Missing, refused.ids))
	if !s.spec.Detail.Response.Complete || s.spec.Batching.IDs > 1 && !anyAnswered {
		b.Absent = slices.DeleteFunc(b.Absent, func(id string) bool { return !slices.Contains(refused.gone, id) })
	}
}

// witnesses are ids of records that were there lately. They are asked for together
// with ids of an UPDATE of which nothing came: records that have gone often stand in
// one list, and only an endpoint that gives the witnesses and leaves out the others
// has shown that it answers at all.
func (s *session) witnesses(ctx context.Context, missing []string, b *harvest.Batch) ([]string, error) {
	if !s.idsFrozen() || !s.spec.Detail.Response.Complete || s.spec.Lookup != nil || len(missing) == 0 || len(b.Records) > 0 {
		return nil, nil
	}
	w, err := s.e.store.Witnesses(ctx, s.job.Provenance, s.spec.RecordType, missing)
	return w[:min(len(w), s.spec.Batching.IDs-1)], err
}

// dropWitnesses takes the witnesses out of an answer: they were only asked for to see
// whether the endpoint answers.
func dropWitnesses(p *harvest.Page, refused *refusals, witnesses []string) {
	p.Items = slices.DeleteFunc(p.Items, func(it harvest.Item) bool { return slices.Contains(witnesses, it.ID) })
	refused.gone = without(refused.gone, witnesses)
	refused.ids = without(refused.ids, witnesses)
}

// refuseSilence refuses good replies with nothing in them: of so many ids that a
// search has just named, or whose records are stored, not all can be bad. So the fault
// is the endpoint's. Ids that were on the list of bad ones are not counted here.
func (s *session) refuseSilence(r reply, missing []string, anyAnswered bool, b *harvest.Batch) error {
	if anyAnswered || len(without(missing, r.dueAgain)) < fewGuilty || len(b.Quarantined) > 0 {
		return nil
	}
	f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.GiveUp, Code: harvest.CodeDetailsMissing, Status: b.Evidence.HTTPStatus}
	return fmt.Errorf("%s has details of none of %d ids: %w", s.job.Provenance, len(r.asked), f)
}

// takesAgain tells which of the ids that were left out go into a list once more. At
// the last try of an UPDATE none does where each can be looked up alone: only the
// answer to one id tells what has become of its record (R31).
func (s *session) takesAgain(try int) func(id string) bool {
	if s.idsFrozen() && try == missingAsks-1 && s.spec.Lookup != nil {
		return func(string) bool { return false }
	}
	return s.details.takes
}

// groupsToAskAgain groups the ids that were left out for being asked for once more,
// with room for so many others in each group. They go together, but at the last try
// of an UPDATE one by one if records came that nobody had asked for: one of those may
// be what an id has become, which only the answer to that id alone can tell (R31).
func (s *session) groupsToAskAgain(try int, missing, asked []string, others int, b *harvest.Batch) [][]string {
	unasked := func(r harvest.Record) bool { return !slices.Contains(asked, r.ID) }
	if !s.idsFrozen() || try < missingAsks-1 || s.spec.Lookup != nil || !slices.ContainsFunc(b.Records, unasked) {
		return slices.Collect(slices.Chunk(missing, s.spec.Batching.IDs-others))
	}
	return slices.Collect(slices.Chunk(missing, 1))
}

// aliases are the ids of records that came instead of the one id asked for, by that id.
type aliases map[string]string

// noteAnswer notes what came for ids, if it was one id alone.
func (a aliases) noteAnswer(asked []string, p *harvest.Page) {
	if len(asked) != 1 {
		return
	}
	delete(a, asked[0])
	if len(p.Items) == 1 && p.Items[0].Problem == nil && p.Items[0].ID != asked[0] {
		a[asked[0]] = p.Items[0].ID
	}
}

// separate tells the ids that have become others from those that are not there at all.
func (a aliases) separate(ids []string) (merged []harvest.Merged, absent []string) {
	for _, id := range ids {
		if into, ok := a[id]; ok {
			merged = append(merged, harvest.Merged{ID: id, Into: into})
		} else {
			absent = append(absent, id)
		}
	}
	return merged, absent
}

// refusals are the ids that an upstream gives no details of, even alone.
type refusals struct {
	// gone are those that the upstream says are not there, ids those that it refuses
	// for another reason.
	gone, ids []string
	// alias are those that were looked up alone and answered with another record.
	alias aliases
}

func (r refusals) all() []string { return slices.Concat(r.gone, r.ids) }

func (r *refusals) add(o refusals) {
	r.gone = append(r.gone, o.gone...)
	r.ids = append(r.ids, o.ids...)
}

// askForIDs asks for details of ids: for those that a list takes together, for the
// others one by one. All that came is returned as one answer.
func (s *session) askForIDs(
	ctx context.Context, call source.Call, takes func(id string) bool,
) (ans source.Answer, refused refusals, err error) {
	all := call.IDs
	call.IDs = slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !takes(id) })
	if len(call.IDs) == len(all) {
		return s.askInOneList(ctx, call)
	}
	ans.Page = new(harvest.Page)
	if len(call.IDs) > 0 {
		ans, refused, err = s.askInOneList(ctx, call)
		if err != nil {
			return ans, refused, err
		}
	}
	single := call
	single.IDs = without(all, call.IDs)
	h := s.halving(ctx, single, source.ForLookup)
	err = s.details.inTurn(ctx, h, func() error { return h.askEach(single.IDs) })
	one := h.answer
	one.Traffic = ans.Traffic.Add(h.traffic)
	one.Page = &harvest.Page{Items: append(ans.Page.Items, h.items...)}
	if err == nil && len(call.IDs) > 0 { // the request that most of it came by
		one.Request = ans.Request
		one.IDs = ans.IDs
		one.RequestSHA256 = ans.RequestSHA256
		one.ReplySHA256 = ans.ReplySHA256
		one.Status = ans.Status
		one.Headers = ans.Headers
		one.Credential = ans.Credential
		one.Sample = ans.Sample
	}
	refused.add(refusals{gone: h.gone, ids: h.guilty})
	refused.alias = h.alias
	return one, refused, err
}

// askInOneList asks for ids in one request. If the upstream refuses that, they are
// halved until the guilty ones stand alone: these are returned as refused, the details
// of the others in one answer (M8, R27).
func (s *session) askInOneList(ctx context.Context, call source.Call) (ans source.Answer, refused refusals, err error) {
	ans, err = s.askUpstream(ctx, call)
	if err == nil {
		s.details.refusedInARow.Store(0)
		return ans, refused, nil
	}
	h := s.halving(ctx, call, call.Purpose)
	if !h.divides(err) {
		return ans, refused, err
	}
	h.last = ans
	inner := s.details.inTurn(ctx, h, func() error { return h.searchAll(call.IDs, err) })
	spent := ans.Traffic.Add(h.traffic)
	if inner != nil && !errors.Is(inner, errManyGuilty) {
		err = inner
		ans = h.last // it ended the search
	}
	ans.Traffic = spent
	ans.Page = &harvest.Page{Items: h.items}
	if inner != nil {
		return ans, refused, err
	}
	s.log.Debug("ids refused", "correlation", call.Correlation, "phase", harvest.PhaseDetail, "ids", h.guilty, "gone", h.gone, "of", len(call.IDs), "err", err)
	return ans, refusals{gone: h.gone, ids: h.guilty}, nil
}

// unaccounted lists the ids of asked of which nothing came: neither a record, nor one
// that the query does not ask for, nor an item in quarantine.
func unaccounted(asked []string, b *harvest.Batch) []string {
	have := make(map[string]struct{}, len(b.Records)+len(b.Filtered))
	for _, id := range b.Filtered {
		have[id] = struct{}{}
	}
	for i := range b.Records {
		have[b.Records[i].ID] = struct{}{}
	}
	for i := range b.Quarantined {
		have[b.Quarantined[i].ID] = struct{}{}
	}
	var out []string
	for _, id := range asked {
		if _, ok := have[id]; !ok {
			out = append(out, id)
		}
	}
	return out
}

// without is ids less those in others, in a slice of its own.
func without(ids, others []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(others, id) })
}
