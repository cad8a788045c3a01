package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// WorkDecision is what a person says about records: JOIN with one part, SPLIT with two,
// or REVOKE of an earlier one.
type WorkDecision struct {
	Kind    string
	Parts   [][]int64
	Revokes int64
}

// WorkChanger writes what people decided about works.
type WorkChanger interface {
	// DecideWork writes a decision and links the records anew, and says of which works
	// they are then; [ErrNoDecision] if one that is to be revoked does not stand.
	// TryDecideWork tells the same and changes nothing.
	DecideWork(ctx context.Context, d WorkDecision, a source.Audit) ([]WorkMembers, error)
	TryDecideWork(ctx context.Context, d WorkDecision, a source.Audit) ([]WorkMembers, error)
}

// ErrNoDecision says that no such decision stands.
var ErrNoDecision = problem.New("no such decision about works stands", problem.Problem{
	Code: "not_found", Kind: problem.NotFound, Next: "`patra work show WORK` has the numbers of decisions; nothing was changed",
})

// WorkOrder says what is decided about works.
type WorkOrder struct {
	By
	// Works are numbers of works. Two or more are joined, or kept apart.
	Works []int64
	// Records are, of one work that is split, those that are cut off: SOURCE/ID each.
	Records []string
	// Decision is the number of the one that is revoked.
	Decision int64
	DryRun   bool
}

// WorkChange is what comes of a decision.
type WorkChange struct {
	Applied bool          `json:"applied"`
	Changes bool          `json:"changes"`
	Before  []WorkMembers `json:"before"`
	After   []WorkMembers `json:"after"`
	// Related: they stay works of their own and are of one family, as a preprint and its
	// article are.
	Related bool `json:"related,omitempty"`
	// Token makes exactly this change.
	Token string `json:"token,omitempty"`
}

var (
	errTooFewWorks = problem.New("two works at least are needed", problem.Problem{
		Code: "usage", Kind: problem.Usage, Next: "give the numbers of the works, as `patra work list` and `patra work suggestions` show them; nothing was changed",
	})
	errWhatToSplit = problem.New("what is to be cut off was not said", problem.Problem{
		Code: "usage", Kind: problem.Usage,
		Next: "give one work and --record SOURCE/ID for each record that is cut off, or two works that are to stay apart; nothing was changed",
	})
	errSplitAll = problem.New("that would leave nothing of the work", problem.Problem{
		Code: "usage", Kind: problem.Usage, Next: "cut off some of its records, not all; nothing was changed",
	})
)

// CutError says that a person has cut apart what is to be joined.
type CutError struct{ Decision int64 }

func (e *CutError) Error() string {
	return fmt.Sprintf("decision %d keeps them apart", e.Decision)
}

// Problem implements problem.Error.
func (e *CutError) Problem() problem.Problem {
	return problem.Problem{
		Code: "cut", Kind: problem.Conflict, Title: e.Error(),
		Next: fmt.Sprintf("look why with `patra work show`, and revoke it first: patra work revoke %d; nothing was changed", e.Decision),
	}
}

// JoinWorks makes works one, whatever rules say, until the decision is revoked. A preprint and
// an article become a family.
func (c *Control) JoinWorks(ctx context.Context, o WorkOrder) (WorkChange, error) {
	if len(o.Works) < 2 {
		return WorkChange{}, errTooFewWorks
	}
	before, err := c.worksOf(ctx, o.Works)
	if err != nil {
		return WorkChange{}, err
	}
	if len(before) < 2 {
		return WorkChange{Before: before, After: before}, nil
	}
	d := WorkDecision{Kind: "JOIN", Parts: [][]int64{nil}}
	var all []int64
	for _, w := range before {
		d.Parts[0] = append(d.Parts[0], w.ID)
		all = append(all, w.Records...)
	}
	if err := c.refuseCut(ctx, all); err != nil {
		return WorkChange{}, err
	}
	return c.decideWork(ctx, o, d, before, "WORK_JOIN")
}

