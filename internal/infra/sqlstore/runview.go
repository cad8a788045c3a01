package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// runItemSQL reads runs r with the task they are attempts at.
const runItemSQL = `SELECT r.id, r.attempt_no, r.status_code, r.error_code, r.error, r.started_at, r.finished_at, r.task_id, t.slice_id,
	t.plan_id, r.provenance_code, t.endpoint_name, r.operation_code, r.window_from, r.window_to, r.lease_owner, r.stats
	FROM ing_task_run r JOIN ing_task t ON t.id=r.task_id WHERE `

func scanRunItem(r scanner) (v control.RunItem, err error) {
	var code, text, stats sql.NullString
	var began, ended, from, to ts
	err = r.Scan(&v.ID, &v.Attempt, &v.Status, &code, &text, &began, &ended, &v.Task, &v.Slice, &v.Plan, &v.Source, &v.Endpoint,
		&v.Operation, &from, &to, &v.Owner, &stats)
	if err != nil {
		return v, err
	}
	v.Code = code.String
	v.Error = text.String
	v.StartedAt = began.time()
	v.FinishedAt = ended.time()
	v.From = from.mark(v.Operation)
	v.To = to.mark(v.Operation)
	if stats.String == "" {
		return v, nil
	}
	v.Stats = new(harvest.RunStats)
	if err := json.Unmarshal([]byte(stats.String), v.Stats); err != nil {
		return v, fmt.Errorf("read stats of run %d: %w", v.ID, err)
	}
	return v, nil
}

