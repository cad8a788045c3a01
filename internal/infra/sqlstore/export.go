package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
)

// lineageOfBatch is what a page belongs to: plan, slice, task and run, of one that is here
// and of one that is archived. [joinBatch] joins it.
const lineageOfBatch = `COALESCE(b.plan_id, z.plan_id, 0), COALESCE(b.slice_id, z.slice_id, 0), COALESCE(b.task_id, z.task_id, 0),
		COALESCE(b.run_id, z.run_id, 0)`

// joinBatch joins the page b that a column names, or z if it is archived.
func joinBatch(column string) string {
	return `
		LEFT JOIN ing_task_run_batch b ON b.id=` + column + `
		LEFT JOIN ing_archived z ON z.kind_code='batch' AND z.object_id=` + column
}

// archivedOrigin adds what a page belonged to that is archived.
func (s *Store) archivedOrigin(ctx context.Context, o control.Origin) (control.Origin, error) {
	err := s.r.QueryRowContext(ctx, `SELECT plan_id, slice_id, task_id, run_id FROM ing_archived WHERE kind_code='batch' AND object_id=?`, o.Batch).
		Scan(&o.Plan, &o.Slice, &o.Task, &o.Run)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return o, fmt.Errorf("archived page %d: %w", o.Batch, err)
	}
	return o, nil
}

// exportWhere says which records a query asks for.
func exportWhere(q control.ExportQuery) (where string, args []any) {
	where = "r.revision > ?"
	args = append(args, q.SinceRevision)
	add := func(condition string, values ...any) {
		where += " AND " + condition
		args = append(args, values...)
	}
	if len(q.Sources) > 0 {
		add("r.provenance_code IN ("+list(len(q.Sources))+")", bound(q.Sources)...)
	}
	if len(q.Statuses) > 0 {
		add("r.status_code IN ("+list(len(q.Statuses))+")", bound(q.Statuses)...)
	}
	if !q.Since.IsZero() {
		add("r.changed_at >= ?", ts(q.Since))
	}
	if q.Plan != 0 {
		add(`EXISTS (SELECT 1 FROM ing_record_version w
			LEFT JOIN ing_task_run_batch wb ON wb.id=w.batch_id
			LEFT JOIN ing_archived wz ON wz.kind_code='batch' AND wz.object_id=w.batch_id
			WHERE w.record_id=r.id AND COALESCE(wb.plan_id, wz.plan_id)=?)`, q.Plan)
	}
	if len(q.Selections) > 0 {
		members, values := membersOf(q.Selections)
		add(members, values...)
	}
	return where, args
}

// bound are texts as the values of a statement.
func bound[S ~string](texts []S) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = string(t)
	}
	return out
}

