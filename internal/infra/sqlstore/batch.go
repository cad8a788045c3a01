package sqlstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// OpenBatch writes down that a page is about to be asked for. The row is a claim for
// the trail and nothing else: what was asked for is to be seen after a crash too.
func (s *Store) OpenBatch(ctx context.Context, l harvest.Lease, o harvest.BatchOpen) (harvest.OpenedBatch, error) {
	var out harvest.OpenedBatch
	err := s.write(ctx, "open batch", func(x *tx) error {
		if err := x.guard(l); err != nil {
			return err
		}
		var err error
		out, err = x.openBatch(l, o)
		return err
	})
	return out, err
}

func (x *tx) openBatch(l harvest.Lease, o harvest.BatchOpen) (harvest.OpenedBatch, error) {
	id, err := x.insert(`INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, schedule_instance_id, provenance_code,
		operation_code, expr_hash, batch_no, walk_no, phase, ordinal, fence, status_code, before_position, opened_at)
		SELECT ?, t.id, t.slice_id, t.plan_id, t.schedule_instance_id, t.provenance_code, t.operation_code, t.expr_hash, ?, ?, ?, ?, ?, 'RUNNING', ?, ?
		FROM ing_task t WHERE t.id=?`,
		o.Run, o.BatchNo, o.Walk, o.Phase, o.Ordinal, l.Fence, o.Before.String(), ts(x.now), l.Task)
	if err != nil {
		return harvest.OpenedBatch{}, fmt.Errorf("insert batch: %w", err)
	}
	return harvest.OpenedBatch{BatchOpen: o, ID: harvest.BatchID(id), OpenedAt: x.now}, nil
}

// CommitBatch stores a page: records, outbox, quarantine, bad ids and the
// page's own line, in one transaction under the guard. If the page finishes the
// slice, slice, task and run are closed and the cursor moves in that same
// transaction. The pages of next are opened with it, saving transactions.
//
// ready, if given, is called once when the guard has held and every statement
// has taken effect, just before the commit is made durable: from then on the
// pages of next may be asked for.
//
// A crash anywhere in here leaves the page RUNNING and nothing of it stored.
func (s *Store) CommitBatch(
	ctx context.Context, job harvest.Job, b harvest.Batch, next []harvest.BatchOpen, ready func(harvest.Committed),
) (harvest.Committed, error) {
	l := job.Lease
	kind := recordKind{job.Provenance, b.RecordType}
	packer := s.bodies.packer(ctx, kind)
	packed := packer.packRecords(b.Records)
	b, packed = s.quarantineTooLarge(b, packed)
	if pageSize(b) > packFirst {
		restore := s.shrinkCache(ctx)
		defer restore()
	}
	var out harvest.Committed
	err := s.write(ctx, "commit batch", func(x *tx) error {
		out = harvest.Committed{}
		if err := x.guard(l); err != nil {
			return err
		}
		page, err := x.mergeRecords(job, b, packed, packer)
		if err != nil {
			return err
		}
		if err := x.joinSelections(job, b); err != nil {
			return err
		}
		c := page.counts
		c.Filtered = int64(len(b.Filtered))
		c.Undecided = int64(b.Undecided)
		c.Quarantined = int64(len(b.Quarantined))
		if err := x.insertQuarantine(job, b); err != nil {
			return err
		}
		badIDs := int64(0)
		if isKept(job) {
			err = x.takeOutOfQuarantine(job.Provenance, b)
		} else {
			badIDs, err = x.listBadIDs(job, b, page.settled)
		}
		if err != nil {
			return err
		}
		if err := x.noteBadIDs(job, b); err != nil {
			return err
		}
		late, err := x.countLate(job, b, page.written)
		if err != nil {
			return err
		}
		if err := x.closeBatch(l, b, c, late); err != nil {
			return err
		}
		if err := x.closeBreakerOf(b, l.Task); err != nil {
			return err
		}
		out.Counts = c
		if late.late.Valid {
			out.Fresh = late.dated
			out.Late = late.late.Int64
		}
		if b.Finish {
			out.Watermark, err = x.finish(l, job, b)
			if err != nil {
				return err
			}
			out.Done = true
		} else if err := x.noteProgress(l, b); err != nil {
			return err
		}
		if err := x.countQuarantined(job.Partition(), b, badIDs); err != nil {
			return err
		}
		for _, open := range next {
			o, err := x.openBatch(l, open)
			if err != nil {
				return err
			}
			out.Next = append(out.Next, o)
		}
		if ready != nil {
			ready(out)
			ready = nil // once, however often the transaction is tried
		}
		return nil
	})
	if err == nil {
		s.bodies.noteBodies(ctx, kind, int(out.Counts.Inserted+out.Counts.Updated))
	}
	return out, err
}

