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

// groupCount is how many slices more a group has, what they came to, and the windows that
// came to it.
type groupCount struct {
	slices int64
	control.SliceSums
	first, last time.Time
}

// sliceMove is a slice that has changed its state.
type sliceMove struct {
	slice    harvest.SliceID
	from, to harvest.SliceState
}

// sliceInGroup is what has to be known of a slice to count it.
type sliceInGroup struct {
	plan     harvest.PlanID
	digits   int // how much of an instant the slices of a group share; 0: they are not counted
	state    harvest.SliceState
	from, to time.Time
	expected sql.NullInt64
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
		s := sliceInGroup{
			plan: plan, digits: digits, from: stored(of.From).instant.time(), to: stored(of.To).instant.time(), expected: expectedOf(rows[i].Spec),
		}
		x.countSlice(s, rows[i].state, 1)
	}
	return nil
}

// groupOf is what the transaction changes of the group of a slice; nothing if slices of
// its plan are not counted.
func (x *tx) groupOf(s sliceInGroup, state harvest.SliceState) *groupCount {
	if s.digits == 0 {
		return new(groupCount)
	}
	key := groupKey{s.plan, harvest.Instant(s.from).Format(stamp)[:s.digits], state}
	c := x.groups[key]
	if c == nil {
		c = &groupCount{first: s.from, last: s.to}
		if x.groups == nil {
			x.groups = map[groupKey]*groupCount{}
		}
		x.groups[key] = c
	}
	if s.from.Before(c.first) {
		c.first = s.from
	}
	if s.to.After(c.last) {
		c.last = s.to
	}
	return c
}

// countSlice notes that there is one slice more in a state, or with -1 one less.
func (x *tx) countSlice(s sliceInGroup, state harvest.SliceState, n int64) {
	c := x.groupOf(s, state)
	c.slices += n
	if s.expected.Valid {
		c.Expected += n * s.expected.Int64
		c.Estimated += n
	}
}

// writeGroups writes what the transaction has changed of the counts. It does so at its end
// and in one order, so that nobody waits for a row of which others wait for that row.
func (x *tx) writeGroups() error {
	if err := x.countMoved(); err != nil {
		return fmt.Errorf("count slices: %w", err)
	}
	keys := slices.SortedFunc(maps.Keys(x.groups), func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(a.plan, b.plan), cmp.Compare(a.place, b.place), cmp.Compare(a.state, b.state))
	})
	var instead []string
	for _, c := range groupSums {
		instead = append(instead, c+`=ing_plan_group.`+c+`+`+x.s.d.offered(c))
	}
	for c, than := range map[string]string{"first_from": "<", "last_to": ">"} {
		offered := x.s.d.offered(c)
		instead = append(instead, c+`=CASE WHEN `+offered+than+`ing_plan_group.`+c+` THEN `+offered+` ELSE ing_plan_group.`+c+` END`)
	}
	slices.Sort(instead)
	for part := range chunks(keys, rowsPerInsert) {
		args := make([]any, 0, len(part)*columns(groupCols))
		for _, k := range part {
			c := x.groups[k]
			args = append(args, k.plan, k.place, k.state, c.slices, c.Expected, c.Estimated, c.Records, c.Asked, c.Latency, c.HTTP429, ts(c.first), ts(c.last))
		}
		_, err := x.bulk(`INSERT INTO ing_plan_group (`+groupCols+`) VALUES `+marks(len(part), columns(groupCols))+`
			`+x.s.d.orElse("plan_id, place, status_code")+` `+joined(instead), args)
		if err != nil {
			return fmt.Errorf("count slices: %w", err)
		}
	}
	return nil
}

// groupSums are the columns of a group that are added up.
var groupSums = []string{"slices", "expected", "estimated", "records", "pages_asked", "latency_ms", "http_429"}

const groupCols = `plan_id, place, status_code, slices, expected, estimated, records, pages_asked, latency_ms, http_429, first_from, last_to`

