package node

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
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

// ReadIDs reads ids of a source, one a line, into the form records have: blank
// lines and repetitions are left out, a line that holds no id is a [BadLinesError].
func (n *Node) ReadIDs(ctx context.Context, code string, r io.Reader) ([]string, error) {
	con, err := n.contracts.Select(ctx, code, harvest.Update, "")
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

// Ago is an instant by the store's clock.
func (n *Node) Ago(ctx context.Context, d time.Duration) (time.Time, error) {
	now, err := n.Store.Now(ctx)
	return now.Add(-d), err
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