// Sizes of the cache of the connection that writes to SQLite, in KiB. The process has
// to hold twice as much: a page with its head is a little more than 4 KiB, and memory is
// handed out in powers of two. 32 MiB made no harvest faster.
const (
	ordinaryCache = 20 << 10
	thriftyCache  = 1 << 10
)

// logPages is how many pages SQLite's log has before they are moved into the file: 32 MiB. Most of
// what a commit writes are pages of the index of keys that the commits before it wrote as well,
// and of these only the newest is moved.
const logPages = 8000

// shrinkCache has SQLite write a large page to its log as it goes, instead of holding
// all of it in memory until the commit. restore gives the cache its size back.
func (s *Store) shrinkCache(ctx context.Context) (restore func()) {
	if s.d != sqliteDialect {
		return func() {}
	}
	set := func(ctx context.Context, kib int) {
		if _, err := s.w.ExecContext(ctx, fmt.Sprintf("PRAGMA cache_size=-%d", kib)); err != nil {
			s.log.Debug("size of the cache not changed", "err", err)
		}
	}
	set(ctx, thriftyCache)
	return func() { set(context.WithoutCancel(ctx), ordinaryCache) }
}

// noteProgress forgets the deaths and failed runs of a task that got on. A page that an
// earlier walk had brought already is no progress: a walk that begins again and again
// and always dies at its second page must come to an end (R16, R43).
func (x *tx) noteProgress(l harvest.Lease, b harvest.Batch) error {
	query := `UPDATE ing_task SET deaths=0, deaths_in_hand=0, reply_fence=0, spent_runs=0, updated_at=? WHERE id=? AND fence=?`
	if b.Walk > 1 {
		var before int
		if err := x.row(`SELECT COUNT(*) FROM ing_task_run_batch
			WHERE task_id=? AND status_code='SUCCEEDED' AND walk_no<? AND phase=? AND ordinal=?`,
			l.Task, b.Walk, b.Phase, b.Ordinal).Scan(&before); err != nil {
			return fmt.Errorf("look for the page in earlier walks: %w", err)
		}
		if before > 0 {
			query = `UPDATE ing_task SET reply_fence=0, updated_at=? WHERE id=? AND fence=?`
		}
	}
	_, err := x.exec(query, ts(x.now), l.Task, l.Fence)
	return err
}

// closeBatch writes the page's own line: where the walk stands after it, what came of
// its items, and the evidence of request and reply.
func (x *tx) closeBatch(l harvest.Lease, b harvest.Batch, c harvest.Counts, late lateness) error {
	evidence, err := evidenceCols(b.Evidence, b.End == "")
	if err != nil {
		return err
	}
	set, values := assign(append([]col{
		{"after_position", b.After.String()},
		{"items", c.Items()},
		{"inserted", c.Inserted},
		{"updated", c.Updated},
		{"remapped", c.Remapped},
		{"unchanged", c.Unchanged},
		{"stale", c.Stale},
		{"filtered", c.Filtered},
		{"undecided", c.Undecided},
		{"quarantined", c.Quarantined},
		{"missing", c.Missing},
		{"gone", c.Gone},
		{"merged", c.Merged},
		{"fresh", late.dated},
		{"late", late.late},
		{"asked", b.Asked},
		{"bad_ids", len(b.Missing)},
		{"id_list", null(strings.Join(b.IDs, "\n"))},
		{"id_hashes", hashBytes(b.Seen)},
		{"end_proof", null(b.End)},
		{"observed_max", ts(b.ObservedMax)},
		{"committed_at", ts(x.now)},
	}, evidence...), b.ID, l.Fence)
	n, err := x.exec(`UPDATE ing_task_run_batch SET status_code='SUCCEEDED', `+set+`
		WHERE id=? AND fence=? AND `+mayBecome(harvest.BatchSucceeded), values...)
	if err != nil {
		return fmt.Errorf("close batch %d: %w", b.ID, err)
	}
	if n == 0 {
		return fmt.Errorf("batch %d is not open under fence %d: %w", b.ID, l.Fence, harvest.ErrLeaseLost)
	}
	return nil
}

