package sqlstore

import (
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// heldRecord is a record as the store has it.
type heldRecord struct {
	harvest.Held
	id       int64
	revision int64
	missing  time.Time // since when it is not found, zero if it is
	into     string    // what it was merged into
}

// change is what one record of a page asks of the tables.
type change struct {
	rec      *harvest.Record
	packed   []byte // nil: when it is written
	effect   harvest.Effect
	id       int64
	revision int64
}

// raw is what came, packed.
func (c change) raw() []byte {
	if c.packed != nil {
		return c.packed
	}
	return pack(c.rec.Raw)
}

// merged is what came of bringing a page's records in.
type merged struct {
	counts harvest.Counts
	// written are the versions that were taken up.
	written []change
	// settled are, of an UPDATE, the ids not found that a record answers for.
	settled map[string]bool
}

// mergeRecords brings the page's records in (R28): one read of what is held,
// the decision in Go, then as few statements as the effects need. Of an UPDATE
// also what it did not find is brought in.
func (x *tx) mergeRecords(job harvest.Job, b harvest.Batch, packed [][]byte) (out merged, err error) {
	keys := keysToMerge(job, b)
	if len(keys) == 0 {
		return out, nil
	}
	held, err := x.heldRecords(job.Provenance, b.RecordType, keys)
	if err != nil {
		return out, err
	}
	page := decideChanges(b.Records, packed, held)
	out.counts = page.counts
	out.written, err = x.writeChanges(job.Provenance, b, page)
	if err != nil {
		return out, err
	}
	if job.Operation == harvest.Update {
		out.settled, err = x.absences(b, held, &out.counts)
	}
	return out, err
}

// keysToMerge are the ids of the records on which the page may have an effect.
func keysToMerge(job harvest.Job, b harvest.Batch) []string {
	keys := make([]string, 0, len(b.Records))
	for i := range b.Records {
		keys = append(keys, b.Records[i].ID)
	}
	if job.Operation == harvest.Update {
		keys = append(keys, b.Absent...)
		for _, m := range b.Merged {
			keys = append(keys, m.ID)
		}
	}
	return keys
}

// pageChanges is what the records of a page ask of the tables, sorted by the
// statements that it takes. Nothing of it is written yet.
type pageChanges struct {
	counts harvest.Counts
	// inserted were not held; updated are versions newer than the held ones.
	inserted []change
	updated  []change
	// replaced differ from the held versions in volatile parts only.
	replaced []change
	// observed are the rows of records that were seen again unchanged, found those
	// of records that could not be found before.
	observed []any
	found    []any
}

// decideChanges compares the records of a page with what is held. Of a record
// that stands twice on the page the newer version is taken up, and the other is
// compared with it.
func decideChanges(recs []harvest.Record, packed [][]byte, held map[string]heldRecord) *pageChanges {
	page := &pageChanges{inserted: make([]change, 0, len(recs)-min(len(recs), len(held)))}
	var newest *harvest.Record
	for _, i := range lockOrder(recs) {
		rec := &recs[i]
		if newest != nil && rec.ID == newest.ID {
			page.countOlder(rec, newest)
			continue
		}
		newest = rec
		c := change{rec: rec, packed: packed[i]}
		if h, ok := held[rec.ID]; ok {
			page.compare(c, h)
		} else {
			page.insert(c)
		}
	}
	return page
}

// lockOrder is the order in which the records of a page are written: by key, so
// that every transaction locks the same way round, and the newest version of a
// key first.
func lockOrder(recs []harvest.Record) []int {
	order := make([]int, len(recs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if d := strings.Compare(recs[i].ID, recs[j].ID); d != 0 {
			return d
		}
		return recs[j].Version.Compare(recs[i].Version)
	})
	return order
}

// countOlder counts an older or equal version of a record that this page already
// brought.
func (p *pageChanges) countOlder(rec, newest *harvest.Record) {
	if newest.Version.ContentHash == rec.Version.ContentHash {
		p.counts.Count(harvest.Unchanged)
	} else {
		p.counts.Count(harvest.Stale)
	}
}

// insert takes up a record that is not held.
func (p *pageChanges) insert(c change) {
	c.effect = harvest.Inserted
	c.revision = 1
	p.counts.Count(c.effect)
	p.inserted = append(p.inserted, c)
}

// compare takes up what a record changes about the one that is held.
func (p *pageChanges) compare(c change, h heldRecord) {
	o := harvest.Merge(h.Held, *c.rec)
	p.counts.Count(o.Effect)
	if !h.missing.IsZero() && c.rec.Version.ObservedAt.After(h.missing) {
		p.found = append(p.found, h.id)
	}
	c.id = h.id
	switch {
	case o.Effect == harvest.Updated || o.Effect == harvest.Remapped:
		c.effect = o.Effect
		c.revision = h.revision + 1
		p.updated = append(p.updated, c)
	case o.Effect == harvest.Unchanged && o.Replace:
		c.revision = h.revision
		p.replaced = append(p.replaced, c)
	case o.Effect == harvest.Unchanged && o.Observe:
		p.observed = append(p.observed, h.id)
	}
}

// writeChanges writes what was decided about a page, and returns the versions
// that were taken up: each is kept, announced and searched for what it says about
// other records.
func (x *tx) writeChanges(prov string, b harvest.Batch, page *pageChanges) (written []change, err error) {
	if err := x.insertRecords(prov, b.RecordType, page.inserted); err != nil {
		return nil, err
	}
	if err := x.updateRecords(page.updated); err != nil {
		return nil, err
	}
	if err := x.replaceRecords(page.replaced); err != nil {
		return nil, err
	}
	if err := x.observeRecords(page.observed, b); err != nil {
		return nil, err
	}
	if err := x.foundRecords(page.found); err != nil {
		return nil, err
	}
	written = append(page.inserted, page.updated...) // now that the new ones have their row ids
	if err := x.insertVersions(written, b.ID); err != nil {
		return nil, err
	}
	return written, x.signals(prov, b, written)
}
