package sqlstore

import (
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// storedRecord is a record as the store has it.
type storedRecord struct {
	harvest.StoredRecord
	id       int64
	revision int64
	missing  time.Time // when it was first not found, zero if it was found last time
	into     string    // the id of the record that it was merged into, if it was
}

// change is what one record of a page asks of the tables.
type change struct {
	rec    *harvest.Record
	body   *packedBody // nil of a large page, whose records are packed as they are written
	effect harvest.Effect
	// id is that of its row, and revision the number it has once it is written.
	id       int64
	revision int64
	// updatedAt and observedAt are the instants of the version as they are stored.
	updatedAt  any
	observedAt any
}

// stampAll notes the instants of versions that are to be inserted: two tables have them.
// All records of a page are observed at one time, as a rule.
func stampAll(cs []change) {
	var last time.Time
	var text any
	for i := range cs {
		c := &cs[i]
		v := &c.rec.Version
		if i == 0 || !v.ObservedAt.Equal(last) {
			last = v.ObservedAt
			text = ts(last).text()
		}
		c.observedAt = text
		c.updatedAt = ts(v.UpdatedAt).text()
	}
}

// packedBody is the item as it came and its fields, packed.
func (c change) packedBody(p *packer) packedBody {
	if c.body != nil {
		return *c.body
	}
	_, body := p.append(nil, c.rec)
	return body
}

// merged is what came of merging a page.
type merged struct {
	counts harvest.Counts
	// written are the versions that were taken up: inserted or newer than the stored
	// ones.
	written []change
	// settled are, of an UPDATE, the ids that were not found and of which a stored
	// record now says so. They are no bad ids.
	settled map[string]bool
}

// mergeRecords merges the page's records into what is stored (R28): one read of the
// stored records under a lock, the decision in Go, then as few statements as the effects
// need. Of an UPDATE also what was not found is merged. Each revision that it makes is
// announced in the outbox if somebody is to be told. Of a plan with a query every
// record is a member of its selection, whatever the table says of it.
//
//	what came, beside what is stored      counted as   written
//	nothing is stored                     inserted     record, revision 1
//	newer, other content or status        updated      record, one revision more
//	newer, same content, other mapping    remapped     likewise
//	newer, same content                   unchanged    when it was observed
//	newer, other in volatile parts only   unchanged    record and newest revision, in place
//	not newer, same content               unchanged    nothing
//	not newer, other content              stale        nothing
func (x *tx) mergeRecords(job harvest.Job, b harvest.Batch, packed []packedBody, p *packer) (out merged, err error) {
	keys := keysToMerge(job, b)
	if len(keys) == 0 {
		return out, nil
	}
	existing, err := x.storedRecords(job.Provenance, b.RecordType, keys)
	if err != nil {
		return out, err
	}
	page := decideChanges(b.Records, packed, existing)
	if isKept(job) {
		page.observed = nil // nobody has looked whether they are as they were
	}
	out.counts = page.counts
	out.written, err = x.writeChanges(job.Provenance, b, page, p)
	if err != nil {
		return out, err
	}
	if err := x.noteMembers(job.Selection, b, page.inserted, existing); err != nil {
		return out, err
	}
	if job.Operation == harvest.Update {
		out.settled, err = x.mergeAbsences(job.Provenance, b, existing, &out.counts)
	}
	if err == nil && len(out.written)+int(out.counts.Gone+out.counts.Merged) > 0 {
		err = x.announce(b.ID)
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
	// inserted were not stored; updated are versions newer than the stored ones.
	inserted []change
	updated  []change
	// replaced differ from the stored versions in volatile parts only.
	replaced []change
	// observed are the row ids of records that were seen again unchanged, and
	// foundAgain those of records that had been missed before.
	observed   []any
	foundAgain []any
}

// decideChanges compares the records of a page with what is stored. Of a record
// that stands twice on the page the newer version is taken up, and the other is
// compared with it.
func decideChanges(recs []harvest.Record, packed []packedBody, existing map[string]storedRecord) *pageChanges {
	mostlyNew := len(recs) - min(len(recs), len(existing))
	page := &pageChanges{inserted: make([]change, 0, mostlyNew)}
	var newest *harvest.Record
	for _, i := range lockOrder(recs) {
		rec := &recs[i]
		if newest != nil && rec.ID == newest.ID {
			page.countOlder(rec, newest)
			continue
		}
		newest = rec
		c := change{rec: rec}
		if packed != nil {
			c.body = &packed[i]
		}
		if old, ok := existing[rec.ID]; ok {
			page.compare(c, old)
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

// insert takes up a record that is not stored.
func (p *pageChanges) insert(c change) {
	c.effect = harvest.Inserted
	c.revision = 1
	p.counts.Count(c.effect)
	p.inserted = append(p.inserted, c)
}

// compare takes up what a record changes about the one that is stored.
func (p *pageChanges) compare(c change, old storedRecord) {
	o := harvest.Merge(old.StoredRecord, *c.rec)
	p.counts.Count(o.Effect)
	if !old.missing.IsZero() && c.rec.Version.ObservedAt.After(old.missing) {
		p.foundAgain = append(p.foundAgain, old.id)
	}
	c.id = old.id
	switch {
	case o.Effect == harvest.Updated || o.Effect == harvest.Remapped:
		c.effect = o.Effect
		c.revision = old.revision + 1
		p.updated = append(p.updated, c)
	case o.Effect == harvest.Unchanged && o.Replace:
		c.revision = old.revision
		p.replaced = append(p.replaced, c)
	case o.Effect == harvest.Unchanged && o.Observe:
		p.observed = append(p.observed, old.id)
	}
}

// writeChanges writes what was decided about a page, and returns the versions that
// were taken up. Each of these is kept in full, and searched for what it says about
// other records.
func (x *tx) writeChanges(prov string, b harvest.Batch, page *pageChanges, p *packer) (written []change, err error) {
	stampAll(page.inserted)
	stampAll(page.updated)
	if err := x.insertRecords(prov, b.RecordType, page.inserted); err != nil {
		return nil, err
	}
	if err := x.updateRecords(page.updated); err != nil {
		return nil, err
	}
	if err := x.replaceRecords(page.replaced, p); err != nil {
		return nil, err
	}
	if err := x.observeRecords(page.observed, b); err != nil {
		return nil, err
	}
	if err := x.forgetMissing(page.foundAgain); err != nil {
		return nil, err
	}
	written = append(page.inserted, page.updated...) // now that the new ones have their row ids
	if err := x.insertVersions(written, b.ID, p); err != nil {
		return nil, err
	}
	if err := x.queueRecords(prov, b.RecordType, written); err != nil {
		return nil, err
	}
	return written, x.openSignals(prov, b, written)
}
