package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// Where the records under a key stand: with few others, or in a crowd.
const (
	keyTable   = "ing_work_key"
	crowdTable = "ing_work_crowd"
)

// crowdMark stands in place of the records under a key that too many have.
const crowdMark = 0

// keyRow says that a record is found under a key.
type keyRow struct {
	key    work.LookupKey
	record int64
}

// lookUp reads which records are found under keys, of those that were not asked for
// yet.
func (l *linking) lookUp(keys []work.LookupKey) error {
	var missing []work.LookupKey
	for _, k := range keys {
		if _, known := l.held[k]; !known {
			l.held[k] = nil
			missing = append(missing, k)
		}
	}
	slices.Sort(missing)
	for part := range chunks(missing, keysPerRead) {
		args := make([]any, len(part))
		for i, k := range part {
			args[i] = int64(k)
		}
		err := l.x.each(func(r *sql.Rows) error {
			var no, record int64
			if err := r.Scan(&no, &record); err != nil {
				return err
			}
			k := work.LookupKey(no)
			if record == crowdMark {
				l.crowded[k] = true
			} else {
				l.held[k] = append(l.held[k], record)
			}
			return nil
		}, `SELECT key_no, record_id FROM ing_work_key WHERE key_no IN (`+list(len(part))+`)`, args...)
		if err != nil {
			return fmt.Errorf("look up keys of works: %w", err)
		}
	}
	return nil
}

// storeKeys writes the keys of records, and returns the records whose works and
// likenesses have to be looked at: these, those that had something in common with them
// before, and all who have a value that has become one of a crowd, or is no longer.
func (l *linking) storeKeys(ids []int64) (touched []int64, err error) {
	old, err := l.storedKeys(ids)
	if err != nil {
		return nil, err
	}
	var lookups []work.LookupKey
	keys := make(map[int64][]work.LookupKey, len(ids))
	for _, id := range ids {
		if r := l.facts[id]; r != nil {
			keys[id] = r.Keys()
		}
		for _, k := range append(slices.Clone(keys[id]), old[id]...) {
			lookups = append(lookups, k)
			if beside, ok := k.Beside(); ok {
				lookups = append(lookups, beside)
			}
		}
		if r := l.facts[id]; r != nil {
			lookups = append(lookups, r.Key.MergedKey())
		}
	}
	if err := l.lookUp(lookups); err != nil {
		return nil, err
	}
	c := keyChanges{linking: l}
	for _, id := range ids {
		touched = append(touched, id)
		for _, k := range old[id] {
			if !slices.Contains(keys[id], k) {
				c.remove(k, id)
			}
			if k.IsID() {
				touched = append(touched, l.held[k]...)
			}
		}
		for _, k := range keys[id] {
			if !slices.Contains(old[id], k) {
				c.add(k, id)
			}
		}
	}
	crossed, err := c.write()
	if err != nil {
		return nil, err
	}
	if err := l.storeRecords(ids, keys); err != nil {
		return nil, err
	}
	touched = append(touched, crossed...)
	slices.Sort(touched)
	return slices.Compact(touched), nil
}

// storedKeys are the keys under which records were found until now.
func (l *linking) storedKeys(ids []int64) (map[int64][]work.LookupKey, error) {
	out := map[int64][]work.LookupKey{}
	for _, id := range ids {
		l.fresh[id] = true
	}
	for part := range chunks(ids, keysPerRead) {
		err := l.x.each(func(r *sql.Rows) error {
			var id int64
			var packed []byte
			if err := r.Scan(&id, &packed); err != nil {
				return err
			}
			delete(l.fresh, id)
			out[id] = unpackKeys(packed)
			return nil
		}, `SELECT record_id, lookup_keys FROM ing_work_record WHERE record_id IN (`+list(len(part))+`)`, anys(part)...)
		if err != nil {
			return nil, fmt.Errorf("read keys of records: %w", err)
		}
	}
	return out, nil
}

func packKeys(keys []work.LookupKey) []byte {
	out := make([]byte, 0, 8*len(keys))
	for _, k := range keys {
		out = binary.BigEndian.AppendUint64(out, uint64(k))
	}
	return out
}

func unpackKeys(b []byte) []work.LookupKey {
	out := make([]work.LookupKey, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, work.LookupKey(binary.BigEndian.Uint64(b)))
	}
	return out
}

// storeRecords notes which records were looked at, and with which keys.
func (l *linking) storeRecords(ids []int64, keys map[int64][]work.LookupKey) error {
	var rows [][]any
	for _, id := range ids {
		revision := int64(0)
		if r := l.facts[id]; r != nil {
			revision = r.Revision
		}
		if l.fresh[id] {
			rows = append(rows, []any{id, revision, packKeys(keys[id])})
			continue
		}
		if _, err := l.x.exec(`UPDATE ing_work_record SET revision=?, lookup_keys=? WHERE record_id=?`,
			revision, packKeys(keys[id]), id); err != nil {
			return fmt.Errorf("store keys of a record: %w", err)
		}
	}
	return l.x.insertRows(`INSERT INTO ing_work_record (record_id, revision, lookup_keys)`, rows)
}

// rowsPerLink bounds the rows of one insert of linking.
const rowsPerLink = 250

