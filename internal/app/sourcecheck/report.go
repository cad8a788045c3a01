package sourcecheck

import (
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Status of a check, a group or a whole report.
type Status string

// The statuses, in the order of how bad they are.
const (
	OK      Status = "ok"
	Skipped Status = "skipped"
	Warning Status = "warning"
	Failed  Status = "failed"
)

// The groups, in the order in which they are shown.
const (
	Config     = "config"
	Credential = "credential"
	Network    = "network"
	Rate       = "rate"
	TestRead   = "test read"
	Window     = "window"
	Mapping    = "mapping"
	Estimate   = "estimate"
)

// Report is what a check found. Its fields are what --json prints.
type Report struct {
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	// Origin says which description was checked.
	Origin  string `json:"origin"`
	Query   string `json:"query,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	Offline bool   `json:"offline"`
	Status  Status `json:"status"`
	// Window is what was read, nil if nothing was.
	Window   *harvest.Window `json:"window"`
	Groups   []Group         `json:"groups"`
	Fields   []Coverage      `json:"fields"`
	Figures  Figures         `json:"figures"`
	Summary  Summary         `json:"summary"`
	Requests Requests        `json:"requests"`
	// Exchanges are what went over the wire, if it was asked for.
	Exchanges []Shown `json:"exchanges,omitempty"`
}

// Group is the checks of one part.
type Group struct {
	Name   string  `json:"name"`
	Status Status  `json:"status"`
	Checks []Check `json:"checks"`
}

// Check is one line: what was found and, where it is not well, what to do.
type Check struct {
	Status Status `json:"status"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
	// Details are further lines.
	Details []string `json:"details,omitempty"`
}

// Coverage is how often a mapped field has a value.
type Coverage struct {
	Field   string  `json:"field"`
	Found   int     `json:"found"`
	Of      int     `json:"of"`
	Percent float64 `json:"percent"`
	Example string  `json:"example,omitempty"`
	Paths   string  `json:"paths,omitempty"`
}

// Figures are the numbers behind the lines; nil: not known.
type Figures struct {
	Total         *int64         `json:"total"`
	Items         int            `json:"items"`
	Quarantined   int            `json:"quarantined"`
	Statuses      map[string]int `json:"statuses,omitempty"`
	InWindow      int            `json:"in_window"`
	OutsideWindow int            `json:"outside_window"`
	QPS           float64        `json:"configured_qps"`
	StatedQPS     *float64       `json:"stated_qps"`
	PerDay        *int64         `json:"records_per_day"`
	Pages         *int64         `json:"pages"`
	Requests      *int64         `json:"requests"`
	Seconds       *float64       `json:"seconds"`
}

// Summary counts the lines of a report by status.
type Summary struct {
	OK       int `json:"ok"`
	Warnings int `json:"warnings"`
	Failed   int `json:"failed"`
	Skipped  int `json:"skipped"`
}

// Requests is what the check cost.
type Requests struct {
	Sent     int   `json:"sent"`
	Replayed int   `json:"replayed"`
	Bytes    int64 `json:"bytes"`
	WaitedMS int64 `json:"waited_ms"`
}

// FailedGroup is the first group that failed, empty if none did.
func (r *Report) FailedGroup() string {
	for _, g := range r.Groups {
		if g.Status == Failed {
			return g.Name
		}
	}
	return ""
}

// count fills in what follows from the checks.
func (r *Report) count() {
	r.Status = OK
	for i := range r.Groups {
		g := &r.Groups[i]
		g.Status = OK
		for _, c := range g.Checks {
			switch c.Status {
			case OK:
				r.Summary.OK++
			case Warning:
				r.Summary.Warnings++
			case Failed:
				r.Summary.Failed++
			case Skipped:
				r.Summary.Skipped++
			}
			g.Status = worse(g.Status, c.Status)
		}
		if g.Status != Skipped { // something else was skipped for a reason of its own
			r.Status = worse(r.Status, g.Status)
		}
	}
}

func worse(a, b Status) Status {
	rank := map[Status]int{OK: 0, Skipped: 1, Warning: 2, Failed: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// lines collects the checks of a group.
type lines []Check

func (l *lines) ok(format string, args ...any) {
	*l = append(*l, Check{Status: OK, Text: fmt.Sprintf(format, args...)})
}

func (l *lines) warn(fix, format string, args ...any) {
	*l = append(*l, Check{Status: Warning, Text: fmt.Sprintf(format, args...), Fix: fix})
}

func (l *lines) fail(fix, format string, args ...any) {
	*l = append(*l, Check{Status: Failed, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// skip says which failed root keeps the group from being looked at.
func (l *lines) skip(root string) {
	*l = append(*l, Check{Status: Skipped, Text: "skipped: " + root + " failed"})
}

// detail adds lines to the last check.
func (l lines) detail(text ...string) {
	last := &l[len(l)-1]
	last.Details = append(last.Details, text...)
}

// Blames says who has to do something about the group that failed: whoever set the
// source up, the source, or this machine.
func (r *Report) Blames() problem.Kind {
	switch r.FailedGroup() {
	case Config, Credential:
		return problem.Usage
	case Network, Rate, TestRead:
		return problem.Upstream
	default:
		return problem.Failed
	}
}
