package control

import "github.com/papertrace/patra/internal/domain/harvest"

// Report is what came of a run, in the form `--json` prints. Of an UPDATE window,
// watermark and gaps are counted in candidates, as texts like the instants of the
// others.
type Report struct {
	Operation harvest.Operation `json:"operation"`
	Source    string            `json:"source"`
	Namespace string            `json:"namespace"`
	PlanKey   string            `json:"plan_key"`
	Status    string            `json:"status"`
	Window    harvest.Span      `json:"window"`
	Watermark *harvest.Mark     `json:"watermark"`
	Noop      bool              `json:"noop"`
	Slices    SliceCounts       `json:"slices"`
	Records   harvest.Counts    `json:"records"`
	Requests  ReportRequests    `json:"requests"`
	Bytes     int64             `json:"bytes"`
	Duration  int64             `json:"duration_ms"`
	Gaps      []ReportGap       `json:"gaps"`
	BadIDs    int64             `json:"bad_ids"` // ids of which the source has no details
	// Warnings are what a person should know of how it was planned, such as where a first
	// harvest begins.
	Warnings []string `json:"warnings"`
	// Notes say how what was asked for was understood, such as whose days dates are.
	Notes    []string `json:"notes,omitempty"`
	Unproven bool     `json:"-"` // the watermark stands where it began
	// Reason says why nothing was planned, or not all of it.
	Reason string `json:"reason,omitempty"`
	// Detached: it was planned, and others work on it.
	Detached bool `json:"detached,omitempty"`
	// Waits: there is something to plan, and no room for it now.
	Waits bool `json:"-"`
	// State is that of the source, or of the endpoint that all of it goes through if only that
	// is held; Held is the name of which.
	State harvest.SourceState `json:"-"`
	Held  string              `json:"-"`
}

// ReportRequests counts what this run sent.
type ReportRequests struct {
	Sent    int64 `json:"sent"`
	Retried int64 `json:"retried"`
	HTTP429 int64 `json:"http_429"`
	HTTP5xx int64 `json:"http_5xx"`
}

// ReportGap is a window that is not proven.
type ReportGap struct {
	From    harvest.Mark `json:"from"`
	To      harvest.Mark `json:"to"`
	Range   string       `json:"range,omitempty"` // the part of the window it is
	Status  string       `json:"status"`
	Reason  string       `json:"reason"`
	RetryAt *Time        `json:"retry_at,omitempty"`
}

// add takes what the plans of a run have come to.
func (r *Report) add(s PlanSummary) {
	r.PlanKey = s.Key
	r.Status = string(s.Status)
	r.Window = s.Span
	r.Watermark = new(s.Watermark)
	r.Unproven = s.Unproven
	r.Noop = false
	r.Slices = s.Slices
	r.Records = s.Records
	r.BadIDs = s.BadIDs
	if s.Slices.Failed > 0 { // perhaps of an older plan
		r.Status = string(harvest.PlanPartial)
	}
	for _, g := range s.Gaps {
		gap := ReportGap{From: g.From, To: g.To, Range: g.Range, Status: g.Status, Reason: g.Reason}
		if !g.RetryAt.IsZero() {
			gap.RetryAt = new(Time(g.RetryAt))
		}
		r.Gaps = append(r.Gaps, gap)
	}
}
