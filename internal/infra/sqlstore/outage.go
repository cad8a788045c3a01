package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// NoteUnanswered remembers that requests of a partition were not answered, so that
// every process can tell what is wrong with the source. The first note of an outage
// that lasts leaves a warning in the log.
func (s *Store) NoteUnanswered(ctx context.Context, p harvest.Partition, u harvest.Unanswered) error {
	return s.write(ctx, "note a fault", func(x *tx) error { return x.noteUnanswered(p, u) })
}

// NoteAnswer forgets the outage of a partition, whose upstream has answered. If people
// were warned of it they are told.
func (s *Store) NoteAnswer(ctx context.Context, p harvest.Partition) error {
	return s.write(ctx, "note an answer", func(x *tx) error { return x.endOutage(p) })
}

// CountRefusal closes the breaker of a partition whose upstream is there but gave
// no answer to this request: it was refused, or asked to come back later.
func (s *Store) CountRefusal(ctx context.Context, p harvest.Partition, code harvest.Code, cause string) error {
	return s.write(ctx, "count refusal", func(x *tx) error {
		if err := x.closeBreaker(p); err != nil {
			return err
		}
		if err := x.noteUnanswered(p, harvest.Unanswered{Code: code, Text: cause}); err != nil {
			return err
		}
		level := harvest.Rejected
		if (harvest.Fault{Code: code}).Throttled() || code == harvest.HTTPCode(429) {
			level = harvest.Transient
		}
		return x.countFault(fault{level: level, partition: p, code: code, text: cause})
	})
}

func (x *tx) noteUnanswered(p harvest.Partition, u harvest.Unanswered) error {
	was, known, err := x.outage(p, x.s.d.forUpdate)
	if err != nil {
		return err
	}
	if known {
		answered, err := x.answeredSince(p, was)
		if err != nil {
			return err
		}
		if answered { // by another worker, meanwhile: this is the first of a new row
			was = harvest.Outage{}
		}
	}
	is := was.Fail(x.now, u)
	if is.Lasts() && !is.Told {
		is.Told = true
		x.afterCommit(func() {
			x.s.log.Warn("the source does not answer as it should", "source", p.Provenance, "partition", p.String(),
				"code", is.Code, "cause", is.Text, "since", harvest.FormatInstant(is.Since), "failed", is.Count)
		})
	}
	cols := []col{
		{"error_code", clip(is.Code, 64)},
		{"error", strings.ToValidUTF8(is.Text, "\ufffd")},
		{"faults", is.Count},
		{"first_at", ts(is.Since)},
		{"last_at", ts(is.At)},
		{"retry_at", ts(is.RetryAt)},
		{"told", is.Told},
	}
	if known {
		set, values := assign(cols, partitionOf(p)...)
		_, err = x.exec(`UPDATE ing_outage SET `+set+` WHERE `+samePartition, values...)
	} else {
		cols = append(cols, col{"provenance_code", p.Provenance}, col{"endpoint_name", p.Endpoint}, col{"operation_code", p.Operation})
		_, err = x.insertInto("ing_outage", cols)
		err = x.orLostRace(err)
	}
	if err != nil {
		return fmt.Errorf("note the outage of %s: %w", p, err)
	}
	return nil
}

const outageCols = `error_code, error, faults, first_at, last_at, retry_at, told`

func scanOutage(scan func(...any) error, more ...any) (harvest.Outage, error) {
	var o harvest.Outage
	var first, last, retry ts
	err := scan(append(more, &o.Code, &o.Text, &o.Count, &first, &last, &retry, &o.Told)...)
	o.Since = first.time()
	o.At = last.time()
	o.RetryAt = retry.time()
	return o, err
}

// outage reads the outage of a partition, and whether there is one.
func (x *tx) outage(p harvest.Partition, lock string) (harvest.Outage, bool, error) {
	o, err := scanOutage(x.row(`SELECT `+outageCols+` FROM ing_outage WHERE `+samePartition+lock, partitionOf(p)...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return harvest.Outage{}, false, nil
	}
	if err != nil {
		return o, false, fmt.Errorf("read the outage of %s: %w", p, err)
	}
	return o, true, nil
}

// answeredSince reports whether a page was stored after the last fault: the worker
// that met the fault may be one of several.
func (x *tx) answeredSince(p harvest.Partition, o harvest.Outage) (is bool, err error) {
	err = x.row(`SELECT EXISTS (SELECT 1 FROM ing_task_run_batch WHERE provenance_code=? AND operation_code=? AND status_code='SUCCEEDED' AND committed_at>?)`,
		p.Provenance, p.Operation, ts(o.At)).Scan(&is)
	return is, err
}

// endOutage forgets the outage of a partition, if there is one. It is looked for
// without a lock, since there hardly ever is; who deletes it tells of its end.
func (x *tx) endOutage(p harvest.Partition) error {
	o, known, err := x.outage(p, "")
	if err != nil || !known {
		return err
	}
	n, err := x.exec(`DELETE FROM ing_outage WHERE `+samePartition, partitionOf(p)...)
	if err != nil {
		return fmt.Errorf("end the outage of %s: %w", p, err)
	}
	if n == 1 && o.IsLong(x.now) {
		if err := x.endRests(p); err != nil {
			return err
		}
	}
	if o.Told && n == 1 {
		now := x.now
		x.afterCommit(func() {
			x.s.log.Info("the source answers again", "source", p.Provenance, "partition", p.String(), "code", o.Code,
				"since", harvest.FormatInstant(o.Since), "lasted", now.Sub(o.Since), "failed", o.Count)
		})
	}
	return nil
}

// endRests lets the tasks of a partition that rest after passing faults, also those
// given up as gaps, be taken again now: it was their source that failed, which is back.
// Otherwise a gap of the outage would hold the watermark for up to a day longer.
func (x *tx) endRests(p harvest.Partition) error {
	args := append([]any{ts(x.now), ts(x.now)}, partitionOf(p)...)
	_, err := x.exec(`UPDATE ing_task SET scheduled_at=?, updated_at=? WHERE status_code IN ('QUEUED', 'FAILED') AND `+samePartition+`
		AND spent_runs>0 AND scheduled_at>?`, append(args, ts(x.now))...)
	if err != nil {
		return fmt.Errorf("end the rests of %s: %w", p, err)
	}
	return nil
}

// answered is what the first good answer of a partition means: it rests no more, and
// nothing is wrong with it.
func (x *tx) answered(p harvest.Partition) error {
	if err := x.closeBreaker(p); err != nil {
		return err
	}
	return x.endOutage(p)
}