// countMoved counts the slices whose state has changed, and what runs that have ended came
// to in their slices.
func (x *tx) countMoved() error {
	var ids []any
	for _, m := range x.moved {
		ids = append(ids, m.slice)
	}
	for _, s := range x.shares {
		if !s.slice.empty() {
			ids = append(ids, s.slice.id)
		}
	}
	found := make(map[harvest.SliceID]sliceInGroup, len(ids))
	for part := range chunks(ids, keysPerRead) {
		err := x.each(func(r *sql.Rows) error {
			var id harvest.SliceID
			var s sliceInGroup
			var from, to ts
			err := r.Scan(&id, &s.plan, &s.state, &from, &to, &s.expected, &s.digits)
			s.from = from.time()
			s.to = to.time()
			found[id] = s
			return err
		}, `SELECT s.id, s.plan_id, s.status_code, s.window_from, s.window_to, s.expected, p.group_digits FROM ing_plan_slice s JOIN ing_plan p ON p.id=s.plan_id
			WHERE s.id IN (`+list(len(part))+`)`, part...)
		if err != nil {
			return err
		}
	}
	for _, m := range x.moved {
		x.countSlice(found[m.slice], m.from, -1)
		x.countSlice(found[m.slice], m.to, 1)
	}
	for _, share := range x.shares {
		s := found[share.slice.id]
		if share.slice.empty() {
			continue
		}
		c := x.groupOf(s, s.state)
		c.Records += share.slice.records
		c.Asked += share.slice.asked
		c.Latency += share.slice.latency
		c.HTTP429 += share.slice.http429
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
const groupsOfSlices = `SELECT s.plan_id, SUBSTR(s.window_from, 1, p.group_digits) AS place, s.status_code, COUNT(*), COALESCE(SUM(s.expected),0), COUNT(s.expected),
	SUM(s.records), SUM(s.pages_asked), SUM(s.latency_ms), SUM(s.http_429), MIN(s.window_from), MAX(s.window_to)
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
		if err := r.Scan(&at, &n.State, &n.Count, &n.Expected, &n.Estimated, &n.Records, &n.Asked, &n.Latency, &n.HTTP429, &from, &to); err != nil {
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
	}, `SELECT place, status_code, `+joined(groupSums)+`, first_from, last_to FROM ing_plan_group WHERE plan_id=? AND place>=? AND place<=?
		ORDER BY place, status_code`, p.ID, place(first), place(last))
	return out, err
}

// countSlices counts the slices of plans by what became of them, and what was expected of
// those that were not cut again.
func (s *Store) countSlices(ctx context.Context, in string, plans []any) (t control.PlanTotals, err error) {
	err = s.each(ctx, func(r *sql.Rows) error {
		var st harvest.SliceState
		var n, expected, estimated int64
		if err := r.Scan(&st, &n, &expected, &estimated); err != nil {
			return err
		}
		t.Slices.Count(st, n)
		if st != harvest.SliceResliced { // its parts have estimates of their own
			t.Expected += expected
			t.Estimated += estimated
		}
		return nil
	}, `SELECT status_code, SUM(slices), SUM(expected), SUM(estimated) FROM ing_plan_group WHERE plan_id IN (`+in+`) GROUP BY status_code
		UNION ALL
		SELECT s.status_code, COUNT(*), COALESCE(SUM(s.expected),0), COUNT(s.expected) FROM ing_plan p JOIN ing_plan_slice s ON s.plan_id=p.id
		WHERE p.group_digits=0 AND p.id IN (`+in+`) GROUP BY s.status_code`, slices.Concat(plans, plans)...)
	if err != nil {
		return t, fmt.Errorf("count slices: %w", err)
	}
	return t, nil
}

// checkGroups reports plans whose counts are not those of their slices: of each group and
// state how many there are and what was expected, of each group what came.
func (v *verifier) checkGroups() error {
	const slice = `SELECT s.plan_id, SUBSTR(s.window_from, 1, p.group_digits) AS place, `
	from := ` FROM ing_plan p JOIN ing_plan_slice s ON s.plan_id=p.id WHERE p.group_digits>0 AND NOT ` + isSealed("p.id")
	group := ` FROM ing_plan_group g WHERE NOT ` + isSealed("g.plan_id")
	return v.reportRows("plan", `SELECT DISTINCT plan_id, 'has counts that are not those of its slices' FROM (
		SELECT plan_id FROM (`+slice+`s.status_code, 1 AS n, COALESCE(s.expected, 0) AS expected, CASE WHEN s.expected IS NULL THEN 0 ELSE 1 END AS estimated`+from+`
			UNION ALL SELECT g.plan_id, g.place, g.status_code, -g.slices, -g.expected, -g.estimated`+group+`) counted
		GROUP BY plan_id, place, status_code HAVING SUM(n)<>0 OR SUM(expected)<>0 OR SUM(estimated)<>0
		UNION ALL
		SELECT plan_id FROM (`+slice+`s.records, s.pages_asked, s.latency_ms, s.http_429`+from+`
			UNION ALL SELECT g.plan_id, g.place, -g.records, -g.pages_asked, -g.latency_ms, -g.http_429`+group+`) summed
		GROUP BY plan_id, place HAVING SUM(records)<>0 OR SUM(pages_asked)<>0 OR SUM(latency_ms)<>0 OR SUM(http_429)<>0) differing`)
}
