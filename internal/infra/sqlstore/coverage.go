package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// coverageInWork is the coverage of one cursor while its slices are read, in the order
// of their spans.
type coverageInWork struct {
	control.Coverage
	id      harvest.CursorID
	readEnd harvest.Mark // the furthest end among the spans read so far
}

// Coverage reads the coverage of a source, one entry per namespace. Those of
// sentinels are left out: they cover nothing that is not covered already.
func (s *Store) Coverage(ctx context.Context, provenance string) ([]control.Coverage, error) {
	out, err := s.readCoverages(ctx, provenance)
	if err != nil {
		return nil, fmt.Errorf("coverage of %s: %w", provenance, err)
	}
	return out, nil
}

func (s *Store) readCoverages(ctx context.Context, provenance string) ([]control.Coverage, error) {
	cursors, err := s.coveredCursors(ctx, provenance)
	if err != nil {
		return nil, err
	}
	late, cut, err := s.latenesses(ctx, provenance, control.CountCap)
	if err != nil {
		return nil, err
	}
	out := make([]control.Coverage, len(cursors))
	for i := range cursors {
		h := &cursors[i]
		if err := s.readCoverage(ctx, h, provenance, leavesMost/len(cursors)); err != nil {
			return nil, err
		}
		if h.Operation == harvest.Harvest {
			h.LateRate = shownLate(late[h.id], cut)
		}
		out[i] = h.Coverage
	}
	return out, nil
}

// coveredCursors lists the cursors whose coverage is shown, by operation and number. If
// there are more than can be, those of the HARVEST come first: a source may have any
// number of backfills.
func (s *Store) coveredCursors(ctx context.Context, provenance string) ([]coverageInWork, error) {
	var cursors []coverageInWork
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
		query, args := s.coveredSQL(provenance, op, control.MostNamespaces+1-len(cursors))
		err := s.each(ctx, func(r *sql.Rows) error {
			c, err := scanCoverage(r)
			cursors = append(cursors, c)
			return err
		}, query, args...)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(cursors, func(a, b coverageInWork) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.id, b.id))
	})
	return cursors, nil
}

// coveredSQL lists cursors of an operation in the order of their names, which is that of
// an index: what is not shown is not read.
func (s *Store) coveredSQL(provenance string, op harvest.Operation, limit int) (string, []any) {
	return `SELECT c.id, c.operation_code, c.namespace_scope_code, c.namespace_key, c.cursor_key, c.direction_code, c.init_value, c.normalized_instant,
			` + queryOf + `
		FROM ing_cursor c` + s.d.cursorIndex + ` WHERE c.provenance_code=? AND c.operation_code=?
			AND (SELECT p.watches_cursor_id FROM ing_plan p /*! FORCE INDEX (idx_plan_cursor) */ WHERE p.cursor_id=c.id ORDER BY p.window_to DESC LIMIT 1) IS NULL
		ORDER BY ` + joined(cursorName) + ` LIMIT ?`, []any{provenance, op, limit}
}

func scanCoverage(r scanner) (h coverageInWork, err error) {
	none := []control.Interval{}
	h.Coverage = control.Coverage{Proven: none, Open: none, Failed: none, Missing: none}
	var scope, key, init string
	var w ts
	var sel sql.NullString
	if err := r.Scan(&h.id, &h.Operation, &scope, &key, &h.CursorKey, &h.Direction, &init, &w, &sel); err != nil {
		return h, err
	}
	h.Namespace = scope + "/" + key
	h.Query = queryText(sel.String)
	h.Watermark = w.mark(h.Operation)
	h.Init, err = parseMark(h.Operation, init)
	return h, err
}

// notFolded is a condition on slices s that leaves out those of a plan that is archived: what
// it has proven is among the intervals already.
var notFolded = ` AND NOT ` + isSealed("s.plan_id")

