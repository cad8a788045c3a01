package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// covering is the coverage of one cursor while its slices are read.
type covering struct {
	control.Coverage
	id    harvest.CursorID
	reach harvest.Mark // the end of the spans seen so far
}

// Coverage reads the coverage of a source, one entry per namespace. Those of
// sentinels are left out: they cover nothing that is not covered already.
func (s *Store) Coverage(ctx context.Context, provenance string) ([]control.Coverage, error) {
	var heads []covering
	err := s.each(ctx, func(r *sql.Rows) error {
		none := []control.Interval{}
		h := covering{Coverage: control.Coverage{Proven: none, Open: none, Failed: none, Missing: none}}
		var scope, key, init string
		var w ts
		var sel sql.NullString
		if err := r.Scan(&h.id, &h.Operation, &scope, &key, &h.CursorKey, &h.Direction, &init, &w, &sel); err != nil {
			return err
		}
		h.Namespace = scope + "/" + key
		h.Query = queryText(sel.String)
		h.Watermark = w.mark(h.Operation)
		var err error
		h.Init, err = parseMark(h.Operation, init)
		heads = append(heads, h)
		return err
	}, `SELECT id, operation_code, namespace_scope_code, namespace_key, cursor_key, direction_code, init_value, normalized_instant,
		`+queryOf+`
		FROM ing_cursor c WHERE provenance_code=?
		AND NOT EXISTS (SELECT 1 FROM ing_plan p WHERE p.cursor_id=c.id AND p.watches_cursor_id IS NOT NULL)
		ORDER BY operation_code, id`, provenance)
	if err != nil {
		return nil, fmt.Errorf("coverage of %s: %w", provenance, err)
	}
	out := make([]control.Coverage, len(heads))
	for i := range heads {
		h := &heads[i]
		if err := s.cover(ctx, h); err != nil {
			return nil, fmt.Errorf("coverage of %s: %w", provenance, err)
		}
		if h.Operation == harvest.Harvest {
			h.LateRate, err = s.lateRate(ctx, h.id)
			if err != nil {
				return nil, fmt.Errorf("coverage of %s: %w", provenance, err)
			}
		}
		out[i] = h.Coverage
	}
	return out, nil
}

// leaf is a slice as the coverage sees it, or what a plan has not cut yet.
type leaf struct {
	harvest.Covered
	open   bool
	reason string
	spec   string
}

// cover reads the slices of a cursor.
func (s *Store) cover(ctx context.Context, c *covering) error {
	var same []leaf // the slices of one span
	err := s.each(ctx, func(r *sql.Rows) error {
		var l leaf
		var from, to ts
		var st harvest.SliceState
		var accepted bool
		var no int64 // it is only sorted by
		var reason sql.NullString
		if err := r.Scan(&from, &to, &st, &accepted, &reason, &l.spec, &no); err != nil {
			return err
		}
		l.Span = spanOf(c.Operation, from, to)
		l.reason = reason.String
		switch {
		case st == harvest.SliceDone:
			l.Counts, l.reason = true, ""
		case accepted:
			l.Counts, l.reason = true, "accepted gap: "+l.reason
		case st == "":
			l.open, l.reason = true, "not cut into slices yet"
		case st != harvest.SliceFailed && st != harvest.SliceCancelled:
			l.open, l.reason = true, ""
		}
		if len(same) > 0 && same[0].Span != l.Span {
			if err := c.add(same); err != nil {
				return err
			}
			same = same[:0]
		}
		same = append(same, l)
		return nil
	}, `SELECT s.window_from, s.window_to, s.status_code, s.gap_accepted, s.reason, s.slice_spec, s.id FROM ing_plan_slice s
		WHERE s.cursor_id=? AND s.status_code<>'RESLICED'`+standing+`
		UNION ALL SELECT CASE operation_code WHEN 'BACKFILL' THEN window_from ELSE sliced_to END,
		CASE operation_code WHEN 'BACKFILL' THEN sliced_to ELSE window_to END, '', 0, NULL, '{}', 0
		FROM ing_plan WHERE cursor_id=? AND status_code='PARTIAL' ORDER BY 1, 2, 7`, c.id, c.id)
	if err != nil || len(same) == 0 {
		return err
	}
	return c.add(same)
}

// add takes the slices of the next span. It is proven when all of them count;
// else what does not is told, by its range where it is a part.
func (c *covering) add(same []leaf) error {
	from, to := same[0].From, same[0].To
	if !c.reach.IsZero() && c.reach.Before(from) {
		c.Missing = join(c.Missing, control.Interval{From: c.reach, To: from})
	}
	if c.reach.IsZero() || to.After(c.reach) {
		c.reach = to
	}
	left := slices.DeleteFunc(slices.Clone(same), func(l leaf) bool { return l.Counts })
	if len(left) == 0 {
		i := slices.IndexFunc(same, func(l leaf) bool { return l.reason != "" })
		c.Proven = join(c.Proven, control.Interval{From: from, To: to, Reason: same[max(0, i)].reason})
		return nil
	}
	for _, l := range left {
		v := control.Interval{From: from, To: to, Reason: l.reason}
		if len(same) > 1 {
			r, err := rangeText(l.spec)
			if err != nil {
				return err
			}
			v.Ranges, v.Parts = []string{r}, len(same)
		}
		if l.open {
			c.Open = join(c.Open, v)
		} else {
			c.Failed = join(c.Failed, v)
		}
	}
	return nil
}

// join adds an interval to a list, to the last one if it goes on from there or is
// of the same window, and there is nothing else to be said of it.
func join(list []control.Interval, v control.Interval) []control.Interval {
	n := len(list) - 1
	switch {
	case n < 0 || list[n].Reason != v.Reason:
	case list[n].From == v.From && v.Parts > 0:
		list[n].Ranges = append(list[n].Ranges, v.Ranges...)
		return list
	case list[n].To == v.From && list[n].Parts+v.Parts == 0:
		list[n].To = v.To
		return list
	}
	return append(list, v)
}
