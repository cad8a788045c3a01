package control

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// BadLine is a line that holds no id of a source.
type BadLine struct {
	Line int
	Err  error
}

// BadLinesError lists what is wrong with a list of ids.
type BadLinesError struct {
	Source string
	Lines  []BadLine
}

func (e *BadLinesError) Error() string {
	return fmt.Sprintf("%d of the lines hold no id of %s, first line %d: %v", len(e.Lines), e.Source, e.Lines[0].Line, e.Lines[0].Err)
}

// Problem implements problem.Error. It lists the lines, up to a bound.
func (e *BadLinesError) Problem() problem.Problem {
	const most = 20
	var out []string
	for _, l := range e.Lines[:min(most, len(e.Lines))] {
		out = append(out, fmt.Sprintf("line %d: %v", l.Line, l.Err))
	}
	if more := len(e.Lines) - most; more > 0 {
		out = append(out, fmt.Sprintf("... and %d more", more))
	}
	return problem.Problem{
		Code: "bad_ids", Kind: problem.Usage, Title: e.Error(), Detail: strings.Join(out, "\n"),
		Next: "mend the lines named above and run the command again; nothing was changed",
	}
}

// RefreshRequest says which records of a source are read again. One of IDs,
// OlderThan, MappingChanged and Signals is given.
type RefreshRequest struct {
	Source string
	// IDs are those of the records, one a line.
	IDs io.Reader
	// OlderThan takes records last seen longer ago, such as 90d or PT12H.
	OlderThan string
	// MappingChanged takes records made by another mapping than the one in force.
	MappingChanged bool
	// Signals takes what notices, quarantine and ids without details point to.
	Signals bool
	// Max takes at most so many, those longest not seen first; 0: all.
	Max int
	// Activity is its name; empty: made from what is asked for and the date, so
	// that the same wish on the same day is the same activity.
	Activity string
	BaseURL  string
	Manner
	// Detach leaves the work to the executors of patra serve.
	Detach bool
	Watch  *Watch
	By     By
}

// ErrNoIDs says that a list of ids is empty.
var ErrNoIDs = problem.New("no id was given", problem.Problem{Code: "usage", Kind: problem.Usage, Next: "give ids of the source, one a line"})

// Refresh reads records again by their ids. It freezes which ones, then asks the
// source for each of them once, in an activity of its own.
func (c *Control) Refresh(ctx context.Context, req RefreshRequest) (*Report, error) {
	pick, activity, err := c.pick(ctx, req)
	if err != nil {
		return nil, err
	}
	if req.By.Token != "" {
		req.Activity = activity
		if _, err := c.heldRefresh(ctx, req, pick, req.By.Token); err != nil {
			return nil, err
		}
	}
	return c.Harvest(ctx, HarvestRequest{
		Source: req.Source, Operation: harvest.Update, Activity: activity, Pick: pick, BaseURL: req.BaseURL, Manner: req.Manner,
		Watch: req.Watch, Detach: req.Detach, By: req.By,
	})
}

// RefreshPreview is how many records would be read again, and what that would cost.
type RefreshPreview struct {
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Activity  string            `json:"activity"`
	Records   int64             `json:"expected_records"`
	Slices    int               `json:"slices"`
	Requests  int64             `json:"requests"`
	Seconds   float64           `json:"duration_seconds"`
	Noop      bool              `json:"noop"`
	Reason    string            `json:"reason,omitempty"`
	Duration  time.Duration     `json:"-"`
	Quotas    []QuotaShare      `json:"-"`
	// Token lets [Control.Refresh] and [Control.PlanRefresh] read exactly so many again.
	Token string `json:"token,omitempty"`
}

// PreviewRefresh tells what [Control.Refresh] would read. Nothing is asked.
func (c *Control) PreviewRefresh(ctx context.Context, req RefreshRequest) (RefreshPreview, error) {
	pick, activity, err := c.pick(ctx, req)
	if err != nil {
		return RefreshPreview{}, err
	}
	req.Activity = activity
	out, err := c.previewPick(ctx, req, pick)
	if err != nil {
		return out, err
	}
	out.Token, err = c.seenToken(ctx, "REFRESH", req.Source, out.seen())
	return out, err
}

