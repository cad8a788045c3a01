package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// details is what a run knows about asking for details.
type details struct {
	// takes tells which ids a list of them can hold.
	takes func(id string) bool
	// lasting: so many runs in a row were spent that a fault which should have
	// passed is looked for in single ids.
	lasting bool
	// refusedInARow counts ids refused one by one since details last came; only
	// the request in hand touches it.
	refusedInARow int
}

// heard counts the ids refused since the upstream last gave details.
func (d *details) heard(h *halving) {
	if h.accepted {
		d.refusedInARow = 0
	} else {
		d.refusedInARow += len(h.guilty)
	}
}

// askDetails asks for the details of a page of ids: not for those that rest on
// the list of bad ids, and where there is room also for some whose rest is over,
// since no search may ever name them again (R27). An UPDATE asks for what was
// frozen, no more and no less.
func (s *session) askDetails(ctx context.Context, st step) reply {
	more := s.spec.Batching.IDs
	if s.frozen() {
		more = 0
	}
	bad, err := s.e.store.BadIDs(ctx, s.job.Provenance, s.spec.RecordType, st.ids, more)
	if err != nil {
		return reply{err: err}
	}
	if s.frozen() {
		bad = harvest.BadIDs{Due: append(bad.Due, bad.Resting...)}
	}
	r := reply{asked: without(st.ids, bad.Resting)}
	for _, id := range bad.Due {
		if !slices.Contains(r.asked, id) {
			if len(r.asked) >= s.spec.Batching.IDs {
				continue
			}
			r.asked = append(r.asked, id)
		}
		r.due = append(r.due, id)
	}
	if len(r.asked) == 0 {
		r.ans.Page = new(harvest.Page)
		return r
	}
	call := s.call(st)
	call.IDs = r.asked
	r.ans, r.refused, r.err = s.askForIDs(ctx, call, s.details.takes)
	return r
}

// missingAsks is how often ids that were left out of a reply are asked for once
// more before they count as bad: replies have been seen to drop ids in passing.
const missingAsks = 2

// takeDetails accounts for every id of a DETAIL page (R27).
func (s *session) takeDetails(ctx context.Context, st step, r reply, b harvest.Batch) (harvest.Batch, *step, error) {
	s.items.SortInto(r.ans.Page, &b)
	missing := left(without(r.asked, r.refused.all()), &b)
	alias := aliases{}
	alias.note(r.asked, r.ans.Page)
	maps.Copy(alias, r.refused.alias)
	witnesses, err := s.witnesses(ctx, missing, &b)
	if err != nil {
		return b, nil, err
	}
	heard := len(b.Records) > 0
asking:
	for try := 0; try < missingAsks && len(missing) > 0; try++ {
		groups := s.again(try, missing, r.asked, len(witnesses), &b)
		for _, ids := range groups {
			call := s.call(st)
			call.IDs = slices.Concat(ids, witnesses)
			again, refused, err := s.askForIDs(ctx, call, s.alone(try))
			if err != nil && !refuses(err) {
				b.Evidence = addTraffic(evidence(again), traffic(b.Evidence))
				return b, nil, fmt.Errorf("%s details left out before: %w", s.job.Provenance, err)
			}
			b.Evidence = addTraffic(b.Evidence, again.Traffic)
			if err != nil && len(groups) == 1 {
				break asking // refused as a whole, and left out of a good reply before: there are none
			}
			if err != nil {
				continue
			}
			heard = heard || len(again.Page.Items) > 0
			testify(again.Page, &refused, witnesses)
			s.items.AddSorted(again.Page, &b)
			alias.note(ids, again.Page)
			maps.Copy(alias, refused.alias)
			r.refused.add(refused)
		}
		missing = left(without(missing, r.refused.all()), &b)
	}
	missing = s.walk.withoutTombstones(missing)
	if err := s.silent(r, missing, heard, &b); err != nil {
		return b, nil, err
	}
	b.Asked, b.Missing = len(st.ids), s.walk.withoutTombstones(append(missing, r.refused.all()...))
	b.Mended = without(r.due, b.Missing)
	size := s.spec.Batching.IDs
	if s.frozen() {
		s.takeAbsent(&b, r.refused, alias, heard)
		size = max(size, 20) // records are asked for one by one, too: one of them is no flood
	}
	at := st.pos.Offset + int64(len(st.ids))
	b.After = harvest.Position{Offset: at}
	b.Finish = at >= int64(len(s.walk.ids))
	var following *step
	if !b.Finish {
		following = new(s.detail(st.ordinal+1, at))
	} else if s.frozen() {
		b.End = harvest.EndFrozen
	}
	return b, following, drift(&b, 0, size)
}

// mayBeGone reports whether an id that is not there may be one that was.
func (s *session) mayBeGone(id string) bool { return s.frozen() || s.walk.isTombstone(id) }

// takeAbsent sorts the ids of an UPDATE that were not found: not there, or there
// under another id. An item whose own id cannot be read may be any of them. One
// that was only left out of a reply is not there where replies are complete, but
// not if nothing at all was heard of a list (R31).
func (s *session) takeAbsent(b *harvest.Batch, refused refusals, alias aliases, heard bool) {
	if slices.ContainsFunc(b.Quarantined, func(q harvest.Quarantined) bool { return q.ID == "" }) {
		return
	}
	b.Merged, b.Absent = alias.of(without(b.Missing, refused.ids))
	if !s.spec.Detail.Response.Complete || s.spec.Batching.IDs > 1 && !heard {
		b.Absent = slices.DeleteFunc(b.Absent, func(id string) bool { return !slices.Contains(refused.gone, id) })
	}
}

