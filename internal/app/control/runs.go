package control

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// TrailStore reads the attempts at tasks and their pages. What is not there is
// [harvest.ErrNotFound].
type TrailStore interface {
	// Runs lists runs, the newest first, those with a smaller number than before if
	// that is not 0.
	Runs(ctx context.Context, q RunQuery, before harvest.RunID, limit int) ([]RunItem, error)
	Run(ctx context.Context, id harvest.RunID) (RunItem, error)
	// RunBatches lists the pages of a run behind one, in their order.
	RunBatches(ctx context.Context, id harvest.RunID, after int64, limit int) ([]BatchItem, error)
	Batch(ctx context.Context, run harvest.RunID, no int64) (BatchView, error)
}

// RunQuery says which runs are listed: of one source, state, plan or task if they are
// named, and begun since an instant if one is given.
type RunQuery struct {
	Plan   harvest.PlanID
	Source string
	State  harvest.RunState
	Task   harvest.TaskID
	Since  time.Time
	Page
}

// RunItem is one attempt at a task, in a list of many.
type RunItem struct {
	RunRow
	Task      harvest.TaskID    `json:"task"`
	Slice     harvest.SliceID   `json:"slice"`
	Plan      harvest.PlanID    `json:"plan"`
	Source    string            `json:"source"`
	Endpoint  string            `json:"endpoint"`
	Operation harvest.Operation `json:"operation"`
	From      harvest.Mark      `json:"from"`
	To        harvest.Mark      `json:"to"`
	Owner     string            `json:"owner"`
	// Stats is what it asked for and what came of it; absent while it runs.
	Stats *harvest.RunStats `json:"stats,omitempty"`
	// Cause is the fault that ended it, Waiting why it was given back without one.
	Cause   *Cause      `json:"cause,omitempty"`
	Waiting *WaitingFor `json:"waiting,omitempty"`
}

