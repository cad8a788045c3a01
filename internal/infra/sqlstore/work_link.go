package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/work"
)

// linkPosition is the row that whoever links records holds, with how far that has come.
const linkPosition = "work_position"

// workPosition is how far linking has come.
type workPosition struct {
	// Rules is the version of the rules by which it was done.
	Rules int `json:"rules"`
	// Scanned and ScanTo are numbers of records: those up to ScanTo are gone through
	// once, one after the other, when rules are new or changed.
	Scanned int64 `json:"scanned"`
	ScanTo  int64 `json:"scan_to"`
	// Feed is the place in the feed of records up to which all is linked.
	Feed int64 `json:"feed"`
}

// LinkWorks links the next records that were stored or changed, at most so many, and
// says how many it looked at: 0 if none is left. Whatever it changes is one
// transaction, with the position after it, under a lock: several may do it at once, and
// one that dies leaves what was linked before.
func (s *Store) LinkWorks(ctx context.Context, most int) (linked int, err error) {
	if _, err := s.NumberFeed(ctx, most); err != nil {
		return 0, err
	}
	err = s.write(ctx, "link records", func(x *tx) error {
		linked = 0
		p, err := x.lockLinking()
		if err != nil {
			return err
		}
		ids, scanning, err := x.nextToLink(&p, most)
		if err != nil || len(ids) == 0 {
			return err
		}
		linked = len(ids)
		if !scanning {
			ids, err = x.notLinked(ids)
			if err != nil {
				return err
			}
		}
		if err := x.linkRecords(ids); err != nil {
			return err
		}
		return x.saveLinking(p)
	})
	return linked, err
}

// RelinkWorks lets all records be looked at once more, from the first.
func (s *Store) RelinkWorks(ctx context.Context) error {
	return s.write(ctx, "link all records again", func(x *tx) error {
		p, err := x.lockLinking()
		if err != nil {
			return err
		}
		p, err = x.scanAll(p)
		if err != nil {
			return err
		}
		return x.saveLinking(p)
	})
}

// lockLinking takes the right to link until the transaction ends. Where rules are new or
// changed all records are gone through.
func (x *tx) lockLinking() (p workPosition, err error) {
	if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_meta (name, value) VALUES (?, '{}')`, linkPosition); err != nil {
		return p, err
	}
	var text string
	if err := x.row(`SELECT value FROM ing_meta WHERE name=?`+x.s.d.forUpdate, linkPosition).Scan(&text); err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("position of linking: %w", err)
	}
	if p.Rules == work.RulesVersion {
		return p, nil
	}
	p, err = x.scanAll(p)
	if err != nil {
		return p, err
	}
	return p, x.saveLinking(p)
}

// scanAll begins anew with the first record. What comes meanwhile is in the feed.
func (x *tx) scanAll(p workPosition) (workPosition, error) {
	p.Rules = work.RulesVersion
	p.Scanned = 0
	if err := x.row(`SELECT COALESCE(MAX(id), 0) FROM ing_record`).Scan(&p.ScanTo); err != nil {
		return p, err
	}
	return p, nil
}

func (x *tx) saveLinking(p workPosition) error {
	text, err := jsonText(p)
	if err != nil {
		return err
	}
	_, err = x.exec(`UPDATE ing_meta SET value=? WHERE name=?`, text, linkPosition)
	return err
}

// nextToLink are the numbers of the records that come next, of all while these are gone
// through, else of the feed; and moves the position behind them.
func (x *tx) nextToLink(p *workPosition, most int) (ids []int64, scanning bool, err error) {
	if p.Scanned < p.ScanTo {
		err := x.each(func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		}, `SELECT id FROM ing_record WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, p.Scanned, p.ScanTo, most)
		if err != nil {
			return nil, true, err
		}
		p.Scanned = p.ScanTo
		if len(ids) == most {
			p.Scanned = ids[len(ids)-1]
		}
		if len(ids) > 0 {
			return ids, true, nil
		}
	}
	err = x.each(func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&p.Feed, &id)
		ids = append(ids, id)
		return err
	}, `SELECT feed_no, record_id FROM ing_outbox WHERE feed_no > ? ORDER BY feed_no LIMIT ?`, p.Feed, most)
	slices.Sort(ids)
	return slices.Compact(ids), false, err
}

