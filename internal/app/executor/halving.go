package executor

import (
	"context"
	"errors"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// halving is the search for the ids that make an upstream refuse a request for
// details. With k of n ids guilty it asks about 2 k log n times:
//
//	a b c d e f G h     refused together
//	a b c d | e f G h   given | refused
//	          e f | G h       given | refused
//	                G | h           refused: G is guilty | given
type halving struct {
	ask func(ids []string) (source.Answer, error)
	// refusedBefore counts the ids that were refused since the upstream last gave
	// details, before this search.
	refusedBefore int
	// mayBeGone reports whether an id is that of a record which was there once. That
	// it is not there is then an answer, and no sign of a broken endpoint.
	mayBeGone func(id string) bool
	// lasting: a fault that should have passed has not for several runs, so that its
	// cause is searched for as that of a refusal is. probes names ids that have
	// nothing to do with the fault, and tell whether the endpoint is alive.
	lasting bool
	probes  func() ([]string, error)

	accepted     bool // something was answered: the endpoint is alive
	failedInARow int  // ids that failed, not refused, since something was answered
	guilty       []string
	gone         []string // those that are not there
	items        []harvest.Item
	traffic      source.Traffic
	alias        aliases       // of those asked for alone by each
	answer       source.Answer // the last of each
	last         source.Answer // to the last question
}

// fewGuilty is how many ids in a row, refused with not one answered, mean that the
// endpoint is broken and not the ids.
const fewGuilty = 8

var errManyGuilty = errors.New("too many ids are refused")

// askAndCount asks for ids and counts what that cost.
func (h *halving) askAndCount(ids []string) (source.Answer, error) {
	ans, err := h.ask(ids)
	h.traffic = h.traffic.Add(ans.Traffic)
	h.last = ans
	return ans, err
}

// noteAccepted notes that something was answered.
func (h *halving) noteAccepted() {
	h.accepted = true
	h.failedInARow = 0
}

// searchAll searches all of ids, which were refused together for why. Where they only
// failed, the endpoint has to be alive before the search and after it: no id is guilty
// of an outage.
func (h *halving) searchAll(ids []string, why error) error {
	if !refuses(why) {
		if err := h.probeEndpoint(why); err != nil {
			return err
		}
	}
	if err := h.search(ids, why); err != nil {
		return err
	}
	return h.confirmAlive(why)
}

// search looks for the guilty among ids, which were refused together for why.
// Both halves are asked before either is looked into, so that the few ids in a
// row that are guilty do not look like an endpoint that is broken.
func (h *halving) search(ids []string, why error) error {
	if len(ids) == 1 {
		return h.blame(ids[0], why)
	}
	half := len(ids) / 2
	var refused [2]error
	for i, part := range [2][]string{ids[:half], ids[half:]} {
		ans, err := h.askAndCount(part)
		switch {
		case err == nil:
			h.noteAccepted()
			h.items = append(h.items, ans.Page.Items...)
		case !h.divides(err):
			return err
		}
		refused[i] = err
	}
	for i, part := range [2][]string{ids[:half], ids[half:]} {
		if refused[i] == nil {
			continue
		}
		if err := h.search(part, refused[i]); err != nil {
			return err
		}
	}
	return nil
}

// askEach asks for ids one by one.
func (h *halving) askEach(ids []string) error {
	var last error
	for _, id := range ids {
		ans, err := h.askAndCount([]string{id})
		h.answer = ans
		switch {
		case err == nil:
			h.noteAccepted()
			h.items = append(h.items, ans.Page.Items...)
			h.alias.noteAnswer([]string{id}, ans.Page)
		case !h.divides(err):
			return err
		default:
			last = err
			if h.blame(id, err) != nil {
				return err
			}
		}
	}
	return h.confirmAlive(last)
}

// blame notes that an id which was asked for alone is gone, or guilty. It is an error
// if there are so many that the endpoint has to be at fault.
func (h *halving) blame(id string, why error) error {
	if isAbsence(why) && h.mayBeGone(id) {
		h.gone = append(h.gone, id)
		return nil
	}
	h.guilty = append(h.guilty, id)
	if !refuses(why) {
		h.failedInARow++
		if h.failedInARow >= fewGuilty {
			return h.confirmAlive(why)
		}
		return nil
	}
	if !h.accepted && h.refusedBefore+len(h.guilty) >= fewGuilty {
		return errManyGuilty
	}
	return nil
}

// confirmAlive makes sure that the endpoint is alive after the last id that failed.
func (h *halving) confirmAlive(why error) error {
	if h.failedInARow == 0 {
		return nil
	}
	return h.probeEndpoint(why)
}

// probeEndpoint asks for ids that have nothing to do with the fault. If none of them is
// answered the fault is the endpoint's, and returned. One that was is asked for next
// time.
func (h *halving) probeEndpoint(why error) error {
	ids, err := h.probes()
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, err := h.askAndCount([]string{id})
		if err == nil {
			h.noteAccepted()
			h.probes = func() ([]string, error) { return []string{id}, nil }
			return nil
		}
	}
	return why
}