// closeBatches closes the pages that are open under a lease; there may be none. page
// is the one in hand, if it is known what was asked for it and what came, with those
// that were asked for beside it.
func (x *tx) closeBatches(l harvest.Lease, page *harvest.FailedPage, code harvest.Code, detail string) error {
	if page != nil {
		if err := x.closeFailed(l, page, code, detail); err != nil {
			return fmt.Errorf("close page %d: %w", page.Batch, err)
		}
		for i := range page.Beside {
			beside := &page.Beside[i]
			if err := x.closeFailed(l, beside, harvest.CodeBeside, beside.Error()); err != nil {
				return fmt.Errorf("close page %d, asked for beside %d: %w", beside.Batch, page.Batch, err)
			}
		}
	}
	_, err := x.exec(`UPDATE ing_task_run_batch SET status_code='FAILED', error_code=?, error=?, committed_at=?
		WHERE task_id=? AND fence=? AND `+mayBecome(harvest.BatchFailed),
		clip(code, 64), null(detail), ts(x.now), l.Task, l.Fence)
	return err
}

// closeFailed closes a page that is not stored and keeps what was asked for it and
// what came. A commit that nobody learned of may have closed it: then it is left as
// it is.
func (x *tx) closeFailed(l harvest.Lease, page *harvest.FailedPage, code harvest.Code, detail string) error {
	evidence, err := evidenceCols(page.Evidence, true)
	if err != nil {
		return err
	}
	state := harvest.BatchFailed
	switch {
	case page.Skipped(), code == harvest.CodeBeside: // it tells nothing of the upstream
		state = harvest.BatchSkipped
	case !page.Asked:
		code = harvest.CodeAuthRefused // whatever the run ends for: the server's place has not moved
	}
	set, values := assign(append([]col{
		{"error_code", clip(code, 64)},
		{"error", null(detail)},
		{"reply_sample", sample(page.Evidence.Sample)},
		{"committed_at", ts(x.now)},
	}, evidence...), page.Batch, l.Fence)
	_, err = x.exec(`UPDATE ing_task_run_batch SET status_code=?, `+set+`
		WHERE id=? AND fence=? AND `+mayBecome(state), append([]any{state}, values...)...)
	return err
}

// sample is the beginning of a reply as it is stored.
func sample(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b[:min(len(b), harvest.SampleSize)]
}

// pageStats is what a page took, as it is stored in stats.
type pageStats struct {
	Latency int64 `json:"latencyMs"`
	Wait    int64 `json:"waitMs"`
	Retried int   `json:"retryCount"`
	HTTP429 int   `json:"429Count"`
	HasNext bool  `json:"hasNext"`
	// ConcurrencyDown is 1 of a page after which fewer slices were worked on at once.
	ConcurrencyDown int `json:"concurrencyDown,omitzero"`
	harvest.RateSums
}

// replyDigest is what is kept of a reply and of the permit to ask for it, as it is stored
// in response_digest.
type replyDigest struct {
	Headers map[string]string  `json:"headers,omitempty"`
	Rate    *harvest.RateNote  `json:"rate,omitempty"`
	Quota   *harvest.QuotaNote `json:"quota,omitempty"`
}

