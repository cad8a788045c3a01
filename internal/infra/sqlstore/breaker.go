package sqlstore

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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
	o := e.Outcome
	var key string
	if err := x.row(`SELECT `+partition+` FROM ing_task t WHERE t.id=?`, task).Scan(&key); err != nil {
		return fmt.Errorf("read task %d: %w", task, err)
	}
	if o != harvest.Spent && o != harvest.Released {
		return x.closeBreaker(key)
	}
	var state []byte
	err := x.row(`SELECT state FROM ing_rate_gate WHERE gate_key=?`+x.s.d.forUpdate, key).Scan(&state)
	none := errors.Is(err, sql.ErrNoRows)
	if none && o == harvest.Released {
		return nil
	}
	var was harvest.Breaker
	if !none {
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		if was, err = parseBreaker(key, state); err != nil {
			return err
		}
	}
	is := was.GiveBack(x.now)
	if o == harvest.Spent {
		if is = was.Fail(x.now); is.Open() && is != was {
			x.s.log.Warn("partition rests", "partition", key[len(breakerPrefix):], "code", e.Code, "cause", e.Error, "spent", is.Spent, "until", harvest.FormatInstant(is.Until))
		}
	}
	text, err := jsonText(is)
	if err != nil {
		return err
	}
	if none {
		_, err = x.exec(`INSERT INTO ing_rate_gate (gate_key, state, updated_at) VALUES (?,?,?)`, key, text, ts(x.now))
	} else {
		_, err = x.exec(`UPDATE ing_rate_gate SET state=?, updated_at=? WHERE gate_key=?`, text, ts(x.now), key)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// came closes the breaker of the task's partition with the first page of a run.
func (x *tx) came(b harvest.Batch, task harvest.TaskID) error {
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
