package harvest

import (
	"fmt"
	"time"
)

// Pacing is what a trigger may say of how its plan is worked on (R73): when the first of
// its tasks may begin, over how long they are spread, and bounds below those of the
// source. All of it is frozen with the plan.
type Pacing struct {
	// NotBefore is when the first task may begin, zero for at once.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Spread is over how long the beginnings of the tasks are spread, evenly.
	Spread time.Duration `json:"spread,omitzero"`
	Bounds
}

// Bounds hold the requests of a plan below what its source allows; 0 is what it does.
type Bounds struct {
	Rate        float64 `json:"rate,omitzero"`        // requests a second, of all processes together
	PageSize    int     `json:"pageSize,omitzero"`    // items of a page, ids of a request for details
	Concurrency int     `json:"concurrency,omitzero"` // requests in flight, of all processes together
}

// Check says what of a pacing cannot be, whatever the source.
func (p Pacing) Check() error {
	switch {
	case p.Spread < 0:
		return fmt.Errorf("tasks cannot be spread over %s", p.Spread)
	case p.Rate < 0:
		return fmt.Errorf("a rate of %g requests a second is below zero", p.Rate)
	case p.PageSize < 0:
		return fmt.Errorf("a page size of %d is below zero", p.PageSize)
	case p.Concurrency < 0:
		return fmt.Errorf("%d requests in flight are below zero", p.Concurrency)
	}
	return nil
}

// Delay is how long after the first task the i-th of n may begin.
func (p Pacing) Delay(i, n int) time.Duration {
	if n == 0 {
		return 0
	}
	return time.Duration(float64(p.Spread) * float64(i) / float64(n))
}

// From is when the first task may begin that is planned now.
func (p Pacing) From(now time.Time) time.Time {
	if p.NotBefore.After(now) {
		return p.NotBefore
	}
	return now
}
