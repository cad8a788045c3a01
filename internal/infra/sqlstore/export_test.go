package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/work"
)

// Statement is SQL with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

// PickSQL are the statements that look for tasks.
func (s *Store) PickSQL(r harvest.LeaseRequest) []Statement {
	now, err := s.Now(context.Background())
	if err != nil {
		panic(err)
	}
	var out []Statement
	add := func(q string, args []any) { out = append(out, Statement{q, args}) }
	head := harvest.Head{Partition: harvest.Partition{Provenance: "lab", Endpoint: "search", Operation: harvest.Harvest}, Priority: 100, ScheduledAt: now.Add(-time.Hour)}
	add(s.deadSQL(r, now))
	add(s.firstSQL(head, now))
	add(s.firstKnownSQL(r, head, now))
	add(s.headAfterSQL(r, head))
	head.Provenance = "aaa" // before all
	add(s.headAfterSQL(r, head))
	return out
}

// SeedSQL are the statements that look for the newest stored time.
func (s *Store) SeedSQL() (out []Statement) {
	for _, q := range s.seedSQL() {
		out = append(out, Statement{SQL: q})
	}
	return out
}

// ListSQL are the statements that read a page of a list, each page of so many rows.
func (s *Store) ListSQL(limit int) map[string]Statement {
	out := map[string]Statement{}
	add := func(name string) func(q string, args []any) {
		return func(q string, args []any) { out[name] = Statement{q, args} }
	}
	const lab = "lab"
	place := control.TaskPlace{
		State: harvest.TaskQueued, Source: lab, Endpoint: "search", Operation: harvest.Harvest, Priority: 100, Due: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), ID: 500,
	}
	task := control.TaskRow{Source: lab, Endpoint: "search", Operation: harvest.Harvest, Priority: 100, ID: 60, DueAt: place.Due}
	add("tasks")(s.tasksSQL(control.TaskQuery{}, harvest.TaskQueued, control.TaskPlace{}, limit))
	add("tasks, next page")(s.tasksSQL(control.TaskQuery{}, harvest.TaskQueued, place, limit))
	add("tasks of a source")(s.tasksSQL(control.TaskQuery{Source: lab}, harvest.TaskSucceeded, control.TaskPlace{}, limit))
	add("tasks of a source, next page")(s.tasksSQL(control.TaskQuery{Source: lab}, harvest.TaskQueued, place, limit))
	add("tasks of a plan")(s.tasksSQL(control.TaskQuery{Plan: 1}, harvest.TaskQueued, place, limit))
	add("place of a task")(s.tasksAheadSQL(task, int64(limit)))
	add("runs")(s.runIDsSQL(control.RunQuery{}, 0, limit))
	add("runs, next page")(s.runIDsSQL(control.RunQuery{}, 700, limit))
	add("runs of a source in a state")(s.runIDsSQL(control.RunQuery{Source: lab, State: harvest.RunSucceeded}, 700, limit))
	add("runs of a plan in a state")(s.runIDsSQL(control.RunQuery{Plan: 1, State: harvest.RunSucceeded}, 700, limit))
	add("runs of a task")(s.runIDsSQL(control.RunQuery{Task: 7}, 0, limit))
	add("pages of a run")(runBatchesSQL, []any{1, 3, limit})
	add("gaps of a source")(s.gapsSQL(control.GapQuery{Source: lab}, gapPlace{}, limit))
	add("gaps of a source, next page")(s.gapsSQL(control.GapQuery{Source: lab}, gapPlace{cursor: 1, from: ts(time.Date(2024, 1, 9, 0, 0, 0, 0, time.UTC)), slice: 200}, limit))
	add("gaps of a cursor")(s.gapsSQL(control.GapQuery{Source: lab, Cursor: 1}, gapPlace{}, limit))
	add("cursors")(s.cursorsSQL(control.CursorQuery{}, nil, limit))
	add("cursors of a source, next page")(s.cursorsSQL(control.CursorQuery{Source: lab}, []any{lab, "BACKFILL", "updated", "CUSTOM", "many-0300"}, limit))
	add("namespaces of a source")(s.coveredSQL(lab, harvest.Backfill, limit))
	add("namespaces of a source, one with many slices")(s.coveredSQL(lab, harvest.Harvest, limit))
	year := harvest.Span{From: harvest.TimeMark(time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)), To: harvest.TimeMark(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))}
	add("slices of a plan")(s.slicesSQL(control.SliceQuery{Plan: 1}, ts{}, 100, limit))
	add("slices of a plan in a state")(s.slicesSQL(control.SliceQuery{Plan: 1, State: harvest.SliceFailed}, ts{}, 100, limit))
	add("slices of a plan by time")(s.slicesSQL(control.SliceQuery{Plan: 1, Span: year}, ts{}, 0, limit))
	add("slices of a plan by time, next page")(s.slicesSQL(control.SliceQuery{Plan: 1, Span: year}, ts(year.From.Time()), 100, limit))
	add("plans in a state")(s.planIDsSQL(harvest.PlanReady, lab, harvest.Harvest, 900, limit))
	add("items in quarantine")(s.quarantineSQL(control.QuarantineQuery{Before: 900, Limit: limit}))
	add("items in quarantine of a source")(s.quarantineSQL(control.QuarantineQuery{Source: lab, Limit: limit}))
	add("pages by the minute")(newestSpentSQL, []any{lab, harvest.Harvest, harvest.BatchSucceeded, ts(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), limit})
	add("pages that tell what is late")(newestPagesSQL, []any{lab, harvest.Harvest, ts(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), limit})
	add("totals of a plan")(planPagesSQL(1), []any{1, 1})
	add("plans")(s.plansSQL("", 900, limit))
	add("plans of a source")(s.plansSQL(lab, 900, limit))
	return out
}

