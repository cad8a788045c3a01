package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/trace"
)

// samePartition is the condition that a row is of one partition, whose three names
// are bound by [partitionOf].
const samePartition = `provenance_code=? AND endpoint_name=? AND operation_code=?`

func partitionOf(p harvest.Partition) []any {
	return []any{p.Provenance, p.Endpoint, string(p.Operation)}
}

// tryBreaker lets one task through a breaker whose rest is over. It returns false if
// somebody else was first: the breaker is no longer as it was read.
func (x *tx) tryBreaker(p harvest.Partition, was harvest.Breaker) (bool, error) {
	is := was.Try(x.now)
	args := []any{ts(is.Until), is.Trying, ts(x.now)}
	args = append(args, partitionOf(p)...)
	args = append(args, was.Spent, ts(was.Until), was.Trying)
	n, err := x.exec(`UPDATE ing_breaker SET rests_until=?, trying=?, updated_at=?
		WHERE `+samePartition+` AND failures=? AND rests_until=? AND trying=?`, args...)
	if err != nil {
		return false, fmt.Errorf("try %s: %w", p, err)
	}
	return n == 1, nil
}

// tellBreaker tells the breaker of the task's partition how a run ended that did not
// finish its slice, and reports whether the partition rests because of it. A refusal closes
// it as any answer does: the upstream is there.
func (x *tx) tellBreaker(task harvest.TaskID, e harvest.RunEnd) (opened bool, err error) {
	p, err := x.partitionOfTask(task)
	if err != nil {
		return false, err
	}
	fault := harvest.Unanswered{Code: e.Code, Text: e.Error, RetryIn: e.Delay}
	switch {
	case e.Outcome == harvest.Released:
		return false, x.giveBackTry(p)
	case e.Outcome == harvest.Spent && e.Throttled:
		err = x.giveBackTry(p)
	case e.Outcome == harvest.Spent:
		return x.countFailure(p, e.Breaker, fault)
	default:
		err = x.closeBreaker(p)
	}
	if err != nil {
		return false, err
	}
	return false, x.noteUnanswered(p, fault)
}

func (x *tx) partitionOfTask(task harvest.TaskID) (p harvest.Partition, err error) {
	err = x.row(`SELECT provenance_code, endpoint_name, operation_code FROM ing_task
		WHERE id=?`, task).Scan(&p.Provenance, &p.Endpoint, &p.Operation)
	if err != nil {
		return p, fmt.Errorf("read task %d: %w", task, err)
	}
	return p, nil
}

// countFailure counts one more failure in a row against the breaker of a partition, and
// reports whether the partition rests because of it.
func (x *tx) countFailure(p harvest.Partition, limits harvest.BreakerLimits, u harvest.Unanswered) (opened bool, err error) {
	was, known, err := x.breaker(p)
	if err != nil {
		return false, err
	}
	is := was.Fail(x.now, limits)
	opened = is.Open() && is != was
	if opened {
		u.RetryIn = is.Until.Sub(x.now)
		x.s.log.Info("partition rests", "partition", p.String(), "correlation", trace.CorrelationOf(x.ctx), "code", u.Code, "cause", u.Text,
			"spent", is.Spent, "until", harvest.FormatInstant(is.Until))
		x.happened = append(x.happened, func(o Observer) { o.PartitionRests(p) })
	}
	if known {
		err = x.changeBreaker(p, is)
	} else {
		err = x.insertBreaker(p, is)
	}
	if err != nil {
		return false, err
	}
	return opened, x.noteUnanswered(p, u)
}

// giveBackTry ends a try that was broken off before anything came of it.
func (x *tx) giveBackTry(p harvest.Partition) error {
	was, known, err := x.breaker(p)
	if err != nil || !known {
		return err
	}
	return x.changeBreaker(p, was.GiveBack(x.now))
}

// breaker reads the breaker of a partition under a lock, and whether there is one.
func (x *tx) breaker(p harvest.Partition) (b harvest.Breaker, known bool, err error) {
	var until ts
	err = x.row(`SELECT failures, break_after, rests_until, trying FROM ing_breaker WHERE `+samePartition+x.s.d.forUpdate, partitionOf(p)...).
		Scan(&b.Spent, &b.After, &until, &b.Trying)
	if errors.Is(err, sql.ErrNoRows) {
		return harvest.Breaker{}, false, nil
	}
	if err != nil {
		return b, false, fmt.Errorf("read the breaker of %s: %w", p, err)
	}
	b.Until = until.time()
	return b, true, nil
}

