package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/retention"
)

// growing are the tables that grow with the work, each with the column that tells when a
// row of it was written.
var growing = []struct{ table, at string }{
	{"ing_record", "created_at"},
	{"ing_record_version", "created_at"},
	{"ing_outbox", "created_at"},
	{"ing_quarantine", "created_at"},
	{"ing_bad_id", "first_seen_at"},
	{"ing_signal", "created_at"},
	{"ing_schedule_instance", "created_at"},
	{"ing_plan", "created_at"},
	{"ing_plan_slice", "created_at"},
	{"ing_task", "created_at"},
	{"ing_task_run", "started_at"},
	{"ing_task_run_batch", "opened_at"},
	{"ing_cursor", "created_at"},
	{"ing_cursor_event", "event_time"},
	{"ing_archive", "created_at"},
	{"sys_audit", "created_at"},
}

// measuredUpTo is how large a file may be for its tables to be measured one by one: SQLite
// reads all of it for that.
const measuredUpTo = 64 << 20

// Sizes tells how large the database and its tables are.
func (s *Store) Sizes(ctx context.Context) (out control.Sizes, err error) {
	bytes, err := s.tableBytes(ctx, &out)
	if err != nil {
		return out, fmt.Errorf("measure the database: %w", err)
	}
	asked := make([]string, len(growing))
	args := make([]any, len(growing))
	for i, g := range growing {
		asked[i] = `SELECT '` + g.table + `', (SELECT COUNT(*) FROM (SELECT 1 AS n FROM ` + g.table + ` LIMIT ?) x), (SELECT ` + g.at + ` FROM ` + g.table + ` ORDER BY id LIMIT 1)`
		args[i] = control.RowsCap + 1
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		var t control.TableSize
		var rows int64
		var oldest ts
		if err := r.Scan(&t.Table, &rows, &oldest); err != nil {
			return err
		}
		t.Rows = min(rows, control.RowsCap)
		t.More = rows > control.RowsCap
		t.Oldest = oldest.time()
		if n, known := bytes[t.Table]; known {
			t.Bytes = &n
		}
		out.Tables = append(out.Tables, t)
		return nil
	}, strings.Join(asked, ` UNION ALL `), args...)
	if err != nil {
		return out, fmt.Errorf("measure the tables: %w", err)
	}
	return out, nil
}

// tableBytes measures the whole, and the tables with their indexes where that does not take
// long.
func (s *Store) tableBytes(ctx context.Context, out *control.Sizes) (map[string]int64, error) {
	bytes := map[string]int64{}
	query := `SELECT table_name, data_length+index_length FROM information_schema.tables WHERE table_schema=DATABASE()`
	if s.d == sqliteDialect {
		var pages, free, size int64
		err := s.r.QueryRowContext(ctx, `SELECT (SELECT page_count FROM pragma_page_count()), (SELECT freelist_count FROM pragma_freelist_count()),
			(SELECT page_size FROM pragma_page_size())`).Scan(&pages, &free, &size)
		if err != nil {
			return nil, err
		}
		pages = pages * size
		free = free * size
		out.Bytes = &pages
		out.FreeBytes = &free
		if pages > measuredUpTo {
			return bytes, nil
		}
		query = `SELECT m.tbl_name, SUM(d.pgsize) FROM dbstat d JOIN sqlite_master m ON m.name=d.name WHERE d.aggregate=TRUE GROUP BY m.tbl_name`
	}
	all := int64(0)
	err := s.each(ctx, func(r *sql.Rows) error {
		var name string
		var n sql.NullInt64
		err := r.Scan(&name, &n)
		bytes[name] = n.Int64
		all += n.Int64
		return err
	}, query)
	if s.d == sqliteDialect {
		return bytes, err
	}
	out.Bytes = &all
	return bytes, err
}

// DueCounts counts what is old enough to be archived, each up to a cap.
func (s *Store) DueCounts(ctx context.Context, c retention.Cut) (out control.ArchiveDue, err error) {
	count := func(into *control.Counted, query string, args ...any) {
		if err != nil {
			return
		}
		var n int64
		err = s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM (`+query+` LIMIT ?) x`, append(args, control.CountCap+1)...).Scan(&n)
		*into = control.CountUpTo(n)
	}
	if !c.Trail.IsZero() {
		at := ts(c.Trail)
		// A plan that only the moves still name goes with them.
		count(&out.Plans, `SELECT p.id`+duePlansOnceFolded+` AND NOT `+isSealed("p.id"), at)
		count(&out.Batches, `SELECT b.id FROM ing_task_run_batch b WHERE b.plan_id IN (SELECT p.id`+duePlansOnceFolded+` AND NOT `+isSealed("p.id")+`)`, at)
		count(&out.Moves, `SELECT e.id FROM ing_cursor_event e WHERE e.kind_code<>'CHECKPOINT' AND e.event_time<?
			AND EXISTS (SELECT 1 FROM ing_cursor_event a WHERE a.cursor_id=e.cursor_id AND a.kind_code='ADVANCE' AND a.event_time<?)`, at, at)
		count(&out.Triggers, `SELECT i.id FROM ing_schedule_instance i WHERE i.triggered_at<? AND `+dueTriggers, at)
	}
	if !c.Versions.IsZero() {
		n, cerr := s.countDueVersions(ctx, c)
		err = errors.Join(err, cerr)
		out.Versions = n
	}
	if err != nil {
		return out, fmt.Errorf("count what is to be archived: %w", err)
	}
	return out, nil
}

func (s *Store) countDueVersions(ctx context.Context, c retention.Cut) (control.Counted, error) {
	units, err := s.dueVersions(ctx, retention.Hold{}, c, control.CountCap/rowsPerUnit+1)
	n := int64(0)
	for _, u := range units {
		n += int64(len(u.IDs))
	}
	return control.CountUpTo(n), err
}
