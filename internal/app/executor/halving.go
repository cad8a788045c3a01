package executor

import (
	"context"
	"errors"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// halving is the search for the ids that make an upstream refuse a request for
// details. With k of n ids guilty it asks about 2 k log n times.
type halving struct {
	ask func(ids []string) (source.Answer, error)
	// before counts the ids that were refused since the upstream last gave details.
	before int
	// known: the id is of a record that was there once, so that its not being
	// there is an answer and no sign of a broken endpoint.
	known func(id string) bool
	// lasting: what should have passed has not for several runs, and divides as
	// a refusal does. probes names ids that tell whether the endpoint is alive.
	lasting bool
	probes  func() ([]string, error)

	accepted bool // something was answered: the endpoint is alive
	unwell   int  // ids that failed, not refused, since something was answered
	guilty   []string
	gone     []string // those that are not there
	items    []harvest.Item
	traffic  source.Traffic
	alias    aliases       // of those asked for alone by each
	answer   source.Answer // the last of each
	last     source.Answer // to the last question
}

// fewGuilty is how many ids may be refused in a row with not one answered. So
// many mean that the endpoint is broken, not the ids.
const fewGuilty = 8

var errManyGuilty = errors.New("too many ids are refused")

// put asks for ids and keeps what it cost.
func (h *halving) put(ids []string) (source.Answer, error) {
	ans, err := h.ask(ids)
	h.traffic = h.traffic.Add(ans.Traffic)
	h.last = ans
	return ans, err
}

// among searches all of ids, which were refused together for why.
func (h *halving) among(ids []string, why error) error {
	if !refuses(why) {
		if err := h.alive(why); err != nil {
			return err
		}
	}
	if err := h.search(ids, why); err != nil {
		return err
	}
	return h.still(why)
}

// search looks for the guilty among ids, which were refused together for why.
// Both halves are asked before either is looked into, so that the few ids in a
// row that are guilty do not look like an endpoint that is broken.
func (h *halving) search(ids []string, why error) error {
	if len(ids) == 1 {
		return h.found(ids[0], why)
	}
	half := len(ids) / 2
	var refused [2]error
	for i, part := range [2][]string{ids[:half], ids[half:]} {
		ans, err := h.put(part)
		switch {
		case err == nil:
			h.accepted, h.unwell = true, 0
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

// each asks for ids one by one.
func (h *halving) each(ids []string) error {
	var last error
	for _, id := range ids {
		ans, err := h.put([]string{id})
		h.answer = ans
		switch {
		case err == nil:
			h.accepted, h.unwell = true, 0
			h.items = append(h.items, ans.Page.Items...)
			h.alias.note([]string{id}, ans.Page)
		case !h.divides(err):
			return err
		default:
			last = err
			if h.found(id, err) != nil {
				return err
			}
		}
	}
	return h.still(last)
}

func (h *halving) found(id string, why error) error {
	if isAbsence(why) && h.known(id) {
		h.gone = append(h.gone, id)
		return nil
	}
	h.guilty = append(h.guilty, id)
	if !refuses(why) {
		h.unwell++
		if h.unwell >= fewGuilty {
			return h.still(why)
		}
		return nil
	}
	if !h.accepted && h.before+len(h.guilty) >= fewGuilty {
		return errManyGuilty
	}
	return nil
}

// still makes sure that the endpoint was alive behind the last id that failed: no
// id is guilty of an outage.
func (h *halving) still(why error) error {
	if h.unwell == 0 {
		return nil
	}
	return h.alive(why)
}

// alive asks for ids that have nothing to do with the fault. If none is answered
// the fault is the endpoint's, and returned.
func (h *halving) alive(why error) error {
	ids, err := h.probes()
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, err := h.put([]string{id})
		if err == nil {
			h.accepted, h.unwell = true, 0
			h.probes = func() ([]string, error) { return []string{id}, nil }
			return nil
		}
	}
	return why
}

// divides reports whether fewer ids may fare better.
func (h *halving) divides(err error) bool { return refuses(err) || h.lasting && fails(err) }

// refuses reports whether err is a refusal of what was asked for. Forbidden is
// the source's own affair (R42), and where no reply came, or the source says what
// else to do, ids have nothing to do with it.
func refuses(err error) bool {
	f, ok := harvest.FaultOf(err)
	return ok && f.Level == harvest.Rejected && f.Reaction != harvest.CutSlice && f.Reaction != harvest.RestartWalk &&
		(f.Status >= 200 && f.Status != 403 || f.Code == harvest.CodeTooLarge)
}

// fails reports whether err is a reply that may be another one tomorrow, and not
// the wish to be left alone for a while.
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

// halving is a search for the guilty among the ids of a call.
func (s *session) halving(ctx context.Context, call source.Call, p source.Purpose) *halving {
	return &halving{
		before: s.details.refusedInARow, known: s.mayBeGone, alias: aliases{}, lasting: s.details.lasting,
		probes: func() ([]string, error) { return s.probes(ctx, call.IDs) },
		ask: func(ids []string) (source.Answer, error) {
			part := call
			part.Purpose, part.IDs = p, ids
			return s.question(ctx, part)
		},
	}
}

// probes are ids that tell whether the endpoint gives any details: one of the
// slice, which is another in each run, and one that is held.
func (s *session) probes(ctx context.Context, ids []string) ([]string, error) {
	held, err := s.e.store.Witnesses(ctx, s.job.Provenance, s.spec.RecordType, ids)
	if err != nil {
		return nil, err
	}
	out := held[:min(1, len(held))]
	if others := without(s.walk.ids, ids[:1]); len(others) > 0 {
		out = append(out, others[int(s.run)%len(others)])
	}
	return slices.DeleteFunc(out, func(id string) bool { return !s.details.takes(id) }), nil
}
