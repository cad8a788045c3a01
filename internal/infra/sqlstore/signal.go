package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// openSignals notes what records that are new or changed say about others: that these
// should be read again. A notice that is new opens a signal again that a plan has taken
// before.
func (x *tx) openSignals(prov string, b harvest.Batch, written []change) error {
	if len(b.Signals) == 0 {
		return nil
	}
	effects := make(map[string]harvest.Effect, len(written))
	for _, c := range written {
		effects[c.rec.ID] = c.effect
	}
	for _, s := range b.Signals {
		effect, wasWritten := effects[s.From]
		if !wasWritten {
			continue
		}
		n, err := x.exec(x.s.d.insertIgnore+` INTO ing_signal (provenance_code, record_type, ext_id, kind_code, batch_id, created_at)
			VALUES (?,?,?,?,?,?)`,
			prov, b.RecordType, s.Target, s.Kind, b.ID, ts(x.now))
		if err == nil && n == 0 && effect == harvest.Inserted {
			_, err = x.exec(`UPDATE ing_signal SET plan_id=NULL, batch_id=?, created_at=?
				WHERE provenance_code=? AND record_type=? AND ext_id=? AND kind_code=? AND plan_id IS NOT NULL`,
				b.ID, ts(x.now), prov, b.RecordType, s.Target, s.Kind)
		}
		if err != nil {
			return fmt.Errorf("signal: %w", err)
		}
	}
	return nil
}

// takeSignals closes the signals about the candidates of a plan.
func (x *tx) takeSignals(plan harvest.PlanID, prov string) error {
	_, err := x.exec(`UPDATE ing_signal SET plan_id=?
		WHERE provenance_code=? AND plan_id IS NULL
		AND ext_id IN (SELECT ext_id FROM ing_plan_candidate WHERE plan_id=?)`, plan, prov, plan)
	if err != nil {
		return fmt.Errorf("take signals: %w", err)
	}
	return nil
}

// returnSignals opens the signals again that a plan has taken and will not act
// on: those about candidates of the slices that were given up or accepted unread,
// and with the whole plan of what was never cut. The next UPDATE takes them.
func (x *tx) returnSignals(plan harvest.PlanID, prov string) error {
	var state harvest.PlanState
	var sliced, end ts
	if err := x.row(`SELECT status_code, sliced_to, window_to FROM ing_plan WHERE id=?`, plan).Scan(&state, &sliced, &end); err != nil {
		return fmt.Errorf("read plan %d: %w", plan, err)
	}
	var kept []harvest.Span
	err := x.each(func(r *sql.Rows) error {
		var from, to ts
		err := r.Scan(&from, &to)
		kept = append(kept, spanOf(harvest.Update, from, to))
		return err
	}, `SELECT window_from, window_to FROM ing_plan_slice
		WHERE plan_id=? AND status_code NOT IN ('CANCELLED','RESLICED') AND gap_accepted=0 ORDER BY window_from`, plan)
	if err != nil {
		return fmt.Errorf("read what plan %d keeps: %w", plan, err)
	}
	if state != harvest.PlanCancelled {
		kept = append(kept, spanOf(harvest.Update, sliced, end))
	}
	var ids []any
	err = x.each(func(r *sql.Rows) error {
		var id, ordinal int64
		if err := r.Scan(&id, &ordinal); err != nil {
			return err
		}
		at := harvest.OrdinalMark(ordinal)
		// The last span that begins at or before it is the only one that can hold it.
		i, _ := slices.BinarySearchFunc(kept, at, func(s harvest.Span, at harvest.Mark) int {
			if s.From.After(at) {
				return 1
			}
			return -1
		})
		if i == 0 || !at.Before(kept[i-1].To) {
			ids = append(ids, id)
		}
		return nil
	}, `SELECT g.id, c.ordinal FROM ing_signal g JOIN ing_plan_candidate c ON c.plan_id=g.plan_id AND c.ext_id=g.ext_id
		WHERE g.provenance_code=? AND g.plan_id=?`, prov, plan)
	if err != nil {
		return fmt.Errorf("read the signals of plan %d: %w", plan, err)
	}
	for part := range chunks(ids, keysPerRead) {
		if _, err := x.exec(`UPDATE ing_signal SET plan_id=NULL WHERE id IN (`+list(len(part))+`)`, part...); err != nil {
			return fmt.Errorf("return signals: %w", err)
		}
	}
	return nil
}