// heldRefresh is the preview of a refresh, which is refused if it would have read others when it
// was looked at.
func (c *Control) heldRefresh(ctx context.Context, req RefreshRequest, pick harvest.CandidatePick, token string) (RefreshPreview, error) {
	shown, err := c.previewPick(ctx, req, pick)
	if err != nil {
		return shown, err
	}
	return shown, c.checkSeen(ctx, token, "REFRESH", req.Source, shown.seen())
}

func (c *Control) previewPick(ctx context.Context, req RefreshRequest, pick harvest.CandidatePick) (RefreshPreview, error) {
	trigger := harvest.Trigger{Provenance: req.Source, Operation: harvest.Update, Activity: req.Activity, Pick: pick}
	req.applyTo(&trigger)
	p, err := c.planner.Preview(c.leaveNoTrace(ctx), trigger)
	if err != nil {
		return RefreshPreview{}, err
	}
	return RefreshPreview{
		Source: req.Source, Operation: harvest.Update, Activity: req.Activity, Records: p.Expected, Slices: p.Slices.Len(), Requests: p.Requests,
		Seconds: p.Duration.Seconds(), Noop: p.Noop, Reason: p.Reason, Duration: p.Duration, Quotas: quotasOf(p),
	}, nil
}

// pick is what a request asks for, and the name of the activity.
func (c *Control) pick(ctx context.Context, req RefreshRequest) (p harvest.CandidatePick, activity string, err error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return p, "", err
	}
	p.Max = req.Max
	kind := ""
	switch {
	case req.IDs != nil:
		p.IDs, err = c.readIDs(ctx, req.Source, req.IDs)
		if err != nil {
			return p, "", err
		}
		if len(p.IDs) == 0 {
			return p, "", ErrNoIDs
		}
		kind = "ids-" + harvest.HashKey(p.IDs...)[:16]
	case req.OlderThan != "":
		ago, err := source.ParseDuration(req.OlderThan)
		if err == nil && ago < 0 {
			err = fmt.Errorf("%q lies ahead: write how long ago, such as 90d", req.OlderThan)
		}
		if err != nil {
			return p, "", problem.New(err.Error(), problem.Problem{Code: "usage", Kind: problem.Usage, Next: "patra refresh --help"})
		}
		p.SeenBefore = now.Add(-ago)
		kind = "older-than-" + strings.ToLower(req.OlderThan)
	case req.MappingChanged:
		p.MappingChanged = true
		kind = "mapping-changed"
	default:
		p.Signals = true
		kind = "signals"
	}
	if req.Activity != "" {
		return p, req.Activity, nil
	}
	if req.Max > 0 {
		kind += fmt.Sprintf("-max-%d", req.Max)
	}
	return p, "refresh-" + kind + "-" + now.Format(time.DateOnly), nil
}

// readIDs reads ids of a source, one a line, into the form records have: blank
// lines and repetitions are left out, a line that holds no id is a [BadLinesError].
func (c *Control) readIDs(ctx context.Context, code string, r io.Reader) ([]string, error) {
	con, err := c.contracts.Select(ctx, code, harvest.Update, "")
	if err != nil {
		return nil, err
	}
	var out []string
	var bad []BadLine
	seen := make(map[string]struct{})
	lines := bufio.NewScanner(r)
	for no := 1; lines.Scan(); no++ {
		text := strings.TrimPrefix(lines.Text(), "\ufeff")
		if strings.TrimSpace(text) == "" {
			continue
		}
		id, err := con.Spec.ID.Canonical(text)
		if err != nil {
			bad = append(bad, BadLine{no, err})
			continue
		}
		if _, twice := seen[id]; !twice {
			seen[id] = struct{}{}
			out = append(out, id)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read ids: %w", err)
	}
	if len(bad) > 0 {
		return nil, &BadLinesError{Source: code, Lines: bad}
	}
	return out, nil
}
