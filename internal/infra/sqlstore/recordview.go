package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// lastRune stands behind every text that begins in the same way.
const lastRune = "\U0010FFFF"

// Records reads records in the order of source, type and id, along the key of the
// table: as many as are wanted, or until enough were looked at.
func (s *Store) Records(ctx context.Context, p control.RecordPage) (rows []control.RecordRow, last int64, more bool, err error) {
	v := recordView{s: s, ctx: ctx, page: p, rows: []control.RecordRow{}}
	err = v.read()
	if err == nil {
		err = v.readTitles()
	}
	if err != nil {
		return nil, 0, false, fmt.Errorf("list records: %w", err)
	}
	return v.rows, v.last, v.more, nil
}

// recordKind is a source and a type of its records.
type recordKind struct{ provenance, recordType string }

// nextKind finds the first kind behind one, of one source if it is named: the index
// leads from each to the next.
func (s *Store) nextKind(ctx context.Context, provenance string, at recordKind) (recordKind, bool, error) {
	where, args := s.d.after([]string{"provenance_code", "record_type"}, []any{at.provenance, at.recordType})
	if provenance != "" {
		where = `provenance_code=? AND record_type>?`
		args = []any{provenance, at.recordType}
	}
	err := s.r.QueryRowContext(ctx, `SELECT provenance_code, record_type FROM ing_record`+s.d.recordIndex+` WHERE `+where+`
		ORDER BY provenance_code, record_type LIMIT 1`, args...).Scan(&at.provenance, &at.recordType)
	if errors.Is(err, sql.ErrNoRows) {
		return at, false, nil
	}
	return at, err == nil, err
}

// recordView collects a page of records.
type recordView struct {
	s      *Store
	ctx    context.Context
	page   control.RecordPage
	looked int
	rows   []control.RecordRow
	last   int64 // number of the last record that was looked at
	more   bool  // others follow it
}

