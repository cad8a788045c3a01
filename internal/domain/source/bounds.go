package source

import (
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// BoundError says what of the pacing of a trigger its source does not allow.
type BoundError struct {
	Source, Text string
}

func (e *BoundError) Error() string { return e.Source + ": " + e.Text }

// Problem implements problem.Error.
func (e *BoundError) Problem() problem.Problem {
	return problem.Problem{
		Code: "bound", Kind: problem.Usage, Title: e.Error(),
		Next: "a trigger may ask for less than the source's description, never for more: leave it out or give a smaller number; " +
			"`patra source show " + e.Source + "` shows what the description says",
	}
}

// PlanBound holds the requests of one plan below what the source allows, over all processes.
type PlanBound struct {
	QPS         float64 `json:"qps,omitzero"`
	Concurrency int     `json:"concurrency,omitzero"`
}

// Rate is the bound as a rate of its own, under a key that only the plan has.
func (b PlanBound) Rate(source string, plan harvest.PlanID) Rate {
	return Rate{Key: PlanRateKey(source, plan), QPS: b.QPS, Burst: 1, Concurrency: b.Concurrency}
}

// PlanRateKey is the key under which the requests of a plan are counted that has bounds of its own.
func PlanRateKey(source string, plan harvest.PlanID) string {
	return fmt.Sprintf("%s/plan/%d", source, plan)
}

// Within returns the description as a plan goes by it that keeps to bounds of its own,
// which may be lower than those of the source and never higher (R73, R37).
func (s *Spec) Within(b harvest.Bounds) (*Spec, error) {
	if b == (harvest.Bounds{}) {
		return s, nil
	}
	refuse := func(format string, args ...any) error {
		return &BoundError{Source: s.Source, Text: fmt.Sprintf(format, args...)}
	}
	qps, concurrency := s.most()
	size := &s.Paging.Size
	if harvest.Operation(s.Operation) == harvest.Update {
		size = &s.Batching.IDs
	}
	switch {
	case qps > 0 && b.Rate > qps:
		return nil, refuse("%g requests a second are more than the %g that it is asked", b.Rate, qps)
	case concurrency > 0 && b.Concurrency > concurrency:
		return nil, refuse("%d requests in flight are more than the %d that it is sent", b.Concurrency, concurrency)
	case b.PageSize > *size:
		return nil, refuse("pages of %d are larger than the %d that it is asked for", b.PageSize, *size)
	}
	out := *s
	if b.PageSize > 0 && size == &s.Batching.IDs {
		out.Batching.IDs = b.PageSize
	} else if b.PageSize > 0 {
		out.Paging.Size = b.PageSize
	}
	if b.Rate > 0 || b.Concurrency > 0 {
		out.Bound = &PlanBound{QPS: b.Rate, Concurrency: b.Concurrency}
		out.Version = max(out.Version, specBounds)
	}
	return &out, nil
}

// most is what the source allows at most, with a key or without; 0 is no limit.
func (s *Spec) most() (qps float64, concurrency int) {
	qps = s.Rate.QPS
	concurrency = s.Rate.Concurrency
	if s.Auth == nil || s.Auth.Rate == nil {
		return qps, concurrency
	}
	keyed := s.Auth.Rate
	if qps > 0 && (keyed.QPS == 0 || keyed.QPS > qps) {
		qps = keyed.QPS
	}
	if concurrency > 0 && (keyed.Concurrency == 0 || keyed.Concurrency > concurrency) {
		concurrency = keyed.Concurrency
	}
	return qps, concurrency
}
