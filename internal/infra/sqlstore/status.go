package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// countMost is how many rows are looked at where rows are counted: one more than is
// told.
const countMost = control.CountCap + 1

// gapsLookedAt bounds the slices among which the oldest gap of a cursor is looked for.
const gapsLookedAt = 1000

// SourceFacts reads how sources fare. Every statement is about all of them, since what
// a server needs most of its time for is to be asked, and every one goes over an index
// of few rows, or stops after so many. The first of them say of which sources there is
// anything to tell: of those that nobody harvests no more is asked.
func (s *Store) SourceFacts(ctx context.Context, codes []string) (map[string]control.SourceFacts, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	l := &sourceLook{s: s, ctx: ctx, now: now, facts: make(map[string]*control.SourceFacts, len(codes))}
	for _, code := range codes {
		l.facts[code] = &control.SourceFacts{Now: now}
	}
	if err := l.look(codes); err != nil {
		return nil, fmt.Errorf("look at sources: %w", err)
	}
	out := make(map[string]control.SourceFacts, len(codes))
	for code, f := range l.facts {
		out[code] = *f
	}
	return out, nil
}

// sourceLook is one look at sources.
type sourceLook struct {
	s     *Store
	ctx   context.Context
	now   time.Time
	facts map[string]*control.SourceFacts
}