func (v *recordView) read() error {
	var at recordKind
	if v.page.Behind != 0 {
		var id string
		err := v.s.r.QueryRowContext(v.ctx, `SELECT provenance_code, record_type, ext_id FROM ing_record WHERE id=?`, v.page.Behind).
			Scan(&at.provenance, &at.recordType, &id)
		if errors.Is(err, sql.ErrNoRows) {
			return harvest.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := v.readKind(at, id); err != nil || v.more {
			return err
		}
	}
	for {
		var found bool
		var err error
		at, found, err = v.s.nextKind(v.ctx, v.page.Source, at)
		if err != nil || !found {
			return err
		}
		if err := v.readKind(at, ""); err != nil || v.more {
			return err
		}
	}
}

// readKind reads the records of a kind whose ids lie behind one.
func (v *recordView) readKind(k recordKind, behind string) error {
	where := `provenance_code=? AND record_type=? AND ext_id>?`
	args := []any{k.provenance, k.recordType, behind}
	if v.page.Prefix != "" {
		where += ` AND ext_id>=? AND ext_id<?`
		args = append(args, v.page.Prefix, v.page.Prefix+lastRune)
	}
	err := v.s.each(v.ctx, func(r *sql.Rows) error {
		if v.looked == v.page.LookAt || len(v.rows) == v.page.Limit {
			v.more = true
			return errEnough
		}
		row, err := scanRecordRow(r)
		if err != nil {
			return err
		}
		v.looked++
		v.last = row.Number
		if v.wants(row) {
			v.rows = append(v.rows, row)
		}
		return nil
	}, `SELECT `+recordRowCols+` FROM ing_record`+v.s.d.recordIndex+` WHERE `+where+`
		ORDER BY provenance_code, record_type, ext_id LIMIT ?`, append(args, v.mostLeft()+1)...)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// mostLeft is how many records have yet to be looked at, at the most: where each is
// wanted no more than the page lacks.
func (v *recordView) mostLeft() int {
	most := v.page.LookAt - v.looked
	if v.page.Status == "" && v.page.Since.IsZero() {
		return min(most, v.page.Limit-len(v.rows))
	}
	return most
}

func (v *recordView) wants(r control.RecordRow) bool {
	if v.page.Status != "" && r.Status != v.page.Status {
		return false
	}
	return !time.Time(r.ChangedAt).Before(v.page.Since)
}

const recordRowCols = `id, provenance_code, record_type, ext_id, status_code, revision, updated_at, observed_at, changed_at`

func scanRecordRow(r scanner, more ...any) (control.RecordRow, error) {
	var row control.RecordRow
	var updated, seen, changed ts
	to := []any{&row.Number, &row.Source, &row.Type, &row.ID, &row.Status, &row.Revision, &updated, &seen, &changed}
	err := r.Scan(append(to, more...)...)
	if !updated.time().IsZero() {
		row.UpdatedAt = new(control.Time(updated.time()))
	}
	row.SeenAt = control.Time(seen.time())
	row.ChangedAt = control.Time(changed.time())
	return row, err
}

// readTitles gives the records of the page their titles.
func (v *recordView) readTitles() error {
	at := make(map[int64]int, len(v.rows))
	for i, r := range v.rows {
		at[r.Number] = i
	}
	for part := range chunks(v.rows, keysPerRead) {
		args := make([]any, len(part))
		for i, r := range part {
			args[i] = r.Number
		}
		err := v.s.each(v.ctx, func(r *sql.Rows) error {
			var number int64
			var body storedBody
			if err := r.Scan(append([]any{&number}, body.dest()...)...); err != nil {
				return err
			}
			fields, err := v.s.openFields(v.ctx, body)
			if err != nil {
				return err
			}
			v.rows[at[number]].Title = titleOf(fields)
			return nil
		}, `SELECT r.id, `+bodyCols+` FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision
			WHERE r.id IN (`+list(len(part))+`)`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// titleOf is the title among the fields of a record, empty if it has none.
func titleOf(fields []byte) string {
	var of struct{ Title string }
	if json.Unmarshal(fields, &of) != nil {
		return ""
	}
	return of.Title
}

// Record reads a record of a source by its id, whatever its type.
func (s *Store) Record(ctx context.Context, provenance, id string) (out control.RecordFacts, err error) {
	var at recordKind
	for {
		var found bool
		at, found, err = s.nextKind(ctx, provenance, at)
		if err != nil || !found {
			break
		}
		var created, missing ts
		var into sql.NullString
		var body storedBody
		out.RecordRow, err = scanRecordRow(s.r.QueryRowContext(ctx, `SELECT r.id, r.provenance_code, r.record_type, r.ext_id, r.status_code,
			r.revision, r.updated_at, r.observed_at, r.changed_at, r.created_at, r.missing_since, r.merged_into, `+bodyCols+`
			FROM ing_record r LEFT JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision
			WHERE r.provenance_code=? AND r.record_type=? AND r.ext_id=?`, at.provenance, at.recordType, id), append([]any{&created, &missing, &into}, body.dest()...)...)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			break
		}
		var fields []byte
		fields, err = s.openFields(ctx, body)
		out.Title = titleOf(fields)
		out.CreatedAt = created.time()
		out.MissingSince = missing.time()
		out.MergedInto = into.String
		break
	}
	if err == nil && out.Number == 0 {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return out, fmt.Errorf("record %s %s: %w", provenance, id, err)
	}
	return out, nil
}

// RecordRaw reads a revision of a record as it came.
func (s *Store) RecordRaw(ctx context.Context, number, revision int64) ([]byte, error) {
	var body storedBody
	var raw []byte
	err := s.r.QueryRowContext(ctx, `SELECT `+bodyCols+` FROM ing_record_version v WHERE v.record_id=? AND v.revision=?`, number, revision).Scan(body.dest()...)
	if err == nil {
		raw, _, err = s.open(ctx, body)
	}
	if err != nil {
		return nil, fmt.Errorf("read revision %d of record %d: %w", revision, number, err)
	}
	return raw, nil
}

// RecordVersions reads revisions of a record below one, the newest first.
func (s *Store) RecordVersions(ctx context.Context, number, below int64, limit int) ([]control.RecordVersion, error) {
	out := []control.RecordVersion{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var v control.RecordVersion
		var updated, fetched, stored ts
		var sha []byte
		var body storedBody
		dest := []any{&v.Revision, &v.Effect, &v.Status, &updated, &fetched, &stored, &v.MappingVersion, &sha, &v.Origin.Batch}
		err := r.Scan(append(dest, body.dest()...)...)
		if err != nil {
			return err
		}
		v.Fields, err = s.openFields(ctx, body)
		if !updated.time().IsZero() {
			v.UpdatedAt = new(control.Time(updated.time()))
		}
		v.FetchedAt = control.Time(fetched.time())
		v.StoredAt = control.Time(stored.time())
		v.RawSHA256 = hex.EncodeToString(sha)
		out = append(out, v)
		return err
	}, `SELECT v.revision, v.effect_code, v.status_code, v.updated_at, v.observed_at, v.created_at, v.mapping_version, v.raw_sha256, v.batch_id,
		`+bodyCols+` FROM ing_record_version v WHERE v.record_id=? AND v.revision<? ORDER BY v.revision DESC LIMIT ?`, number, below, limit)
	for i := range out {
		if err != nil {
			break
		}
		out[i].Origin, err = s.Origin(ctx, out[i].Origin.Batch)
	}
	if err != nil {
		return nil, fmt.Errorf("revisions of record %d: %w", number, err)
	}
	return out, nil
}

// Origin reads what led to a page. Of one that is archived only what it belonged to is
// known.
func (s *Store) Origin(ctx context.Context, id harvest.BatchID) (control.Origin, error) {
	o := control.Origin{Batch: id}
	var trigger, status sql.NullInt64
	var expr, request, reply sql.NullString
	var opened ts
	err := s.r.QueryRowContext(ctx, `SELECT run_id, task_id, slice_id, plan_id, schedule_instance_id, operation_code, expr_hash, request,
		http_status, reply_sha256, opened_at FROM ing_task_run_batch WHERE id=?`, id).
		Scan(&o.Run, &o.Task, &o.Slice, &o.Plan, &trigger, &o.Operation, &expr, &request, &status, &reply, &opened)
	if errors.Is(err, sql.ErrNoRows) {
		return s.archivedOrigin(ctx, o)
	}
	if err != nil {
		return o, fmt.Errorf("page %d: %w", id, err)
	}
	o.Trigger = harvest.InstanceID(trigger.Int64)
	o.ExprHash = expr.String
	o.Request = request.String
	o.HTTPStatus = status.Int64
	o.ReplySHA256 = reply.String
	o.FetchedAt = new(control.Time(opened.time()))
	return o, nil
}
