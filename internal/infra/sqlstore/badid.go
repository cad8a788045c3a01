package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// badIDRest is how long an id without details rests before it is asked for again (R27).
const badIDRest = 7 * 24 * time.Hour

// BadIDs says which of ids are on the list of bad ids, and names up to most
// others on it that are due to be asked for again.
func (s *Store) BadIDs(ctx context.Context, provenance, recordType string, ids []string, most int) (harvest.BadIDs, error) {
	var out harvest.BadIDs
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	sort := func(r *sql.Rows) error {
		var id string
		var after ts
		if err := r.Scan(&id, &after); err != nil {
			return err
		}
		if after.time().After(now) {
			out.Resting = append(out.Resting, id)
		} else {
			out.Due = append(out.Due, id)
		}
		return nil
	}
	const from = `SELECT ext_id, check_after FROM ing_bad_id WHERE provenance_code=? AND record_type=? AND `
	for part := range chunks(ids, 500) {
		args := []any{provenance, recordType}
		for _, id := range part {
			args = append(args, id)
		}
		if err := s.each(ctx, sort, from+`ext_id IN (`+list(len(part))+`)`, args...); err != nil {
			return out, fmt.Errorf("look for bad ids: %w", err)
		}
	}
	if err := s.each(ctx, sort, from+`check_after <= ?
		ORDER BY check_after, id LIMIT ?`, provenance, recordType, ts(now), most); err != nil {
		return out, fmt.Errorf("look for bad ids that are due: %w", err)
	}
	return out, nil
}

// listBadIDs puts the ids of the page that have no details on the list, and takes those
// off that have. An id whose stored record says that it is gone or merged is settled: it
// does not belong there. It returns how many were put on the list.
func (x *tx) listBadIDs(job harvest.Job, b harvest.Batch, settled map[string]bool) (listed int64, err error) {
	prov := job.Provenance
	for _, id := range b.Mended {
		if err := x.mendBadID(job, b, id); err != nil {
			return listed, fmt.Errorf("mended id: %w", err)
		}
	}
	for _, id := range b.Missing {
		if settled[id] {
			continue
		}
		listed++
		n, err := x.exec(`UPDATE ing_bad_id SET times=times+1, batch_id=?, last_seen_at=?, check_after=?
			WHERE provenance_code=? AND record_type=? AND ext_id=?`,
			b.ID, ts(x.now), ts(x.now.Add(badIDRest)), prov, b.RecordType, id)
		if err != nil {
			return listed, fmt.Errorf("bad id: %w", err)
		}
		if n > 0 {
			continue
		}
		if _, err := x.exec(`INSERT INTO ing_bad_id (provenance_code, record_type, ext_id, batch_id, reason, times, first_seen_at,
			last_seen_at, check_after)
			VALUES (?,?,?,?,?,1,?,?,?)`,
			prov, b.RecordType, id, b.ID, harvest.ProblemNoDetails, ts(x.now), ts(x.now), ts(x.now.Add(badIDRest))); err != nil {
			return listed, fmt.Errorf("bad id: %w", x.orLostRace(err))
		}
	}
	return listed, nil
}

// mendBadID takes an id off the list for which something came. Selections that named an id
// whose item is in quarantine wait for that from now on. Where the query of the page has left
// the record out, it is no concern of its own selection, and the id rests on the list as long
// as others wait for it.
func (x *tx) mendBadID(job harvest.Job, b harvest.Batch, id string) error {
	key := []any{job.Provenance, b.RecordType, id}
	if slices.ContainsFunc(b.Quarantined, func(q harvest.Quarantined) bool { return q.ID == id }) {
		if err := x.waitForItems(key); err != nil {
			return err
		}
	} else if err := x.waitNoLonger(job.Selection, job.Provenance, b.RecordType, []string{id}); err != nil {
		return err
	}
	const is = ` WHERE provenance_code=? AND record_type=? AND ext_id=?`
	n, err := x.exec(`DELETE FROM ing_bad_id`+is+` AND NOT EXISTS (SELECT 1 FROM ing_selection_bad_id n WHERE n.bad_id=ing_bad_id.id)`, key...)
	if err != nil || n > 0 {
		return err
	}
	_, err = x.exec(`UPDATE ing_bad_id SET check_after=?`+is, append([]any{ts(x.now.Add(badIDRest))}, key...)...)
	return err
}

// noteBadIDs notes that a selection has seen the ids of a page that are on the list, also
// those that others had put there.
func (x *tx) noteBadIDs(job harvest.Job, b harvest.Batch) error {
	if job.Selection == 0 {
		return nil
	}
	for part := range chunks(b.Unread, keysPerRead) {
		args := append([]any{job.Selection, job.Provenance, b.RecordType}, anys(part)...)
		if _, err := x.exec(`INSERT INTO ing_selection_bad_id (selection_id, bad_id) SELECT ?, i.id FROM ing_bad_id i
			WHERE i.provenance_code=? AND i.record_type=? AND i.ext_id IN (`+list(len(part))+`)
			`+x.s.d.orElse("selection_id, bad_id")+` selection_id=?`, append(args, job.Selection)...); err != nil {
			return fmt.Errorf("note bad ids of selection %d: %w", job.Selection, err)
		}
	}
	return nil
}
