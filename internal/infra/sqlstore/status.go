package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// countMost is how many rows are looked at where rows are counted: one more than is
// told.
const countMost = control.CountCap + 1

// gapsLookedAt bounds the slices among which the oldest gap of a cursor is looked for.
const gapsLookedAt = 1000

// SourceFacts reads how a source fares. Every statement goes over an index of few
// rows, or stops after so many. What is one number, or one instant, comes with the
// first of them, and says which of the others have anything to tell: of a source that
// nobody harvests they are not asked.
func (s *Store) SourceFacts(ctx context.Context, code string) (f control.SourceFacts, err error) {
	f.Now, err = s.Now(ctx)
	if err != nil {
		return f, err
	}
	there, err := s.readNumbers(ctx, code, &f)
	if err != nil {
		return f, fmt.Errorf("look at %s: %w", code, err)
	}
	for _, part := range []struct {
		is   bool
		read func(context.Context, string, *control.SourceFacts) error
	}{
		{there.state, s.readState},
		{there.outages, s.readOutages},
		{there.breakers, s.readRests},
		{f.Queued.Count > 0, s.readQueue},
		{there.triggers, s.readLastTrigger},
		{there.cursors, s.readHarvested},
		{f.Queued.Count+f.Running.Count > 0, s.readRestart},
	} {
		if !part.is {
			continue
		}
		if err := part.read(ctx, code, &f); err != nil {
			return f, fmt.Errorf("look at %s: %w", code, err)
		}
	}
	return f, nil
}

// thereIs says of which parts of the facts there is anything to read.
type thereIs struct {
	state, outages, breakers, triggers, cursors bool
}

// readNumbers finds the last stored page, whether anything was ever planned, and counts
// what is queued, in hand, failed, put aside and was sent in the last minute.
func (s *Store) readNumbers(ctx context.Context, code string, f *control.SourceFacts) (there thereIs, err error) {
	minuteAgo := ts(f.Now.Add(-time.Minute))
	var last [3]ts
	var queued, running, failed, quarantined, noDetails, sent int64
	var columns []string
	var args []any
	var to []any
	column := func(into any, text string, with ...any) {
		columns = append(columns, text)
		args = append(args, with...)
		to = append(to, into)
	}
	for i, op := range source.Operations {
		column(&last[i], `(SELECT MAX(committed_at) FROM ing_task_run_batch WHERE provenance_code=? AND operation_code=? AND status_code='SUCCEEDED')`, code, op)
	}
	for _, c := range []struct {
		to    *int64
		where string
	}{
		{&queued, `ing_task WHERE status_code='QUEUED' AND provenance_code=?`},
		{&running, `ing_task WHERE ` + isOneOf("status_code", harvest.TasksInHand) + ` AND provenance_code=?`},
		{&failed, `ing_task WHERE status_code='FAILED' AND provenance_code=?`},
		{&quarantined, `ing_quarantine WHERE discarded_at IS NULL AND provenance_code=?`},
		{&noDetails, `ing_bad_id WHERE provenance_code=?`},
	} {
		column(c.to, `(SELECT COUNT(*) FROM (SELECT 1 AS one FROM `+c.where+` LIMIT ?) q)`, code, countMost)
	}
	column(&sent, `(SELECT COALESCE(SUM(sent),0) FROM (SELECT sent FROM ing_task_run_batch WHERE provenance_code=?
		AND operation_code IN ('HARVEST','BACKFILL','UPDATE') AND status_code IN ('SUCCEEDED','FAILED') AND committed_at>? LIMIT ?) q)`, code, minuteAgo, countMost)
	for _, c := range []struct {
		to    *bool
		table string
	}{
		{&f.Planned, "ing_plan"},
		{&there.state, "ing_source_state"},
		{&there.outages, "ing_outage"},
		{&there.breakers, "ing_breaker"},
		{&there.triggers, "ing_schedule_instance"},
		{&there.cursors, "ing_cursor"},
	} {
		column(c.to, `EXISTS (SELECT 1 FROM `+c.table+` WHERE provenance_code=?)`, code)
	}
	err = s.r.QueryRowContext(ctx, `SELECT `+strings.Join(columns, `,
		`), args...).Scan(to...)
	for _, at := range last {
		if at.time().After(f.LastSuccess) {
			f.LastSuccess = at.time()
		}
	}
	f.Queued = control.CountUpTo(queued)
	f.Running = control.CountUpTo(running)
	f.Failed = control.CountUpTo(failed)
	f.Quarantined = control.CountUpTo(quarantined)
	f.NoDetails = control.CountUpTo(noDetails)
	f.Sent = control.CountUpTo(sent)
	return there, err
}