// leaf is a slice that was not cut further, or the span of a plan that has not been cut
// into slices yet.
type leaf struct {
	harvest.Covered
	open   bool // it is still to be read
	reason string
	spec   string
}

// readCoverage reads what of a cursor is proven. Up to its watermark all is, or it would
// not have moved there: only gaps that were accepted are looked up. Beyond it the leaves
// are read in the order of their spans, and entered span by span: a window that was
// parted by ids or buckets has several leaves of one span, and is proven only when all of
// them are.
//
//	leaves    |- DONE -|- DONE -|         |- ids 0-4 DONE --|- FAILED -|
//	                                      |- ids 5-9 READY -|
//	becomes   |---- proven -----| missing |----- open ------|- failed -|
func (s *Store) readCoverage(ctx context.Context, c *coverageInWork, provenance string, most int) error {
	proven, err := s.provenLeaves(ctx, c, provenance)
	if err != nil {
		return err
	}
	if c.Direction == harvest.Forward {
		for _, l := range proven {
			if err := c.enter([]leaf{l}); err != nil {
				return err
			}
		}
	}
	if err := s.readLeaves(ctx, c, most); err != nil {
		return err
	}
	if c.Direction == harvest.Backward {
		for _, l := range proven {
			if err := c.enter([]leaf{l}); err != nil {
				return err
			}
		}
	}
	return nil
}

// acceptedMost bounds the accepted gaps that are told apart in what is proven.
const acceptedMost = 1000

// provenLeaves is the span from where the cursor began to where it stands, parted where a
// gap was accepted.
func (s *Store) provenLeaves(ctx context.Context, c *coverageInWork, provenance string) ([]leaf, error) {
	from, to := c.Init, c.Watermark
	if c.Direction == harvest.Backward {
		from, to = to, from
	}
	if !from.Before(to) {
		return nil, nil
	}
	var out []leaf
	err := s.each(ctx, func(r *sql.Rows) error {
		var begin, end ts
		var reason sql.NullString
		if err := r.Scan(&begin, &end, &reason); err != nil {
			return err
		}
		gap := spanOf(c.Operation, begin, end)
		if gap.From.Before(from) || to.Before(gap.To) {
			return nil // another part of the same window, or not passed
		}
		if from.Before(gap.From) {
			out = append(out, provenLeaf(from, gap.From, ""))
		}
		out = append(out, provenLeaf(gap.From, gap.To, "accepted gap: "+reason.String))
		from = gap.To
		return nil
	}, `SELECT s.window_from, s.window_to, s.reason FROM ing_plan_slice s
		WHERE s.gap_of=? AND s.gap_accepted=1 AND s.cursor_id=?`+notCoveredByOthers+` ORDER BY s.window_from, s.id LIMIT ?`,
		provenance, c.id, acceptedMost)
	if err != nil {
		return nil, err
	}
	if from.Before(to) {
		out = append(out, provenLeaf(from, to, ""))
	}
	return out, nil
}

func provenLeaf(from, to harvest.Mark, reason string) leaf {
	return leaf{Covered: harvest.Covered{Span: harvest.Span{From: from, To: to}, Counts: true}, reason: reason}
}

// leavesMost bounds the slices beyond watermarks that are looked at for one answer. Each
// namespace has its share.
const leavesMost = 5000

