package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/work"
)

// How doubles are treated in an export.
const (
	DedupeNone     = "none"     // every record for itself
	DedupeExact    = "exact"    // records of one work as one, by identifiers and by what people decided
	DedupeProbable = "probable" // also two works that are alike, each with the one it is most like
)

// WorkMember is a record of a work, each by its number.
type WorkMember struct{ Work, Record int64 }

// Doubles are the selected records of works of which several were selected. There may
// be as many as there are records, so that they are kept as plain numbers.
type Doubles struct {
	// Members are in the order of works, those of one work in the order of records.
	Members []WorkMember
	// Unlinked are selected records that were not compared with others yet.
	Unlinked int64
}

// Add takes a selected record of a work, in the order of [Doubles.Members]. Behind the
// last, [Doubles.Settle] is to be called.
func (d *Doubles) Add(m WorkMember) {
	if n := len(d.Members); n > 0 && d.Members[n-1].Work != m.Work {
		d.Settle()
	}
	d.Members = append(d.Members, m)
}

// Settle forgets the last work if only one record of it was selected.
func (d *Doubles) Settle() {
	n := len(d.Members)
	if n == 1 || n > 1 && d.Members[n-1].Work != d.Members[n-2].Work {
		d.Members = d.Members[:n-1]
	}
}

// extra is how many records are doubles of others.
func (d Doubles) extra() (n int64) {
	for i := range d.Members {
		if i > 0 && d.Members[i].Work == d.Members[i-1].Work {
			n++
		}
	}
	return n
}

// NotLinkedError refuses to tell doubles among records that were not compared.
type NotLinkedError struct{ Records int64 }

func (e *NotLinkedError) Error() string {
	return fmt.Sprintf("of the records that were selected, %d were not compared with others yet", e.Records)
}

// Problem implements problem.Error.
func (e *NotLinkedError) Problem() problem.Problem {
	return problem.Problem{Code: "not_linked", Kind: problem.Conflict, Title: e.Error(), Next: "patra work link, then the same command again"}
}

// ExportedWork is of which work a record stands, where several records are one.
type ExportedWork struct {
	ID int64 `json:"id"`
	// Records are those that were selected of it, From is of which of them each field is.
	Records []string            `json:"records"`
	From    map[string][]string `json:"from"`
	// Probable are those of the records that are alike, and of which nobody knows that they
	// are the same.
	Probable []string `json:"probable,omitempty"`
}

// merging joins records of one work while they are written.
type merging struct {
	store Store
	ctx   context.Context
	now   time.Time
	// members are those of works of which several were selected, work by work, and
	// byRecord their places in the order of the records.
	members  []WorkMember
	byRecord []uint32
	// written says of the first member of each work whether the work was written or waits
	// for it.
	written []bool
	// likely are records that are counted to a work because they are alike, and for nothing
	// else.
	likely map[int64]bool
	// likelyFirst tells of the first member of each work whether the record that is written
	// is one of those.
	likelyFirst map[int]bool
	queue       []queued
	bytes       int // of fields that the queue holds or will have read
}

// mergeBy makes ready to write works in place of records.
func (c *Control) mergeBy(ctx context.Context, o ExportOrder, now time.Time) (*merging, error) {
	switch o.Dedupe {
	case "", DedupeNone:
		return nil, nil
	case DedupeExact, DedupeProbable:
	default:
		return nil, orderProblem(fmt.Errorf("--dedupe %q is not known: use none, exact or probable", o.Dedupe))
	}
	if o.Raw {
		return nil, orderProblem(fmt.Errorf("--raw is what one record was, --dedupe makes one of several: use one of them"))
	}
	doubles, err := c.store.Doubles(ctx, o.ExportQuery)
	if err != nil {
		return nil, err
	}
	if doubles.Unlinked > 0 {
		return nil, &NotLinkedError{doubles.Unlinked}
	}
	var likely map[int64]bool
	if o.Dedupe == DedupeProbable {
		doubles.Members, likely, err = c.addAlike(ctx, o.ExportQuery, doubles.Members)
		if err != nil {
			return nil, err
		}
	}
	m := &merging{
		store: c.store, ctx: ctx, now: now, members: doubles.Members, likely: likely, likelyFirst: map[int]bool{},
		byRecord: make([]uint32, len(doubles.Members)), written: make([]bool, len(doubles.Members)),
	}
	for i := range m.byRecord {
		m.byRecord[i] = uint32(i)
	}
	slices.SortFunc(m.byRecord, func(a, b uint32) int { return cmp.Compare(m.members[a].Record, m.members[b].Record) })
	return m, nil
}