// Export reads records in the order of (source, type, id), one at a time.
func (s *Store) Export(ctx context.Context, q control.ExportQuery, f func(*control.Exported) error) error {
	where, args := exportWhere(q)
	var e control.Exported
	err := s.each(ctx, func(r *sql.Rows) error {
		var updated, fetched ts
		var sha []byte
		var body storedBody
		var into sql.NullString
		e.Work = nil
		dest := []any{
			&e.Number, &e.Provenance, &e.Type, &e.ID, &e.Status, &into, &e.Revision, &updated, &sha,
			&e.Plan, &e.Slice, &e.Task, &e.Run, &e.Batch, &e.MappingVersion, &fetched,
		}
		if err := r.Scan(append(dest, body.dest()...)...); err != nil {
			return err
		}
		var err error
		e.Raw = nil
		if q.Raw {
			e.Raw, e.Fields, err = s.open(ctx, body)
		} else {
			e.Fields, err = s.openFields(ctx, body)
		}
		if err != nil {
			return fmt.Errorf("record %s %s: %w", e.Provenance, e.ID, err)
		}
		e.UpdatedAt = updated.time()
		e.FetchedAt = fetched.time()
		e.RawSHA256 = hex.EncodeToString(sha)
		e.MergedInto = into.String
		return f(&e)
	}, `SELECT r.id, r.provenance_code, r.record_type, r.ext_id, r.status_code, r.merged_into, r.revision, r.updated_at, r.raw_sha256,
		`+lineageOfBatch+`, v.batch_id, v.mapping_version, v.observed_at, `+bodyCols+`
		FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision`+joinBatch("v.batch_id")+`
		WHERE `+where+` ORDER BY r.provenance_code, r.record_type, r.ext_id`, args...)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// Doubles finds the works of which a query asks for several records, and counts records
// that were not compared yet. Records that their source has withdrawn or merged are in no
// work.
func (s *Store) Doubles(ctx context.Context, q control.ExportQuery) (control.Doubles, error) {
	var out control.Doubles
	where, args := exportWhere(q)
	err := s.each(ctx, func(r *sql.Rows) error {
		var m control.WorkMember
		if err := r.Scan(&m.Work, &m.Record); err != nil {
			return err
		}
		out.Add(m)
		return nil
	}, `SELECT m.work_id, m.record_id FROM ing_work_member m JOIN ing_record r ON r.id=m.record_id
		WHERE `+where+` AND `+inWorks+` ORDER BY m.work_id, m.record_id`, args...)
	if err != nil {
		return out, fmt.Errorf("find doubles: %w", err)
	}
	out.Settle()
	out.Unlinked, err = s.CountUnlinked(ctx, q, false)
	return out, err
}

// AlikeWorks lists works that are suggested to be the same because their records are alike,
// the most alike first. Where an identifier alone suggests it, titles may say otherwise.
func (s *Store) AlikeWorks(ctx context.Context) ([]control.AlikeWorks, error) {
	out := []control.AlikeWorks{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var a control.AlikeWorks
		err := r.Scan(&a.One, &a.Other)
		out = append(out, a)
		return err
	}, `SELECT COALESCE(a.work_id, e.from_record), COALESCE(b.work_id, e.to_record) FROM ing_work_edge e
		LEFT JOIN ing_work_member a ON a.record_id=e.from_record LEFT JOIN ing_work_member b ON b.record_id=e.to_record
		WHERE e.polarity_code='SUGGEST' AND e.basis_code='PAIR' AND e.relation_name=''
		ORDER BY e.score DESC, e.rule_no, e.from_record, e.to_record`)
	if err != nil {
		return nil, fmt.Errorf("list works that are alike: %w", err)
	}
	return out, nil
}

// SelectedOf lists the records of works that a query asks for. A record that is the only one
// of its work need not be a member of any: the work has its number.
func (s *Store) SelectedOf(ctx context.Context, q control.ExportQuery, works []int64) ([]control.WorkMember, error) {
	out := []control.WorkMember{}
	where, args := exportWhere(q)
	for part := range chunks(works, keysPerRead) {
		err := s.each(ctx, func(r *sql.Rows) error {
			var m control.WorkMember
			err := r.Scan(&m.Work, &m.Record)
			out = append(out, m)
			return err
		}, `SELECT m.work_id, m.record_id FROM ing_work_member m JOIN ing_record r ON r.id=m.record_id
			WHERE `+where+` AND `+inWorks+` AND m.work_id IN (`+list(len(part))+`)
			UNION ALL SELECT r.id, r.id FROM ing_record r LEFT JOIN ing_work_member m ON m.record_id=r.id
			WHERE `+where+` AND `+inWorks+` AND m.record_id IS NULL AND r.id IN (`+list(len(part))+`)`,
			slices.Concat(args, anys(part), args, anys(part))...)
		if err != nil {
			return nil, fmt.Errorf("list selected records of works: %w", err)
		}
	}
	return out, nil
}

// inWorks is the condition that a record r can be of a work.
const inWorks = `r.status_code IN ('ACTIVE','RETRACTED')`

// CountUnlinked counts the records that a query asks for and that were not compared with
// others yet, or all that it asks for.
func (s *Store) CountUnlinked(ctx context.Context, q control.ExportQuery, all bool) (n int64, err error) {
	where, args := exportWhere(q)
	if all {
		err = s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM ing_record r WHERE `+where+` AND `+inWorks, args...).Scan(&n)
		if err != nil {
			return 0, fmt.Errorf("count records to compare: %w", err)
		}
		return n, nil
	}
	waiting, err := s.waitingForLinking(ctx)
	if err != nil || waiting.isNone() {
		return 0, err
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		var id int64
		if err := r.Scan(&id); err != nil {
			return err
		}
		if waiting.has(id) {
			n++
		}
		return nil
	}, `SELECT r.id FROM ing_record r WHERE `+where+` AND `+inWorks, args...)
	if err != nil {
		return 0, fmt.Errorf("count records that were not compared: %w", err)
	}
	return n, nil
}