// MigrateTo brings the schema to what an older build had.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	p, err := s.provider()
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// DurableOver is the check at start on a connection of the test's own.
func (s *Store) DurableOver(db *sql.DB) error {
	c := &Store{d: s.d, w: db, dsn: s.dsn}
	return c.checkDurable(context.Background())
}

// OpenFrozen opens a store on a server whose clock stands at an instant, as far
// as this store's sessions see it.
func OpenFrozen(ctx context.Context, dsn string, at time.Time) (*Store, error) {
	s, err := Open(ctx, dsn, Options{})
	if err != nil {
		return nil, err
	}
	cfg, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Params["timestamp"] = fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
	frozen, err := openServer(cfg, dsn)
	if err != nil {
		return nil, err
	}
	if err := s.w.Close(); err != nil {
		return nil, err
	}
	s.w = frozen
	s.r.DB = frozen
	s.stmts = map[string]*sql.Stmt{}
	s.clock.last = time.Time{}
	return s, nil
}

// DuePlansSQL is the statement that looks for plans that may be archived.
func DuePlansSQL() string { return `SELECT p.id` + duePlans }

// QueueNew leaves word of a new record as a page does; of some nothing is known, as if that were
// too much.
func (s *Store) QueueNew(ctx context.Context, number int64, r *work.Record, isKnown bool) error {
	return s.write(ctx, "queue a record", func(x *tx) error {
		w := chunkWriter{x: x, source: r.Key.Source}
		q := queued{record: number, isNew: true, merged: r.Key.MergedKey(), keys: packKeys(r.Keys()), mark: r.Mark()}
		if isKnown {
			q.facts = packFacts(nil, r)
		}
		if err := w.add(q); err != nil {
			return err
		}
		return w.end()
	})
}

// QueueLook leaves word of a record that has to be looked at, as a page does of one that has changed.
func (s *Store) QueueLook(ctx context.Context, prov string, number int64) error {
	return s.write(ctx, "queue a record", func(x *tx) error {
		_, err := x.insertQueue(prov, packQueue(nil, []int64{number}))
		return err
	})
}

// AskedOf counts what a server is asked on behalf of f, each statement once.
func (s *Store) AskedOf(ctx context.Context, f func()) (asked int, err error) {
	s.w.SetMaxOpenConns(1) // so that it is one session that counts
	count := func() (n int) {
		if err == nil {
			var name string
			err = s.w.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Questions'").Scan(&name, &n)
		}
		return n
	}
	before := count()
	f()
	return count() - before - 1, err // the second count is a question too
}

// TwiceInAWrite reads a text before and after something happens, in one transaction that writes.
func (s *Store) TwiceInAWrite(ctx context.Context, query string, happens func()) (before, after string, err error) {
	err = s.write(ctx, "read twice", func(x *tx) error {
		if err := x.row(query).Scan(&before); err != nil {
			return err
		}
		happens()
		return x.row(query).Scan(&after)
	})
	return before, after, err
}

// ErrLostRace has a transaction begin again.
var ErrLostRace = errLostRace