// workOf is where the members of the work of a record begin and end; they are none if
// the record is the only one of its work.
func (m *merging) workOf(record int64) (from, to int) {
	at, found := slices.BinarySearchFunc(m.byRecord, record, func(place uint32, record int64) int { return cmp.Compare(m.members[place].Record, record) })
	if !found {
		return 0, 0
	}
	from = int(m.byRecord[at])
	id := m.members[from].Work
	for from > 0 && m.members[from-1].Work == id {
		from--
	}
	to = from
	for to < len(m.members) && m.members[to].Work == id {
		to++
	}
	return from, to
}

// Why a record is not written.
const (
	aDouble       = "the same work as a record that is written"
	aLikelyDouble = "probably the same work as a record that is written"
)

// why is the reason for which a record is a double of the one of its work that is written.
func (m *merging) why(record int64) string {
	from, _ := m.workOf(record)
	if m.likely[record] != m.likelyFirst[from] {
		return aLikelyDouble
	}
	return aDouble
}

// queued is a record that waits to be written until the members of its work are read;
// from and to are equal if it is the only one.
type queued struct {
	record   Exported
	from, to int
}

// So many bytes of fields, or records, wait at most until the works among them are read.
// The store is asked for the works of all of them at once.
const (
	mostQueuedBytes   = 1 << 20
	mostQueuedRecords = 200
)

// put writes a record by and by, in its place, with the best fields of its work, or says
// that the work was put before.
func (m *merging) put(e *Exported, write func(*Exported) error) (double bool, err error) {
	from, to := m.workOf(e.Number)
	switch {
	case from == to && len(m.queue) == 0:
		return false, write(e)
	case from < to && m.written[from]:
		return true, nil
	case from < to:
		m.written[from] = true
		if m.likely[e.Number] {
			m.likelyFirst[from] = true
		}
	}
	m.queue = append(m.queue, queued{*e, from, to})
	m.bytes += len(e.Fields) * max(1, to-from)
	if m.bytes < mostQueuedBytes && len(m.queue) < mostQueuedRecords {
		return false, nil
	}
	return false, m.drain(write)
}

// drain writes the records that wait.
func (m *merging) drain(write func(*Exported) error) error {
	var numbers []int64
	for _, q := range m.queue {
		for _, one := range m.members[q.from:q.to] {
			numbers = append(numbers, one.Record)
		}
	}
	records, err := m.store.WorkRecords(m.ctx, numbers)
	if err != nil {
		return err
	}
	byNumber := make(map[int64]*WorkRecord, len(records))
	for i := range records {
		byNumber[records[i].Number] = &records[i]
	}
	for i := range m.queue {
		q := &m.queue[i]
		if q.from < q.to {
			if err := m.merge(q, byNumber); err != nil {
				return err
			}
		}
		if err := write(&q.record); err != nil {
			return err
		}
	}
	clear(m.queue) // what was written need not be held
	m.queue = m.queue[:0]
	m.bytes = 0
	return nil
}

// merge gives a record the best fields of its work.
func (m *merging) merge(q *queued, records map[int64]*WorkRecord) error {
	is := &ExportedWork{ID: m.members[q.from].Work, From: map[string][]string{}}
	var members []work.Member
	for _, one := range m.members[q.from:q.to] {
		r, there := records[one.Record]
		if !there {
			continue
		}
		is.Records = append(is.Records, r.Source+"/"+r.ID)
		if m.likely[one.Record] {
			is.Probable = append(is.Probable, r.Source+"/"+r.ID)
		}
		members = append(members, r.member())
	}
	chosen, err := work.Best(members, m.now)
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	for name, v := range chosen {
		fields[name] = v.Value
		for _, k := range v.From {
			is.From[name] = append(is.From[name], k.Source+"/"+k.ID)
		}
	}
	q.record.Fields, err = marshalPlain(fields)
	q.record.Work = is
	return err
}
