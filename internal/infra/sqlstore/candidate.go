package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Candidates lists the ids of records that are to be read again, each once: first
// those that were named, then what is signalled, then the others, longest not seen
// first.
func (s *Store) Candidates(ctx context.Context, provenance, recordType, mapping string, pick harvest.CandidatePick) ([]string, error) {
	c := candidates{s: s, ctx: ctx, most: pick.Max, seen: map[string]struct{}{}}
	for _, id := range pick.IDs {
		c.add(id)
	}
	var err error
	if pick.Signals {
		err = c.findSignalled(provenance, recordType)
	}
	if err == nil && pick.MappingChanged {
		err = c.find(`SELECT ext_id FROM ing_record WHERE provenance_code=? AND record_type=? AND mapping_version<>?
			AND status_code NOT IN ('GONE','MERGED') ORDER BY observed_at, id`, provenance, recordType, mapping)
	}
	if err == nil && !pick.SeenBefore.IsZero() {
		err = c.find(`SELECT ext_id FROM ing_record WHERE provenance_code=? AND record_type=? AND observed_at<?
			ORDER BY observed_at, id`, provenance, recordType, ts(pick.SeenBefore))
	}
	if len(pick.IDs) == 0 && !pick.Signals && !pick.MappingChanged && pick.SeenBefore.IsZero() {
		err = errors.New("which records are to be read again was not said")
	}
	if err != nil {
		return nil, fmt.Errorf("list records to read again: %w", err)
	}
	return c.ids, nil
}

// candidates collects ids, each once and no more than most.
type candidates struct {
	s    *Store
	ctx  context.Context
	most int // 0 for all
	ids  []string
	seen map[string]struct{}
}

// add takes an id and reports whether there is room for another.
func (c *candidates) add(id string) bool {
	if c.most > 0 && len(c.ids) >= c.most {
		return false
	}
	if _, there := c.seen[id]; !there {
		c.seen[id] = struct{}{}
		c.ids = append(c.ids, id)
	}
	return c.most == 0 || len(c.ids) < c.most
}

// find adds the ids that a query yields, as long as there is room.
func (c *candidates) find(q string, args ...any) error {
	rows, err := c.s.r.QueryContext(c.ctx, q, args...)
	if err != nil {
		return err
	}
	return eachUntil(rows, func() (bool, error) {
		var id string
		if err := rows.Scan(&id); err != nil {
			return false, err
		}
		return c.add(id), nil
	})
}

// findSignalled adds what something points to: records about which a notice came,
// bad ids whose rest is over (R27), and items that were put into quarantine and not
// read since.
func (c *candidates) findSignalled(provenance, recordType string) error {
	now, err := c.s.Now(c.ctx)
	if err != nil {
		return err
	}
	if err := c.find(`SELECT g.ext_id
		FROM ing_signal g JOIN ing_record r ON r.provenance_code=g.provenance_code AND r.record_type=g.record_type AND r.ext_id=g.ext_id
		WHERE g.provenance_code=? AND g.record_type=? AND g.plan_id IS NULL ORDER BY g.id`, provenance, recordType); err != nil {
		return err
	}
	if err := c.find(`SELECT ext_id FROM ing_bad_id WHERE provenance_code=? AND record_type=? AND check_after<=?
		ORDER BY check_after, id`, provenance, recordType, ts(now)); err != nil {
		return err
	}
	return c.find(`SELECT q.ext_id FROM ing_quarantine q
		LEFT JOIN ing_record r ON r.provenance_code=q.provenance_code AND r.record_type=q.record_type AND r.ext_id=q.ext_id
		WHERE q.provenance_code=? AND q.record_type=? AND q.ext_id IS NOT NULL AND q.discarded_at IS NULL AND (r.id IS NULL OR r.observed_at<=q.seen_at)
		ORDER BY q.id`, provenance, recordType)
}

// insertCandidates freezes ids, numbered from an ordinal on.
func (x *tx) insertCandidates(plan harvest.PlanID, at int64, ids []string) error {
	for part := range chunks(ids, rowsPerInsert) {
		args := make([]any, 0, 3*len(part))
		for _, id := range part {
			args = append(args, plan, at, id)
			at++
		}
		if _, err := x.exec(`INSERT INTO ing_plan_candidate (plan_id, ordinal, ext_id) VALUES `+marks(len(part), 3), args...); err != nil {
			return fmt.Errorf("freeze candidates: %w", err)
		}
	}
	return nil
}

// readFrozen gives a run the candidates of its slice, as a search would have: an UPDATE
// searches for nothing.
func (x *tx) readFrozen(plan int64, of harvest.Span, res *harvest.Resume) error {
	from, to := of.From.Ordinal(), of.To.Ordinal()
	err := x.each(func(r *sql.Rows) error {
		var id string
		if err := r.Scan(&id); err != nil {
			return err
		}
		res.IDs = append(res.IDs, id)
		return nil
	}, `SELECT ext_id FROM ing_plan_candidate WHERE plan_id=? AND ordinal>=? AND ordinal<? ORDER BY ordinal`, plan, from, to)
	if err != nil {
		return fmt.Errorf("read candidates: %w", err)
	}
	if int64(len(res.IDs)) != to-from {
		return fmt.Errorf("plan %d froze %d of the candidates [%d, %d): run patra verify", plan, len(res.IDs), from, to)
	}
	res.SearchEnd = harvest.EndFrozen
	return nil
}
