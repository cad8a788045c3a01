package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/work"
)

const (
	decisionCols = `kind_code, revokes_id, actor, reason, decided_at`
	// standing leaves out what was revoked, and what revokes.
	standing = `d.kind_code<>'REVOKE' AND NOT EXISTS (SELECT 1 FROM ing_work_decision o WHERE o.revokes_id=d.id)`
)

// hasDecisions reports whether anything was ever decided: mostly nothing was.
func (x *tx) hasDecisions() (bool, error) {
	var n int
	err := x.row(`SELECT COUNT(*) FROM (SELECT 1 AS n FROM ing_work_decision LIMIT 1) d`).Scan(&n)
	return n > 0, err
}

// decidedWith takes up the decisions about records, and returns those that these name
// besides.
func (l *linking) decidedWith(ids []int64, decided map[int64]work.Decision, sets *sets) ([]int64, error) {
	var names []int64
	for part := range chunks(ids, keysPerRead) {
		err := l.x.each(func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			if _, known := decided[id]; !known {
				names = append(names, id)
			}
			return err
		}, `SELECT DISTINCT d.id FROM ing_work_decision_record r JOIN ing_work_decision d ON d.id=r.decision_id
			WHERE r.record_id IN (`+list(len(part))+`) AND `+standing, anys(part)...)
		if err != nil {
			return nil, fmt.Errorf("read decisions: %w", err)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var out []int64
	for part := range chunks(names, keysPerRead) {
		more, err := l.x.decisions(part)
		if err != nil {
			return nil, err
		}
		for _, d := range more {
			decided[d.ID] = d
			for _, list := range d.Parts {
				out = append(out, list...)
			}
		}
	}
	for _, d := range decided {
		first := d.Parts[0][0]
		for _, list := range d.Parts {
			for _, id := range list {
				sets.join(first, id)
			}
		}
	}
	return out, nil
}

// decisions reads decisions with the records that they name.
func (x *tx) decisions(ids []int64) ([]work.Decision, error) {
	var out []work.Decision
	err := x.each(func(r *sql.Rows) error {
		var id, record int64
		var part int
		var kind string
		if err := r.Scan(&id, &kind, &part, &record); err != nil {
			return err
		}
		if len(out) == 0 || out[len(out)-1].ID != id {
			out = append(out, work.Decision{ID: id, Split: kind == "SPLIT"})
		}
		d := &out[len(out)-1]
		for len(d.Parts) <= part {
			d.Parts = append(d.Parts, nil)
		}
		d.Parts[part] = append(d.Parts[part], record)
		return nil
	}, `SELECT d.id, d.kind_code, r.part_no, r.record_id FROM ing_work_decision d JOIN ing_work_decision_record r ON r.decision_id=d.id
		WHERE d.id IN (`+list(len(ids))+`) ORDER BY d.id, r.part_no, r.record_id`, anys(ids)...)
	return out, err
}

// DecideWork writes what a person decided about records, links these anew in the same
// transaction, and says of which works they are then. TryDecideWork tells the same and
// changes nothing.
func (s *Store) DecideWork(ctx context.Context, d control.WorkDecision, a source.Audit) ([]control.WorkMembers, error) {
	return s.decideWork(ctx, d, a, false)
}

// TryDecideWork tells what [Store.DecideWork] would do.
func (s *Store) TryDecideWork(ctx context.Context, d control.WorkDecision, a source.Audit) ([]control.WorkMembers, error) {
	return s.decideWork(ctx, d, a, true)
}

func (s *Store) decideWork(ctx context.Context, d control.WorkDecision, a source.Audit, trial bool) (works []control.WorkMembers, err error) {
	err = s.change(ctx, "decide about works", trial, func(x *tx) error {
		p, err := x.lockLinking()
		if err != nil {
			return err
		}
		// What is linked anew is compared with all that is stored, so that has to be linked.
		for n := 1; n > 0; {
			n, err = x.linkNext(&p, linkedBeforeDeciding)
			if err != nil {
				return err
			}
		}
		ids := slices.Concat(d.Parts...)
		if d.Revokes != 0 {
			ids, err = x.recordsToRevoke(d.Revokes)
			if err != nil {
				return err
			}
		}
		if err := x.insertDecision(d, a); err != nil {
			return err
		}
		if err := x.linkRecords(&p, slices.Clone(ids), nil); err != nil {
			return err
		}
		if err := x.saveLinking(p); err != nil {
			return err
		}
		works, err = x.worksOf(ids)
		if err != nil {
			return err
		}
		return x.audit(a, works)
	})
	return works, err
}

// linkedBeforeDeciding is how many records are linked at once before a decision.
const linkedBeforeDeciding = 10_000

// recordsToRevoke are the records that a decision names which stands.
func (x *tx) recordsToRevoke(id int64) ([]int64, error) {
	var n int
	if err := x.row(`SELECT COUNT(*) FROM ing_work_decision d WHERE d.id=? AND `+standing, id).Scan(&n); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, control.ErrNoDecision
	}
	old, err := x.decisions([]int64{id})
	if err != nil || len(old) == 0 {
		return nil, err
	}
	return slices.Concat(old[0].Parts...), nil
}

func (x *tx) insertDecision(d control.WorkDecision, a source.Audit) error {
	id, err := x.insert(`INSERT INTO ing_work_decision (`+decisionCols+`) VALUES (`+list(columns(decisionCols))+`)`,
		d.Kind, nullID(d.Revokes), clip(a.Actor, 255), clip(a.Reason, 10_000), ts(x.now))
	if err != nil {
		return fmt.Errorf("store decision: %w", err)
	}
	var rows [][]any
	for part, list := range d.Parts {
		for _, record := range list {
			rows = append(rows, []any{id, part, record})
		}
	}
	return x.insertRows(`INTO ing_work_decision_record (decision_id, part_no, record_id)`, rows)
}

// worksOf are the works of records with all their members.
func (x *tx) worksOf(ids []int64) ([]control.WorkMembers, error) {
	var out []control.WorkMembers
	for _, id := range ids {
		known := slices.ContainsFunc(out, func(w control.WorkMembers) bool { return slices.Contains(w.Records, id) })
		if known {
			continue
		}
		w, err := workOf(x.each, id)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b control.WorkMembers) int { return int(a.ID - b.ID) })
	return out, nil
}
