package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// gapCols are what is shown of a slice s that is a gap, with its plan o and its task t.
var gapCols = `s.id, s.cursor_id, s.window_from, s.window_to, s.slice_spec, o.operation_code, ` + isNoneOf("o.status_code", harvest.PlansOpen) + `,
	s.status_code, s.reason, t.scheduled_at`

const gapJoins = ` JOIN ing_plan o ON o.id=s.plan_id LEFT JOIN ing_task t ON t.slice_id=s.id`

// scanGap reads the columns of a gap, and those that were asked for behind them. from is
// the beginning of its window as it is stored.
func scanGap(r scanner, g *control.Gap, more ...any) (from ts, err error) {
	var to, retry ts
	var op harvest.Operation
	var spec string
	var reason sql.NullString
	err = r.Scan(append([]any{&g.Slice, &g.Cursor, &from, &to, &spec, &op, &g.Whole, &g.Status, &reason, &retry}, more...)...)
	if err != nil {
		return from, err
	}
	g.From = from.mark(op)
	g.To = to.mark(op)
	g.Reason = reason.String
	if g.Status == string(harvest.SliceFailed) {
		g.RetryAt = retry.time()
	}
	g.Range, err = rangeText(spec)
	return from, err
}

// Slices in the state of a gap are looked at in parts, and for one page no more than
// gapsLooked of them: those of a plan that was given up, and whose window a newer one has
// taken over, are no gaps, and there may be many of them in a row.
const (
	gapChunk   = 200
	gapsLooked = 2000
)

// gapPlace is where a slice stands in the list of gaps. It never changes.
type gapPlace struct {
	cursor harvest.CursorID
	from   ts
	slice  harvest.SliceID
}

// Gaps lists the windows of a source, or of one of its cursors, that hold a watermark
// until they are mended: by cursor, the oldest first. next is the slice behind which the
// next page begins, 0 if there is none. Without a limit all are listed.
func (s *Store) Gaps(ctx context.Context, q control.GapQuery) (gaps []control.Gap, next harvest.SliceID, err error) {
	gaps = []control.Gap{}
	at, err := s.gapPlace(ctx, q.After)
	if err != nil {
		return nil, 0, err
	}
	more := false // there is a gap behind the page
	chunk := gapChunk
	if q.Limit > 0 {
		chunk = q.Limit + 1
	}
	for looked := 0; ; chunk = gapChunk {
		n := 0
		query, args := s.gapsSQL(q, at, chunk)
		err := s.each(ctx, func(r *sql.Rows) error {
			var g control.Gap
			var covered bool
			from, err := scanGap(r, &g, &covered)
			n++
			more = more || !covered && q.Limit > 0 && len(gaps) == q.Limit
			if err != nil || more {
				return err
			}
			if !covered {
				gaps = append(gaps, g)
			}
			at = gapPlace{g.Cursor, from, g.Slice}
			return nil
		}, query, args...)
		if err != nil {
			return nil, 0, fmt.Errorf("list gaps: %w", err)
		}
		looked += n
		switch {
		case more, q.Limit > 0 && n == chunk && looked >= gapsLooked:
			return gaps, at.slice, nil
		case n < chunk:
			return gaps, 0, nil
		}
	}
}

// gapPlace reads where a slice stands; 0 is the beginning.
func (s *Store) gapPlace(ctx context.Context, id harvest.SliceID) (at gapPlace, err error) {
	if id == 0 {
		return at, nil
	}
	at.slice = id
	err = s.r.QueryRowContext(ctx, `SELECT cursor_id, window_from FROM ing_plan_slice WHERE id=?`, id).Scan(&at.cursor, &at.from)
	if errors.Is(err, sql.ErrNoRows) {
		return at, control.ErrPage
	}
	return at, err
}

// gapsSQL lists slices in the state of a gap behind a place, with whether others answer
// for them by now.
func (s *Store) gapsSQL(q control.GapQuery, after gapPlace, limit int) (string, []any) {
	where := `s.gap_of=? AND s.gap_accepted=0`
	args := []any{q.Source}
	order := []string{"s.cursor_id", "s.window_from", "s.id"}
	place := []any{after.cursor, after.from, after.slice}
	if q.Cursor != 0 {
		where += ` AND s.cursor_id=?`
		args = append(args, q.Cursor)
		order = order[1:]
		place = place[1:]
	}
	if after.slice != 0 {
		behind, values := s.d.after(order, place)
		where += ` AND ` + behind
		args = append(args, values...)
	}
	return `SELECT ` + gapCols + `, ` + coveredByOthers + ` FROM (SELECT s.id FROM ing_plan_slice s` + s.d.gapIndex + ` WHERE ` + where + `
		ORDER BY ` + joined(order) + ` LIMIT ?) k JOIN ing_plan_slice s ON s.id=k.id` + gapJoins + ` ORDER BY ` + joined(order), append(args, limit)
}

// openGaps are the gaps of a source that is bound to it, as [Store.Gaps] lists them, to be
// counted. No more slices are looked at than are counted: those for which newer plans
// answer may be many.
func (s *Store) openGaps() string {
	return fmt.Sprintf(`(SELECT s.plan_id, s.status_code, s.gap_accepted, s.window_from, s.window_to FROM ing_plan_slice s%s
		WHERE s.gap_of=? AND s.gap_accepted=0 LIMIT %d) s WHERE 1=1%s`, s.d.gapIndex, countMost, notCoveredByOthers)
}

