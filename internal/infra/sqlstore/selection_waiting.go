package sqlstore

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
)

// A selection waits for what its search named and could not read: items in quarantine, and
// ids without details. Its cursor has passed them, so no search of it reads them again. They
// join it by the page that reads them after all, whatever that page was asked for.

// waitingRecord is a record that a selection waits for.
type waitingRecord struct {
	id  int64
	ext string
}

// joinSelections makes the records of a page members of the selections that wait for them,
// as far as the filter of each keeps them. None waits for them any longer, nor the selection
// of the page for what its filter has left out.
func (x *tx) joinSelections(job harvest.Job, b harvest.Batch) error {
	if len(b.Records)+len(b.Filtered) == 0 {
		return nil
	}
	var waits bool
	err := x.row(`SELECT EXISTS (SELECT 1 FROM ing_selection_item) OR EXISTS (SELECT 1 FROM ing_selection_bad_id)`).Scan(&waits)
	if err != nil {
		return fmt.Errorf("look whether selections wait for records: %w", err)
	}
	if !waits {
		return nil
	}
	records := newestByID(b.Records)
	waiting, err := x.waitingFor(job.Provenance, b.RecordType, slices.Sorted(maps.Keys(records)))
	if err != nil {
		return err
	}
	for _, sel := range slices.Sorted(maps.Keys(waiting)) {
		if err := x.joinSelection(sel, job.Provenance, b, waiting[sel], records); err != nil {
			return err
		}
	}
	if job.Selection == 0 {
		return nil
	}
	return x.waitNoLonger(job.Selection, job.Provenance, b.RecordType, b.Filtered)
}

// newestByID are the records of a page by their ids, of each its newest version.
func newestByID(recs []harvest.Record) map[string]*harvest.Record {
	out := make(map[string]*harvest.Record, len(recs))
	for _, i := range lockOrder(recs) {
		if out[recs[i].ID] == nil {
			out[recs[i].ID] = &recs[i]
		}
	}
	return out
}

// waitingFor finds the selections that wait for records with these ids.
func (x *tx) waitingFor(prov, recordType string, ids []string) (map[harvest.SelectionID][]waitingRecord, error) {
	out := map[harvest.SelectionID][]waitingRecord{}
	for part := range chunks(ids, keysPerRead) {
		record := ` JOIN ing_record r ON r.provenance_code=w.provenance_code AND r.record_type=w.record_type AND r.ext_id=w.ext_id
			WHERE w.provenance_code=? AND w.record_type=? AND w.ext_id IN (` + list(len(part)) + `)`
		args := append([]any{prov, recordType}, anys(part)...)
		err := x.each(func(r *sql.Rows) error {
			var sel harvest.SelectionID
			var w waitingRecord
			err := r.Scan(&sel, &w.id, &w.ext)
			out[sel] = append(out[sel], w)
			return err
		}, `SELECT i.selection_id, r.id, r.ext_id FROM ing_quarantine w JOIN ing_selection_item i ON i.item_id=w.id`+record+`
			UNION SELECT n.selection_id, r.id, r.ext_id FROM ing_bad_id w JOIN ing_selection_bad_id n ON n.bad_id=w.id`+record,
			slices.Concat(args, args)...)
		if err != nil {
			return nil, fmt.Errorf("look for selections that wait for records: %w", err)
		}
	}
	return out, nil
}

// joinSelection makes records that a selection waits for its members, those that its filter
// keeps. Where the filter cannot be read it goes on waiting: a damaged plan of its own must not
// keep a page of others from being stored.
func (x *tx) joinSelection(sel harvest.SelectionID, prov string, b harvest.Batch, waiting []waitingRecord, records map[string]*harvest.Record) error {
	snapshot, err := x.newestSpec(sel)
	if err != nil {
		return err
	}
	filter, err := filterIn(snapshot)
	if err != nil {
		x.s.log.Warn("records do not join a selection whose newest plan cannot be read", "selection", sel, "batch", b.ID, "err", err)
		return nil
	}
	var kept []int64
	var read []string
	for _, w := range waiting {
		read = append(read, w.ext)
		if filter == nil || filter.Judge(records[w.ext]) != query.False {
			kept = append(kept, w.id)
		}
	}
	if err := x.addMembers(sel, b.ID, kept); err != nil {
		return err
	}
	return x.waitNoLonger(sel, prov, b.RecordType, read)
}

// newestSpec is the description that the newest plan of a selection was made with. That plan
// is never archived.
func (x *tx) newestSpec(sel harvest.SelectionID) (snapshot []byte, err error) {
	err = x.row(`SELECT spec_snapshot FROM ing_plan WHERE selection_id=? ORDER BY id DESC LIMIT 1`, sel).Scan(&snapshot)
	if err != nil {
		return nil, fmt.Errorf("read newest plan of selection %d: %w", sel, err)
	}
	return snapshot, nil
}

// filterIn is what of its query a source does not decide by a stored description; nil if it
// decides all of it.
func filterIn(snapshot []byte) (*source.Filter, error) {
	spec, err := source.ParseSpec(snapshot)
	if err != nil {
		return nil, err
	}
	return source.FilterOf(spec)
}

// waitNoLonger notes that a selection does not wait any more for records with these ids.
func (x *tx) waitNoLonger(sel harvest.SelectionID, prov, recordType string, ids []string) error {
	for part := range chunks(ids, keysPerRead) {
		is := ` WHERE provenance_code=? AND record_type=? AND ext_id IN (` + list(len(part)) + `))`
		args := append([]any{sel, prov, recordType}, anys(part)...)
		if _, err := x.exec(`DELETE FROM ing_selection_item WHERE selection_id=? AND item_id IN (SELECT id FROM ing_quarantine`+is, args...); err != nil {
			return fmt.Errorf("forget items of selection %d: %w", sel, err)
		}
		if _, err := x.exec(`DELETE FROM ing_selection_bad_id WHERE selection_id=? AND bad_id IN (SELECT id FROM ing_bad_id`+is, args...); err != nil {
			return fmt.Errorf("forget bad ids of selection %d: %w", sel, err)
		}
	}
	return nil
}

// waitForItems has the selections that wait for an id without details wait for its items in
// quarantine instead. key are source, record type and id.
func (x *tx) waitForItems(key []any) error {
	if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_selection_item (selection_id, item_id) SELECT n.selection_id, q.id
		FROM ing_bad_id i JOIN ing_selection_bad_id n ON n.bad_id=i.id
		JOIN ing_quarantine q ON q.provenance_code=i.provenance_code AND q.record_type=i.record_type AND q.ext_id=i.ext_id
		WHERE i.provenance_code=? AND i.record_type=? AND i.ext_id=?`, key...); err != nil {
		return fmt.Errorf("name items to selections: %w", err)
	}
	if _, err := x.exec(`DELETE FROM ing_selection_bad_id WHERE bad_id IN (SELECT id FROM ing_bad_id
		WHERE provenance_code=? AND record_type=? AND ext_id=?)`, key...); err != nil {
		return fmt.Errorf("forget bad id of selections: %w", err)
	}
	return nil
}