// evidenceCols are what was asked for a page and what came, stored or not.
func evidenceCols(e harvest.Evidence, hasNext bool) ([]col, error) {
	stats, err := jsonText(pageStats{
		Latency: e.Network.Milliseconds(), Wait: e.WaitGate.Milliseconds(), Retried: e.Retried, HTTP429: e.HTTP429, HasNext: hasNext, RateSums: e.Gate,
		ConcurrencyDown: e.ConcurrencyDown,
	})
	if err != nil {
		return nil, err
	}
	digest := ""
	if len(e.Headers) > 0 || e.Rate != nil {
		d := replyDigest{Headers: e.Headers, Rate: e.Rate}
		if e.Rate != nil {
			d.Quota = e.Rate.Quota
		}
		digest, err = jsonText(d)
		if err != nil {
			return nil, err
		}
	}
	return []col{
		{"sent", e.Sent},
		{"retried", e.Retried},
		{"http_429", e.HTTP429},
		{"http_5xx", e.HTTP5xx},
		{"bytes", e.Bytes},
		{"http_status", nullID(int64(e.HTTPStatus))},
		{"credential_ref", null(e.Credential)},
		{"request", null(e.Request)},
		{"asked_ids", null(strings.Join(e.IDs, "\n"))},
		{"request_sha256", null(e.RequestSHA256)},
		{"response_digest", null(digest)},
		{"reply_sha256", null(e.ReplySHA256)},
		{"stats", stats},
	}, nil
}

// hashBytes is a list of hashes as one value, eight bytes each.
func hashBytes(h []uint64) any {
	if len(h) == 0 {
		return nil
	}
	b := make([]byte, 0, 8*len(h))
	for _, v := range h {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

// finish closes slice, task and run with the page that proved the slice
// complete, and moves the cursor. The cursor row is locked before the slice
// turns DONE, or two slices finishing together would each miss the other (R1).
func (x *tx) finish(l harvest.Lease, job harvest.Job, b harvest.Batch) (harvest.Mark, error) {
	cur, err := x.lockCursorOf(job.Slice)
	if err != nil {
		return harvest.Mark{}, err
	}
	n, err := x.exec(`UPDATE ing_plan_slice SET status_code='DONE', reason=NULL, updated_at=?
		WHERE id=? AND `+mayBecome(harvest.SliceDone), ts(x.now), job.Slice)
	if err != nil {
		return harvest.Mark{}, fmt.Errorf("close slice %d: %w", job.Slice, err)
	}
	if n == 0 {
		return harvest.Mark{}, fmt.Errorf("slice %d is not READY: %w", job.Slice, harvest.ErrHeld)
	}
	x.moved = append(x.moved, sliceMove{job.Slice, harvest.SliceReady, harvest.SliceDone})
	err = x.become(fmt.Sprintf("task %d", l.Task), `UPDATE ing_task SET status_code='SUCCEEDED', lease_owner=NULL, leased_until=NULL,
		deaths=0, deaths_in_hand=0, reply_fence=0, spent_runs=0, error_code=NULL, error=NULL, updated_at=?
		WHERE id=? AND fence=? AND `+mayBecome(harvest.TaskSucceeded), ts(x.now), l.Task, l.Fence)
	if err != nil {
		return harvest.Mark{}, err
	}
	if err := x.closeRun(b.Run, l.Fence, harvest.RunSucceeded, "", "", harvest.HealMarks{}); err != nil {
		return harvest.Mark{}, err
	}
	w, err := x.advance(cur, lineage{plan: job.Plan, slice: job.Slice, task: l.Task, run: b.Run, batch: b.ID, remarks: provenBy(job.Operation, b.BatchNo)})
	if err != nil {
		return harvest.Mark{}, err
	}
	return w, x.completePlan(job.Plan)
}

// completePlan closes the plan if nothing of it is left to do or to decide. Mostly
// something is, and no row is changed.
func (x *tx) completePlan(id harvest.PlanID) error {
	_, err := x.exec(`UPDATE ing_plan SET status_code='COMPLETED', updated_at=? WHERE id=? AND `+mayBecome(harvest.PlanCompleted)+`
		AND NOT EXISTS (SELECT 1 FROM ing_plan_slice s WHERE s.plan_id=ing_plan.id AND `+isOneOf("s.status_code", harvest.SlicesOpen)+`)
		AND NOT EXISTS (SELECT 1 FROM ing_plan_slice s WHERE s.plan_id=ing_plan.id
			AND `+isOneOf("s.status_code", harvest.SlicesGap)+` AND s.gap_accepted=0)`, ts(x.now), id)
	if err != nil {
		return fmt.Errorf("complete plan %d: %w", id, err)
	}
	return nil
}
