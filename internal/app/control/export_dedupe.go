package control

import (
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

// Doubles are the works of which several records were selected.
type Doubles struct {
	// Works are the numbers of their selected records, by the number of the work.
	Works map[int64][]int64
	// Unlinked are selected records that were not compared with others yet.
	Unlinked int64
}

// extra is how many records are doubles of others.
func (d Doubles) extra() (n int64) {
	for _, records := range d.Works {
		n += int64(len(records) - 1)
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
	store   Store
	ctx     context.Context
	now     time.Time
	works   map[int64][]int64
	of      map[int64]int64 // the work of each record
	written map[int64]bool  // works
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
	m := &merging{store: c.store, ctx: ctx, now: now, works: doubles.Works, of: map[int64]int64{}, written: map[int64]bool{}}
	for id, records := range doubles.Works {
		for _, r := range records {
			m.of[r] = id
		}
	}
	return m, nil
}

// aDouble is why a record is not written.
const aDouble = "the same work as a record that is written"

// merge gives a record the best fields of its work, or says that the work was written.
func (m *merging) merge(e *Exported) (double bool, err error) {
	id, several := m.of[e.Number]
	if !several {
		return false, nil
	}
	if m.written[id] {
		return true, nil
	}
	m.written[id] = true
	records, err := m.store.WorkRecords(m.ctx, m.works[id])
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

// Settle forgets works of which only one record was selected.
func (d *Doubles) Settle() {
	for id, records := range d.Works {
		if len(records) < 2 {
			delete(d.Works, id)
			continue
		}
		slices.Sort(records)
	}
}
