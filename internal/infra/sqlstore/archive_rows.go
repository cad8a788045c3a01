package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/app/retention"
)

// archived is a row on its way to an archive, by its columns.
type archivedRow map[string]any

// id is the number in a column, 0 if there is none.
func (r archivedRow) id(column string) int64 {
	n, _ := r[column].(int64)
	return n
}

// keysOf are what a row is found by: its own number, and those of all that it belongs to.
// A page is also found by the name that logs and upstreams know it by.
func keysOf(table string, r archivedRow) (keys []string) {
	add := func(kind, column string) {
		if n := r.id(column); n != 0 {
			keys = append(keys, fmt.Sprintf("%s/%d", kind, n))
		}
	}
	switch table {
	case "ing_schedule_instance":
		add("trigger", "id")
		add("plan", "plan_id")
	case "ing_plan":
		add("plan", "id")
		add("trigger", "schedule_instance_id")
		keys = append(keys, fmt.Sprintf("plan-key/%v", r["plan_key"]))
	case "ing_plan_candidate":
		add("plan", "plan_id")
	case "ing_plan_slice":
		add("slice", "id")
		add("plan", "plan_id")
	case "ing_task":
		add("task", "id")
		add("slice", "slice_id")
		add("plan", "plan_id")
	case "ing_task_run":
		add("run", "id")
		add("task", "task_id")
	case "ing_task_run_batch":
		add("batch", "id")
		keys = append(keys, fmt.Sprintf("ing-%d-%d", r.id("run_id"), r.id("batch_no")))
		add("run", "run_id")
		add("task", "task_id")
		add("slice", "slice_id")
		add("plan", "plan_id")
	case "ing_cursor":
		add("cursor", "id")
	case "ing_cursor_event":
		add("cursor", "cursor_id")
		add("plan", "plan_id")
	case "ing_record_version":
		add("version", "id")
		add("record", "record_id")
		add("batch", "batch_id")
	case "ing_outbox":
		add("record", "record_id")
	}
	return keys
}

// RowsOf hands every row of a unit to f, parents before what belongs to them.
func (s *Store) RowsOf(ctx context.Context, u retention.Unit, f func(id int64, l retention.Line) error) error {
	give := func(table, where string, args ...any) error {
		return s.archiveRows(ctx, table, where, args, nil, f)
	}
	var err error
	switch u.Kind {
	case retention.Plan:
		err = s.planRows(u, give)
	case retention.Moves:
		// The CHECKPOINT of those before is no move; what it stands for is archived.
		err = give("ing_cursor_event", `cursor_id=? AND id<=? AND kind_code<>'CHECKPOINT' ORDER BY id`, u.ID, u.To)
	case retention.Triggers:
		err = give("ing_schedule_instance", `id IN (`+list(len(u.IDs))+`) ORDER BY id`, idArgs(u.IDs)...)
	case retention.Versions:
		err = s.versionRows(ctx, u, f)
	default:
		err = fmt.Errorf("archives know no %q", u.Kind)
	}
	if err != nil {
		return fmt.Errorf("read %s %d for the archive: %w", u.Kind, u.ID, err)
	}
	return nil
}

// The rows that belong to a plan p, whose id is bound.
const (
	runsOfPlan    = `task_id IN (SELECT t.id FROM ing_task t WHERE t.plan_id=?)`
	cursorOfPlan  = `id=(SELECT p.cursor_id FROM ing_plan p WHERE p.id=?)`
	triggerOfPlan = `id=(SELECT p.schedule_instance_id FROM ing_plan p WHERE p.id=?)`
)

func (s *Store) planRows(u retention.Unit, give func(table, where string, args ...any) error) error {
	parts := []struct{ table, where string }{
		{"ing_schedule_instance", triggerOfPlan},
		{"ing_plan", `id=?`},
		{"ing_cursor", cursorOfPlan},
		{"ing_plan_candidate", `plan_id=? ORDER BY ordinal`},
		{"ing_plan_slice", `plan_id=? ORDER BY id`},
		{"ing_task", `plan_id=? ORDER BY id`},
		{"ing_task_run", runsOfPlan + ` ORDER BY id`},
		{"ing_task_run_batch", `plan_id=? ORDER BY id`},
	}
	for _, p := range parts {
		if p.table == "ing_cursor" && !u.Closes {
			continue
		}
		if err := give(p.table, p.where, u.ID); err != nil {
			return err
		}
	}
	return nil
}

