package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// The breakers of partitions lie beside the state of the rate gate: like it they
// are what every process must know before it asks a source. A partition whose
// last run went well has none.
const breakerPrefix = "breaker/"

// partition is the breaker's key of a task t.
const partition = `CONCAT('` + breakerPrefix + `', t.provenance_code, '/', t.endpoint_name, '/', t.operation_code)`

func breakerKey(p harvest.Partition) string { return breakerPrefix + p.String() }

// breakers reads those that are open.
func (x *tx) breakers() (map[string]harvest.Breaker, error) {
	out := map[string]harvest.Breaker{}
	err := x.each(func(r *sql.Rows) error {
		var key string
		var state []byte
		if err := r.Scan(&key, &state); err != nil {
			return err
		}
		b, err := parseBreaker(key, state)
		if b.Open() {
			out[key] = b
		}
		return err
	}, `SELECT gate_key, state FROM ing_rate_gate WHERE gate_key >= '`+breakerPrefix+`' AND gate_key < 'breaker0'`) // 0 comes after /
	if err != nil {
		return nil, fmt.Errorf("read breakers: %w", err)
	}
	return out, nil
}

func parseBreaker(key string, state []byte) (b harvest.Breaker, err error) {
	if err := json.Unmarshal(state, &b); err != nil {
		return b, fmt.Errorf("stored %s: %w", key, err)
	}
	return b, nil
}

// try lets one task through a breaker whose rest is over. It returns false if
// somebody else did.
func (x *tx) try(key string, b harvest.Breaker) (bool, error) {
	was, err := jsonText(b)
	if err != nil {
		return false, err
	}
	is, err := jsonText(b.Try(x.now))
	if err != nil {
		return false, err
	}
	n, err := x.exec(`UPDATE ing_rate_gate SET state=?, updated_at=? WHERE gate_key=? AND state=?`, is, ts(x.now), key, was)
	if err != nil {
		return false, fmt.Errorf("try %s: %w", key, err)
	}
	return n == 1, nil
}

// ended tells the breaker of the task's partition how a run ended that did not
// finish its slice. A refusal is an answer, too: the upstream is there.
func (x *tx) ended(task harvest.TaskID, e harvest.RunEnd) error {
	var key string
	if err := x.row(`SELECT `+partition+` FROM ing_task t WHERE t.id=?`, task).Scan(&key); err != nil {
		return fmt.Errorf("read task %d: %w", task, err)
	}
	switch {
	case e.Outcome == harvest.Released, e.Outcome == harvest.Spent && e.Throttled:
		return x.giveBackTry(key)
	case e.Outcome == harvest.Spent:
		return x.countFailure(key, e.Code, e.Error)
	}
	return x.closeBreaker(key)
}

// countFailure counts one more failure in a row against the breaker of a key.
func (x *tx) countFailure(key string, code harvest.Code, cause string) error {
	was, known, err := x.breaker(key)
	if err != nil {
		return err
	}
	is := was.Fail(x.now)
	if is.Open() && is != was {
		x.s.log.Warn("partition rests", "partition", key[len(breakerPrefix):], "code", code, "cause", cause, "spent", is.Spent, "until", harvest.FormatInstant(is.Until))
	}
	return x.writeBreaker(key, is, known)
}

// giveBackTry ends a try that was broken off before anything came of it.
func (x *tx) giveBackTry(key string) error {
	was, known, err := x.breaker(key)
	if err != nil || !known {
		return err
	}
	return x.writeBreaker(key, was.GiveBack(x.now), known)
}

// breaker reads the breaker of a key under a lock, and whether there is one.
func (x *tx) breaker(key string) (b harvest.Breaker, known bool, err error) {
	var state []byte
	err = x.row(`SELECT state FROM ing_rate_gate WHERE gate_key=?`+x.s.d.forUpdate, key).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return b, false, nil
	}
	if err != nil {
		return b, false, fmt.Errorf("read %s: %w", key, err)
	}
	b, err = parseBreaker(key, state)
	return b, true, err
}

