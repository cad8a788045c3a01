package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// seeded is the source whose rows are made by SQL. It is one that patra comes with, so
// that commands and routes know it.
const seeded = "datacite"

// seededRecord is one of its records.
const seededRecord = "10.5555/seed-7"

// amounts is how much a store is filled with.
type amounts struct {
	Records, Batches, Slices, Cursors int
}

// seed fills a store as years of harvests would, by statements over whole tables: slices
// of one plan, nine tenths of them done, the rest gaps and tasks that wait, with a run
// for each and pages for the runs, cursors of activities, and copies of a record that is
// there already.
func seed(ctx context.Context, store *sqlstore.Store, db *sql.DB, mysql bool, a amounts) error {
	var there int
	if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM ing_record_version v JOIN ing_record c ON c.id=v.record_id WHERE c.provenance_code='`+seeded+`'`).Scan(&there); err != nil {
		return err
	}
	if there >= a.Records { // by an earlier run over the same server
		return nil
	}
	if err := fill(ctx, store, seeded, a.Slices); err != nil {
		return err
	}
	var first int64
	if err := db.QueryRowContext(ctx, `SELECT MIN(id) FROM ing_task WHERE provenance_code='`+seeded+`'`).Scan(&first); err != nil {
		return err
	}
	done := first + int64(a.Slices)*9/10
	gaps := done + int64(a.Slices)/40
	statements := []string{
		fmt.Sprintf(`UPDATE ing_task SET status_code='SUCCEEDED', attempts=1 WHERE provenance_code='%s' AND id<%d`, seeded, done),
		fmt.Sprintf(`UPDATE ing_task SET status_code='FAILED', attempts=10, error_code='http_503', error='no' WHERE provenance_code='%s' AND id>=%d AND id<%d`, seeded, done, gaps),
		`UPDATE ing_plan_slice SET status_code='DONE' WHERE id IN (SELECT slice_id FROM ing_task WHERE provenance_code='` + seeded + `' AND status_code='SUCCEEDED')`,
		`UPDATE ing_plan_slice SET status_code='FAILED', reason='http_503: no' WHERE id IN (SELECT slice_id FROM ing_task WHERE provenance_code='` + seeded + `' AND status_code='FAILED')`,
		`UPDATE ing_cursor SET normalized_instant=(SELECT MIN(window_from) FROM ing_plan_slice WHERE provenance_code='` + seeded + `' AND status_code='FAILED')
			WHERE provenance_code='` + seeded + `'`,
		`INSERT INTO ing_task_run (task_id, attempt_no, fence, provenance_code, operation_code, lease_owner, status_code, window_from, window_to, stats, started_at,
			finished_at) SELECT id, 1, 1, provenance_code, operation_code, 'bench', CASE status_code WHEN 'FAILED' THEN 'FAILED' ELSE 'SUCCEEDED' END, created_at,
			created_at, '{"reqCount":3}', created_at, created_at FROM ing_task WHERE provenance_code='` + seeded + `' AND status_code IN ('SUCCEEDED','FAILED')`,
		`INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, provenance_code, operation_code, batch_no, walk_no, phase, ordinal, fence, status_code,
			before_position, after_position, items, inserted, sent, bytes, http_status, request, stats, error_code, opened_at, committed_at)
			` + numbers(10) + `SELECT r.id, t.id, t.slice_id, t.plan_id, t.provenance_code, t.operation_code, n.i+1, 1, 'SEARCH', n.i+1, 1, r.status_code, '', '', 10, 10, 1,
			5000, 200, 'GET https://api.datacite.org/dois?page=1', '{"latencyMs":120,"waitMs":30,"hasNext":true}', CASE r.status_code WHEN 'FAILED' THEN 'http_503' END,
			r.started_at, r.finished_at FROM ing_task_run r JOIN ing_task t ON t.id=r.task_id CROSS JOIN n
			WHERE r.provenance_code='` + seeded + `' AND n.i < ` + fmt.Sprint((a.Batches+a.Slices-1)/a.Slices),
		`INSERT INTO ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, direction_code, cursor_type_code, cursor_value,
			normalized_instant, init_value, created_at, updated_at) ` + numbers(a.Cursors) + `SELECT c.provenance_code, 'BACKFILL', 'updated', 'CUSTOM',
			CONCAT('activity-', n.i), 'BACKFILL', c.cursor_type_code, c.cursor_value, c.normalized_instant, c.init_value, c.created_at, c.updated_at
			FROM ing_cursor c CROSS JOIN n WHERE c.provenance_code='` + seeded + `' AND n.i < ` + fmt.Sprint(a.Cursors),
		`INSERT INTO ing_record (provenance_code, record_type, ext_id, status_code, revision, updated_at, observed_at, content_hash, raw_sha256, mapping_version,
			created_at, changed_at) ` + numbers(a.Records) + `SELECT '` + seeded + `', r.record_type, CONCAT('10.5555/seed-', n.i), r.status_code, 1, r.updated_at, r.observed_at,
			r.content_hash, r.raw_sha256, r.mapping_version, r.created_at, r.changed_at FROM (SELECT * FROM ing_record ORDER BY id LIMIT 1) r CROSS JOIN n
			WHERE n.i < ` + fmt.Sprint(a.Records),
		`INSERT INTO ing_record_version (record_id, revision, effect_code, status_code, updated_at, observed_at, content_hash, raw_sha256, mapping_version, batch_id, raw,
			fields, codec_code, dictionary_id, created_at) SELECT c.id, 1, v.effect_code, v.status_code, v.updated_at, v.observed_at, v.content_hash, v.raw_sha256, v.mapping_version,
			(SELECT MIN(id) FROM ing_task_run_batch WHERE provenance_code='` + seeded + `') + c.id % ` + fmt.Sprint(a.Slices) + `, v.raw,
			v.fields, v.codec_code, v.dictionary_id, v.created_at FROM (SELECT * FROM ing_record_version ORDER BY id LIMIT 1) v CROSS JOIN ing_record c WHERE c.provenance_code='` + seeded + `'`,
		`INSERT INTO ing_outbox (record_id, revision, created_at) SELECT id, 1, created_at FROM ing_record WHERE provenance_code='` + seeded + `'`,
	}
	statements = append(statements, asides(a)...)
	if mysql {
		for _, table := range []string{
			"ing_plan_slice", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_cursor", "ing_record", "ing_record_version", "ing_outbox", "ing_cursor_event",
			"ing_quarantine", "ing_error_group", "ing_alert", "sys_audit",
		} {
			statements = append(statements, "ANALYZE TABLE "+table)
		}
	}
	for _, q := range statements {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("fill the store: %.60s: %w", q, err)
		}
	}
	return nil
}

// asides fill what stands beside the work: totals, moves of a cursor, errors, alerts, items in
// quarantine and lines of the audit.
func asides(a amounts) []string {
	const aside = `x'28b52ffd20021100007b7d'` // {} in a zstd frame
	some := fmt.Sprint(a.Slices / 20)
	many := fmt.Sprint(a.Slices)
	return []string{
		`DELETE FROM ing_plan_group`,
		`INSERT INTO ing_plan_group (plan_id, place, status_code, slices, expected, estimated, records, pages_asked, latency_ms, http_429, first_from, last_to)
			SELECT s.plan_id, SUBSTR(s.window_from, 1, p.group_digits) AS place, s.status_code, COUNT(*), COALESCE(SUM(s.expected),0), COUNT(s.expected),
			SUM(s.records), SUM(s.pages_asked), SUM(s.latency_ms), SUM(s.http_429), MIN(s.window_from), MAX(s.window_to)
			FROM ing_plan p JOIN ing_plan_slice s ON s.plan_id=p.id WHERE p.group_digits>0 GROUP BY s.plan_id, place, s.status_code`,
		`INSERT INTO ing_plan_total (plan_id, sent, bytes, inserted) SELECT plan_id, SUM(sent), SUM(bytes), SUM(inserted) FROM ing_task_run_batch
			WHERE provenance_code='` + seeded + `' AND status_code='SUCCEEDED' GROUP BY plan_id`,
		`INSERT INTO ing_cursor_event (cursor_id, provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, direction_code, kind_code, prev_value,
			new_value, prev_instant, new_instant, idempotent_key, plan_id, slice_id, event_time)
			SELECT c.id, c.provenance_code, c.operation_code, c.cursor_key, c.namespace_scope_code, c.namespace_key, c.direction_code, 'ADVANCE', c.cursor_value,
			c.cursor_value, s.window_from, s.window_to, CONCAT('seed-', s.id), s.plan_id, s.id, s.created_at FROM ing_plan_slice s JOIN ing_cursor c ON c.id=s.cursor_id
			WHERE s.provenance_code='` + seeded + `' AND s.status_code='DONE' ORDER BY s.window_from`,
		`INSERT INTO ing_error_group (provenance_code, endpoint_name, level_code, error_code, field_path, faults, first_at, last_at, state_at) ` + numbers(a.Slices/20) +
			`SELECT '` + seeded + `', 'search', 'L2', CONCAT('http_', n.i), '', 7, c.created_at, c.created_at, c.created_at FROM n CROSS JOIN ` + oneCursor +
			` WHERE n.i < ` + some,
		`INSERT INTO ing_error_hour (group_id, operation_code, hour_at, faults, first_at, last_at) SELECT id, 'HARVEST', first_at, faults, first_at, last_at
			FROM ing_error_group WHERE provenance_code='` + seeded + `'`,
		`INSERT INTO ing_alert (rule_code, subject, provenance_code, state_code, severity_code, message, measured, threshold, next_step, since, updated_at) ` +
			numbers(a.Slices/20) + `SELECT 'watermark_lag', CONCAT('subject-', n.i), '` + seeded + `', 'CLEARED', 'warning', 'late', '1', '2', 'nothing', c.created_at, c.created_at
			FROM n CROSS JOIN ` + oneCursor + ` WHERE n.i < ` + some,
		`INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, raw, raw_sha256, seen_at, created_at) ` + numbers(a.Slices) +
			`SELECT b.id, '` + seeded + `', CONCAT('work-', n.i), CONCAT('bad-', n.i), 'bad_date', ` + aside + `, v.raw_sha256, b.opened_at, b.opened_at FROM n
			CROSS JOIN (SELECT id, opened_at FROM ing_task_run_batch WHERE provenance_code='` + seeded + `' ORDER BY id LIMIT 1) b
			CROSS JOIN (SELECT raw_sha256 FROM ing_record_version ORDER BY id LIMIT 1) v WHERE n.i < ` + many,
		`INSERT INTO ing_schedule (schedule_name, provenance_code, operation_code, query_text, cron_line, zone_name, priority, params, enabled, since, created_at, updated_at)
			SELECT '` + seeded + `/HARVEST', '` + seeded + `', 'HARVEST', '', '0 6 * * *', 'UTC', 100, '{}', 1, c.created_at, c.created_at, c.created_at FROM ` + oneCursor,
		`INSERT INTO sys_audit (actor, action_code, object, reason, created_at) ` + numbers(a.Slices) + `SELECT 'bench', 'GAP_ACCEPT', CONCAT('slice/', n.i), 'seeded', c.created_at
			FROM n CROSS JOIN ` + oneCursor + ` WHERE n.i < ` + many,
	}
}

// oneCursor lends its time to rows that have no other.
const oneCursor = `(SELECT created_at FROM ing_cursor WHERE provenance_code='` + seeded + `' ORDER BY id LIMIT 1) c`

// numbers begins a SELECT that may join n, a table of the numbers i from 0 to at least
// most-1.
func numbers(most int) string {
	digits := len(fmt.Sprint(max(most, 1) - 1))
	var sum, from []string
	power := 1
	for k := range digits {
		sum = append(sum, fmt.Sprintf("%d*d%d.i", power, k))
		from = append(from, fmt.Sprintf("d d%d", k))
		power *= 10
	}
	ten := strings.TrimSuffix(strings.Repeat("SELECT %d AS i UNION ALL ", 10), "UNION ALL ")
	return "WITH d AS (" + fmt.Sprintf(ten, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) + "), n AS (SELECT " + strings.Join(sum, " + ") + " AS i FROM " +
		strings.Join(from, " CROSS JOIN ") + ") "
}
