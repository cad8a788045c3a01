package control

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Lineage is a plan and, for a page of its slices, everything that was done for them:
// task, runs and pages.
type Lineage struct {
	Plan   PlanRow        `json:"plan"`
	Slices []SliceLineage `json:"slices"`
	// Capped: a task has more runs or pages than are shown, of which those are the
	// newest.
	Capped bool `json:"capped"`
	// Next is where the next page of slices begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// SliceLineage is a slice and what was done for it.
type SliceLineage struct {
	SliceRow
	SliceWork
}

// SliceWork is what was done for a slice: its task, attempts and pages.
type SliceWork struct {
	TaskID  harvest.TaskID `json:"task_id,omitzero"`
	Runs    []RunRow       `json:"runs"`
	Batches []BatchRow     `json:"batches"`
}

// RunRow is one attempt at a task.
type RunRow struct {
	ID         harvest.RunID `json:"id"`
	Attempt    int           `json:"attempt"`
	Status     string        `json:"status"`
	Code       string        `json:"error_code,omitempty"`
	Error      string        `json:"error,omitempty"`
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
}

// BatchRow is one page.
type BatchRow struct {
	ID      harvest.BatchID `json:"id"`
	Run     harvest.RunID   `json:"run"`
	No      int64           `json:"batch_no"`
	Phase   string          `json:"phase"`
	Ordinal int64           `json:"ordinal"`
	Status  string          `json:"status"`
	Items   int64           `json:"items"`
	Sent    int64           `json:"requests"`
	Retried int64           `json:"retried"`
	HTTP    int64           `json:"http_status,omitzero"`
	Code    string          `json:"error_code,omitempty"`
	Error   string          `json:"error,omitempty"`
	Opened  time.Time       `json:"opened_at"`
	Ended   time.Time       `json:"committed_at,omitzero"`
}

// LineageStore reads what was done for slices.
type LineageStore interface {
	// SliceWork reads runs and pages of slices, of each the newest most and one more if
	// there are more. A slice without a task is not among them.
	SliceWork(ctx context.Context, ids []harvest.SliceID, most int) (map[harvest.SliceID]SliceWork, error)
}

// lineageMost bounds the runs and the pages that are shown of a slice.
const lineageMost = 50

// Lineage shows a plan down to its pages, a page of slices at a time.
func (c *Control) Lineage(ctx context.Context, id harvest.PlanID, p Page) (Lineage, error) {
	out := Lineage{Slices: []SliceLineage{}}
	var err error
	out.Plan, err = c.store.Plan(ctx, id)
	if err != nil {
		return out, c.orArchived(ctx, err, "plan", int64(id))
	}
	list, err := c.Slices(ctx, SliceQuery{Plan: id, Page: p})
	if err != nil {
		return out, err
	}
	out.Next = list.Next
	ids := make([]harvest.SliceID, len(list.Slices))
	for i := range list.Slices {
		ids[i] = list.Slices[i].ID
	}
	work, err := c.store.SliceWork(ctx, ids, lineageMost)
	if err != nil {
		return out, err
	}
	for _, row := range list.Slices {
		s := SliceLineage{row, work[row.ID]}
		runs, moreRuns := newest(s.Runs)
		pages, morePages := newest(s.Batches)
		s.Runs = runs
		s.Batches = pages
		out.Capped = out.Capped || moreRuns || morePages
		out.Slices = append(out.Slices, s)
	}
	return out, nil
}

// newest are as many of the rows of a slice as are shown; more: there are others.
func newest[T any](rows []T) (shown []T, more bool) {
	if len(rows) > lineageMost {
		return rows[:lineageMost], true
	}
	return append([]T{}, rows...), false
}

// TimelineQuery says which moves of cursors are wanted: of a source, of one operation
// and namespace if they are named, and within times if they are given.
type TimelineQuery struct {
	Source    string
	Operation harvest.Operation
	Namespace string
	From, To  time.Time
	Page
}

// TimelineEvent is a move of one of several cursors.
type TimelineEvent struct {
	Cursor    harvest.CursorID  `json:"cursor"`
	Operation harvest.Operation `json:"operation"`
	Namespace string            `json:"namespace"`
	CursorEvent
}

// Timeline are moves of cursors, in their order.
type Timeline struct {
	Source string          `json:"source"`
	Events []TimelineEvent `json:"events"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// TimelineStore reads moves of cursors in their order.
type TimelineStore interface {
	CursorTimeline(ctx context.Context, cursors []harvest.CursorID, from, to time.Time, after int64, limit int) ([]TimelineEvent, error)
}

// Timeline shows how the cursors of a source moved.
func (c *Control) Timeline(ctx context.Context, q TimelineQuery) (Timeline, error) {
	out := Timeline{Source: q.Source, Events: []TimelineEvent{}}
	after, err := q.Number()
	if err != nil {
		return out, err
	}
	const most = 200
	list, err := c.Cursors(ctx, CursorQuery{Source: q.Source, Operation: q.Operation, Namespace: q.Namespace, Page: Page{Limit: most}})
	if err != nil {
		return out, err
	}
	if list.Next != "" {
		return out, problem.New("the source has more than 200 such cursors", problem.Problem{
			Code: "usage", Kind: problem.Usage, Next: "name the operation or the namespace: GET /api/v1/cursors lists them",
		})
	}
	cursors := map[harvest.CursorID]CursorRow{}
	var ids []harvest.CursorID
	for _, row := range list.Cursors {
		cursors[row.ID] = row
		ids = append(ids, row.ID)
	}
	if len(ids) == 0 {
		return out, nil
	}
	events, err := c.store.CursorTimeline(ctx, ids, q.From, q.To, after, q.Limit+1)
	if err != nil {
		return out, err
	}
	for i := range events {
		row := cursors[events[i].Cursor]
		events[i].Operation = row.Operation
		events[i].Namespace = row.Namespace
	}
	out.Events, out.Next = firstOf(events, q.Limit, func(e TimelineEvent) int64 { return e.ID })
	return out, nil
}
