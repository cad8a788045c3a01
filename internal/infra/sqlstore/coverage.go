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
	late, cut, err := s.latenesses(ctx, provenance, latePages)
	if err != nil {
		return nil, err
	}
	gaps, err := s.acceptedGaps(ctx, provenance, cursors)
	if err != nil {
		return nil, err
	}
	ahead, err := s.leavesAhead(ctx, cursors)
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
	if len(of) == 0 {
		return out, nil
	}
	operation := map[harvest.CursorID]harvest.Operation{}
	args := []any{provenance}
	for i := range of {
		operation[of[i].id] = of[i].Operation
		args = append(args, of[i].id)
	}
	err := s.each(ctx, func(r *sql.Rows) error {
		var id harvest.CursorID
		var begin, end ts
		var reason sql.NullString
		err := r.Scan(&id, &begin, &end, &reason)
		out[id] = append(out[id], acceptedGap{spanOf(operation[id], begin, end), reason.String})
		return err
	}, `SELECT s.cursor_id, s.window_from, s.window_to, s.reason FROM ing_plan_slice s
		WHERE s.gap_of=? AND s.gap_accepted=1 AND s.cursor_id IN (`+list(len(of))+`)`+notCoveredByOthers+` ORDER BY s.cursor_id, s.window_from, s.id LIMIT ?`,
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
func (s *Store) leavesAhead(ctx context.Context, of []coverageInWork) (map[harvest.CursorID][]leaf, error) {
	out := map[harvest.CursorID][]leaf{}
	for _, d := range []harvest.Direction{harvest.Forward, harvest.Backward} {
		var group []*coverageInWork
		for i := range of {
			if of[i].Direction == d {
				group = append(group, &of[i])
			}
		}
		if len(group) == 0 {
			continue
		}
		n, err := s.readLeaves(ctx, group, "", leavesMost+1, out)
		if err != nil {
			return nil, err
		}
		if n <= leavesMost {
			continue
		}
		for _, c := range group {
			out[c.id] = nil
			if err := s.readSomeLeaves(ctx, c, leavesMost/len(of), out); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// side is how the slices ahead of a cursor lie: ahead of its watermark, within a bound
// that is the end of one of them, and which is nearest.
type side struct{ ahead, within, bound, order string }

func sideOf(d harvest.Direction) side {
	if d == harvest.Backward {
		return side{`s.cursor_id=? AND s.window_to<=?`, ` AND s.window_to>?`, `s.window_to`, `s.window_to DESC`}
	}
	return side{`s.cursor_id=? AND s.window_from>=?`, ` AND s.window_from<?`, `s.window_from`, `s.window_from`}
}

// readSomeLeaves reads the leaves that are nearest to where a cursor stands. Where there
// are more, it is told to where they were looked at.
func (s *Store) readSomeLeaves(ctx context.Context, c *coverageInWork, most int, into map[harvest.CursorID][]leaf) error {
	lies := sideOf(c.Direction)
	var bound ts
	err := s.r.QueryRowContext(ctx, `SELECT `+lies.bound+` FROM ing_plan_slice s WHERE `+lies.ahead+`
		ORDER BY `+lies.order+` LIMIT 1 OFFSET ?`, c.id, stored(c.Watermark).instant, most).Scan(&bound)
	within := ""
	var args []any
	switch {
	case err == nil:
		end := bound.mark(c.Operation)
		c.LookedTo = &end
		within = lies.within
		args = append(args, bound)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	_, err = s.readLeaves(ctx, []*coverageInWork{c}, within, leavesMost, into, args...)
	return err
}

// readLeaves reads the leaves ahead of cursors of one direction, within a bound if one is
// given, and of plans what was not cut into slices yet. It reports how many there were.
func (s *Store) readLeaves(ctx context.Context, of []*coverageInWork, within string, most int, into map[harvest.CursorID][]leaf, bound ...any) (n int, err error) {
	cursor := map[harvest.CursorID]*coverageInWork{}
	var ids, at []any
	for _, c := range of {
		cursor[c.id] = c
		ids = append(ids, c.id)
		at = append(at, c.id, stored(c.Watermark).instant)
	}
	// Each is a range of an index of its own.
	ahead := strings.Repeat(` OR `+sideOf(of[0].Direction).ahead, len(of))[len(` OR `):]
	args := slices.Concat(at, bound, []any{most}, ids)
	err = s.each(ctx, func(r *sql.Rows) error {
		n++
		var id harvest.CursorID
		var l leaf
		var from, to ts
		var st harvest.SliceState
		var accepted bool
		var sortedBy int64 // the order of leaves of one span, and not looked at
		var reason sql.NullString
		if err := r.Scan(&id, &from, &to, &st, &accepted, &reason, &l.spec, &sortedBy); err != nil {
			return err
		}
		c := cursor[id]
		if st == "" && c.LookedTo != nil {
			return nil // it lies behind slices that are not looked at
		}
		l.Span = spanOf(c.Operation, from, to)
		l.judge(st, accepted, reason.String)
		into[id] = append(into[id], l)
		return nil
	}, `SELECT * FROM (SELECT s.cursor_id, s.window_from, s.window_to, s.status_code, s.gap_accepted, s.reason, s.slice_spec, s.id
		FROM ing_plan_slice s WHERE (`+ahead+`)`+within+` AND s.status_code<>'RESLICED'`+notCoveredByOthers+`
		ORDER BY s.cursor_id, s.window_from LIMIT ?) nearest
		UNION ALL
		SELECT cursor_id, CASE operation_code WHEN 'BACKFILL' THEN window_from ELSE sliced_to END,
			CASE operation_code WHEN 'BACKFILL' THEN sliced_to ELSE window_to END, '', 0, NULL, '{}', 0
		FROM ing_plan WHERE cursor_id IN (`+list(len(ids))+`) AND status_code='PARTIAL' ORDER BY 1, 2, 3, 8`, args...)
	return n, err
}

// judge says what the state of a leaf means for what is covered.
func (l *leaf) judge(st harvest.SliceState, accepted bool, reason string) {
	switch {
	case st == harvest.SliceDone:
		l.Counts = true
	case accepted:
		l.Counts = true
		l.reason = "accepted gap: " + reason
	case st == "":
		l.open = true
		l.reason = "not cut into slices yet"
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