// divides reports whether a request for fewer ids may fare better.
func (h *halving) divides(err error) bool { return refuses(err) || h.lasting && fails(err) }

// refuses reports whether err is a refusal of what was asked for, so that some of the
// ids may be its cause. They are not where no reply came, where the source is closed
// to us altogether (R42), or where its description asks for something else to be done.
func refuses(err error) bool {
	f, ok := harvest.FaultOf(err)
	return ok && f.Level == harvest.Rejected && f.Reaction != harvest.CutSlice && f.Reaction != harvest.RestartWalk &&
		(f.Status >= 200 && f.Status != 403 || f.Code == harvest.CodeTooLarge)
}

// fails reports whether err is a reply that should be another one later. Being told to
// stay away for a while is none.
func fails(err error) bool {
	f, ok := harvest.FaultOf(err)
	return ok && f.Level == harvest.Transient && f.Reaction == harvest.Retry && f.RetryAfter == 0 && !f.Throttled() &&
		f.Status >= 200 && f.Status != 408 && f.Status != 425
}

// isAbsence reports whether a refusal says that what was asked for is not there.
func isAbsence(err error) bool {
	f, _ := harvest.FaultOf(err)
	return f.Status == 404 || f.Status == 410
}

// lastingRuns is how many runs in a row must have been spent before a fault that
// should pass is taken to be that of an id.
const lastingRuns = 2

// inTurn has ids asked for in smaller requests. Of pages that were asked for side by side
// one does so at a time.
func (d *details) inTurn(ctx context.Context, h *halving, search func() error) error {
	select {
	case d.searching <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-d.searching }()
	h.refusedBefore = int(d.refusedInARow.Load())
	err := search()
	d.countRefused(h)
	return err
}

// halving prepares a search for the guilty among the ids of a call, by requests for a
// purpose.
func (s *session) halving(ctx context.Context, call source.Call, p source.Purpose) *halving {
	return &halving{
		mayBeGone: s.mayBeGone, alias: aliases{}, lasting: s.details.lasting,
		probes: func() ([]string, error) { return s.probes(ctx, call.IDs) },
		ask: func(ids []string) (source.Answer, error) {
			part := call
			part.Purpose = p
			part.IDs = ids
			return s.askUpstream(ctx, part)
		},
	}
}

// probes are ids that tell whether the endpoint gives any details: one of a record
// that is stored, and one of the slice, which is another in each run.
func (s *session) probes(ctx context.Context, ids []string) ([]string, error) {
	witnesses, err := s.e.store.Witnesses(ctx, s.job.Provenance, s.spec.RecordType, ids)
	if err != nil {
		return nil, err
	}
	out := witnesses[:min(1, len(witnesses))]
	if others := without(s.walk.ids, ids[:1]); len(others) > 0 {
		out = append(out, others[int(s.run)%len(others)])
	}
	return slices.DeleteFunc(out, func(id string) bool { return !s.details.takes(id) }), nil
}