func (s *Store) readState(ctx context.Context, code string, f *control.SourceFacts) (err error) {
	f.State, err = s.SourceState(ctx, code)
	return err
}

// readOutages reads what is not answered. A page that was stored after the last fault
// says that it is over.
func (s *Store) readOutages(ctx context.Context, code string, f *control.SourceFacts) error {
	return s.each(ctx, func(r *sql.Rows) error {
		p := control.PartitionOutage{Partition: harvest.Partition{Provenance: code}}
		var err error
		p.Outage, err = scanOutage(r.Scan, &p.Endpoint, &p.Operation)
		if err == nil && !f.LastSuccess.After(p.At) {
			f.Outages = append(f.Outages, p)
		}
		return err
	}, `SELECT endpoint_name, operation_code, `+outageCols+` FROM ing_outage WHERE provenance_code=?`, code)
}

func (s *Store) readRests(ctx context.Context, code string, f *control.SourceFacts) error {
	return s.each(ctx, func(r *sql.Rows) error {
		p := control.PartitionRest{Partition: harvest.Partition{Provenance: code}}
		var until ts
		err := r.Scan(&p.Endpoint, &p.Operation, &p.Spent, &until, &p.Trying)
		p.Until = until.time()
		f.Rests = append(f.Rests, p)
		return err
	}, `SELECT endpoint_name, operation_code, failures, rests_until, trying FROM ing_breaker WHERE provenance_code=? AND failures>=?`, code, harvest.BreakAfter)
}

// readQueue counts what of the queued could be taken now, and finds when the first of it
// was, or will be, due.
func (s *Store) readQueue(ctx context.Context, code string, f *control.SourceFacts) error {
	const queued = `(SELECT id, scheduled_at FROM ing_task WHERE status_code='QUEUED' AND provenance_code=? LIMIT ?) q`
	var ready int64
	var first, later ts
	now := ts(f.Now)
	err := s.r.QueryRowContext(ctx, `SELECT COALESCE(SUM(CASE WHEN scheduled_at<=? THEN 1 ELSE 0 END),0), MIN(scheduled_at),
		MIN(CASE WHEN scheduled_at>? THEN scheduled_at END),
		EXISTS (SELECT 1 FROM ing_task WHERE `+isOneOf("status_code", harvest.TasksInHand)+` AND provenance_code<>? AND leased_until>?)
		FROM `+queued, now, now, code, now, code, countMost).Scan(&ready, &first, &later, &f.OthersRun)
	if err != nil {
		return err
	}
	f.Ready = control.CountUpTo(ready)
	if ready > 0 {
		f.ReadySince = first.time()
	}
	if later.time().IsZero() {
		return nil
	}
	f.NextAt = later.time()
	var why sql.NullString
	err = s.r.QueryRowContext(ctx, `SELECT error_code FROM ing_task
		WHERE status_code='QUEUED' AND provenance_code=? AND scheduled_at=? ORDER BY id LIMIT 1`, code, later).Scan(&why)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // somebody has taken it meanwhile
	}
	f.NextCode = harvest.Code(why.String)
	return err
}

// readLastTrigger keeps what the newest trigger of a HARVEST said, if it failed and
// nothing was stored since.
func (s *Store) readLastTrigger(ctx context.Context, code string, f *control.SourceFacts) error {
	last, err := scanTriggered(s.r.QueryRowContext(ctx, `SELECT `+triggeredCols+` FROM ing_schedule_instance
		WHERE provenance_code=? AND operation_code='HARVEST' ORDER BY triggered_at DESC, id DESC LIMIT 1`, code).Scan)
	if err != nil {
		return err
	}
	if last.Outcome == harvest.TriggerFailed && !f.LastSuccess.After(last.At) {
		f.FailedTrigger = last.Remarks
		f.TriggeredAt = last.At
	}
	return nil
}