// RunList is a page of runs, the newest first.
type RunList struct {
	Runs []RunItem `json:"runs"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Runs lists runs.
func (c *Control) Runs(ctx context.Context, q RunQuery) (RunList, error) {
	out := RunList{Runs: []RunItem{}}
	if err := c.known(ctx, q.Source); err != nil {
		return out, err
	}
	before, err := q.Number()
	if err != nil {
		return out, err
	}
	rows, err := c.store.Runs(ctx, q, harvest.RunID(before), q.Limit+1)
	if err != nil {
		return out, err
	}
	out.Runs, out.Next = firstOf(rows, q.Limit, func(r RunItem) int64 { return int64(r.ID) })
	for i := range out.Runs {
		out.Runs[i].explain()
	}
	return out, nil
}

// explain tells the fault that ended a run from a wait that did.
func (r *RunItem) explain() {
	code := harvest.Code(r.Code)
	r.Cause = ownCause(code, r.Error, r.FinishedAt)
	if r.Cause != nil || code == "" {
		return
	}
	m, known := code.Meaning()
	if !known {
		return
	}
	r.Waiting = &WaitingFor{Reason: releaseReason(code), Text: plainClause(m.Means), Unblocks: "the next attempt"}
}

// releaseReason is the reason that a run was given back for.
func releaseReason(code harvest.Code) Reason {
	switch code {
	case harvest.CodeHeld, harvest.CodeSourceHeld:
		return ReasonSourcePaused
	case harvest.CodeShutdown:
		return ReasonNoExecutor
	}
	return reasonOf(code)
}

// plainClause is a sentence as it stands within another.
func plainClause(sentence string) string {
	sentence = strings.TrimSuffix(sentence, ".")
	if sentence == "" {
		return sentence
	}
	return strings.ToLower(sentence[:1]) + sentence[1:]
}

// BatchItem is a page of a run, with what its time went to.
type BatchItem struct {
	BatchRow
	Inserted    int64 `json:"inserted"`
	Updated     int64 `json:"updated"`
	Quarantined int64 `json:"quarantined"`
	HTTP429     int64 `json:"http_429"`
	HTTP5xx     int64 `json:"http_5xx"`
	Bytes       int64 `json:"bytes"`
	// Wait is the time at the rate gate, Network that of all tries together, and
	// Processing the rest from claim to commit; in milliseconds.
	Wait       int64 `json:"wait_ms"`
	Network    int64 `json:"network_ms"`
	Processing int64 `json:"processing_ms"`
}

// RunView is a run and a page of its batches.
type RunView struct {
	RunItem
	Batches  []BatchItem `json:"batches"`
	Why      string      `json:"why"`
	NextStep string      `json:"next_step"`
	// Next is where the next page of batches begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Run shows a run with a page of its batches.
func (c *Control) Run(ctx context.Context, id harvest.RunID, p Page) (RunView, error) {
	v := RunView{Batches: []BatchItem{}}
	after, err := p.Number()
	if err != nil {
		return v, err
	}
	v.RunItem, err = c.store.Run(ctx, id)
	if err != nil {
		return v, c.orArchived(ctx, err, "run", int64(id))
	}
	v.RunItem.explain()
	rows, err := c.store.RunBatches(ctx, id, after, p.Limit+1)
	if err != nil {
		return v, err
	}
	v.Batches, v.Next = firstOf(rows, p.Limit, func(b BatchItem) int64 { return b.No })
	if v.Status == string(harvest.RunRunning) {
		b, err := c.barriers(ctx)
		if err != nil {
			return v, err
		}
		part := harvest.Partition{Provenance: v.Source, Endpoint: v.Endpoint, Operation: v.Operation}
		v.Cause = b.cause(part)
		v.Waiting = b.bar(ctx, part)
	}
	v.Why, v.NextStep = v.sentence()
	return v, nil
}

// RunWhy says what a run waits for, or why it ended, and what to do next.
func (c *Control) RunWhy(ctx context.Context, id harvest.RunID) (WhyView, error) {
	v, err := c.Run(ctx, id, Page{Limit: 1})
	return WhyView{Kind: "run", ID: int64(id), Status: v.Status, Text: v.Why, Cause: v.Cause, Waiting: v.Waiting, Next: v.NextStep}, err
}

// sentence says why a run is as it is, and what to do next.
func (v RunView) sentence() (text, next string) {
	task := fmt.Sprintf("patra task why %d", v.Task)
	code := harvest.Code(v.Code)
	switch harvest.RunState(v.Status) {
	case harvest.RunRunning:
		text = fmt.Sprintf("%s works on it since %s.", v.Owner, Time(v.StartedAt.Truncate(time.Second)))
		if v.Waiting != nil {
			text += " It waits" + untilText(v.Waiting) + ": " + v.Waiting.Text + "."
			return text + causeText(v.Cause), v.Waiting.Unblocks
		}
		return text + causeText(v.Cause), nothingToDo
	case harvest.RunSucceeded:
		return "It read its slice to a proven end.", nothingToDo
	case harvest.RunPartial:
		text = "It was given back without a fault"
		if v.Waiting != nil {
			text += ": " + v.Waiting.Text
		}
		if v.Cause != nil {
			text = "It ended before its slice did: " + codeText(code, v.Error)
		}
		return text + ". Another run goes on behind its last stored page.", task
	case harvest.RunCancelled:
		return "Somebody gave up what it worked on: " + codeText("", v.Error) + ".", task
	}
	text = "It ended with " + codeText(code, v.Error) + "."
	if m, known := code.Meaning(); known {
		text += " " + m.Means + " patra " + m.Does
	}
	next = task
	if do := whatToDo(code, v.Source); do != "" {
		next = do + "; " + task
	}
	return text, next
}

// errBatchName says how a page is named.
var errBatchName = problem.New("a page is named by its run and its number in it, such as 17/3", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "patra run show RUN lists the pages of a run",
})

// ParseBatchName reads the name of a page: RUN/BATCH.
func ParseBatchName(name string) (run harvest.RunID, no int64, err error) {
	var rest string
	n, err := fmt.Sscanf(name+" .", "%d/%d %s", &run, &no, &rest)
	if err != nil || n != 3 || rest != "." || run < 1 || no < 1 {
		return 0, 0, errBatchName
	}
	return run, no, nil
}
