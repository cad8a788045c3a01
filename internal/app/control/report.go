package control

import (
	"encoding/json"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Report is what came of a run, in the form `--json` prints.
type Report struct {
	Operation harvest.Operation `json:"operation"`
	Source    string            `json:"source"`
	Namespace string            `json:"namespace"`
	PlanKey   string            `json:"plan_key"`
	Status    string            `json:"status"`
	Window    ReportWindow      `json:"window"`
	Watermark *Time             `json:"watermark"`
	Noop      bool              `json:"noop"`
	Slices    SliceCounts       `json:"slices"`
	Records   harvest.Counts    `json:"records"`
	Requests  ReportRequests    `json:"requests"`
	Bytes     int64             `json:"bytes"`
	Duration  int64             `json:"duration_ms"`
	Gaps      []ReportGap       `json:"gaps"`
	Unproven  bool              `json:"-"` // the watermark stands where it began
	BadIDs    int64             `json:"-"` // ids of which the source has no details
	Warnings  []string          `json:"-"`
	// Reason says why nothing was planned, or not all of it.
	Reason string `json:"reason,omitempty"`
	// Waits: there is something to plan, and no room for it now.
	Waits bool                `json:"-"`
	State harvest.SourceState `json:"-"`
}

// ReportWindow is a window in the report's form.
type ReportWindow struct {
	From Time `json:"from"`
	To   Time `json:"to"`
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
	From    Time   `json:"from"`
	To      Time   `json:"to"`
	Range   string `json:"range,omitempty"` // the part of the window it is
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	RetryAt *Time  `json:"retry_at,omitempty"`
}

// MarshalJSON writes the report. Of an UPDATE window, watermark and gaps are
// counted in candidates, as texts like the instants of the others.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	if r.Operation != harvest.Update {
		return json.Marshal(plain(r))
	}
	place := func(t Time) string { return harvest.PlaceOf(r.Operation, time.Time(t)).String() }
	type window struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	type gap struct {
		window
		Status  string `json:"status"`
		Reason  string `json:"reason"`
		RetryAt *Time  `json:"retry_at,omitempty"`
	}
	out := struct {
		plain
		Window    window  `json:"window"`
		Watermark *string `json:"watermark"`
		Gaps      []gap   `json:"gaps"`
	}{plain: plain(r), Window: window{place(r.Window.From), place(r.Window.To)}, Gaps: []gap{}}
	if r.Watermark != nil {
		out.Watermark = new(place(*r.Watermark))
	}
	for _, g := range r.Gaps {
		out.Gaps = append(out.Gaps, gap{window{place(g.From), place(g.To)}, g.Status, g.Reason, g.RetryAt})
	}
	return json.Marshal(out)
}

// add takes what the plans of a run have come to.
func (r *Report) add(s PlanSummary) {
	r.PlanKey = s.Key
	r.Status = string(s.Status)
	r.Window = ReportWindow{Time(s.Window.From), Time(s.Window.To)}
	r.Watermark = new(Time(s.Watermark))
	r.Unproven = s.Unproven
	r.Noop = false
	r.Slices = s.Slices
	r.Records = s.Records
	r.BadIDs = s.BadIDs
	if s.Slices.Failed > 0 { // perhaps of an older plan
		r.Status = string(harvest.PlanPartial)
	}
	for _, g := range s.Gaps {
		gap := ReportGap{From: Time(g.From.Time), To: Time(g.To.Time), Range: g.Range, Status: g.Status, Reason: g.Reason}
		if !g.RetryAt.IsZero() {
			gap.RetryAt = new(Time(g.RetryAt))
		}
		r.Gaps = append(r.Gaps, gap)
	}
}
