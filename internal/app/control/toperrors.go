package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// ErrorGroup is a kind of failure of a source and operation, and how often a page
// ended with it.
type ErrorGroup struct {
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Code      string            `json:"code"`
	Count     int64             `json:"count"`
	First     Time              `json:"first_at"`
	Last      Time              `json:"last_at"`
	// Sample is what the newest of them said, and Batch its page.
	Sample string          `json:"sample,omitempty"`
	Batch  harvest.BatchID `json:"batch"`
	// Means is what the code stands for, where it is one of patra's own.
	Means string `json:"means,omitempty"`
}

// TopErrors are the most frequent failures of a time.
type TopErrors struct {
	From   Time         `json:"from"`
	To     Time         `json:"to"`
	Errors []ErrorGroup `json:"errors"`
	// Capped: of some source and operation only the newest [CountCap] failures were
	// counted.
	Capped bool `json:"capped"`
}

// ErrorQuery says which failures are wanted. Times that are not given are the last day.
type ErrorQuery struct {
	Source    string
	Operation harvest.Operation
	From, To  time.Time
	Limit     int
}

// FailedPage is a page that failed.
type FailedPage struct {
	Source    string
	Operation harvest.Operation
	Code      string
	Error     string
	Batch     harvest.BatchID
	At        time.Time
}

// ErrorStore reads failed pages, those of one source and operation after the other,
// the newest first, most of each and one more if there are more.
type ErrorStore interface {
	FailedPages(ctx context.Context, q ErrorQuery, most int, f func(FailedPage) error) error
}

// TopErrors counts failed pages by source, operation and code, the most frequent first.
func (c *Control) TopErrors(ctx context.Context, q ErrorQuery) (TopErrors, error) {
	if err := c.known(ctx, q.Source); err != nil {
		return TopErrors{}, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return TopErrors{}, err
	}
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-24 * time.Hour)
	}
	out := TopErrors{From: Time(q.From), To: Time(q.To), Errors: []ErrorGroup{}}
	groups := map[ErrorGroup]*ErrorGroup{}
	counted := map[ErrorGroup]int{}
	err = c.store.FailedPages(ctx, q, CountCap, func(p FailedPage) error {
		partition := ErrorGroup{Source: p.Source, Operation: p.Operation}
		counted[partition]++
		if counted[partition] > CountCap {
			out.Capped = true
			return nil
		}
		key := ErrorGroup{Source: p.Source, Operation: p.Operation, Code: p.Code}
		g := groups[key]
		if g == nil {
			g = &ErrorGroup{Source: p.Source, Operation: p.Operation, Code: p.Code, Last: Time(p.At), Sample: p.Error, Batch: p.Batch}
			if m, known := harvest.Code(p.Code).Meaning(); known {
				g.Means = m.Means
			}
			groups[key] = g
		}
		g.Count++
		g.First = Time(p.At)
		return nil
	})
	for _, g := range groups {
		out.Errors = append(out.Errors, *g)
	}
	slices.SortFunc(out.Errors, func(a, b ErrorGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Code, b.Code))
	})
	out.Errors = out.Errors[:min(q.Limit, len(out.Errors))]
	return out, err
}
