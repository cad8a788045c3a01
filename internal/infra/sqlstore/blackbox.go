package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/replay"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// BlackBox reads a page with all that is kept of it, in one state of the database and in
// a transaction that cannot write.
func (s *Store) BlackBox(ctx context.Context, ref replay.Ref, most int, raw bool) (*replay.Box, error) {
	var box *replay.Box
	err := s.snapshot(ctx, "read black box", func(t *sql.Tx) error {
		r := boxReader{ctx: ctx, s: s, t: t, most: most, raw: raw, box: &replay.Box{Format: replay.Format}}
		box = r.box
		if err := r.readPage(ref); err != nil {
			return err
		}
		if err := r.readVersions(); err != nil {
			return err
		}
		if err := r.readQuarantined(); err != nil {
			return err
		}
		return r.readMoves()
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("black box of batch %s: %w", ref, err)
	}
	return box, nil
}

// boxReader reads the parts of a black box.
type boxReader struct {
	ctx  context.Context
	s    *Store
	t    *sql.Tx
	most int
	raw  bool
	box  *replay.Box
}

// readPage reads the page's own line and what leads to it. It is found by its run and
// number, or by its id.
func (r *boxReader) readPage(ref replay.Ref) error {
	where, args := `b.run_id=? AND b.batch_no=?`, []any{ref.Run, ref.No}
	if ref.ID != 0 {
		where, args = `b.id=?`, []any{ref.ID}
	}
	l := &r.box.Lineage
	q := &r.box.Request
	p := &r.box.Reply
	e := &r.box.Effects
	frozen := new(replay.Frozen)
	var spec, slice string
	var instance, status, late sql.NullInt64
	var expr, credential, line, digest, headers, sum, stats, after, end, code, text, asked, found, base sql.NullString
	var opened, committed, observed, from, to ts
	var sample, hashes []byte
	err := r.t.QueryRowContext(r.ctx, `SELECT b.id, b.run_id, b.batch_no, b.walk_no, b.phase, b.ordinal, b.status_code, b.task_id, b.slice_id, b.plan_id,
		b.schedule_instance_id, b.provenance_code, b.operation_code, b.expr_hash, b.credential_ref, b.before_position, b.after_position,
		b.items, b.inserted, b.updated, b.remapped, b.unchanged, b.stale, b.filtered, b.undecided, b.quarantined, b.missing, b.gone, b.merged, b.fresh, b.late,
		b.asked, b.bad_ids, b.id_list, b.id_hashes, b.asked_ids, b.end_proof, b.observed_max, b.sent, b.retried, b.http_429, b.http_5xx, b.bytes,
		b.http_status, b.request, b.request_sha256, b.response_digest, b.reply_sha256, b.reply_sample, b.stats, b.error_code, b.error, b.opened_at,
		b.committed_at, u.attempt_no, p.endpoint_name, p.plan_key, p.spec_fingerprint, p.spec_version, p.spec_snapshot, p.base_url,
		s.slice_signature_hash, s.slice_spec, s.expr_snapshot, s.window_from, s.window_to
		FROM ing_task_run_batch b JOIN ing_task_run u ON u.id=b.run_id JOIN ing_plan p ON p.id=b.plan_id JOIN ing_plan_slice s ON s.id=b.slice_id
		WHERE `+where, args...).Scan(
		&l.ID, &l.Run, &l.BatchNo, &l.Walk, &l.Phase, &l.Ordinal, &p.State, &l.Task, &l.Slice, &l.Plan,
		&instance, &l.Source, &l.Operation, &expr, &credential, &q.Position, &after,
		&e.Items, &e.Inserted, &e.Updated, &e.Remapped, &e.Unchanged, &e.Stale, &e.Filtered, &e.Undecided, &e.Quarantined, &e.Missing, &e.Gone, &e.Merged, &e.Fresh, &late,
		&e.Asked, &e.BadIDs, &found, &hashes, &asked, &end, &observed, &p.Sent, &p.Retried, &p.HTTP429, &p.HTTP5xx, &p.Bytes,
		&status, &line, &digest, &headers, &sum, &sample, &stats, &code, &text, &opened,
		&committed, &l.Attempt, &l.Endpoint, &l.PlanKey, &l.SpecFingerprint, &l.SpecVersion, &spec, &base,
		&l.SliceSignature, &slice, &q.Expression, &from, &to)
	if err != nil {
		return err
	}
	r.box.Batch = fmt.Sprintf("%d/%d", l.Run, l.BatchNo)
	r.box.Correlation = harvest.Correlation(l.Run, l.BatchNo)
	l.Instance = harvest.InstanceID(instance.Int64)
	l.ExprHash = expr.String
	l.Window = spanOf(l.Operation, from, to).Short()
	q.Line = line.String
	q.SHA256 = digest.String
	q.Credential = credential.String
	q.IDs = lines(asked.String)
	q.OpenedAt = opened.time()
	p.Status = int(status.Int64)
	p.SHA256 = sum.String
	p.Sample = strings.ToValidUTF8(string(sample), "\ufffd")
	p.Stats = json.RawMessage(stats.String)
	p.Position = after.String
	p.End = end.String
	p.Code = code.String
	p.Error = text.String
	p.CommitAt = committed.time()
	p.FoundIDs = lines(found.String)
	p.SeenIDs = hashList(hashes)
	p.Newest = observed.time()
	e.Late = late.Int64
	frozen.Spec = json.RawMessage(spec)
	frozen.Slice = json.RawMessage(slice)
	frozen.BaseURL = base.String
	r.box.Frozen = frozen
	return r.headersOf(headers.String)
}

// headersOf reads the headers that were kept of the reply.
func (r *boxReader) headersOf(digest string) error {
	if digest == "" {
		return nil
	}
	var kept struct {
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal([]byte(digest), &kept); err != nil {
		return fmt.Errorf("read kept headers: %w", err)
	}
	r.box.Reply.Headers = kept.Headers
	return nil
}

// lines are the lines of a stored list of ids.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// hashList reads what [hashBytes] wrote.
func hashList(b []byte) []uint64 {
	var out []uint64
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, binary.BigEndian.Uint64(b))
	}
	return out
}