// refuseCut refuses to join records that somebody has cut apart.
func (c *Control) refuseCut(ctx context.Context, records []int64) error {
	decided, err := c.store.WorkDecisions(ctx, records)
	if err != nil {
		return err
	}
	touches := func(part []int64) bool {
		return slices.ContainsFunc(part, func(n int64) bool { return slices.Contains(records, n) })
	}
	for _, d := range decided {
		if d.Kind == "SPLIT" && d.RevokedBy == 0 && touches(d.Parts[0]) && touches(d.Parts[1]) {
			return &CutError{Decision: d.ID}
		}
	}
	return nil
}

// SplitWork cuts records out of a work, or keeps two works apart, until the decision is
// revoked: no rule joins them again.
func (c *Control) SplitWork(ctx context.Context, o WorkOrder) (WorkChange, error) {
	before, err := c.worksOf(ctx, o.Works)
	if err != nil {
		return WorkChange{}, err
	}
	d := WorkDecision{Kind: "SPLIT"}
	switch {
	case len(before) == 2 && len(o.Records) == 0:
		d.Parts = [][]int64{before[0].Records, before[1].Records}
	case len(before) == 1 && len(o.Records) > 0:
		d.Parts, err = c.cutOff(ctx, before[0], o.Records)
		if err != nil {
			return WorkChange{}, err
		}
	default:
		return WorkChange{}, errWhatToSplit
	}
	return c.decideWork(ctx, o, d, before, "WORK_SPLIT")
}

// cutOff are the records that are cut out of a work, and the rest of it.
func (c *Control) cutOff(ctx context.Context, w WorkMembers, names []string) ([][]int64, error) {
	parts := make([][]int64, 2)
	for _, name := range names {
		code, id, _ := strings.Cut(name, "/")
		r, _, err := c.findRecord(ctx, code, id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(w.Records, r.Number) {
			return nil, problem.New(fmt.Sprintf("%s is not of work %d", name, w.ID), problem.Problem{
				Code: "usage", Kind: problem.Usage, Next: fmt.Sprintf("`patra work show %d` lists its records; nothing was changed", w.ID),
			})
		}
		parts[0] = append(parts[0], r.Number)
	}
	for _, n := range w.Records {
		if !slices.Contains(parts[0], n) {
			parts[1] = append(parts[1], n)
		}
	}
	if len(parts[1]) == 0 {
		return nil, errSplitAll
	}
	return parts, nil
}

// RevokeWork takes a decision back; rules decide again.
func (c *Control) RevokeWork(ctx context.Context, o WorkOrder) (WorkChange, error) {
	return c.decideWork(ctx, o, WorkDecision{Kind: "REVOKE", Revokes: o.Decision}, nil, "WORK_REVOKE")
}

// worksOf are works by their numbers, each once.
func (c *Control) worksOf(ctx context.Context, ids []int64) ([]WorkMembers, error) {
	out := []WorkMembers{}
	for _, id := range ids {
		w, err := c.store.WorkOf(ctx, id)
		if err != nil {
			return nil, errNoWork(id)
		}
		if !slices.ContainsFunc(out, func(have WorkMembers) bool { return have.ID == w.ID }) {
			out = append(out, w)
		}
	}
	return out, nil
}

func (c *Control) decideWork(ctx context.Context, o WorkOrder, d WorkDecision, before []WorkMembers, action string) (WorkChange, error) {
	object := fmt.Sprintf("work/%d", o.Decision)
	if d.Revokes == 0 {
		object = fmt.Sprintf("work/%d", before[0].ID)
	}
	line := o.line(action, object)
	after, err := c.store.TryDecideWork(ctx, d, line)
	if err != nil {
		return WorkChange{}, err
	}
	out := WorkChange{Before: before, After: after, Changes: true, Related: d.Kind == "JOIN" && len(after) > 1}
	if before == nil {
		out.Before = []WorkMembers{}
	}
	shown := []any{d, before, after}
	if o.DryRun {
		out.Token, err = c.seenToken(ctx, action, object, shown)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, action, object, shown); err != nil {
		return out, err
	}
	out.After, err = c.store.DecideWork(ctx, d, line)
	out.Applied = err == nil
	return out, err
}
