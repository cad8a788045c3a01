package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Slices lists the slices of a plan behind one; each page costs as much as it shows,
// however long the plan is.
func (s *Store) Slices(ctx context.Context, q control.SliceQuery, after harvest.SliceID, limit int) ([]control.SliceRow, error) {
	out := []control.SliceRow{}
	var from ts
	if after != 0 && q.Span != (harvest.Span{}) {
		err := s.r.QueryRowContext(ctx, `SELECT window_from FROM ing_plan_slice WHERE id=?`, after).Scan(&from)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, control.ErrPage
		}
		if err != nil {
			return nil, fmt.Errorf("list slices of plan %d: %w", q.Plan, err)
		}
	}
	query, args := s.slicesSQL(q, from, after, limit)
	err := s.each(ctx, func(r *sql.Rows) error {
		v, err := scanSliceRow(r)
		out = append(out, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list slices of plan %d: %w", q.Plan, err)
	}
	return out, nil
}

// slicesSQL lists slices: all of a plan or those in a state by their numbers, those that
// begin within a span by their windows. Behind which the page begins is told by its number,
// and by where its window begins as well.
func (s *Store) slicesSQL(q control.SliceQuery, from ts, after harvest.SliceID, limit int) (string, []any) {
	where := `s.plan_id=?`
	args := []any{q.Plan}
	index := s.d.sliceIndex
	order := `s.id`
	if q.State != "" {
		where += ` AND s.status_code=?`
		args = append(args, q.State)
		index = s.d.sliceStateIndex
	}
	switch {
	case q.Span == (harvest.Span{}):
		where += ` AND s.id>?`
		args = append(args, after)
	default:
		index = s.d.sliceWindowIndex
		order = `s.window_from, s.id`
		where += ` AND s.window_from>=? AND s.window_from<?`
		args = append(args, stored(q.Span.From).instant, stored(q.Span.To).instant)
		if after != 0 {
			behind, values := s.d.after([]string{"s.window_from", "s.id"}, []any{from, after})
			where += ` AND ` + behind
			args = append(args, values...)
		}
	}
	return `SELECT ` + sliceRowCols + ` FROM (SELECT s.id AS slice_id FROM ing_plan_slice s` + index + ` WHERE ` + where + `
		ORDER BY ` + order + ` LIMIT ?) k JOIN ing_plan_slice s ON s.id=k.slice_id` + sliceRowJoins + ` ORDER BY ` + order, append(args, limit)
}

// zoomDigits is how much of a stored instant the instants of a group share.
var zoomDigits = map[control.Zoom]int{
	control.ZoomYear: len("2006"), control.ZoomMonth: len("2006-01"), control.ZoomDay: len("2006-01-02"), control.ZoomHour: len("2006-01-02 15"),
	control.ZoomMinute: len("2006-01-02 15:04"), control.ZoomSecond: len("2006-01-02 15:04:05"),
	// A candidate is a microsecond.
	"10000000": len(stamp) - 8, "1000000": len(stamp) - 7, "100000": len(stamp) - 5, "10000": len(stamp) - 4, "1000": len(stamp) - 3, "100": len(stamp) - 2,
	"10": len(stamp) - 1, "1": len(stamp),
}

// SliceGroups counts slices by where their windows begin: by the counts that are kept of
// the plan if they are fine enough, else by an index, and of that no more than most entries.
func (s *Store) SliceGroups(ctx context.Context, p control.PlanRow, span harvest.Span, z control.Zoom, most int) ([]control.GroupCount, error) {
	if p.KeepsGroups(span, z) && zoomDigits[z] <= p.GroupDigits {
		out, err := s.keptGroups(ctx, p, span, zoomDigits[z])
		if err != nil {
			return nil, fmt.Errorf("sum up slices of plan %d: %w", p.ID, err)
		}
		return out, nil
	}
	var out []control.GroupCount
	query, args := s.sliceGroupsSQL(p.ID, span, z, most)
	err := s.each(ctx, func(r *sql.Rows) error {
		var g control.GroupCount
		var from, to ts
		err := r.Scan(&from, &to, &g.State, &g.Count, &g.Expected, &g.Estimated, &g.Records, &g.Asked, &g.Latency, &g.HTTP429)
		g.Place = from.mark(p.Operation)
		g.Until = to.mark(p.Operation)
		out = append(out, g)
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("sum up slices of plan %d: %w", p.ID, err)
	}
	return out, nil
}

func (s *Store) sliceGroupsSQL(plan harvest.PlanID, span harvest.Span, z control.Zoom, most int) (string, []any) {
	begin := fmt.Sprintf("SUBSTR(k.window_from, 1, %d)", zoomDigits[z])
	return `SELECT MIN(k.window_from), MAX(k.window_to), k.status_code, COUNT(*),
		COALESCE(SUM(k.expected),0), COUNT(k.expected), SUM(k.records), SUM(k.pages_asked), SUM(k.latency_ms), SUM(k.http_429)
		FROM (SELECT s.window_from, s.window_to, s.status_code, s.expected, s.records, s.pages_asked, s.latency_ms, s.http_429
		FROM ing_plan_slice s` + s.d.sliceWindowIndex + ` WHERE s.plan_id=? AND s.window_from>=? AND s.window_from<? ORDER BY s.window_from LIMIT ?) k
		GROUP BY ` + begin + `, k.status_code`, []any{plan, stored(span.From).instant, stored(span.To).instant, most}
}

// ActiveSlices are where the slices begin whose tasks somebody has in hand.
func (s *Store) ActiveSlices(ctx context.Context, p control.PlanRow, most int) ([]harvest.Mark, error) {
	var out []harvest.Mark
	err := s.each(ctx, func(r *sql.Rows) error {
		var from ts
		err := r.Scan(&from)
		out = append(out, from.mark(p.Operation))
		return err
	}, `SELECT s.window_from FROM ing_task t`+s.d.taskPlanIndex+` JOIN ing_plan_slice s ON s.id=t.slice_id
		WHERE t.plan_id=? AND t.status_code IN ('DISPATCHED','EXECUTING') LIMIT ?`, p.ID, most)
	if err != nil {
		return nil, fmt.Errorf("slices in hand of plan %d: %w", p.ID, err)
	}
	return out, nil
}
