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
func (c *Control) ReadIDs(ctx context.Context, code string, r io.Reader) ([]string, error) {
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

// Ago is an instant by the store's clock.
func (c *Control) Ago(ctx context.Context, d time.Duration) (time.Time, error) {
	now, err := c.store.Now(ctx)
	return now.Add(-d), err
}