// notLinked leaves out records that were linked in their newest revision: whoever has
// gone through all records meets them in the feed again.
func (x *tx) notLinked(ids []int64) ([]int64, error) {
	linked := map[int64]bool{}
	for part := range chunks(ids, keysPerRead) {
		err := x.each(func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			linked[id] = true
			return err
		}, `SELECT w.record_id FROM ing_work_record w JOIN ing_record r ON r.id=w.record_id AND r.revision=w.revision
			WHERE w.record_id IN (`+list(len(part))+`)`, anys(part)...)
		if err != nil {
			return nil, fmt.Errorf("read what is linked: %w", err)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return linked[id] }), nil
}

// linking is one step of linking records.
type linking struct {
	x *tx
	// facts are what is known of the records met, by their numbers.
	facts map[int64]*work.Record
	// fresh are records that were never linked before: nothing is stored of them.
	fresh map[int64]bool
	// held are the records found under keys that were looked up, as it will be stored;
	// crowded are keys under which too many are.
	held    map[work.LookupKey][]int64
	crowded map[work.LookupKey]bool
	// works are the numbers of the works of records as they were and as they are; a
	// record that is not in them is a work of its own.
	before map[int64]int64
	now    map[int64]int64
	// asked are the records whose works before are known, resolved those whose works now
	// are.
	asked    map[int64]bool
	resolved map[int64]bool
	// sources are where records come from.
	sources map[int64]string
	// decisions are those that name any of the records.
	decisions []work.Decision
}

// linkRecords brings keys, works and edges of records up to date, with all that changes
// by it.
func (x *tx) linkRecords(ids []int64) error {
	l := &linking{
		x: x, facts: map[int64]*work.Record{}, fresh: map[int64]bool{}, held: map[work.LookupKey][]int64{},
		crowded: map[work.LookupKey]bool{}, before: map[int64]int64{}, now: map[int64]int64{}, asked: map[int64]bool{},
		resolved: map[int64]bool{}, sources: map[int64]string{},
	}
	if err := l.load(ids); err != nil {
		return err
	}
	touched, err := l.storeKeys(ids)
	if err != nil {
		return err
	}
	groups, decided, err := l.gather(touched)
	if err != nil {
		return err
	}
	moved, err := l.resolve(groups, decided)
	if err != nil {
		return err
	}
	return l.comparePairs(append(slices.Clone(touched), moved...))
}

// load reads what the newest versions of records say, of those that are not known yet.
func (l *linking) load(ids []int64) error {
	var missing []int64
	for _, id := range ids {
		if l.facts[id] == nil {
			missing = append(missing, id)
		}
	}
	for part := range chunks(missing, keysPerRead) {
		err := l.x.each(func(r *sql.Rows) error {
			var number, revision int64
			var key work.Key
			var status harvest.RecordStatus
			var into sql.NullString
			var doc []byte
			if err := r.Scan(&number, &key.Source, &key.Type, &key.ID, &status, &into, &revision, &doc); err != nil {
				return err
			}
			rec, err := work.Read(key, doc)
			if err != nil {
				// Fields that are not as packs write them say nothing about the work. The
				// record is a work of its own, and others are linked all the same.
				l.x.s.log.Warn("a record could not be looked at for its work", "source", key.Source, "err", err)
				rec = work.Record{Key: key}
			}
			rec.Number = number
			rec.Revision = revision
			if status == harvest.RecordMerged {
				rec.MergedInto = into.String
			}
			l.facts[number] = &rec
			return nil
		}, `SELECT r.id, r.provenance_code, r.record_type, r.ext_id, r.status_code, r.merged_into, r.revision, v.fields
			FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision
			WHERE r.id IN (`+list(len(part))+`)`, anys(part)...)
		if err != nil {
			return fmt.Errorf("read records to link: %w", err)
		}
	}
	return nil
}