// RetryGaps queues every failed slice of a source again at once, whatever is
// left of its rest, and with cancelled also those that were given up one by one
// (R4); it returns how many there were. Slices given up with their whole plan
// have no plan left to be of. Many are queued in several transactions: one that
// fails leaves the rest as they were, for another call.
func (s *Store) RetryGaps(ctx context.Context, provenance string, cancelled bool, a source.Audit) (int64, error) {
	states := `'FAILED'`
	if cancelled {
		states += `,'CANCELLED'`
	}
	var all, last int64
	for {
		var tasks []int64
		err := s.write(ctx, "retry gaps", func(x *tx) (err error) {
			// Past the last one: what fails again meanwhile is not queued twice.
			tasks, err = x.requeueOf(states, `t.provenance_code=? AND t.id>?`, provenance, last)
			if err != nil || len(tasks) == 0 {
				return err
			}
			if err := x.closeBreakers(provenance); err != nil {
				return err
			}
			return x.audit(a, map[string]int{"slices": len(tasks)})
		})
		if err != nil {
			return all, err
		}
		all += int64(len(tasks))
		if len(tasks) < requeueMost {
			return all, nil
		}
		last = tasks[len(tasks)-1]
	}
}

// AcceptGap lets the watermark pass a slice that will not be read (R4): the
// slice stays as it is, marked with who decided so and why, and the cursor moves
// over it if nothing else holds it.
func (s *Store) AcceptGap(ctx context.Context, id harvest.SliceID, a source.Audit) (watermark harvest.Mark, err error) {
	return s.acceptGap(ctx, id, a, false)
}

// TryAcceptGap tells where the watermark would stand after [Store.AcceptGap], or
// why that would be refused, and changes nothing.
func (s *Store) TryAcceptGap(ctx context.Context, id harvest.SliceID) (watermark harvest.Mark, err error) {
	return s.acceptGap(ctx, id, source.Audit{}, true)
}

func (s *Store) acceptGap(ctx context.Context, id harvest.SliceID, a source.Audit, trial bool) (watermark harvest.Mark, err error) {
	err = s.change(ctx, "accept gap", trial, func(x *tx) error {
		cur, err := x.lockCursorOf(id)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("slice %d: %w", id, harvest.ErrNotFound)
		}
		if err != nil {
			return err
		}
		n, err := x.exec(`UPDATE ing_plan_slice SET gap_accepted=1, reason=?, updated_at=?
			WHERE id=? AND `+isOneOf("status_code", harvest.SlicesGap)+` AND gap_accepted=0`,
			"accepted by "+a.Actor+": "+a.Reason, ts(x.now), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("slice %d %w", id, control.ErrNoGap)
		}
		var plan harvest.PlanID
		if err := x.row(`SELECT plan_id FROM ing_plan_slice WHERE id=?`, id).Scan(&plan); err != nil {
			return err
		}
		if cur.ns.Operation == harvest.Update {
			if err := x.returnSignals(plan, cur.ns.Provenance); err != nil {
				return err
			}
		}
		watermark, err = x.advance(cur, lineage{plan: plan, slice: id, remarks: moveRemarks{Reason: movedByAccepting, Note: "gap accepted: " + a.Reason}})
		if err != nil {
			return err
		}
		if err := x.completePlan(plan); err != nil {
			return err
		}
		return x.audit(a, map[string]harvest.Mark{"watermark": watermark})
	})
	return watermark, err
}

// requeue makes failed slices ready again.
func (x *tx) requeue(where string, args ...any) (int64, error) {
	tasks, err := x.requeueOf(`'FAILED'`, where, args...)
	return int64(len(tasks)), err
}

// requeueMost bounds the slices made ready in one transaction.
const requeueMost = 1000

// requeueOf makes slices in the given states ready again, if their plan is open,
// and returns their tasks in order, requeueMost at most.
func (x *tx) requeueOf(states, where string, args ...any) ([]int64, error) {
	var tasks, slices []int64
	err := x.each(func(r *sql.Rows) error {
		var task, slice int64
		var state harvest.SliceState
		if err := r.Scan(&task, &slice, &state); err != nil {
			return err
		}
		tasks, slices = append(tasks, task), append(slices, slice)
		x.moved = append(x.moved, sliceMove{harvest.SliceID(slice), state, harvest.SliceReady})
		return nil
	}, `SELECT t.id, t.slice_id, s.status_code FROM ing_task t JOIN ing_plan_slice s ON s.id = t.slice_id
		WHERE t.status_code IN (`+states+`) AND s.status_code=t.status_code AND s.gap_accepted=0
		AND EXISTS (SELECT 1 FROM ing_plan p WHERE p.id=t.plan_id AND `+isOneOf("p.status_code", harvest.PlansOpen)+`) AND `+where+`
		ORDER BY t.id LIMIT ?`+x.s.d.forUpdate, append(args, requeueMost)...)
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		err := x.become(fmt.Sprintf("task %d", tasks[i]), `UPDATE ing_task SET status_code='QUEUED', scheduled_at=?,
			deaths=0, deaths_in_hand=0, reply_fence=0, spent_runs=0, walks=0, updated_at=?
			WHERE id=? AND `+mayBecome(harvest.TaskQueued), ts(x.now), ts(x.now), tasks[i])
		if err != nil {
			return nil, err
		}
		err = x.become(fmt.Sprintf("slice %d", slices[i]), `UPDATE ing_plan_slice SET status_code='READY', updated_at=?
			WHERE id=? AND `+mayBecome(harvest.SliceReady), ts(x.now), slices[i])
		if err != nil {
			return nil, err
		}
	}
	return tasks, nil
}