// look reads everything in its order: what is stored says which outages are over, what
// is queued says whom to ask about the queue.
func (l *sourceLook) look(codes []string) error {
	begun, err := l.readBegun(codes)
	if err != nil {
		return err
	}
	for _, read := range []func([]string) error{l.readNumbers, l.readLastTriggers, l.readHarvested} {
		if err := read(begun); err != nil {
			return err
		}
	}
	if err := l.readHeldEndpoints(); err != nil {
		return err
	}
	var queued, open []string
	for _, code := range begun {
		f := l.facts[code]
		if f.Queued.Count > 0 {
			queued = append(queued, code)
		}
		if f.Queued.Count+f.Running.Count > 0 {
			open = append(open, code)
		}
	}
	if err := l.readQueues(queued); err != nil {
		return err
	}
	if err := l.readRestarts(open); err != nil {
		return err
	}
	for _, read := range []func() error{l.readStates, l.readOutages, l.readRests} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// each asks the same of each of some sources in one statement. args are what is bound
// for one of them, and the first column of every row names it.
func (l *sourceLook) each(codes []string, query string, args func(code string) []any, scan func(*sql.Rows) error) error {
	return l.s.eachOf(l.ctx, codes, query, args, scan)
}

// refusedToPerson is the condition of a trigger that a person was refused. It says nothing
// of the source.
const refusedToPerson = `(outcome_code='REFUSED' AND scheduler_code IS NULL)`

// readBegun finds the sources of which anything was ever triggered or planned. What is
// archived leaves its cursor.
func (l *sourceLook) readBegun(codes []string) (begun []string, err error) {
	err = l.each(codes, `SELECT ?, EXISTS (SELECT 1 FROM ing_plan WHERE provenance_code=?), EXISTS (SELECT 1 FROM ing_schedule_instance WHERE provenance_code=?
		AND NOT `+refusedToPerson+`), EXISTS (SELECT 1 FROM ing_cursor WHERE provenance_code=?)`, func(code string) []any { return []any{code, code, code, code} },
		func(r *sql.Rows) error {
			var code string
			var planned, triggered, moved bool
			if err := r.Scan(&code, &planned, &triggered, &moved); err != nil {
				return err
			}
			l.facts[code].Planned = planned
			if planned || triggered || moved {
				begun = append(begun, code)
			}
			return nil
		})
	return begun, err
}

// readNumbers finds the last stored page, and counts what is queued, in hand, left as a gap, put
// aside and was sent in the last minute.
func (l *sourceLook) readNumbers(codes []string) error {
	columns := []string{"?"}
	for range source.Operations {
		columns = append(columns, `(SELECT MAX(committed_at) FROM ing_task_run_batch WHERE provenance_code=? AND operation_code=? AND status_code='SUCCEEDED')`)
	}
	counted := []string{
		`ing_task WHERE status_code='QUEUED' AND provenance_code=?`,
		`ing_task WHERE ` + isOneOf("status_code", harvest.TasksInHand) + ` AND provenance_code=?`,
		l.s.openGaps(),
		`ing_quarantine WHERE discarded_at IS NULL AND provenance_code=?`,
		`ing_bad_id WHERE provenance_code=?`,
	}
	for _, where := range counted {
		columns = append(columns, `(SELECT COUNT(*) FROM (SELECT 1 AS one FROM `+where+` LIMIT ?) q)`)
	}
	columns = append(columns, `(SELECT COALESCE(SUM(sent),0) FROM (SELECT sent FROM ing_task_run_batch WHERE provenance_code=?
		AND operation_code IN (`+quoted(source.Operations)+`) AND status_code IN ('SUCCEEDED','FAILED') AND committed_at>? LIMIT ?) q)`)
	args := func(code string) []any {
		out := []any{code}
		for _, op := range source.Operations {
			out = append(out, code, op)
		}
		for range counted {
			out = append(out, code, countMost)
		}
		return append(out, code, ts(l.now.Add(-time.Minute)), countMost)
	}
	return l.each(codes, `SELECT `+strings.Join(columns, `, `), args, func(r *sql.Rows) error {
		var code string
		var queued, running, gaps, quarantined, noDetails, sent int64
		last := make([]ts, len(source.Operations))
		to := []any{&code}
		for i := range last {
			to = append(to, &last[i])
		}
		if err := r.Scan(append(to, &queued, &running, &gaps, &quarantined, &noDetails, &sent)...); err != nil {
			return err
		}
		f := l.facts[code]
		for _, at := range last {
			if at.time().After(f.LastSuccess) {
				f.LastSuccess = at.time()
			}
		}
		f.Queued = control.CountUpTo(queued)
		f.Running = control.CountUpTo(running)
		f.Gaps = control.CountUpTo(gaps)
		f.Quarantined = control.CountUpTo(quarantined)
		f.NoDetails = control.CountUpTo(noDetails)
		f.Sent = control.CountUpTo(sent)
		return nil
	})
}

// ofAny is the condition that a row is of one of the sources that are looked at.
func (l *sourceLook) ofAny() (where string, args []any) {
	for code := range l.facts {
		args = append(args, code)
	}
	return `provenance_code IN (` + list(len(args)) + `)`, args
}

func (l *sourceLook) readStates() error {
	states, err := l.s.SourceStates(l.ctx)
	for code, f := range l.facts {
		f.State = states[code]
	}
	return err
}

// readHeldEndpoints reads which endpoints are held by themselves, in the order of their
// names.
func (l *sourceLook) readHeldEndpoints() error {
	held, err := l.s.HeldEndpoints(l.ctx)
	if err != nil {
		return err
	}
	for at, st := range held {
		if f := l.facts[at.Provenance]; f != nil {
			f.HeldEndpoints = append(f.HeldEndpoints, control.HeldEndpoint{EndpointOf: at, SourceState: st})
		}
	}
	for _, f := range l.facts {
		slices.SortFunc(f.HeldEndpoints, func(a, b control.HeldEndpoint) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	}
	return nil
}

// readOutages reads what is not answered. A page that was stored after the last fault
// says that it is over.
func (l *sourceLook) readOutages() error {
	where, args := l.ofAny()
	return l.s.each(l.ctx, func(r *sql.Rows) error {
		var p control.PartitionOutage
		var err error
		p.Outage, err = scanOutage(r.Scan, &p.Provenance, &p.Endpoint, &p.Operation)
		if err != nil {
			return err
		}
		f := l.facts[p.Provenance]
		if !f.LastSuccess.After(p.At) {
			f.Outages = append(f.Outages, p)
		}
		return nil
	}, `SELECT provenance_code, endpoint_name, operation_code, `+outageCols+` FROM ing_outage WHERE `+where+`
		ORDER BY provenance_code, endpoint_name, operation_code`, args...)
}

func (l *sourceLook) readRests() error {
	where, args := l.ofAny()
	return l.s.each(l.ctx, func(r *sql.Rows) error {
		var p control.PartitionRest
		var until ts
		if err := r.Scan(&p.Provenance, &p.Endpoint, &p.Operation, &p.Spent, &p.After, &until, &p.Trying); err != nil {
			return err
		}
		p.Until = until.time()
		f := l.facts[p.Provenance]
		f.Rests = append(f.Rests, p)
		return nil
	}, `SELECT provenance_code, endpoint_name, operation_code, failures, break_after, rests_until, trying FROM ing_breaker
		WHERE `+where+` AND failures >= break_after
		ORDER BY provenance_code, endpoint_name, operation_code`, args...)
}

// namesSpan is a range of endpoints by their names, both ends left out.
type namesSpan struct{ after, before string }

// lastName is behind the name of every endpoint.
const lastName = string(utf8.MaxRune)

// notHeld are the ranges of a source's endpoints between those that are held by
// themselves. A range is read over the queue's index, so that however much is queued for
// an endpoint that is held, none of it is looked at.
//
//	held         b           d
//	spans   ---)   (---a--)     (-----
func notHeld(f *control.SourceFacts) []namesSpan {
	spans := []namesSpan{{before: lastName}}
	for _, h := range f.HeldEndpoints {
		spans[len(spans)-1].before = h.Endpoint
		spans = append(spans, namesSpan{after: h.Endpoint, before: lastName})
	}
	return spans
}

// readQueues counts what of the queued could be taken now, and finds when the first of it
// was, or will be, due. Of a source with endpoints that are held it reads what lies
// between them, one range after the other.
func (l *sourceLook) readQueues(codes []string) error {
	type place struct {
		due  time.Time
		span namesSpan
	}
	ready := map[string]int64{}
	next := map[string]place{}
	for i := 0; len(codes) > 0; i++ {
		span := func(code string) namesSpan { return notHeld(l.facts[code])[i] }
		err := l.readQueuesWithin(codes, span, func(code string, due int64, first, later time.Time) {
			f := l.facts[code]
			ready[code] += due
			f.Ready = control.CountUpTo(ready[code])
			if due > 0 && (f.ReadySince.IsZero() || first.Before(f.ReadySince)) {
				f.ReadySince = first
			}
			if !later.IsZero() && (f.NextAt.IsZero() || later.Before(f.NextAt)) {
				f.NextAt = later
				next[code] = place{later, span(code)}
			}
		})
		if err != nil {
			return err
		}
		codes = slices.DeleteFunc(slices.Clone(codes), func(code string) bool { return len(notHeld(l.facts[code])) <= i+1 })
	}
	// Somebody may have taken it meanwhile: then there is no row.
	return l.each(slices.Collect(maps.Keys(next)), `SELECT provenance_code, error_code FROM (SELECT provenance_code, error_code FROM ing_task
		WHERE status_code='QUEUED' AND provenance_code=? AND endpoint_name>? AND endpoint_name<? AND scheduled_at=? ORDER BY id LIMIT 1) q`,
		func(code string) []any {
			at := next[code]
			return []any{code, at.span.after, at.span.before, ts(at.due)}
		},
		func(r *sql.Rows) error {
			var code string
			var why sql.NullString
			if err := r.Scan(&code, &why); err != nil {
				return err
			}
			l.facts[code].NextCode = harvest.Code(why.String)
			return nil
		})
}

// readQueuesWithin hands over, of each of some sources, how much of what is queued for a
// range of its endpoints is due, when the first of it was, and when the first of the rest
// will be.
func (l *sourceLook) readQueuesWithin(
	codes []string, span func(code string) namesSpan, found func(code string, due int64, first, later time.Time),
) error {
	now := ts(l.now)
	return l.each(codes, `SELECT ?, COALESCE(SUM(CASE WHEN scheduled_at<=? THEN 1 ELSE 0 END),0), MIN(scheduled_at),
		MIN(CASE WHEN scheduled_at>? THEN scheduled_at END),
		EXISTS (SELECT 1 FROM ing_task WHERE `+isOneOf("status_code", harvest.TasksInHand)+` AND provenance_code<>? AND leased_until>?)
		FROM (SELECT id, scheduled_at FROM ing_task WHERE status_code='QUEUED' AND provenance_code=?
			AND endpoint_name>? AND endpoint_name<? LIMIT ?) q`,
		func(code string) []any {
			within := span(code)
			return []any{code, now, now, code, now, code, within.after, within.before, countMost}
		},
		func(r *sql.Rows) error {
			var code string
			var due int64
			var first, later ts
			var othersRun bool
			if err := r.Scan(&code, &due, &first, &later, &othersRun); err != nil {
				return err
			}
			l.facts[code].OthersRun = othersRun
			found(code, due, first.time(), later.time())
			return nil
		})
}

// readLastTriggers keeps what the newest trigger of a HARVEST said, if nothing came of it
// and nothing was stored since. What is not answered yet says nothing, and what a person
// was refused says nothing of the source.
func (l *sourceLook) readLastTriggers(codes []string) error {
	return l.each(codes, `SELECT provenance_code, `+triggeredNames+` FROM (SELECT provenance_code, `+triggeredCols+` FROM ing_schedule_instance
		WHERE provenance_code=? AND operation_code='HARVEST' AND outcome_code<>'RECEIVED' AND NOT `+refusedToPerson+`
		ORDER BY triggered_at DESC, id DESC LIMIT 1) q`,
		func(code string) []any { return []any{code} },
		func(r *sql.Rows) error {
			var code string
			last, err := scanTriggered(func(to ...any) error { return r.Scan(append([]any{&code}, to...)...) })
			if err != nil {
				return err
			}
			f := l.facts[code]
			if last.CameToNothing() && !f.LastSuccess.After(last.At) {
				f.FailedTrigger = last.Remarks
				f.TriggeredAt = last.At
			}
			return nil
		})
}

// readHarvested finds the cursor of a HARVEST that moved last. There is one for each
// selection, so they are few.
func (l *sourceLook) readHarvested(codes []string) error {
	return l.each(codes, `SELECT provenance_code, id, normalized_instant FROM (SELECT provenance_code, id, normalized_instant FROM ing_cursor
		WHERE provenance_code=? AND operation_code='HARVEST' AND cursor_type_code='TIME' ORDER BY updated_at DESC, id DESC LIMIT 1) q`,
		func(code string) []any { return []any{code} },
		func(r *sql.Rows) error {
			var code string
			var id harvest.CursorID
			var watermark ts
			if err := r.Scan(&code, &id, &watermark); err != nil {
				return err
			}
			l.facts[code].Harvested = control.CursorFacts{ID: id, Watermark: watermark.time()}
			return nil
		})
}

// openLookedAt bounds the open tasks among which one that was begun again is looked for.
const openLookedAt = 50

// readRestarts finds why a slice that is open was begun again, or its parent cut, if one
// was: those in somebody's hands are looked at first, and of them the first task.
func (l *sourceLook) readRestarts(codes []string) error {
	var walked []string
	for _, states := range [][]harvest.TaskState{harvest.TasksInHand, {harvest.TaskQueued}} {
		err := l.each(codes, `SELECT t.provenance_code, t.id, t.walks, t.leased_until, t.scheduled_at, p.reason, p.updated_at
			FROM (SELECT provenance_code, id, slice_id, walks, leased_until, scheduled_at
				FROM ing_task WHERE `+isOneOf("status_code", states)+` AND provenance_code=? LIMIT ?) t
			JOIN ing_plan_slice s ON s.id=t.slice_id LEFT JOIN ing_plan_slice p ON p.id=s.parent_id AND p.status_code='RESLICED'`,
			func(code string) []any { return []any{code, openLookedAt} }, l.scanRestart)
		if err != nil {
			return err
		}
		var others []string
		for _, code := range codes {
			switch r := l.facts[code].Restarted; {
			case r == nil:
				others = append(others, code)
			case r.Count > 0:
				walked = append(walked, code)
			}
		}
		codes = others
	}
	return l.readRestartCauses(walked)
}

// scanRestart takes an open task for the one that was begun again, if it was and comes
// before the one that was found.
func (l *sourceLook) scanRestart(r *sql.Rows) error {
	var code string
	var task harvest.TaskID
	var walks int
	var reason sql.NullString
	var cut, lease, due ts
	if err := r.Scan(&code, &task, &walks, &lease, &due, &reason, &cut); err != nil {
		return err
	}
	f := l.facts[code]
	if f.Restarted != nil && f.Restarted.Task < task {
		return nil
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
}

// readRestartCauses finds the pages for which walks were begun again.
func (l *sourceLook) readRestartCauses(codes []string) error {
	return l.each(codes, `SELECT provenance_code, error_code, error, committed_at FROM (SELECT provenance_code, error_code, error, committed_at
		FROM ing_task_run_batch WHERE task_id=? AND status_code='FAILED' ORDER BY committed_at DESC, id DESC LIMIT 1) q`,
		func(code string) []any { return []any{l.facts[code].Restarted.Task} },
		func(r *sql.Rows) error {
			var code string
			var why, text sql.NullString
			var at ts
			if err := r.Scan(&code, &why, &text, &at); err != nil {
				return err
			}
			f := l.facts[code].Restarted
			f.Code = harvest.Code(why.String)
			f.Text = cmp.Or(text.String, why.String)
			f.At = at.time()
			return nil
		})
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
		id, stored(watermark).instant, gapsLookedAt)
	if err != nil {
		return f, err
	}
	if len(near) > 0 {
		f.Gap = &near[0]
	}
	return f, nil
}