// versionRows hands out versions with their rows of the outbox, found also by the id that
// their source gave the record.
func (s *Store) versionRows(ctx context.Context, u retention.Unit, f func(int64, retention.Line) error) error {
	args := idArgs(u.IDs)
	in := `(` + list(len(args)) + `)`
	names := map[int64]string{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var id int64
		var source, kind, ext string
		err := r.Scan(&id, &source, &kind, &ext)
		names[id] = "record/" + source + "/" + kind + "/" + ext
		return err
	}, `SELECT r.id, r.provenance_code, r.record_type, r.ext_id FROM ing_record r
		WHERE r.id IN (SELECT v.record_id FROM ing_record_version v WHERE v.id IN `+in+`)`, args...)
	if err != nil {
		return err
	}
	name := func(r archivedRow) []string { return []string{names[r.id("record_id")]} }
	if err := s.archiveRows(ctx, "ing_record_version", `id IN `+in+` ORDER BY record_id, revision`, args, name, f); err != nil {
		return err
	}
	return s.archiveRows(ctx, "ing_outbox", outboxOfVersions(in)+` ORDER BY id`, args, name, f)
}

// outboxOfVersions are the rows of the outbox about versions with some ids.
func outboxOfVersions(in string) string {
	return `EXISTS (SELECT 1 FROM ing_record_version v WHERE v.record_id=ing_outbox.record_id AND v.revision=ing_outbox.revision AND v.id IN ` + in + `)`
}

func idArgs(ids []int64) []any {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return args
}

// archiveRows hands rows of a table to f with all the columns that the table has: one that
// was added since this was written must not be lost.
func (s *Store) archiveRows(
	ctx context.Context, table, where string, args []any, also func(archivedRow) []string, f func(int64, retention.Line) error,
) error {
	return s.each(ctx, func(r *sql.Rows) error {
		row, err := s.scanArchived(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		keys := keysOf(table, row)
		if also != nil {
			keys = append(keys, also(row)...)
		}
		text, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("marshal a row of %s: %w", table, err)
		}
		return f(row.id("id"), retention.Line{Table: table, Keys: keys, Row: text})
	}, `SELECT * FROM `+table+` WHERE `+where, args...)
}

// scanArchived reads a row whatever its columns are. A body is unpacked: an archive is read
// without the dictionaries of the store.
func (s *Store) scanArchived(ctx context.Context, r *sql.Rows) (archivedRow, error) {
	types, err := r.ColumnTypes()
	if err != nil {
		return nil, err
	}
	values := make([]any, len(types))
	dest := make([]any, len(types))
	for i := range values {
		dest[i] = &values[i]
	}
	if err := r.Scan(dest...); err != nil {
		return nil, err
	}
	at := make(map[string]*any, len(types))
	for i, t := range types {
		at[t.Name()] = &values[i]
	}
	if err := s.unpackRow(ctx, at); err != nil {
		return nil, err
	}
	row := make(archivedRow, len(types))
	for i, t := range types {
		if at[t.Name()] == nil {
			continue
		}
		row[t.Name()], err = plainValue(t, values[i])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", t.Name(), err)
		}
	}
	return row, nil
}

// unpackRow puts, into a row that has a body, what is in it, and takes away how it was
// packed.
func (s *Store) unpackRow(ctx context.Context, at map[string]*any) error {
	if at["codec_code"] == nil {
		return nil
	}
	var body storedBody
	for name, into := range map[string]sql.Scanner{"codec_code": &body.codec, "dictionary_id": &body.dictionary} {
		if err := into.Scan(*at[name]); err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		delete(at, name)
	}
	body.packed = bytesOf(*at["raw"])
	body.apart = bytesOf(*at["fields"])
	raw, fields, err := s.open(ctx, body)
	*at["raw"] = raw
	*at["fields"] = fields
	return err
}

// bytesOf is a value that was read as bytes or as text.
func bytesOf(v any) []byte {
	if text, is := v.(string); is {
		return []byte(text)
	}
	b, _ := v.([]byte)
	return b
}

// plainValue is a stored value as an archive holds it: numbers as numbers, times as they are
// stored, a body as it came, hashes in hexadecimal, and all that is no text in base64.
func plainValue(t *sql.ColumnType, v any) (any, error) {
	b, ok := v.([]byte)
	if text, is := v.(string); is {
		b = []byte(text)
		ok = true
	}
	if !ok {
		return v, nil
	}
	if strings.HasSuffix(t.DatabaseTypeName(), "INT") {
		return json.Number(string(b)).Int64()
	}
	switch {
	case len(b) == 32 && (strings.HasSuffix(t.Name(), "_hash") || strings.HasSuffix(t.Name(), "_sha256")):
		return hex.EncodeToString(b), nil
	}
	if !utf8.Valid(b) {
		return map[string][]byte{"base64": b}, nil
	}
	return string(b), nil
}