// witnesses are records that are asked for together with those of an UPDATE of
// which nothing came: what has gone since the last check comes in lists of its
// own, and an endpoint that gives the one and leaves out the other has answered.
func (s *session) witnesses(ctx context.Context, missing []string, b *harvest.Batch) ([]string, error) {
	if !s.frozen() || !s.spec.Detail.Response.Complete || s.spec.Lookup != nil || len(missing) == 0 || len(b.Records) > 0 {
		return nil, nil
	}
	w, err := s.e.store.Witnesses(ctx, s.job.Provenance, s.spec.RecordType, missing)
	return w[:min(len(w), s.spec.Batching.IDs-1)], err
}

// testify takes the witnesses out of an answer again: they were not to be read.
func testify(p *harvest.Page, refused *refusals, witnesses []string) {
	p.Items = slices.DeleteFunc(p.Items, func(it harvest.Item) bool { return slices.Contains(witnesses, it.ID) })
	refused.gone, refused.ids = without(refused.gone, witnesses), without(refused.ids, witnesses)
}

// silent is the fault of an endpoint that has good replies and nothing in them:
// of so many ids that a search has just named, or whose records are held, not
// all are bad. What it says of those on the list of bad ones is an answer.
func (s *session) silent(r reply, missing []string, heard bool, b *harvest.Batch) error {
	if heard || len(without(missing, r.due)) < fewGuilty || len(b.Quarantined) > 0 {
		return nil
	}
	f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.GiveUp, Code: harvest.CodeDetailsMissing, Status: b.Evidence.HTTPStatus}
	return fmt.Errorf("%s has details of none of %d ids: %w", s.job.Provenance, len(r.asked), f)
}

// alone tells which of the ids that were left out go into a list once more. At
// the last try of an UPDATE none does where each can be looked up: what has
// become of a record is told only to those who ask for it alone (R31).
func (s *session) alone(try int) func(id string) bool {
	if s.frozen() && try == missingAsks-1 && s.spec.Lookup != nil {
		return func(string) bool { return false }
	}
	return s.details.takes
}

// again is how ids that were left out are asked for once more, with room for
// others beside them: together, but at the last try of an UPDATE one by one if
// records came that nobody had asked for. One of those may be what an id has
// become, which only an answer to that id alone can tell (R31).
func (s *session) again(try int, missing, asked []string, others int, b *harvest.Batch) [][]string {
	unasked := func(r harvest.Record) bool { return !slices.Contains(asked, r.ID) }
	if !s.frozen() || try < missingAsks-1 || s.spec.Lookup != nil || !slices.ContainsFunc(b.Records, unasked) {
		return slices.Collect(slices.Chunk(missing, s.spec.Batching.IDs-others))
	}
	return slices.Collect(slices.Chunk(missing, 1))
}

// aliases are the records that came in the place of the one id asked for.
type aliases map[string]string

func (a aliases) note(asked []string, p *harvest.Page) {
	if len(asked) != 1 {
		return
	}
	delete(a, asked[0])
	if len(p.Items) == 1 && p.Items[0].Problem == nil && p.Items[0].ID != asked[0] {
		a[asked[0]] = p.Items[0].ID
	}
}

// of parts ids that were not found into those that have become others and the rest.
func (a aliases) of(ids []string) (merged []harvest.Merged, absent []string) {
	for _, id := range ids {
		if into, ok := a[id]; ok {
			merged = append(merged, harvest.Merged{ID: id, Into: into})
		} else {
			absent = append(absent, id)
		}
	}
	return merged, absent
}

// refusals are the ids that an upstream will not give details of, alone: those
// that are not there, and those it will not have for another reason. alias are
// those looked up alone that were answered with another record.
type refusals struct {
	gone, ids []string
	alias     aliases
}

func (r refusals) all() []string { return slices.Concat(r.gone, r.ids) }

func (r *refusals) add(o refusals) {
	r.gone, r.ids = append(r.gone, o.gone...), append(r.ids, o.ids...)
}

// askForIDs asks for details of ids: for those that a list takes together, for the others one
// by one. All that came is returned as one answer.
func (s *session) askForIDs(
	ctx context.Context, call source.Call, takes func(id string) bool,
) (ans source.Answer, refused refusals, err error) {
	all := call.IDs
	call.IDs = slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !takes(id) })
	if len(call.IDs) == len(all) {
		return s.together(ctx, call)
	}
	ans.Page = new(harvest.Page)
	if len(call.IDs) > 0 {
		ans, refused, err = s.together(ctx, call)
		if err != nil {
			return ans, refused, err
		}
	}
	single := call
	single.IDs = without(all, call.IDs)
	h := s.halving(ctx, single, source.ForLookup)
	err = h.each(single.IDs)
	s.details.heard(h)
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

// together asks for ids in one request. If the upstream will not have them
// together, they are halved until the guilty ones stand alone (M8, R27): these
// are returned as refused, the details of the others in one answer.
func (s *session) together(ctx context.Context, call source.Call) (ans source.Answer, refused refusals, err error) {
	ans, err = s.question(ctx, call)
	if err == nil {
		s.details.refusedInARow = 0
		return ans, refused, nil
	}
	h := s.halving(ctx, call, call.Purpose)
	if !h.divides(err) {
		return ans, refused, err
	}
	h.last = ans
	inner := h.among(call.IDs, err)
	spent := ans.Traffic.Add(h.traffic)
	s.details.heard(h)
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

// left is what of asked came neither as a record nor to quarantine.
func left(asked []string, b *harvest.Batch) []string {
	have := make(map[string]struct{}, len(b.Records))
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
