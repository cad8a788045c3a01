package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// sampleText is how much is kept of what the newest fault of a group said.
const sampleText = 2000

// hoursKept is how long faults are known by the hour.
const hoursKept = 35 * 24 * time.Hour

// fault is something that went wrong, as it is counted.
type fault struct {
	level     harvest.Level
	partition harvest.Partition
	code      harvest.Code
	path      string
	// text is what was said, free of secrets, and batch the page that it is about, if
	// it is about one.
	text  string
	batch harvest.BatchID
	// times is how often it happened, 0 for once.
	times  int64
	remedy harvest.Remedy
}

// countFault counts a fault in the transaction that it leads to: with its group,
// which is made if this is its first, and with its hour. A group that somebody had
// resolved has come back. What is no fault is not counted.
func (x *tx) countFault(f fault) error {
	if !f.code.IsFault() {
		return nil
	}
	f.times = max(f.times, 1)
	id, err := x.countInGroup(f)
	if err != nil {
		return fmt.Errorf("count %s of %s: %w", f.code, f.partition, err)
	}
	if err := x.countInHour(id, f); err != nil {
		return fmt.Errorf("count %s of %s by the hour: %w", f.code, f.partition, err)
	}
	return nil
}

// sameGroup is the condition that a row is of one group, whose key is bound by
// [fault.key].
const sameGroup = `provenance_code=? AND endpoint_name=? AND level_code=? AND error_code=? AND field_path=?`

func (f fault) key() []any {
	return []any{f.partition.Provenance, f.partition.Endpoint, f.level, clip(f.code, 64), clip(f.path, 255)}
}

// remedyColumn is where a remedy is counted: a column of its name.
func remedyColumn(r harvest.Remedy) string { return strings.ToLower(string(r)) }

func (x *tx) countInGroup(f fault) (id int64, err error) {
	err = x.row(`SELECT id FROM ing_error_group WHERE `+sameGroup+x.s.d.forUpdate, f.key()...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return x.insertGroup(f)
	}
	if err != nil {
		return 0, err
	}
	cols := []col{
		{"last_at", ts(x.now)},
		{"sample", null(clip(f.text, sampleText))},
	}
	if f.batch != 0 {
		cols = append(cols, col{"batch_id", f.batch})
	}
	set, values := assign(cols)
	healed := ""
	if f.remedy != "" {
		healed = fmt.Sprintf(", %s=%s+?", remedyColumn(f.remedy), remedyColumn(f.remedy))
		values = append(values, f.times)
	}
	_, err = x.exec(`UPDATE ing_error_group SET `+set+healed+`, faults=faults+? WHERE id=?`, append(values, f.times, id)...)
	if err != nil {
		return 0, err
	}
	_, err = x.exec(`UPDATE ing_error_group SET state_code=?, state_at=? WHERE id=? AND state_code=?`,
		harvest.ErrorCameBack, ts(x.now), id, harvest.ErrorResolved)
	return id, err
}

func (x *tx) insertGroup(f fault) (int64, error) {
	cols := []col{
		{"provenance_code", f.partition.Provenance},
		{"endpoint_name", f.partition.Endpoint},
		{"level_code", f.level},
		{"error_code", clip(f.code, 64)},
		{"field_path", clip(f.path, 255)},
		{"faults", f.times},
		{"sample", null(clip(f.text, sampleText))},
		{"batch_id", nullID(int64(f.batch))},
		{"first_at", ts(x.now)},
		{"last_at", ts(x.now)},
		{"state_code", harvest.ErrorOpen},
		{"state_at", ts(x.now)},
	}
	if f.remedy != "" {
		cols = append(cols, col{remedyColumn(f.remedy), f.times})
	}
	id, err := x.insertInto("ing_error_group", cols)
	return id, x.orLostRace(err)
}

// countInHour counts a fault with the others of its hour. The first of an hour has
// those forgotten that are too old to be asked for.
func (x *tx) countInHour(group int64, f fault) error {
	hour := ts(x.now.Truncate(time.Hour))
	n, err := x.exec(`UPDATE ing_error_hour SET faults=faults+?, last_at=? WHERE group_id=? AND hour_at=? AND operation_code=?`,
		f.times, ts(x.now), group, hour, f.partition.Operation)
	if err != nil || n > 0 {
		return err
	}
	if _, err := x.insertInto("ing_error_hour", []col{
		{"group_id", group},
		{"operation_code", f.partition.Operation},
		{"hour_at", hour},
		{"faults", f.times},
		{"first_at", ts(x.now)},
		{"last_at", ts(x.now)},
	}); err != nil {
		return x.orLostRace(err)
	}
	_, err = x.exec(`DELETE FROM ing_error_hour WHERE group_id=? AND hour_at<?`, group, ts(x.now.Add(-hoursKept)))
	return err
}

// countRunFault counts what ended a run, with what was done about it.
func (x *tx) countRunFault(task harvest.TaskID, e harvest.RunEnd, remedy harvest.Remedy) error {
	if e.Outcome == harvest.Released {
		return nil
	}
	p, err := x.partitionOfTask(task)
	if err != nil {
		return err
	}
	return x.countFault(fault{
		level: levelOf(e.Outcome), partition: p, code: e.Code, text: e.Error, batch: pageOf(e.Page), remedy: remedy,
	})
}

// levelOf is how bad a fault was, by what it did to the run.
func levelOf(o harvest.RunOutcome) harvest.Level {
	switch o {
	case harvest.Stopped:
		return harvest.Fatal
	case harvest.Refused:
		return harvest.Rejected
	default:
		return harvest.Transient
	}
}

func pageOf(p *harvest.FailedPage) harvest.BatchID {
	if p == nil {
		return 0
	}
	return p.Batch
}

// countQuarantined counts the items of a page that were put aside, by cause and place,
// and the ids without details.
func (x *tx) countQuarantined(p harvest.Partition, b harvest.Batch, badIDs int64) error {
	type cause struct {
		code harvest.Code
		path string
	}
	var order []cause // of their first items, so that it is the same at every try
	counted := map[cause]*fault{}
	for _, q := range b.Quarantined {
		c := cause{q.Problem.Code, q.Problem.Path}
		f := counted[c]
		if f == nil {
			f = &fault{level: harvest.Corrupt, partition: p, code: c.code, path: c.path, batch: b.ID, remedy: harvest.PutAside}
			counted[c] = f
			order = append(order, c)
		}
		f.text = strings.TrimSpace(q.ID + " " + q.Problem.Detail)
		f.times++
	}
	for _, c := range order {
		if err := x.countFault(*counted[c]); err != nil {
			return err
		}
	}
	if badIDs == 0 {
		return nil
	}
	return x.countFault(fault{
		level: harvest.Corrupt, partition: p, code: harvest.ProblemNoDetails, text: strings.Join(b.Missing[:min(3, len(b.Missing))], " "),
		batch: b.ID, times: badIDs, remedy: harvest.PutAside,
	})
}