// limit is one more than are wanted, to see whether there are more.
func (r *boxReader) limit() string {
	if r.most == 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", r.most+1)
}

// columns of the bytes and fields of items, if they are wanted.
func (r *boxReader) columns(names string) string {
	if r.raw {
		return names
	}
	return strings.Repeat("NULL, ", strings.Count(names, ",")) + "NULL"
}

// readVersions reads the versions of records that the page brought, each with the one
// that was held before.
func (r *boxReader) readVersions() error {
	rows, err := r.t.QueryContext(r.ctx, `SELECT c.ext_id, c.record_type, v.effect_code, v.revision, v.status_code, v.updated_at, v.provider_version,
		v.observed_at, v.content_hash, v.raw_sha256, v.mapping_version, `+r.columns(bodyCols)+`,
		h.revision, h.status_code, h.updated_at, h.provider_version, h.observed_at, h.content_hash, h.raw_sha256, h.mapping_version
		FROM ing_record_version v JOIN ing_record c ON c.id=v.record_id
		LEFT JOIN ing_record_version h ON h.record_id=v.record_id AND h.revision=v.revision-1
		WHERE v.batch_id=? ORDER BY c.ext_id`+r.limit(), r.box.Lineage.ID)
	return eachRow(rows, err, func(rows *sql.Rows) error {
		if r.most > 0 && len(r.box.Items) == r.most {
			r.box.Capped = true
			return nil
		}
		it, err := r.scanVersion(rows)
		r.box.Items = append(r.box.Items, it)
		return err
	})
}

func (r *boxReader) scanVersion(rows *sql.Rows) (it replay.Item, err error) {
	var updated, observed, heldUpdated, heldObserved ts
	var content, sum, heldContent, heldSum []byte
	var heldStatus, heldMapping sql.NullString
	var body storedBody
	var heldRevision, heldVersion sql.NullInt64
	err = rows.Scan(&it.ID, &r.box.Lineage.RecordType, &it.Effect, &it.Revision, &it.Status, &updated, &it.Version,
		&observed, &content, &sum, &it.MappingVersion, &body.packed, &body.apart, &body.codec, &body.dictionary,
		&heldRevision, &heldStatus, &heldUpdated, &heldVersion, &heldObserved, &heldContent, &heldSum, &heldMapping)
	if err != nil {
		return it, err
	}
	it.UpdatedAt = updated.time()
	it.ObservedAt = observed.time()
	it.ContentSHA256 = hex.EncodeToString(content)
	it.RawSHA256 = hex.EncodeToString(sum)
	it.Replaced = !it.ObservedAt.Equal(r.box.Request.OpenedAt)
	if heldRevision.Valid {
		it.Before = &replay.Held{
			Revision: heldRevision.Int64, Status: harvest.RecordStatus(heldStatus.String), UpdatedAt: heldUpdated.time(), Version: heldVersion.Int64,
			ObservedAt: heldObserved.time(), ContentSHA256: hex.EncodeToString(heldContent), RawSHA256: hex.EncodeToString(heldSum),
			MappingVersion: heldMapping.String,
		}
		ended := it.Status == harvest.RecordGone || it.Status == harvest.RecordMerged
		it.Carried = ended && it.Before.RawSHA256 == it.RawSHA256
	}
	if !r.raw {
		return it, nil
	}
	bytes, mapped, err := r.s.open(r.ctx, body)
	if err != nil {
		return it, fmt.Errorf("record %s: %w", it.ID, err)
	}
	it.SetRaw(bytes)
	it.Fields = json.RawMessage(mapped)
	return it, nil
}