func (x *tx) writeBreaker(key string, b harvest.Breaker, known bool) error {
	text, err := jsonText(b)
	if err != nil {
		return err
	}
	if known {
		_, err = x.exec(`UPDATE ing_rate_gate SET state=?, updated_at=? WHERE gate_key=?`, text, ts(x.now), key)
	} else {
		_, err = x.exec(`INSERT INTO ing_rate_gate (gate_key, state, updated_at) VALUES (?,?,?)`, key, text, ts(x.now))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// PassBreaker lets a request of a partition through that belongs to no task,
// such as a planner's count, or tells until when the partition rests. Where the
// rest is over the request is the one try; its caller says what came of it by
// [Store.CountFailure], [Store.CountAnswer] or [Store.GiveBackTry].
func (s *Store) PassBreaker(ctx context.Context, p harvest.Partition) (until time.Time, rests bool, err error) {
	key := breakerKey(p)
	if none, err := s.noBreaker(ctx, key); err != nil || none {
		return until, false, err
	}
	err = s.write(ctx, "pass breaker", func(x *tx) error {
		until, rests = time.Time{}, false
		b, known, err := x.breaker(key)
		switch {
		case err != nil:
			return err
		case b.Bars(x.now):
			until, rests = b.Until, true
			return nil
		case !b.Open():
			return nil
		}
		return x.writeBreaker(key, b.Try(x.now), known)
	})
	return until, rests, err
}

// CountFailure counts a request of a partition that failed, after its retries.
func (s *Store) CountFailure(ctx context.Context, p harvest.Partition, code harvest.Code, cause string) error {
	return s.write(ctx, "count failure", func(x *tx) error { return x.countFailure(breakerKey(p), code, cause) })
}

// CountAnswer closes the breaker of a partition whose upstream has answered.
func (s *Store) CountAnswer(ctx context.Context, p harvest.Partition) error {
	if none, err := s.noBreaker(ctx, breakerKey(p)); err != nil || none {
		return err
	}
	return s.write(ctx, "count answer", func(x *tx) error { return x.closeBreaker(breakerKey(p)) })
}

// GiveBackTry lets another try in place of a request that was never sent.
func (s *Store) GiveBackTry(ctx context.Context, p harvest.Partition) error {
	if none, err := s.noBreaker(ctx, breakerKey(p)); err != nil || none {
		return err
	}
	return s.write(ctx, "give back try", func(x *tx) error { return x.giveBackTry(breakerKey(p)) })
}

// noBreaker reports whether nothing is remembered of a partition, as is usual: a
// read says so without waiting for anybody's write.
func (s *Store) noBreaker(ctx context.Context, key string) (bool, error) {
	var n int
	if err := s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM ing_rate_gate WHERE gate_key=?`, key).Scan(&n); err != nil {
		return false, fmt.Errorf("read %s: %w", key, err)
	}
	return n == 0, nil
}

// closeBreakerOf closes the breaker of the task's partition with the first page of a run.
func (x *tx) closeBreakerOf(b harvest.Batch, task harvest.TaskID) error {
	if b.BatchNo > 1 {
		return nil
	}
	var key string
	if err := x.row(`SELECT `+partition+` FROM ing_task t WHERE t.id=?`, task).Scan(&key); err != nil {
		return fmt.Errorf("read task %d: %w", task, err)
	}
	return x.closeBreaker(key)
}

func (x *tx) closeBreaker(key string) error {
	if _, err := x.exec(`DELETE FROM ing_rate_gate WHERE gate_key=?`, key); err != nil {
		return fmt.Errorf("close %s: %w", key, err)
	}
	return nil
}

// closeBreakers lets every partition of a source go on at once: a person says so.
func (x *tx) closeBreakers(provenance string) error {
	from := breakerPrefix + provenance
	if _, err := x.exec(`DELETE FROM ing_rate_gate WHERE gate_key >= ? AND gate_key < ?`, from+"/", from+"0"); err != nil {
		return fmt.Errorf("close breakers of %s: %w", provenance, err)
	}
	return nil
}
