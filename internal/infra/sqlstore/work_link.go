package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	// Runs are those of the index of keys, the oldest first; LastRun is the last number
	// that one was given.
	Runs    []keyRun `json:"runs"`
	LastRun int64    `json:"last_run"`
	// Sources are those whose records are in the index. It names them by their places.
	Sources []string `json:"sources"`
}

// isScanning reports whether records are still gone through one by one.
func (p *workPosition) isScanning() bool { return p.Scanned < p.ScanTo }

// sourceNo is the place of a source.
func (p *workPosition) sourceNo(code string) int {
	i := slices.Index(p.Sources, code)
	if i < 0 {
		i = len(p.Sources)
		p.Sources = append(p.Sources, code)
	}
	return i
}

// LinkWorks links the next records that were stored or changed, about so many at most,
// and says how many it looked at: 0 if none is left. Whatever it changes is one
// transaction, with the position after it, under a lock: several may do it at once, and
// one that dies leaves what was linked before.
func (s *Store) LinkWorks(ctx context.Context, most int) (linked int, err error) {
	waits, err := s.waitsForLinking(ctx)
	if err != nil || !waits {
		return 0, err
	}
	err = s.write(ctx, "link records", func(x *tx) error {
		p, err := x.lockLinking()
		if err != nil {
			return err
		}
		linked, err = x.linkNext(&p, most)
		if err != nil || linked == 0 {
			return err
		}
		return x.saveLinking(p)
	})
	return linked, err
}

// waitsForLinking reports whether there is anything to link: mostly there is not, and
// nobody has to wait for that to be found out.
func (s *Store) waitsForLinking(ctx context.Context) (bool, error) {
	var id int64
	err := s.r.QueryRowContext(ctx, `SELECT id FROM ing_work_queue ORDER BY id LIMIT 1`).Scan(&id)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("look for records to link: %w", err)
	}
	var text string
	err = s.r.QueryRowContext(ctx, `SELECT value FROM ing_meta WHERE name=?`, linkPosition).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("position of linking: %w", err)
	}
	var p workPosition
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return false, fmt.Errorf("position of linking: %w", err)
	}
	return p.Rules != work.RulesVersion || p.isScanning(), nil
}

// linkNext links the records that come next, of all while these are gone through, else
// of the queue, and moves the position behind them.
func (x *tx) linkNext(p *workPosition, most int) (linked int, err error) {
	if p.isScanning() {
		ids, err := x.nextToScan(p, most)
		if err != nil {
			return 0, err
		}
		if len(ids) > 0 {
			return len(ids), x.linkRecords(p, ids, nil)
		}
	}
	rows, err := x.takeQueue(most)
	if err != nil {
		return 0, err
	}
	var ids []int64
	for _, row := range rows {
		linked += len(row.records)
		for _, q := range row.records {
			if !q.isNew {
				ids = append(ids, q.record)
			}
		}
	}
	if linked == 0 {
		return 0, nil
	}
	return linked, x.linkRecords(p, ids, rows)
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

// nextToScan are the numbers of the records that come next while all are gone through.
func (x *tx) nextToScan(p *workPosition, most int) (ids []int64, err error) {
	// A record is read whole here, so fewer make a step than of those whose keys are known.
	most = min(most, scannedAtOnce)
	err = x.each(func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM ing_record WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, p.Scanned, p.ScanTo, most)
	p.Scanned = p.ScanTo
	if len(ids) == most {
		p.Scanned = ids[len(ids)-1]
	}
	return ids, err
}

// scannedAtOnce is how many records of all are linked at once.
const scannedAtOnce = 2000

// linking is one step of linking records.
type linking struct {
	x *tx
	p *workPosition
	// facts are what is known of the records met, by their numbers; packed are those of
	// this step that were not needed yet.
	facts  map[int64]*work.Record
	packed map[int64][]byte
	// fresh are records that were never linked before: nothing is stored of them.
	fresh map[int64]bool
	// held are the records found under keys that were looked up, as it is once this step
	// is stored; crowded are keys under which too many are, and how many.
	// Under other keys that were looked up is nobody but the record itself: those in ofStep,
	// sorted, and those in lookedUp.
	held     map[work.LookupKey][]holder
	crowded  map[work.LookupKey]int
	ofStep   []work.LookupKey
	lookedUp map[work.LookupKey]bool
	// works are the numbers of the works of records as they were and as they are; a
	// record that is not in them is a work of its own.
	before map[int64]int64
	now    map[int64]int64
	// asked are the records whose works before are known, resolved those whose works now
	// are.
	asked    map[int64]bool
	resolved map[int64]bool
	// left are the keys of identifiers that records had before.
	left []work.LookupKey
	// sources are where records come from.
	sources map[int64]string
	// decisions are those that name any of the records.
	decisions []work.Decision
}

// linkRecords brings keys, works and edges of records up to date, with all that changes
// by it.
// ids are those that have to be read for it, rows those whose keys are known: of these only
// those are read that have a key in common with others.
func (x *tx) linkRecords(p *workPosition, ids []int64, rows []queueRow) error {
	l := &linking{
		x: x, p: p, facts: map[int64]*work.Record{}, fresh: map[int64]bool{}, held: map[work.LookupKey][]holder{},
		crowded: map[work.LookupKey]int{}, before: map[int64]int64{}, now: map[int64]int64{}, asked: map[int64]bool{},
		resolved: map[int64]bool{}, sources: map[int64]string{}, lookedUp: map[work.LookupKey]bool{},
		packed: map[int64][]byte{},
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if err := l.read(ids); err != nil {
		return err
	}
	touched, err := l.storeKeys(ids, rows)
	if err != nil || len(touched) == 0 {
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
			sets.join(mine[0], other.record)
			out = append(out, other.record)
		}
		for _, id := range mine {
			if l.crowded[k] == 0 {
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
