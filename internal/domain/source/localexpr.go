package source

import (
	"encoding/json"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
)

// DraftSlice is a slice not yet saved, with all that its task will be told: what it
// selects, how it is walked, and the pool of credentials that it is asked with.
func DraftSlice(s *Spec, op harvest.Operation, activity string, slice harvest.SliceSpec) (harvest.SliceDraft, error) {
	slice.Budget = new(slice.Budget.Over(s.SliceBudget(op)))
	d := harvest.SliceDraft{Spec: slice}
	if s.Auth != nil {
		d.Pool = s.Auth.Pool
	}
	var err error
	switch {
	case slice.ByID():
		d.Expr, err = s.exprWithin(query.NumberRange(slice.Range.Key, slice.Range.From, slice.Range.To))
	case slice.Strategy == harvest.StrategyID:
		d.Expr, err = CandidateExpr(s, activity, slice.Range)
	default:
		d.Expr, err = LocalExpr(s, slice.Part())
	}
	if err != nil {
		return d, err
	}
	d.Params, err = taskParams(s, op, slice)
	return d, err
}

// taskParams are how the task of a slice is to be done, as stored in params.
func taskParams(s *Spec, op harvest.Operation, slice harvest.SliceSpec) (string, error) {
	type window struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	p := struct {
		Window   *window            `json:"window,omitempty"` // that is asked for, overlap included
		Range    harvest.Range      `json:"range,omitzero"`
		Paging   harvest.PagingType `json:"paging"`
		PageSize int                `json:"pageSize"`
		Start    *harvest.Position  `json:"start,omitempty"`
		TwoPhase bool               `json:"twoPhase,omitzero"`
	}{Range: slice.Range, Paging: s.Paging.Type, PageSize: s.Paging.Of(slice).Size, TwoPhase: s.TwoPhase()}
	switch {
	case op == harvest.Update:
		p.Paging = harvest.PageIDs
		p.PageSize = s.Batching.IDs
	case slice.ByID():
		p.Start = new(s.Paging.Of(slice).Start(slice, 1))
	default:
		w := slice.RequestWindow()
		p.Window = &window{From: harvest.FormatInstant(w.From), To: harvest.FormatInstant(w.To)}
		p.Start = new(s.Paging.Of(slice).Start(slice, 1))
	}
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("marshal the parameters of a task: %w", err)
	}
	return string(b), nil
}

// LocalExpr is the expression of a slice as stored in expr_snapshot: what its plan
// selects and the slice's own bounds, in the canonical form of expressions. Two
// selections over one window have two of them (R66).
func LocalExpr(s *Spec, p harvest.Part) (string, error) {
	w := p.Window()
	bounds := []query.Range{query.DateRange(s.Window.Key, w.From, w.To)}
	if no, of := p.Range.Bucket(); of > 1 {
		bounds = append(bounds, query.NumberRange(fmt.Sprintf("bucket of %d", of), no, no+1))
	} else if r := p.Range; !r.Whole() {
		bounds = append(bounds, query.NumberRange(r.Key, r.From, r.To))
	}
	return s.exprWithin(bounds...)
}

// CandidateExpr is the expression of a slice of an UPDATE: a range of the candidates
// that its plan froze for an activity (R9).
func CandidateExpr(s *Spec, activity string, r harvest.Range) (string, error) {
	return s.exprWithin(query.NumberRange(r.Key+" of "+activity, r.From, r.To))
}

func (s *Spec) exprWithin(bounds ...query.Range) (string, error) {
	stored, _ := s.Selected()
	selection, err := query.StoredSelection([]byte(stored))
	if err != nil {
		return "", fmt.Errorf("source %s: %w", s.Source, err)
	}
	return string(query.JSON(selection.Within(bounds...))), nil
}