func anys[T any](s []T) []any {
	out := make([]any, len(s))
	for i, v := range s {
		out[i] = v
	}
	return out
}

// gather finds all records that hang together with those touched, by identifiers, by
// mergers at their source and by decisions, and sorts them into groups that have
// nothing to do with each other.
func (l *linking) gather(touched []int64) (groups [][]int64, decided map[int64]work.Decision, err error) {
	sets := newSets()
	decided = map[int64]work.Decision{}
	anyDecided, err := l.x.hasDecisions()
	if err != nil {
		return nil, nil, err
	}
	frontier := slices.Clone(touched)
	seen := map[int64]bool{}
	for len(frontier) > 0 {
		for _, id := range frontier {
			seen[id] = true
			sets.add(id)
		}
		if err := l.load(frontier); err != nil {
			return nil, nil, err
		}
		next, err := l.neighbours(frontier, sets)
		if err != nil {
			return nil, nil, err
		}
		if anyDecided {
			more, err := l.decidedWith(frontier, decided, sets)
			if err != nil {
				return nil, nil, err
			}
			next = append(next, more...)
		}
		frontier = frontier[:0]
		slices.Sort(next)
		for _, id := range slices.Compact(next) {
			if !seen[id] {
				frontier = append(frontier, id)
			}
		}
	}
	return sets.groups(), decided, nil
}

// neighbours are the records that share an identifier with some, or were merged.
func (l *linking) neighbours(ids []int64, sets *sets) ([]int64, error) {
	var keys []work.LookupKey
	byKey := map[work.LookupKey][]int64{}
	var out []int64
	for _, id := range ids {
		r := l.facts[id]
		if r == nil {
			continue // its rows are gone, so it belongs to nothing
		}
		if r.MergedInto != "" {
			to, err := l.x.recordNumber(work.Key{Source: r.Key.Source, Type: r.Key.Type, ID: r.MergedInto})
			if err != nil {
				return nil, err
			}
			if to != 0 {
				sets.join(id, to)
				out = append(out, to)
			}
		}
		for _, k := range append(idKeys(r), r.Key.MergedKey()) {
			keys = append(keys, k)
			byKey[k] = append(byKey[k], id)
		}
	}
	if err := l.lookUp(keys); err != nil {
		return nil, err
	}
	for k, mine := range byKey {
		for _, other := range l.held[k] {
			sets.join(mine[0], other)
			out = append(out, other)
		}
		for _, id := range mine {
			if !l.crowded[k] {
				sets.join(mine[0], id)
			}
		}
	}
	return out, nil
}

// idKeys are the keys of the identifiers that a record has.
func idKeys(r *work.Record) []work.LookupKey {
	out := make([]work.LookupKey, 0, len(r.Claims)+1)
	for _, c := range r.Claims {
		out = append(out, work.KeyOf(c.ID))
	}
	return out
}

// recordNumber is the number of a record, 0 if there is none.
func (x *tx) recordNumber(k work.Key) (id int64, err error) {
	err = x.row(`SELECT id FROM ing_record WHERE provenance_code=? AND record_type=? AND ext_id=?`, k.Source, k.Type, k.ID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// sets are numbers that are joined with each other.
type sets struct{ up map[int64]int64 }

func newSets() *sets { return &sets{up: map[int64]int64{}} }

func (s *sets) add(n int64) {
	if _, there := s.up[n]; !there {
		s.up[n] = n
	}
}

func (s *sets) top(n int64) int64 {
	s.add(n)
	for s.up[n] != n {
		s.up[n] = s.up[s.up[n]]
		n = s.up[n]
	}
	return n
}

func (s *sets) join(a, b int64) { s.up[s.top(a)] = s.top(b) }

// groups lists the sets, each sorted, by their smallest number.
func (s *sets) groups() [][]int64 {
	byTop := map[int64][]int64{}
	for _, n := range slices.Sorted(maps.Keys(s.up)) {
		t := s.top(n)
		byTop[t] = append(byTop[t], n)
	}
	out := slices.Collect(maps.Values(byTop))
	slices.SortFunc(out, func(a, b []int64) int { return int(a[0] - b[0]) })
	return out
}