func (x *tx) insertBreaker(p harvest.Partition, b harvest.Breaker) error {
	args := append(partitionOf(p), b.Spent, b.After, ts(b.Until), b.Trying, ts(x.now))
	_, err := x.exec(`INSERT INTO ing_breaker (provenance_code, endpoint_name, operation_code, failures, break_after, rests_until, trying,
		updated_at)
		VALUES (?,?,?,?,?,?,?,?)`, args...)
	if err != nil {
		return fmt.Errorf("count the first failure of %s: %w", p, x.orLostRace(err))
	}
	return nil
}

func (x *tx) changeBreaker(p harvest.Partition, b harvest.Breaker) error {
	args := append([]any{b.Spent, b.After, ts(b.Until), b.Trying, ts(x.now)}, partitionOf(p)...)
	_, err := x.exec(`UPDATE ing_breaker SET failures=?, break_after=?, rests_until=?, trying=?, updated_at=? WHERE `+samePartition, args...)
	if err != nil {
		return fmt.Errorf("change the breaker of %s: %w", p, err)
	}
	return nil
}

// PassBreaker lets a request of a partition through that belongs to no task,
// such as a planner's count, or tells until when the partition rests. Where the
// rest is over the request is the one try; its caller says what came of it by
// [Store.CountFailure], [Store.CountAnswer] or [Store.GiveBackTry].
func (s *Store) PassBreaker(ctx context.Context, p harvest.Partition) (until time.Time, rests bool, err error) {
	if none, err := s.noBreaker(ctx, p); err != nil || none {
		return until, false, err
	}
	err = s.write(ctx, "pass breaker", func(x *tx) error {
		until, rests = time.Time{}, false
		b, _, err := x.breaker(p)
		switch {
		case err != nil:
			return err
		case b.Bars(x.now):
			until, rests = b.Until, true
			return nil
		case !b.Open():
			return nil
		}
		return x.changeBreaker(p, b.Try(x.now))
	})
	return until, rests, err
}

// CountFailure counts a request of a partition that failed, after its retries, by the
// thresholds of its source.
func (s *Store) CountFailure(ctx context.Context, p harvest.Partition, limits harvest.BreakerLimits, code harvest.Code, cause string) error {
	return s.write(ctx, "count failure", func(x *tx) error {
		if _, err := x.countFailure(p, limits, harvest.Unanswered{Code: code, Text: cause}); err != nil {
			return err
		}
		return x.countFault(fault{level: harvest.Transient, partition: p, code: code, text: cause})
	})
}

// CountAnswer closes the breaker of a partition whose upstream has answered.
func (s *Store) CountAnswer(ctx context.Context, p harvest.Partition) error {
	if none, err := s.noBreaker(ctx, p); err != nil || none {
		return err
	}
	return s.write(ctx, "count answer", func(x *tx) error { return x.answered(p) })
}

// GiveBackTry lets another try in place of a request that was never sent.
func (s *Store) GiveBackTry(ctx context.Context, p harvest.Partition) error {
	if none, err := s.noBreaker(ctx, p); err != nil || none {
		return err
	}
	return s.write(ctx, "give back try", func(x *tx) error { return x.giveBackTry(p) })
}

// noBreaker reports whether nothing is remembered of a partition, as is usual: a
// read says so without waiting for anybody's write.
func (s *Store) noBreaker(ctx context.Context, p harvest.Partition) (bool, error) {
	var n int
	if err := s.r.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM ing_breaker WHERE `+samePartition+`) + (SELECT COUNT(*) FROM ing_outage WHERE `+samePartition+`)`,
		append(partitionOf(p), partitionOf(p)...)...).Scan(&n); err != nil {
		return false, fmt.Errorf("look for the breaker of %s: %w", p, err)
	}
	return n == 0, nil
}

// closeBreakerOf closes the breaker of the task's partition with the first page of a run.
func (x *tx) closeBreakerOf(b harvest.Batch, task harvest.TaskID) error {
	if b.BatchNo > 1 {
		return nil
	}
	p, err := x.partitionOfTask(task)
	if err != nil {
		return err
	}
	return x.answered(p)
}

func (x *tx) closeBreaker(p harvest.Partition) error {
	if _, err := x.exec(`DELETE FROM ing_breaker WHERE `+samePartition, partitionOf(p)...); err != nil {
		return fmt.Errorf("close the breaker of %s: %w", p, err)
	}
	return nil
}

// closeBreakers lets every partition of a source go on at once: a person says so.
func (x *tx) closeBreakers(provenance string) error {
	if _, err := x.exec(`DELETE FROM ing_breaker WHERE provenance_code=?`, provenance); err != nil {
		return fmt.Errorf("close breakers of %s: %w", provenance, err)
	}
	return nil
}
