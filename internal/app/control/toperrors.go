package control

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TopError is how often an operation of a source met an error group in some hours.
type TopError struct {
	// Group is the number of the error group.
	Group     int64             `json:"group"`
	Level     harvest.Level     `json:"level"`
	Source    string            `json:"source"`
	Endpoint  string            `json:"endpoint,omitempty"`
	Operation harvest.Operation `json:"operation"`
	Code      harvest.Code      `json:"code"`
	Path      string            `json:"path,omitempty"`
	Count     int64             `json:"count"`
	First     Time              `json:"first_at"`
	Last      Time              `json:"last_at"`
	// Sample is what the newest of the group said, and Batch its page.
	Sample string          `json:"sample,omitempty"`
	Batch  harvest.BatchID `json:"batch,omitzero"`
	// Means is what the code stands for, where it is one of patra's own.
	Means string `json:"means,omitempty"`
}

// TopErrors are the most frequent failures of a time, in whole hours.
type TopErrors struct {
	From   Time       `json:"from"`
	To     Time       `json:"to"`
	Errors []TopError `json:"errors"`
}

// TopQuery says which failures are wanted. Times that are not given are the last day.
type TopQuery struct {
	Source    string
	Operation harvest.Operation
	Level     harvest.Level
	From, To  time.Time
	Limit     int
}

// TopErrors tells what went wrong most often. Faults are counted by the hour and known
// for a month: an hour that only touches the wanted time counts whole.
func (c *Control) TopErrors(ctx context.Context, q TopQuery) (TopErrors, error) {
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
	out := TopErrors{From: Time(q.From), To: Time(q.To)}
	out.Errors, err = c.store.TopErrors(ctx, q)
	for i := range out.Errors {
		e := &out.Errors[i]
		e.Sample = c.clean(e.Sample)
		if m, known := e.Code.Meaning(); known {
			e.Means = m.Means
		}
	}
	return out, err
}