// readHarvested finds the cursor of a HARVEST that moved last. There is one for each
// selection, so they are few.
func (s *Store) readHarvested(ctx context.Context, code string, f *control.SourceFacts) error {
	var watermark ts
	err := s.r.QueryRowContext(ctx, `SELECT id, normalized_instant FROM ing_cursor
		WHERE provenance_code=? AND operation_code='HARVEST' ORDER BY updated_at DESC, id DESC LIMIT 1`, code).Scan(&f.Harvested.ID, &watermark)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	f.Harvested.Watermark = watermark.time()
	return err
}

// openLookedAt bounds the open tasks among which one that was begun again is looked for.
const openLookedAt = 50

// readRestart finds why a slice that is open was begun again, or its parent cut, if one
// was: those in somebody's hands are looked at first.
func (s *Store) readRestart(ctx context.Context, code string, f *control.SourceFacts) error {
	for _, states := range [][]harvest.TaskState{harvest.TasksInHand, {harvest.TaskQueued}} {
		err := s.each(ctx, func(r *sql.Rows) error {
			var task harvest.TaskID
			var walks int
			var reason sql.NullString
			var cut, lease, due ts
			if err := r.Scan(&task, &walks, &lease, &due, &reason, &cut); err != nil || f.Restarted != nil {
				return err
			}
			why, text, _ := strings.Cut(reason.String, ": ")
			switch {
			case walks > 0:
				f.Restarted = &control.Restart{Count: walks}
			case reason.Valid && !harvest.CutForSize(harvest.Code(why)):
				f.Restarted = &control.Restart{Code: harvest.Code(why), Text: cmp.Or(text, why), At: cut.time()}
			default:
				return nil
			}
			f.Restarted.Task = task
			f.Restarted.Until = lease.time()
			if f.Restarted.Until.IsZero() {
				f.Restarted.Until = due.time()
			}
			return nil
		}, `SELECT t.id, t.walks, t.leased_until, t.scheduled_at, p.reason, p.updated_at FROM (SELECT id, slice_id, walks, leased_until, scheduled_at
			FROM ing_task WHERE `+isOneOf("status_code", states)+` AND provenance_code=? LIMIT ?) t
			JOIN ing_plan_slice s ON s.id=t.slice_id LEFT JOIN ing_plan_slice p ON p.id=s.parent_id AND p.status_code='RESLICED' ORDER BY t.id`, code, openLookedAt)
		if err != nil {
			return err
		}
		if f.Restarted != nil {
			return s.readRestartCause(ctx, f.Restarted)
		}
	}
	return nil
}

// readRestartCause finds the page for which a walk was begun again.
func (s *Store) readRestartCause(ctx context.Context, r *control.Restart) error {
	if r.Count == 0 {
		return nil
	}
	var why, text sql.NullString
	var at ts
	err := s.r.QueryRowContext(ctx, `SELECT error_code, error, committed_at FROM ing_task_run_batch
		WHERE task_id=? AND status_code='FAILED' ORDER BY committed_at DESC, id DESC LIMIT 1`, r.Task).Scan(&why, &text, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	r.Code = harvest.Code(why.String)
	r.Text = cmp.Or(text.String, why.String)
	r.At = at.time()
	return err
}

// LineFacts reads the last moves of a cursor and the oldest gap behind its watermark.
func (s *Store) LineFacts(ctx context.Context, id harvest.CursorID, watermark harvest.Mark) (f control.LineFacts, err error) {
	const moves = 3
	err = s.each(ctx, func(r *sql.Rows) error {
		var to, at ts
		err := r.Scan(&to, &at)
		f.Moves = append(f.Moves, control.CursorMove{To: to.time(), At: at.time()})
		return err
	}, `SELECT new_instant, event_time FROM ing_cursor_event WHERE cursor_id=? AND kind_code='ADVANCE' ORDER BY id DESC LIMIT ?`, id, moves)
	if err != nil {
		return f, fmt.Errorf("read moves of cursor %d: %w", id, err)
	}
	near, err := s.gaps(ctx, `s.id=(SELECT id FROM (SELECT id, window_from, status_code, gap_accepted FROM ing_plan_slice WHERE cursor_id=? AND window_to>?
		ORDER BY window_to LIMIT ?) n WHERE `+isOneOf("status_code", harvest.SlicesGap)+` AND gap_accepted=0 ORDER BY window_from, id LIMIT 1)`,
		id, ts(watermark.Time()), gapsLookedAt)
	if err != nil {
		return f, err
	}
	if len(near) > 0 {
		f.Gap = &near[0]
	}
	return f, nil
}