// readLeaves reads the leaves beyond where the cursor stands, so many at most. The first
// of them begins exactly there.
func (s *Store) readLeaves(ctx context.Context, c *coverageInWork, most int) error {
	at := stored(c.Watermark).instant
	ahead := `s.window_from>=?`
	within := ` AND s.window_from<?`
	nearest := `s.window_from`
	if c.Direction == harvest.Backward {
		ahead = `s.window_to<=?`
		within = ` AND s.window_to>?`
		nearest = `s.window_to DESC`
	}
	args := []any{c.id, at}
	var bound ts
	err := s.r.QueryRowContext(ctx, `SELECT `+strings.TrimSuffix(nearest, " DESC")+` FROM ing_plan_slice s WHERE s.cursor_id=? AND `+ahead+`
		ORDER BY `+nearest+` LIMIT 1 OFFSET ?`, c.id, at, most).Scan(&bound)
	switch {
	case err == nil:
		end := bound.mark(c.Operation)
		c.LookedTo = &end
		ahead += within
		args = append(args, bound)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	var same []leaf // the leaves of one span
	err = s.each(ctx, func(r *sql.Rows) error {
		var l leaf
		var from, to ts
		var st harvest.SliceState
		var accepted bool
		var sortedBy int64 // the order of leaves of one span, and not looked at
		var reason sql.NullString
		if err := r.Scan(&from, &to, &st, &accepted, &reason, &l.spec, &sortedBy); err != nil {
			return err
		}
		if st == "" && c.LookedTo != nil {
			return nil // it lies behind slices that are not looked at
		}
		l.Span = spanOf(c.Operation, from, to)
		l.reason = reason.String
		switch {
		case st == harvest.SliceDone:
			l.Counts = true
			l.reason = ""
		case accepted:
			l.Counts = true
			l.reason = "accepted gap: " + l.reason
		case st == "":
			l.open = true
			l.reason = "not cut into slices yet"
		case st != harvest.SliceFailed && st != harvest.SliceCancelled:
			l.open = true
			l.reason = ""
		}
		if len(same) > 0 && same[0].Span != l.Span {
			if err := c.enter(same); err != nil {
				return err
			}
			same = same[:0]
		}
		same = append(same, l)
		return nil
	}, `SELECT s.window_from, s.window_to, s.status_code, s.gap_accepted, s.reason, s.slice_spec, s.id FROM ing_plan_slice s
		WHERE s.cursor_id=? AND `+ahead+` AND s.status_code<>'RESLICED'`+notCoveredByOthers+`
		UNION ALL
		SELECT CASE operation_code WHEN 'BACKFILL' THEN window_from ELSE sliced_to END,
			CASE operation_code WHEN 'BACKFILL' THEN sliced_to ELSE window_to END, '', 0, NULL, '{}', 0
		FROM ing_plan WHERE cursor_id=? AND status_code='PARTIAL' ORDER BY 1, 2, 7`, append(args, c.id)...)
	if err != nil || len(same) == 0 {
		return err
	}
	return c.enter(same)
}

// enter takes up the leaves of the next span. It is proven when all of them count; else
// those that do not are told, each by its range where the span was parted. What lies
// between this span and those before it is missing: nobody has planned it.
func (c *coverageInWork) enter(same []leaf) error {
	from, to := same[0].From, same[0].To
	if !c.readEnd.IsZero() && c.readEnd.Before(from) {
		c.Missing = appendJoined(c.Missing, control.Interval{From: c.readEnd, To: from})
	}
	if c.readEnd.IsZero() || to.After(c.readEnd) {
		c.readEnd = to
	}
	unproven := slices.DeleteFunc(slices.Clone(same), func(l leaf) bool { return l.Counts })
	if len(unproven) == 0 {
		i := slices.IndexFunc(same, func(l leaf) bool { return l.reason != "" })
		c.Proven = appendJoined(c.Proven, control.Interval{From: from, To: to, Reason: same[max(0, i)].reason})
		return nil
	}
	for _, l := range unproven {
		v := control.Interval{From: from, To: to, Reason: l.reason}
		if len(same) > 1 {
			r, err := rangeText(l.spec)
			if err != nil {
				return err
			}
			v.Ranges = []string{r}
			v.Parts = len(same)
		}
		if l.open {
			c.Open = appendJoined(c.Open, v)
		} else {
			c.Failed = appendJoined(c.Failed, v)
		}
	}
	return nil
}

// appendJoined adds an interval to a list. It is joined to the last one if it has the
// same reason, and goes on where that ends or is another part of the same window.
func appendJoined(list []control.Interval, v control.Interval) []control.Interval {
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