// insertRows inserts rows, several at a time, by the head of a statement.
func (x *tx) insertRows(head string, rows [][]any) error {
	for part := range chunks(rows, rowsPerLink) {
		args := make([]any, 0, len(rows[0])*len(part))
		for _, row := range part {
			args = append(args, row...)
		}
		if _, err := x.exec(head+` VALUES `+marks(len(part), len(rows[0])), args...); err != nil {
			return fmt.Errorf("link records: %w", err)
		}
	}
	return nil
}

// keyChanges are rows of keys that come and go.
type keyChanges struct {
	*linking
	added, crowdAdded     []keyRow
	removed, crowdRemoved []keyRow
}

func (c *keyChanges) add(k work.LookupKey, id int64) {
	if c.crowded[k] {
		c.crowdAdded = append(c.crowdAdded, keyRow{k, id})
		return
	}
	if !slices.Contains(c.held[k], id) {
		c.held[k] = append(c.held[k], id)
	}
	c.added = append(c.added, keyRow{k, id})
}

func (c *keyChanges) remove(k work.LookupKey, id int64) {
	if c.crowded[k] {
		c.crowdRemoved = append(c.crowdRemoved, keyRow{k, id})
		return
	}
	c.held[k] = slices.DeleteFunc(c.held[k], func(n int64) bool { return n == id })
	c.removed = append(c.removed, keyRow{k, id})
}

// write stores the changes, and returns the records with a value that has become one of
// a crowd, or is no longer.
func (c *keyChanges) write() (crossed []int64, err error) {
	grown := map[work.LookupKey]bool{}
	for _, row := range c.added {
		if len(c.held[row.key]) > row.key.Most() {
			grown[row.key] = true
		}
	}
	c.added = slices.DeleteFunc(c.added, func(row keyRow) bool { return grown[row.key] })
	if err := c.x.insertKeys(keyTable, c.added); err != nil {
		return nil, err
	}
	if err := c.x.deleteKeys(keyTable, c.removed); err != nil {
		return nil, err
	}
	for k := range grown {
		crossed = append(crossed, c.held[k]...)
		if err := c.crowd(k); err != nil {
			return nil, err
		}
	}
	if err := c.x.insertKeys(crowdTable, c.crowdAdded); err != nil {
		return nil, err
	}
	if err := c.x.deleteKeys(crowdTable, c.crowdRemoved); err != nil {
		return nil, err
	}
	released, err := c.disperse()
	return append(crossed, released...), err
}

// crowd moves the records under a key aside.
func (c *keyChanges) crowd(k work.LookupKey) error {
	if _, err := c.x.exec(`DELETE FROM ing_work_key WHERE key_no=?`, int64(k)); err != nil {
		return err
	}
	var rows []keyRow
	for _, id := range c.held[k] {
		rows = append(rows, keyRow{k, id})
	}
	if err := c.x.insertKeys(crowdTable, rows); err != nil {
		return err
	}
	if err := c.x.insertKeys(keyTable, []keyRow{{k, crowdMark}}); err != nil {
		return err
	}
	c.held[k] = nil
	c.crowded[k] = true
	return nil
}

// disperse takes up again the records under keys that few enough have now.
func (c *keyChanges) disperse() (released []int64, err error) {
	done := map[work.LookupKey]bool{}
	for _, row := range c.crowdRemoved {
		k := row.key
		if done[k] {
			continue
		}
		done[k] = true
		var here []int64
		err := c.x.each(func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			here = append(here, id)
			return err
		}, `SELECT record_id FROM ing_work_crowd WHERE key_no=? ORDER BY record_id LIMIT ?`, int64(k), k.Most()+1)
		if err != nil {
			return nil, err
		}
		if len(here) > k.Most() {
			continue
		}
		for _, table := range []string{crowdTable, keyTable, "ing_work_value"} {
			if _, err := c.x.exec(`DELETE FROM `+table+` WHERE key_no=?`, int64(k)); err != nil {
				return nil, err
			}
		}
		var rows []keyRow
		for _, id := range here {
			rows = append(rows, keyRow{k, id})
		}
		if err := c.x.insertKeys(keyTable, rows); err != nil {
			return nil, err
		}
		delete(c.crowded, k)
		c.held[k] = here
		released = append(released, here...)
	}
	return released, nil
}

// insertKeys inserts keys in their order: rows that stand together are written
// together.
func (x *tx) insertKeys(table string, rows []keyRow) error {
	slices.SortFunc(rows, func(a, b keyRow) int {
		return cmp.Or(cmp.Compare(int64(a.key), int64(b.key)), cmp.Compare(a.record, b.record))
	})
	values := make([][]any, len(rows))
	for i, r := range rows {
		values[i] = []any{int64(r.key), r.record}
	}
	if table == crowdTable {
		return x.insertRows(x.s.d.insertIgnore+` INTO ing_work_crowd (key_no, record_id)`, values)
	}
	return x.insertRows(x.s.d.insertIgnore+` INTO ing_work_key (key_no, record_id)`, values)
}

func (x *tx) deleteKeys(table string, rows []keyRow) error {
	byRecord := map[int64][]any{}
	for _, r := range rows {
		byRecord[r.record] = append(byRecord[r.record], int64(r.key))
	}
	for id, keys := range byRecord {
		if _, err := x.exec(`DELETE FROM `+table+` WHERE key_no IN (`+list(len(keys))+`) AND record_id=?`, append(keys, id)...); err != nil {
			return fmt.Errorf("delete keys of a record: %w", err)
		}
	}
	return nil
}