// readQuarantined reads the items that the page put into quarantine. One that another
// page had put there before is kept with that one.
func (r *boxReader) readQuarantined() error {
	kept := len(r.box.Items)
	rows, err := r.t.QueryContext(r.ctx, `SELECT ext_id, code, path, detail, raw_sha256, `+r.columns("raw")+`
		FROM ing_quarantine WHERE batch_id=? ORDER BY id`+r.limit(), r.box.Lineage.ID)
	return eachRow(rows, err, func(rows *sql.Rows) error {
		if r.most > 0 && len(r.box.Items)-kept == r.most {
			r.box.Capped = true
			return nil
		}
		it := replay.Item{Effect: "quarantined", Problem: new(replay.ItemsProblem), ObservedAt: r.box.Request.OpenedAt}
		var id []byte
		var path, detail sql.NullString
		var sum, packed []byte
		if err := rows.Scan(&id, &it.Problem.Code, &path, &detail, &sum, &packed); err != nil {
			return err
		}
		it.ID = strings.ToValidUTF8(string(id), "\ufffd")
		it.Problem.Path = path.String
		it.Problem.Detail = detail.String
		it.RawSHA256 = hex.EncodeToString(sum)
		it.Carried = it.Problem.Code == string(harvest.ProblemTooLarge)
		if r.raw {
			bytes, err := unpack(packed)
			if err != nil {
				return fmt.Errorf("item %s in quarantine: %w", it.ID, err)
			}
			it.SetRaw(bytes)
		}
		r.box.Items = append(r.box.Items, it)
		return nil
	})
}

// readMoves reads the moves of cursors that the page has caused.
func (r *boxReader) readMoves() error {
	r.box.Cursor = []replay.Move{}
	if r.box.Items == nil {
		r.box.Items = []replay.Item{}
	}
	rows, err := r.t.QueryContext(r.ctx, `SELECT id, kind_code, prev_value, new_value, observed_max_value, event_time
		FROM ing_cursor_event WHERE batch_id=? ORDER BY id`, r.box.Lineage.ID)
	return eachRow(rows, err, func(rows *sql.Rows) error {
		var m replay.Move
		var prev, observed sql.NullString
		var at ts
		err := rows.Scan(&m.ID, &m.Kind, &prev, &m.New, &observed, &at)
		m.Prev = prev.String
		m.Observed = observed.String
		m.At = at.time()
		r.box.Cursor = append(r.box.Cursor, m)
		return err
	})
}

// PlanOfKey finds the plan that goes by a key; one that was given up does not.
func (s *Store) PlanOfKey(ctx context.Context, key string) (harvest.PlanID, error) {
	var plan harvest.PlanID
	err := s.r.QueryRowContext(ctx, `SELECT id FROM ing_plan WHERE plan_key=? AND `+isNoneOf("status_code", harvest.PlansVoid), key).Scan(&plan)
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("plan %s: %w", key, err)
	}
	return plan, nil
}

// StoredPages names the stored pages of a plan or a task behind one, in their order.
func (s *Store) StoredPages(ctx context.Context, of replay.Work, after harvest.BatchID, limit int) ([]harvest.BatchID, error) {
	column, id := "task_id", int64(of.Task)
	if of.Task == 0 {
		plan, err := s.PlanOfKey(ctx, of.PlanKey)
		if err != nil {
			return nil, err
		}
		column, id = "plan_id", int64(plan)
	} else if _, err := s.Task(ctx, of.Task); err != nil {
		return nil, err
	}
	var out []harvest.BatchID
	err := s.each(ctx, func(r *sql.Rows) error {
		var id harvest.BatchID
		err := r.Scan(&id)
		out = append(out, id)
		return err
	}, `SELECT id FROM ing_task_run_batch WHERE `+column+`=? AND status_code='SUCCEEDED' AND id>? ORDER BY id LIMIT ?`, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list the pages of %s: %w", of, err)
	}
	return out, nil
}

// AuditNumbered is [Store.Audit] for what has to tell by which line it can be found.
func (s *Store) AuditNumbered(ctx context.Context, a source.Audit, after any) (id int64, err error) {
	err = s.write(ctx, "audit", func(x *tx) error {
		id, err = x.auditLine(a, nil, after)
		return err
	})
	return id, err
}
