package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// How many slices of a plan are in which state is kept in ing_plan_group, by where their
// windows begin, so that nobody has to count slices to show a plan. Whoever adds slices or
// changes the state of one notes it while its transaction runs, and the counts are written
// at its end.
//
//	slices   |-- DONE --|-- DONE --|-- READY --|-- FAILED --|
//	         '---- 2026-01 --------'---- 2026-02 -----------'
//	groups   2026-01 DONE 2         2026-02 READY 1, FAILED 1
//
// The groups of a plan are as fine as its window allows without being too many to draw.

// groupKey names a count.
type groupKey struct {
	plan  harvest.PlanID
	place string
	state harvest.SliceState
}

// groupCount is how many slices more a group has, and the windows that came to it.
type groupCount struct {
	slices      int64
	first, last time.Time
}

func (c *groupCount) add(n int64, from, to time.Time) {
	c.slices += n
	if c.first.IsZero() || from.Before(c.first) {
		c.first = from
	}
	if to.After(c.last) {
		c.last = to
	}
}

// sliceMove is a slice that has changed its state.
type sliceMove struct {
	slice    harvest.SliceID
	from, to harvest.SliceState
}

// groupDigitsOf is how much of an instant the slices of a group share, for a plan with
// this window.
func groupDigitsOf(window harvest.Span) int { return zoomDigits[control.KeptZoom(window)] }

// addToGroups notes slices that were inserted.
func (x *tx) addToGroups(plan harvest.PlanID, rows []sliceRow) error {
	digits, known := x.digits[plan]
	if !known {
		if err := x.row(`SELECT group_digits FROM ing_plan WHERE id=?`, plan).Scan(&digits); err != nil {
			return fmt.Errorf("read how the slices of plan %d are counted: %w", plan, err)
		}
		if x.digits == nil {
			x.digits = map[harvest.PlanID]int{}
		}
		x.digits[plan] = digits
	}
	for i := range rows {
		of := rows[i].Spec.Span()
		x.countSlicesAt(plan, digits, rows[i].state, 1, stored(of.From).instant.time(), stored(of.To).instant.time())
	}
	return nil
}

// countSlicesAt notes that a group has so many slices more in a state.
func (x *tx) countSlicesAt(plan harvest.PlanID, digits int, state harvest.SliceState, n int64, from, to time.Time) {
	if digits == 0 {
		return // a plan from before slices were counted
	}
	if x.groups == nil {
		x.groups = map[groupKey]*groupCount{}
	}
	key := groupKey{plan, harvest.Instant(from).Format(stamp)[:digits], state}
	if x.groups[key] == nil {
		x.groups[key] = new(groupCount)
	}
	x.groups[key].add(n, from, to)
}

// writeGroups writes what the transaction has changed of the counts. It does so at its end
// and in one order, so that nobody waits for a row of which others wait for that row.
func (x *tx) writeGroups() error {
	if err := x.readMoved(); err != nil {
		return fmt.Errorf("count slices: %w", err)
	}
	keys := slices.SortedFunc(maps.Keys(x.groups), func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(a.plan, b.plan), cmp.Compare(a.place, b.place), cmp.Compare(a.state, b.state))
	})
	for part := range chunks(keys, rowsPerInsert) {
		args := make([]any, 0, len(part)*columns(groupCols))
		for _, k := range part {
			c := x.groups[k]
			args = append(args, k.plan, k.place, k.state, c.slices, ts(c.first), ts(c.last))
		}
		_, err := x.bulk(`INSERT INTO ing_plan_group (`+groupCols+`) VALUES `+marks(len(part), columns(groupCols))+`
			`+x.s.d.orElse("plan_id, place, status_code")+` slices=ing_plan_group.slices+`+x.s.d.offered("slices")+`,
			first_from=CASE WHEN `+x.s.d.offered("first_from")+`<ing_plan_group.first_from THEN `+x.s.d.offered("first_from")+` ELSE ing_plan_group.first_from END,
			last_to=CASE WHEN `+x.s.d.offered("last_to")+`>ing_plan_group.last_to THEN `+x.s.d.offered("last_to")+` ELSE ing_plan_group.last_to END`, args)
		if err != nil {
			return fmt.Errorf("count slices: %w", err)
		}
	}
	return nil
}

const groupCols = `plan_id, place, status_code, slices, first_from, last_to`

