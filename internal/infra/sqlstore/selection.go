package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// selectionOf is the selection that a plan belongs to by its query, made if it is new;
// 0 for a plan that asks for everything.
func (x *tx) selectionOf(d harvest.Draft) (harvest.SelectionID, error) {
	if d.Query == "" {
		return 0, nil
	}
	return x.ensureSelection(d.Namespace.Provenance, d.SelHash, d.Query)
}

// ensureSelection is the selection of a query of a source. It has its key by what is
// selected and not by how that is written, so that whoever asks the same has the same.
func (x *tx) ensureSelection(provenance, hash, query string) (harvest.SelectionID, error) {
	var id harvest.SelectionID
	err := x.row(`SELECT id FROM ing_selection WHERE provenance_code=? AND selection_hash=?`, provenance, hash).Scan(&id)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("look for selection: %w", err)
	}
	made, err := x.insertInto("ing_selection", []col{
		{"provenance_code", provenance},
		{"selection_hash", hash},
		{"query_text", query},
		{"created_at", ts(x.now)},
	})
	if err != nil {
		return 0, fmt.Errorf("insert selection: %w", x.orLostRace(err))
	}
	return harvest.SelectionID(made), nil
}

// noteMembers notes that a selection has seen the records of a page: those that are new,
// and those that were held before, changed or not. The same page again changes nothing
// but by which page and when they were seen last.
func (x *tx) noteMembers(sel harvest.SelectionID, b harvest.Batch, inserted []change, existing map[string]storedRecord) error {
	if sel == 0 {
		return nil
	}
	ids := make([]int64, 0, len(b.Records))
	for _, c := range inserted {
		ids = append(ids, c.id)
	}
	for i := range b.Records {
		if old, held := existing[b.Records[i].ID]; held {
			ids = append(ids, old.id)
		}
	}
	return x.addMembers(sel, b.ID, ids)
}

// addMembers makes stored records members of a selection, by the page that brought them.
func (x *tx) addMembers(sel harvest.SelectionID, batch harvest.BatchID, ids []int64) error {
	slices.Sort(ids) // so that all transactions take their locks in one order
	ids = slices.Compact(ids)
	for part := range chunks(ids, keysPerRead) {
		args := make([]any, 0, len(part)+7)
		args = append(args, sel, batch, batch, ts(x.now), ts(x.now))
		for _, id := range part {
			args = append(args, id)
		}
		args = append(args, batch, ts(x.now))
		if _, err := x.exec(`INSERT INTO ing_selection_record (selection_id, record_id, first_batch_id, last_batch_id, first_seen_at, last_seen_at)
			SELECT ?, r.id, ?, ?, ?, ? FROM ing_record r WHERE r.id IN (`+list(len(part))+`) ORDER BY r.id
			`+x.s.d.orElse("selection_id, record_id")+` last_batch_id=?, last_seen_at=?`, args...); err != nil {
			return fmt.Errorf("note members of selection %d: %w", sel, err)
		}
	}
	return nil
}

// noteItems notes that a selection has seen the items of a page that were put aside.
func (x *tx) noteItems(job harvest.Job, b harvest.Batch) error {
	if job.Selection == 0 {
		return nil
	}
	hashes := make([]any, len(b.Quarantined))
	for i := range b.Quarantined {
		hashes[i] = b.Quarantined[i].RawSHA256[:]
	}
	for part := range chunks(hashes, keysPerRead) {
		args := append([]any{job.Selection, job.Provenance, b.RecordType}, part...)
		if _, err := x.exec(`INSERT INTO ing_selection_item (selection_id, item_id) SELECT ?, q.id FROM ing_quarantine q
			WHERE q.provenance_code=? AND q.record_type=? AND q.raw_sha256 IN (`+list(len(part))+`)
			`+x.s.d.orElse("selection_id, item_id")+` selection_id=?`, append(args, job.Selection)...); err != nil {
			return fmt.Errorf("note items of selection %d: %w", job.Selection, err)
		}
	}
	return nil
}
