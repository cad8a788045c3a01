package control

import (
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Manner is how what is asked for is done: through which endpoint, in which place of the
// queue, when, and how much slower than the source allows.
type Manner struct {
	// Endpoint is the one it goes through, empty for the source's own choice.
	Endpoint string
	// Priority is in place of the operation's own, if not 0.
	Priority int
	Pacing   harvest.Pacing
}

// addTo adds what is not as usual to the words of a wish.
func (m Manner) addTo(words map[string]any) {
	if m.Endpoint != "" {
		words["endpoint"] = m.Endpoint
	}
	if m.Priority != 0 {
		words["priority"] = m.Priority
	}
	if m.Pacing != (harvest.Pacing{}) {
		words["pacing"] = m.Pacing
	}
}

// applyTo lets a trigger be done in this manner.
func (m Manner) applyTo(t *harvest.Trigger) {
	t.Endpoint = m.Endpoint
	t.Priority = m.Priority
	t.Pacing = m.Pacing
}

// PlanPacing is what the trigger of a plan said of how it is worked on.
type PlanPacing struct {
	NotBefore   *Time   `json:"not_before,omitempty"`
	Spread      string  `json:"spread,omitempty"`
	Rate        float64 `json:"rate,omitzero"`
	PageSize    int     `json:"page_size,omitzero"`
	Concurrency int     `json:"concurrency,omitzero"`
}

// pacingOf is a pacing as it is shown, nil if there is none.
func pacingOf(p harvest.Pacing) *PlanPacing {
	if p == (harvest.Pacing{}) {
		return nil
	}
	out := &PlanPacing{NotBefore: optional(p.NotBefore), Rate: p.Rate, PageSize: p.PageSize, Concurrency: p.Concurrency}
	if p.Spread > 0 {
		out.Spread = daysText(p.Spread)
	}
	return out
}

// Text tells a pacing in a line.
func (p *PlanPacing) Text() string {
	var parts []string
	if p.NotBefore != nil && !time.Time(*p.NotBefore).IsZero() {
		parts = append(parts, "not before "+p.NotBefore.String())
	}
	if p.Spread != "" {
		parts = append(parts, "begun over "+p.Spread)
	}
	if p.Rate > 0 {
		parts = append(parts, strconv.FormatFloat(p.Rate, 'g', -1, 64)+" requests a second at most")
	}
	if p.PageSize > 0 {
		parts = append(parts, "pages of "+strconv.Itoa(p.PageSize))
	}
	if p.Concurrency > 0 {
		parts = append(parts, strconv.Itoa(p.Concurrency)+" requests in flight at most")
	}
	return strings.Join(parts, ", ")
}
