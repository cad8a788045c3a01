package sqlstore

import (
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// signals keeps what records that are new or changed say about others. A notice
// that is new opens a signal again that a plan has taken before.
func (x *tx) signals(prov string, b harvest.Batch, written []change) error {
	if len(b.Signals) == 0 {
		return nil
	}
	effects := make(map[string]harvest.Effect, len(written))
	for _, c := range written {
		effects[c.rec.ID] = c.effect
	}
	for _, s := range b.Signals {
		effect, counts := effects[s.From]
		if !counts {
			continue
		}
		n, err := x.exec(x.s.d.insertIgnore+` INTO ing_signal (provenance_code, record_type, ext_id, kind_code, batch_id, created_at) VALUES (?,?,?,?,?,?)`,
			prov, b.RecordType, s.Target, s.Kind, b.ID, ts(x.now))
		if err == nil && n == 0 && effect == harvest.Inserted {
			_, err = x.exec(`UPDATE ing_signal SET plan_id=NULL, batch_id=?, created_at=? WHERE provenance_code=? AND record_type=? AND ext_id=? AND kind_code=? AND plan_id IS NOT NULL`,
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
	_, err := x.exec(`UPDATE ing_signal SET plan_id=? WHERE provenance_code=? AND plan_id IS NULL AND ext_id IN (SELECT ext_id FROM ing_plan_candidate WHERE plan_id=?)`, plan, prov, plan)
	if err != nil {
		return fmt.Errorf("take signals: %w", err)
	}
	return nil
}
