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

// latePages bounds the pages, the newest ones, from which it is told how many records
// come late.
const latePages = 500

// coverageInWork is the coverage of one cursor while its slices are read, in the order
// of their spans.
type coverageInWork struct {
	control.Coverage
	id          harvest.CursorID
	hasAhead    bool         // there are slices beyond where it stands
	hasAccepted bool         // gaps of it were accepted
	readEnd     harvest.Mark // the furthest end among the spans read so far
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
	late, cut, err := s.latenesses(ctx, provenance, latePages)
	if err != nil {
		return nil, err
	}
	gaps, err := s.acceptedGaps(ctx, provenance, cursors)
	if err != nil {
		return nil, err
	}
	ahead, err := s.leavesAhead(ctx, provenance, cursors)
	if err != nil {
		return nil, err
	}
	out := make([]control.Coverage, len(cursors))
	for i := range cursors {
		h := &cursors[i]
		if err := h.put(h.provenLeaves(gaps[h.id]), ahead[h.id]); err != nil {
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
// an index: what is not shown is not read. Of each it says where the furthest slice lies
// and whether a gap was accepted, so that no more is asked of those that have neither:
// to look for the slices of a hundred cursors costs a server much also where there are
// none.
func (s *Store) coveredSQL(provenance string, op harvest.Operation, limit int) (string, []any) {
	return `SELECT c.id, c.operation_code, c.namespace_scope_code, c.namespace_key, c.cursor_key, c.direction_code, c.init_value, c.normalized_instant,
			` + queryOf + `, CASE c.direction_code WHEN 'BACKFILL' THEN ` + furthestOf(harvest.Backward) + ` ELSE ` + furthestOf(harvest.Forward) + ` END,
			EXISTS (SELECT 1 FROM ing_plan_slice s /*! FORCE INDEX (idx_slice_gap) */ WHERE s.gap_of=c.provenance_code AND s.gap_accepted=1 AND s.cursor_id=c.id)
		FROM ing_cursor c` + s.d.cursorIndex + ` WHERE c.provenance_code=? AND c.operation_code=?
			AND ` + furthestPlan("watches_cursor_id") + ` IS NULL
		ORDER BY ` + joined(cursorName) + ` LIMIT ?`, []any{provenance, op, limit}
}

// furthestOf is where the slice of a cursor c lies that is the furthest in its direction.
func furthestOf(d harvest.Direction) string {
	lies := sideOf(d)
	return `(SELECT ` + lies.bound + ` FROM ing_plan_slice s` + lies.index + ` WHERE s.cursor_id=c.id ORDER BY ` + lies.furthest + ` LIMIT 1)`
}

func scanCoverage(r scanner) (h coverageInWork, err error) {
	none := []control.Interval{}
	h.Coverage = control.Coverage{Proven: none, Open: none, Failed: none, Missing: none}
	var scope, key, init string
	var w, furthest ts
	var sel sql.NullString
	if err := r.Scan(&h.id, &h.Operation, &scope, &key, &h.CursorKey, &h.Direction, &init, &w, &sel, &furthest, &h.hasAccepted); err != nil {
		return h, err
	}
	h.Namespace = scope + "/" + key
	h.Query = queryText(sel.String)
	h.Watermark = w.mark(h.Operation)
	if !furthest.time().IsZero() {
		h.hasAhead = !h.Direction.Further(furthest.mark(h.Operation), h.Watermark)
	}
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
	id     harvest.SliceID // 0: it is not cut yet
	open   bool            // it is still to be read
	reason string
	spec   string
}

// put enters what of a cursor is proven, and what lies ahead of it. Up to its watermark
// all is proven, or it would not have moved there: only gaps that were accepted are told
// apart. Beyond it the leaves are entered span by span, in the order of time: a window
// that was parted by ids or buckets has several leaves of one span, and is proven only
// when all of them are.
//
//	leaves    |- DONE -|- DONE -|         |- ids 0-4 DONE --|- FAILED -|
//	                                      |- ids 5-9 READY -|
//	becomes   |---- proven -----| missing |----- open ------|- failed -|
func (c *coverageInWork) put(proven, ahead []leaf) error {
	if c.Direction == harvest.Forward {
		return errors.Join(c.enterEach(proven), c.enterSpans(ahead))
	}
	return errors.Join(c.enterSpans(ahead), c.enterEach(proven))
}

// enterEach enters leaves of which each has a span of its own.
func (c *coverageInWork) enterEach(leaves []leaf) error {
	for _, l := range leaves {
		if err := c.enter([]leaf{l}); err != nil {
			return err
		}
	}
	return nil
}

// enterSpans enters the leaves of one span together.
func (c *coverageInWork) enterSpans(leaves []leaf) error {
	for len(leaves) > 0 {
		n := slices.IndexFunc(leaves, func(l leaf) bool { return l.Span != leaves[0].Span })
		if n < 0 {
			n = len(leaves)
		}
		if err := c.enter(leaves[:n]); err != nil {
			return err
		}
		leaves = leaves[n:]
	}
	return nil
}

// acceptedGap is a window that a person said is not to be waited for.
type acceptedGap struct {
	harvest.Span
	reason string
}

// acceptedMost bounds the accepted gaps that are told apart in what is proven.
const acceptedMost = 1000

// acceptedGaps reads the accepted gaps of cursors, in the order of time.
func (s *Store) acceptedGaps(ctx context.Context, provenance string, of []coverageInWork) (map[harvest.CursorID][]acceptedGap, error) {
	out := map[harvest.CursorID][]acceptedGap{}
	operation := map[harvest.CursorID]harvest.Operation{}
	args := []any{provenance}
	for i := range of {
		if of[i].hasAccepted {
			operation[of[i].id] = of[i].Operation
			args = append(args, of[i].id)
		}
	}
	if len(operation) == 0 {
		return out, nil
	}
	err := s.each(ctx, func(r *sql.Rows) error {
		var id harvest.CursorID
		var begin, end ts
		var reason sql.NullString
		err := r.Scan(&id, &begin, &end, &reason)
		out[id] = append(out[id], acceptedGap{spanOf(operation[id], begin, end), reason.String})
		return err
	}, `SELECT s.cursor_id, s.window_from, s.window_to, s.reason FROM ing_plan_slice s
		WHERE s.gap_of=? AND s.gap_accepted=1 AND s.cursor_id IN (`+list(len(operation))+`)`+notCoveredByOthers+` ORDER BY s.cursor_id, s.window_from, s.id LIMIT ?`,
		append(args, acceptedMost)...)
	return out, err
}

// provenLeaves is the span from where the cursor began to where it stands, parted where a
// gap was accepted.
func (c *coverageInWork) provenLeaves(gaps []acceptedGap) (out []leaf) {
	from, to := c.Init, c.Watermark
	if c.Direction == harvest.Backward {
		from, to = to, from
	}
	if !from.Before(to) {
		return nil
	}
	for _, gap := range gaps {
		if gap.From.Before(from) || to.Before(gap.To) {
			continue // another part of the same window, or not passed
		}
		if from.Before(gap.From) {
			out = append(out, provenLeaf(from, gap.From, ""))
		}
		out = append(out, provenLeaf(gap.From, gap.To, "accepted gap: "+gap.reason))
		from = gap.To
	}
	if from.Before(to) {
		out = append(out, provenLeaf(from, to, ""))
	}
	return out
}

func provenLeaf(from, to harvest.Mark, reason string) leaf {
	return leaf{Covered: harvest.Covered{Span: harvest.Span{From: from, To: to}, Counts: true}, reason: reason}
}

// leavesMost bounds the slices beyond watermarks that are looked at for one answer. If
// there are more, each namespace has its share.
const leavesMost = 1000

// leavesAhead reads the leaves beyond where cursors stand, in the order of time: those of
// all cursors at once, or if they are too many, so many of each. The first of each begins
// exactly where the cursor stands.
func (s *Store) leavesAhead(ctx context.Context, provenance string, of []coverageInWork) (map[harvest.CursorID][]leaf, error) {
	out := map[harvest.CursorID][]leaf{}
	for _, d := range []harvest.Direction{harvest.Forward, harvest.Backward} {
		var group []*coverageInWork
		for i := range of {
			if of[i].hasAhead && of[i].Direction == d {
				group = append(group, &of[i])
			}
		}
		if len(group) == 0 {
			continue
		}
		n, err := s.countAhead(ctx, group)
		if err != nil {
			return nil, err
		}
		if n <= leavesMost {
			if err := s.readLeaves(ctx, group, "", out); err != nil {
				return nil, err
			}
			continue
		}
		for _, c := range group {
			if err := s.readSomeLeaves(ctx, c, leavesMost/len(of), out); err != nil {
				return nil, err
			}
		}
	}
	if err := s.readUncut(ctx, provenance, of, out); err != nil {
		return nil, err
	}
	for id := range out {
		slices.SortFunc(out[id], func(a, b leaf) int {
			return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To), cmp.Compare(a.id, b.id))
		})
	}
	return out, nil
}

// side is how the slices ahead of a cursor lie: ahead of its watermark, within a bound
// that is the end of one of them, which is nearest and which furthest, and the index that
// has them in that order.
type side struct{ ahead, within, bound, nearest, furthest, index string }

// sideOf names the cursor in the orders too, which servers else do not find in the index
// for a cursor of an outer statement: they would sort all slices that it ever had.
func sideOf(d harvest.Direction) side {
	if d == harvest.Backward {
		return side{
			`s.cursor_id=? AND s.window_to<=?`, ` AND s.window_to>?`, `s.window_to`, `s.cursor_id DESC, s.window_to DESC`, `s.cursor_id, s.window_to`,
			` /*! FORCE INDEX (idx_slice_cursor_to) */`,
		}
	}
	return side{
		`s.cursor_id=? AND s.window_from>=?`, ` AND s.window_from<?`, `s.window_from`, `s.cursor_id, s.window_from`, `s.cursor_id DESC, s.window_from DESC`,
		` /*! FORCE INDEX (idx_slice_cursor_from) */`,
	}
}

// anyAhead is the condition that a slice lies ahead of one of some cursors of one
// direction. Each is a range of an index of its own.
func anyAhead(of []*coverageInWork) (where string, args []any) {
	for _, c := range of {
		args = append(args, c.id, stored(c.Watermark).instant)
	}
	return `(` + strings.Repeat(` OR `+sideOf(of[0].Direction).ahead, len(of))[len(` OR `):] + `)`, args
}

// countAhead counts the slices ahead of cursors of one direction, up to one more than are
// looked at. It reads an index alone.
func (s *Store) countAhead(ctx context.Context, of []*coverageInWork) (n int, err error) {
	ahead, args := anyAhead(of)
	err = s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM ing_plan_slice s`+sideOf(of[0].Direction).index+` WHERE `+ahead+` LIMIT ?) q`,
		append(args, leavesMost+1)...).Scan(&n)
	return n, err
}

// readSomeLeaves reads the leaves that are nearest to where a cursor stands. Where there
// are more, it is told to where they were looked at.
func (s *Store) readSomeLeaves(ctx context.Context, c *coverageInWork, most int, into map[harvest.CursorID][]leaf) error {
	lies := sideOf(c.Direction)
	var bound ts
	err := s.r.QueryRowContext(ctx, `SELECT `+lies.bound+` FROM ing_plan_slice s`+lies.index+` WHERE `+lies.ahead+`
		ORDER BY `+lies.nearest+` LIMIT 1 OFFSET ?`, c.id, stored(c.Watermark).instant, most).Scan(&bound)
	if errors.Is(err, sql.ErrNoRows) {
		return s.readLeaves(ctx, []*coverageInWork{c}, "", into)
	}
	if err != nil {
		return err
	}
	end := bound.mark(c.Operation)
	c.LookedTo = &end
	return s.readLeaves(ctx, []*coverageInWork{c}, lies.within, into, bound)
}

// readLeaves reads the leaves ahead of cursors of one direction, within a bound if one is
// given.
func (s *Store) readLeaves(ctx context.Context, of []*coverageInWork, within string, into map[harvest.CursorID][]leaf, bound ...any) error {
	operation := map[harvest.CursorID]harvest.Operation{}
	for _, c := range of {
		operation[c.id] = c.Operation
	}
	ahead, args := anyAhead(of)
	return s.each(ctx, func(r *sql.Rows) error {
		var cursor harvest.CursorID
		var l leaf
		var from, to ts
		var st harvest.SliceState
		var accepted bool
		var reason sql.NullString
		if err := r.Scan(&cursor, &l.id, &from, &to, &st, &accepted, &reason, &l.spec); err != nil {
			return err
		}
		l.Span = spanOf(operation[cursor], from, to)
		l.judge(st, accepted, reason.String)
		into[cursor] = append(into[cursor], l)
		return nil
	}, `SELECT s.cursor_id, s.id, s.window_from, s.window_to, s.status_code, s.gap_accepted, s.reason, s.slice_spec
		FROM ing_plan_slice s`+sideOf(of[0].Direction).index+` WHERE `+ahead+within+` AND s.status_code<>'RESLICED'`+notCoveredByOthers,
		append(args, bound...)...)
}

// readUncut reads what of plans was not cut into slices yet. Where not all slices are
// looked at it is left out: it lies behind them.
func (s *Store) readUncut(ctx context.Context, provenance string, of []coverageInWork, into map[harvest.CursorID][]leaf) error {
	shown := map[harvest.CursorID]harvest.Operation{}
	for i := range of {
		if of[i].LookedTo == nil {
			shown[of[i].id] = of[i].Operation
		}
	}
	return s.each(ctx, func(r *sql.Rows) error {
		var cursor harvest.CursorID
		var from, to ts
		if err := r.Scan(&cursor, &from, &to); err != nil {
			return err
		}
		op, isShown := shown[cursor]
		if !isShown {
			return nil
		}
		uncut := leaf{open: true, reason: "not cut into slices yet", spec: "{}"}
		uncut.Span = spanOf(op, from, to)
		into[cursor] = append(into[cursor], uncut)
		return nil
	}, `SELECT cursor_id, CASE operation_code WHEN 'BACKFILL' THEN window_from ELSE sliced_to END, CASE operation_code WHEN 'BACKFILL' THEN sliced_to ELSE window_to END
		FROM ing_plan WHERE status_code='PARTIAL' AND provenance_code=?`, provenance)
}

// judge says what the state of a leaf means for what is covered.
func (l *leaf) judge(st harvest.SliceState, accepted bool, reason string) {
	switch {
	case st == harvest.SliceDone:
		l.Counts = true
	case accepted:
		l.Counts = true
		l.reason = "accepted gap: " + reason
	case st != harvest.SliceFailed && st != harvest.SliceCancelled:
		l.open = true
	default:
		l.reason = reason
	}
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
