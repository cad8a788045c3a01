package executor

import (
	"context"
	"errors"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// halving is the search for the ids that make an upstream refuse a request for
// details. With k of n ids guilty it asks about 2 k log n times.
type halving struct {
	ask func(ids []string) (source.Answer, error)
	// most is how many may be guilty before something else must be wrong, and
	// before counts those that were found guilty since it last gave details.
	most, before int
	// known: the id is of a record that was there once, so that its not being
	// there is an answer and no sign of a broken endpoint.
	known func(id string) bool

	accepted bool // something was answered: the endpoint is alive
	guilty   []string
	gone     []string // those that are not there
	items    []harvest.Item
	traffic  source.Traffic
	alias    aliases       // of those asked for alone by each
	answer   source.Answer // the last of each
}

// fewGuilty is how many ids may be guilty in a request of any size. So many
// refused with not one answered mean that the endpoint is broken, not the ids.
const fewGuilty = 8

var errManyGuilty = errors.New("too many ids are refused")

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
		ans, err := h.ask(part)
		h.traffic = h.traffic.Add(ans.Traffic)
		switch {
		case err == nil:
			h.accepted = true
			h.items = append(h.items, ans.Page.Items...)
		case !divisible(err):
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
	for _, id := range ids {
		ans, err := h.ask([]string{id})
		h.traffic, h.answer = h.traffic.Add(ans.Traffic), ans
		switch {
		case err == nil:
			h.accepted = true
			h.items = append(h.items, ans.Page.Items...)
			h.alias.note([]string{id}, ans.Page)
		case !divisible(err):
			return err
		default:
			if why := h.found(id, err); why != nil {
				return err
			}
		}
	}
	return nil
}

func (h *halving) found(id string, why error) error {
	if !ofOneID(why) {
		return why
	}
	if isAbsence(why) && h.known(id) {
		h.gone = append(h.gone, id)
		return nil
	}
	h.guilty = append(h.guilty, id)
	if len(h.guilty) > h.most || !h.accepted && h.before+len(h.guilty) >= fewGuilty {
		return errManyGuilty
	}
	return nil
}

// tooLarge is the fault of a reply beyond the limits on bodies.
const tooLarge = "reply_too_large"

// divisible reports whether fewer ids may fare better: a refusal of what was
// asked for. Forbidden is the source's own affair (R42), and where no reply
// came, or the source says what else to do, ids have nothing to do with it.
func divisible(err error) bool {
	f, ok := harvest.FaultOf(err)
	return ok && f.Level == harvest.Rejected && f.Reaction != harvest.CutSlice && f.Reaction != harvest.RestartWalk &&
		(f.Status >= 200 && f.Status != 403 || f.Code == tooLarge)
}

// ofOneID reports whether a refusal of a single id speaks of that id.
func ofOneID(err error) bool {
	f, _ := harvest.FaultOf(err)
	return f.Status == 400 || f.Status == 404 || f.Status == 410 || f.Code == tooLarge
}

// isAbsence reports whether a refusal says that what was asked for is not there.
func isAbsence(err error) bool {
	f, _ := harvest.FaultOf(err)
	return f.Status == 404 || f.Status == 410
}

// halving is a search for the guilty among n ids of a call.
func (s *session) halving(ctx context.Context, call source.Call, p source.Purpose, n int) *halving {
	return &halving{most: max(fewGuilty, n/10), before: s.unheard, known: s.mayBeGone, alias: aliases{}, ask: func(ids []string) (source.Answer, error) {
		part := call
		part.Purpose, part.IDs = p, ids
		return s.e.up.Ask(ctx, s.spec, part)
	}}
}

// heard counts the ids refused since the upstream last gave details.
func (s *session) heard(h *halving) {
	if h.accepted {
		s.unheard = 0
	} else {
		s.unheard += len(h.guilty)
	}
}