// readMoved finds where the slices begin whose state has changed.
func (x *tx) readMoved() error {
	for part := range chunks(x.moved, keysPerRead) {
		moves := make(map[harvest.SliceID]sliceMove, len(part))
		args := make([]any, 0, len(part))
		for _, m := range part {
			moves[m.slice] = m
			args = append(args, m.slice)
		}
		err := x.each(func(r *sql.Rows) error {
			var id harvest.SliceID
			var plan harvest.PlanID
			var from, to ts
			var digits int
			if err := r.Scan(&id, &plan, &from, &to, &digits); err != nil {
				return err
			}
			m := moves[id]
			x.countSlicesAt(plan, digits, m.from, -1, from.time(), to.time())
			x.countSlicesAt(plan, digits, m.to, 1, from.time(), to.time())
			return nil
		}, `SELECT s.id, s.plan_id, s.window_from, s.window_to, p.group_digits FROM ing_plan_slice s JOIN ing_plan p ON p.id=s.plan_id
			WHERE s.id IN (`+list(len(part))+`)`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// recountGroups counts all slices of a plan anew, after a change to many of them.
func (x *tx) recountGroups(plan harvest.PlanID) error {
	if _, err := x.exec(`DELETE FROM ing_plan_group WHERE plan_id=?`, plan); err != nil {
		return fmt.Errorf("count slices of plan %d: %w", plan, err)
	}
	if _, err := x.exec(`INSERT INTO ing_plan_group (`+groupCols+`) `+groupsOfSlices+` AND p.id=? GROUP BY s.plan_id, place, s.status_code`, plan); err != nil {
		return fmt.Errorf("count slices of plan %d: %w", plan, err)
	}
	return nil
}

// groupsOfSlices counts slices; a condition and how they are grouped follow it.
const groupsOfSlices = `SELECT s.plan_id, SUBSTR(s.window_from, 1, p.group_digits) AS place, s.status_code, COUNT(*), MIN(s.window_from), MAX(s.window_to)
	FROM ing_plan p JOIN ing_plan_slice s ON s.plan_id=p.id WHERE p.group_digits>0`

// keptGroups reads the counts of a plan that begin within a span, of those that are as
// fine as the zoom or finer.
func (s *Store) keptGroups(ctx context.Context, p control.PlanRow, span harvest.Span, digits int) (out []control.GroupCount, err error) {
	first := stored(span.From).instant.time()
	last := stored(span.To).instant.time().Add(-time.Microsecond) // the end itself is not of the span
	place := func(t time.Time) string { return harvest.Instant(t).Format(stamp)[:p.GroupDigits] }
	byPlace := map[groupKey]int{}
	err = s.each(ctx, func(r *sql.Rows) error {
		var at string
		var n control.GroupCount
		var from, to ts
		if err := r.Scan(&at, &n.State, &n.Count, &from, &to); err != nil {
			return err
		}
		n.Place = from.mark(p.Operation)
		n.Until = to.mark(p.Operation)
		key := groupKey{place: at[:digits], state: n.State}
		i, known := byPlace[key]
		if !known {
			byPlace[key] = len(out)
			out = append(out, n)
			return nil
		}
		out[i].Merge(n)
		return nil
	}, `SELECT place, status_code, slices, first_from, last_to FROM ing_plan_group WHERE plan_id=? AND place>=? AND place<=? AND slices>0
		ORDER BY place, status_code`, p.ID, place(first), place(last))
	return out, err
}

// countSlices counts the slices of plans by what became of them.
func (s *Store) countSlices(ctx context.Context, in string, plans []any) (c control.SliceCounts, err error) {
	err = s.each(ctx, func(r *sql.Rows) error {
		var st harvest.SliceState
		var n int64
		if err := r.Scan(&st, &n); err != nil {
			return err
		}
		c.Count(st, n)
		return nil
	}, `SELECT status_code, SUM(slices) FROM ing_plan_group WHERE plan_id IN (`+in+`) GROUP BY status_code
		UNION ALL
		SELECT s.status_code, COUNT(*) FROM ing_plan p JOIN ing_plan_slice s ON s.plan_id=p.id WHERE p.group_digits=0 AND p.id IN (`+in+`) GROUP BY s.status_code`,
		slices.Concat(plans, plans)...)
	if err != nil {
		return c, fmt.Errorf("count slices: %w", err)
	}
	return c, nil
}

// checkGroups reports plans whose counts are not those of their slices.
func (v *verifier) checkGroups() error {
	return v.reportRows("plan", `SELECT DISTINCT plan_id, 'has counts that are not those of its slices' FROM (
		SELECT plan_id, place, status_code FROM (
			SELECT s.plan_id, SUBSTR(s.window_from, 1, p.group_digits) AS place, s.status_code, 1 AS n
			FROM ing_plan p JOIN ing_plan_slice s ON s.plan_id=p.id WHERE p.group_digits>0 AND NOT `+isSealed("p.id")+`
			UNION ALL
			SELECT g.plan_id, g.place, g.status_code, -g.slices FROM ing_plan_group g WHERE NOT `+isSealed("g.plan_id")+`) counted
		GROUP BY plan_id, place, status_code HAVING SUM(n)<>0) differing`)
}