// Run reads one run.
func (s *Store) Run(ctx context.Context, id harvest.RunID) (control.RunItem, error) {
	v, err := scanRunItem(s.r.QueryRowContext(ctx, runItemSQL+`r.id=?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return v, fmt.Errorf("run %d: %w", id, err)
	}
	return v, nil
}

// Runs lists runs, the newest first. Which they are an index tells, one state and source
// after the other where that is how it is sorted; what is shown of them is read by their
// numbers.
func (s *Store) Runs(ctx context.Context, q control.RunQuery, before harvest.RunID, limit int) ([]control.RunItem, error) {
	ids, err := s.runIDs(ctx, q, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	out := []control.RunItem{}
	for part := range chunks(ids, 500) {
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = id
		}
		err := s.each(ctx, func(r *sql.Rows) error {
			v, err := scanRunItem(r)
			out = append(out, v)
			return err
		}, runItemSQL+`r.id IN (`+list(len(part))+`) ORDER BY r.id DESC`, args...)
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
	}
	if at := slices.IndexFunc(out, func(v control.RunItem) bool { return v.StartedAt.Before(q.Since) }); at >= 0 {
		out = out[:at] // later runs have greater numbers
	}
	return out, nil
}

// runIDs are the numbers of the newest runs that a list asks for.
func (s *Store) runIDs(ctx context.Context, q control.RunQuery, before harvest.RunID, limit int) ([]harvest.RunID, error) {
	if q.Task != 0 || q.Plan == 0 && q.Source == "" && q.State == "" {
		return s.runIDsOf(ctx, q, before, limit)
	}
	states := []harvest.RunState{harvest.RunRunning, harvest.RunSucceeded, harvest.RunPartial, harvest.RunFailed, harvest.RunCancelled}
	if q.State != "" {
		states = []harvest.RunState{q.State}
	}
	sources := []string{q.Source}
	if q.Source == "" && q.Plan == 0 {
		var err error
		sources, err = s.PlannedSources(ctx)
		if err != nil {
			return nil, err
		}
	}
	var all []harvest.RunID
	for _, state := range states {
		for _, code := range sources {
			ids, err := s.runIDsOf(ctx, control.RunQuery{State: state, Source: code, Plan: q.Plan}, before, limit)
			if err != nil {
				return nil, err
			}
			all = append(all, ids...)
		}
	}
	slices.SortFunc(all, func(a, b harvest.RunID) int { return cmp.Compare(b, a) })
	return all[:min(len(all), limit)], nil
}

// runIDsOf reads numbers along one index.
func (s *Store) runIDsOf(ctx context.Context, q control.RunQuery, before harvest.RunID, limit int) (ids []harvest.RunID, err error) {
	query, args := s.runIDsSQL(q, before, limit)
	err = s.each(ctx, func(r *sql.Rows) error {
		var id harvest.RunID
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, query, args...)
	return ids, err
}

// runIDsSQL lists the runs of a task, of a plan in a state, of a state and source, or all.
func (s *Store) runIDsSQL(q control.RunQuery, before harvest.RunID, limit int) (string, []any) {
	where := `1=1`
	index := ""
	newest := `id`
	var args []any
	switch {
	case q.Task != 0:
		where = `task_id=?`
		newest = `attempt_no`
		args = append(args, q.Task)
		if q.State != "" {
			where += ` AND status_code=?`
			args = append(args, q.State)
		}
		if q.Source != "" {
			where += ` AND provenance_code=?`
			args = append(args, q.Source)
		}
	case q.Plan != 0:
		where = `plan_id=? AND status_code=?`
		index = s.d.runPlanIndex
		args = append(args, q.Plan, q.State)
		if q.Source != "" {
			where += ` AND provenance_code=?`
			args = append(args, q.Source)
		}
	case q.State != "":
		where = `status_code=? AND provenance_code=?`
		index = s.d.runIndex
		args = append(args, q.State, q.Source)
	}
	if before != 0 {
		where += ` AND id<?`
		args = append(args, before)
	}
	return `SELECT id FROM ing_task_run` + index + ` WHERE ` + where + ` ORDER BY ` + newest + ` DESC LIMIT ?`, append(args, limit)
}

// batchItemCols are what a list of pages shows.
const batchItemCols = `b.id, b.run_id, b.batch_no, b.phase, b.ordinal, b.status_code, b.items, b.sent, b.retried, b.http_status,
	b.error_code, b.error, b.opened_at, b.committed_at, b.inserted, b.updated, b.quarantined, b.http_429, b.http_5xx, b.bytes, b.stats`

// batchStats is what a page keeps as JSON.
type batchStats struct {
	Latency int64 `json:"latencyMs"`
	Wait    int64 `json:"waitMs"`
	HasNext bool  `json:"hasNext"`
}

// scanBatchItem reads the columns of a page in a list, and those that were asked for
// behind them.
func scanBatchItem(r scanner, v *control.BatchItem, more ...any) (st batchStats, err error) {
	var code, text, stats sql.NullString
	var http sql.NullInt64
	var opened, ended ts
	err = r.Scan(append([]any{
		&v.ID, &v.Run, &v.No, &v.Phase, &v.Ordinal, &v.Status, &v.Items, &v.Sent, &v.Retried, &http, &code, &text, &opened, &ended,
		&v.Inserted, &v.Updated, &v.Quarantined, &v.HTTP429, &v.HTTP5xx, &v.Bytes, &stats,
	}, more...)...)
	if err != nil {
		return st, err
	}
	v.HTTP = http.Int64
	v.Code = code.String
	v.Error = text.String
	v.Opened = opened.time()
	v.Ended = ended.time()
	if stats.String != "" {
		if err := json.Unmarshal([]byte(stats.String), &st); err != nil {
			return st, fmt.Errorf("read stats of page %d: %w", v.ID, err)
		}
	}
	v.Took(time.Duration(st.Wait)*time.Millisecond, time.Duration(st.Latency)*time.Millisecond)
	return st, nil
}

// RunBatches lists the pages of a run behind one.
func (s *Store) RunBatches(ctx context.Context, id harvest.RunID, after int64, limit int) ([]control.BatchItem, error) {
	out := []control.BatchItem{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var v control.BatchItem
		_, err := scanBatchItem(r, &v)
		out = append(out, v)
		return err
	}, runBatchesSQL, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list pages of run %d: %w", id, err)
	}
	return out, nil
}

const runBatchesSQL = `SELECT ` + batchItemCols + ` FROM ing_task_run_batch b WHERE b.run_id=? AND b.batch_no>? ORDER BY b.batch_no LIMIT ?`

// Batch reads everything that is kept of a page.
func (s *Store) Batch(ctx context.Context, run harvest.RunID, no int64) (v control.BatchView, err error) {
	var expr, credential, after, proof, request, requestSum, replySum, digest sql.NullString
	var instance, late sql.NullInt64
	var sample []byte
	var observed ts
	c := &v.Records
	st, err := scanBatchItem(s.r.QueryRowContext(ctx, `SELECT `+batchItemCols+`, b.task_id, b.slice_id, b.plan_id, b.schedule_instance_id,
		b.provenance_code, b.operation_code, b.expr_hash, b.credential_ref, b.walk_no, b.before_position, b.after_position, b.end_proof,
		b.inserted, b.updated, b.remapped, b.unchanged, b.stale, b.filtered, b.undecided, b.quarantined, b.missing, b.gone, b.merged, b.asked, b.bad_ids,
		b.fresh, b.late, b.observed_max, b.request, b.request_sha256, b.reply_sha256, b.response_digest, b.reply_sample
		FROM ing_task_run_batch b WHERE b.run_id=? AND b.batch_no=?`, run, no), &v.BatchItem,
		&v.Task, &v.Slice, &v.Plan, &instance, &v.Source, &v.Operation, &expr, &credential, &v.Walk, &v.Before, &after, &proof,
		&c.Inserted, &c.Updated, &c.Remapped, &c.Unchanged, &c.Stale, &c.Filtered, &c.Undecided, &c.Quarantined, &c.Missing, &c.Gone, &c.Merged, &v.Asked, &v.BadIDs,
		&v.Fresh, &late, &observed, &request, &requestSum, &replySum, &digest, &sample)
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return v, fmt.Errorf("page %d/%d: %w", run, no, err)
	}
	v.HasNext = st.HasNext
	v.Instance = harvest.InstanceID(instance.Int64)
	v.ExprHash = expr.String
	v.Credential = credential.String
	v.After = after.String
	v.Proof = proof.String
	v.Request = request.String
	v.RequestSHA256 = requestSum.String
	v.ReplySHA256 = replySum.String
	if late.Valid {
		v.Late = &late.Int64
	}
	if at := observed.time(); !at.IsZero() {
		v.ObservedMax = new(control.Time(at))
	}
	v.Sample = shownSample(sample)
	var told struct {
		Headers map[string]string `json:"headers"`
	}
	if digest.String != "" {
		if err := json.Unmarshal([]byte(digest.String), &told); err != nil {
			return v, fmt.Errorf("read headers of page %d/%d: %w", run, no, err)
		}
	}
	v.Headers = told.Headers
	return v, nil
}

// shownSample is the beginning of a reply as text. It may be cut within a character, and
// what is no text at all is shown by its escapes.
func shownSample(b []byte) string {
	for len(b) > 0 && !utf8.Valid(b) && !utf8.FullRune(b[lastCharacter(b):]) {
		b = b[:lastCharacter(b)]
	}
	if utf8.Valid(b) {
		return string(b)
	}
	return fmt.Sprintf("%q", b)
}

// lastCharacter is where the last character of a text begins.
func lastCharacter(b []byte) int {
	i := len(b) - 1
	for i > 0 && !utf8.RuneStart(b[i]) {
		i--
	}
	return i
}
