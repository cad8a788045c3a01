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
	DedupeNone  = "none"  // every record for itself
	DedupeExact = "exact" // records of one work as one, by identifiers and by what people decided
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
	// written says of the first member of each work whether the work was written.
	written []bool
}

// mergeBy makes ready to write works in place of records.
func (c *Control) mergeBy(ctx context.Context, o ExportOrder, now time.Time) (*merging, error) {
	switch o.Dedupe {
	case "", DedupeNone:
		return nil, nil
	case DedupeExact:
	case "probable":
		return nil, orderProblem(fmt.Errorf("--dedupe probable joins nothing by itself: look at patra work suggestions, join what is one with patra work join, and use exact"))
	default:
		return nil, orderProblem(fmt.Errorf("--dedupe %q is not known: use none or exact", o.Dedupe))
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
	m := &merging{
		store: c.store, ctx: ctx, now: now, members: doubles.Members,
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

// aDouble is why a record is not written.
const aDouble = "the same work as a record that is written"

// merge gives a record the best fields of its work, or says that the work was written.
func (m *merging) merge(e *Exported) (double bool, err error) {
	from, to := m.workOf(e.Number)
	if from == to {
		return false, nil
	}
	if m.written[from] {
		return true, nil
	}
	m.written[from] = true
	id := m.members[from].Work
	var numbers []int64
	for _, one := range m.members[from:to] {
		numbers = append(numbers, one.Record)
	}
	records, err := m.store.WorkRecords(m.ctx, numbers)
	if err != nil {
		return false, err
	}
	is := &ExportedWork{ID: id, From: map[string][]string{}}
	var members []work.Member
	for _, r := range records {
		is.Records = append(is.Records, r.Source+"/"+r.ID)
		members = append(members, r.member())
	}
	chosen, err := work.Best(members, m.now)
	if err != nil {
		return false, err
	}
	fields := map[string]json.RawMessage{}
	for name, v := range chosen {
		fields[name] = v.Value
		for _, k := range v.From {
			is.From[name] = append(is.From[name], k.Source+"/"+k.ID)
		}
	}
	e.Fields, err = marshalPlain(fields)
	e.Work = is
	return false, err
}
