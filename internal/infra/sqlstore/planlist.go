package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Plans lists plans, the newest first. Which they are an index tells: that of the sources,
// or one state, source and operation after the other; what is shown of them is read by
// their numbers.
func (s *Store) Plans(ctx context.Context, q control.PlanQuery, limit int) ([]control.PlanRow, error) {
	if q.State == "" && q.Operation == "" && !q.Open {
		query, args := s.plansSQL(q.Source, q.Before, limit)
		return s.readPlans(ctx, query, args...)
	}
	ids, err := s.planIDs(ctx, q, limit)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	out := []control.PlanRow{}
	for part := range chunks(ids, 500) {
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = id
		}
		rows, err := s.readPlans(ctx, `SELECT `+planRowCols+` FROM ing_plan WHERE id IN (`+list(len(part))+`) ORDER BY id DESC`, args...)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

func (s *Store) readPlans(ctx context.Context, query string, args ...any) ([]control.PlanRow, error) {
	out := []control.PlanRow{}
	err := s.each(ctx, func(r *sql.Rows) error {
		p, err := scanPlanRow(r)
		out = append(out, p)
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return out, nil
}

// plansSQL lists plans, of one source along its index.
func (s *Store) plansSQL(provenance string, before harvest.PlanID, limit int) (string, []any) {
	where := `1=1`
	index := ""
	var args []any
	if provenance != "" {
		where += ` AND provenance_code=?`
		index = s.d.planIndex
		args = append(args, provenance)
	}
	if before > 0 {
		where += ` AND id<?`
		args = append(args, before)
	}
	return `SELECT ` + planRowCols + ` FROM ing_plan` + index + ` WHERE ` + where + ` ORDER BY id DESC LIMIT ?`, append(args, limit)
}

// planIDs are the numbers of the newest plans that a list asks for.
func (s *Store) planIDs(ctx context.Context, q control.PlanQuery, limit int) ([]harvest.PlanID, error) {
	states := []harvest.PlanState{
		harvest.PlanDraft, harvest.PlanSlicing, harvest.PlanReady, harvest.PlanPartial, harvest.PlanFailed, harvest.PlanCompleted, harvest.PlanCancelled,
	}
	if q.Open {
		states = harvest.PlansOpen
	}
	if q.State != "" {
		states = []harvest.PlanState{q.State}
	}
	if q.Open && !slices.Contains(harvest.PlansOpen, states[0]) {
		return nil, nil
	}
	operations := []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update}
	if q.Operation != "" {
		operations = []harvest.Operation{q.Operation}
	}
	sources := []string{q.Source}
	if q.Source == "" {
		var err error
		sources, err = s.PlannedSources(ctx)
		if err != nil {
			return nil, err
		}
	}
	var all []harvest.PlanID
	for _, state := range states {
		for _, code := range sources {
			for _, op := range operations {
				query, args := s.planIDsSQL(state, code, op, q.Before, limit)
				err := s.each(ctx, func(r *sql.Rows) error {
					var id harvest.PlanID
					err := r.Scan(&id)
					all = append(all, id)
					return err
				}, query, args...)
				if err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b harvest.PlanID) int { return cmp.Compare(b, a) })
	return all[:min(len(all), limit)], nil
}

// planIDsSQL lists the plans in a state of a source and operation.
func (s *Store) planIDsSQL(state harvest.PlanState, code string, op harvest.Operation, before harvest.PlanID, limit int) (string, []any) {
	where := `status_code=? AND provenance_code=? AND operation_code=?`
	args := []any{state, code, op}
	if before > 0 {
		where += ` AND id<?`
		args = append(args, before)
	}
	return `SELECT id FROM ing_plan` + s.d.planStateIndex + ` WHERE ` + where + ` ORDER BY id DESC LIMIT ?`, append(args, limit)
}

// LastActivity is the activity that was planned last of those whose name is words, or
// words and what follows a dash; empty if there is none.
func (s *Store) LastActivity(ctx context.Context, provenance string, op harvest.Operation, words string) (name string, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT activity_id FROM ing_plan
		WHERE provenance_code=? AND operation_code=? AND (activity_id=? OR activity_id LIKE ?) ORDER BY id DESC LIMIT 1`,
		provenance, op, words, words+"-%").Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the last activity %s of %s: %w", words, provenance, err)
	}
	return name, nil
}
