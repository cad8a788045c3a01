package control

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TaskStore reads tasks. One that is not there is [harvest.ErrNotFound].
type TaskStore interface {
	// Tasks lists tasks behind a place, in the order of [TaskList].
	Tasks(ctx context.Context, q TaskQuery, after TaskPlace, limit int) ([]TaskRow, error)
	Task(ctx context.Context, id harvest.TaskID) (TaskRow, error)
	// TasksAhead counts the tasks of its partition that stand before a queued one, up
	// to one more than most.
	TasksAhead(ctx context.Context, t TaskRow, most int64) (int64, error)
}

// TaskOrder is the order of states in a list: what is in hand, what waits, what ended.
var TaskOrder = []harvest.TaskState{
	harvest.TaskExecuting, harvest.TaskDispatched, harvest.TaskQueued, harvest.TaskFailed, harvest.TaskPartial, harvest.TaskCancelled, harvest.TaskSucceeded,
}

// TaskQuery says which tasks are listed: of one source, state or plan if they are named.
type TaskQuery struct {
	Source string
	State  harvest.TaskState
	Plan   harvest.PlanID
	Page
}

// TaskPlace is where a task stands in a list. It names everything that the list is
// sorted by, so that the next page begins behind it even when the task has moved on.
type TaskPlace struct {
	State     harvest.TaskState `json:"t"`
	Source    string            `json:"s,omitempty"`
	Endpoint  string            `json:"e,omitempty"`
	Operation harvest.Operation `json:"o,omitempty"`
	Priority  int               `json:"p,omitzero"`
	Due       time.Time         `json:"d,omitzero"`
	ID        harvest.TaskID    `json:"i"`
}

// taskPlace reads where a page of tasks begins.
func (p Page) taskPlace() (place TaskPlace, err error) {
	if p.After == "" {
		return place, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil || json.Unmarshal(b, &place) != nil || !slices.Contains(TaskOrder, place.State) {
		return TaskPlace{}, ErrPage
	}
	return place, nil
}

// TaskRow is a task in a list.
type TaskRow struct {
	ID        harvest.TaskID    `json:"id"`
	Source    string            `json:"source"`
	Endpoint  string            `json:"endpoint"`
	Operation harvest.Operation `json:"operation"`
	Status    harvest.TaskState `json:"status"`
	Plan      harvest.PlanID    `json:"plan"`
	Slice     harvest.SliceID   `json:"slice"`
	From      harvest.Mark      `json:"from"`
	To        harvest.Mark      `json:"to"`
	// Range is the part of the window it is, such as bucket 3 of 8; empty for all.
	Range string `json:"range,omitempty"`
	// Priority is the lower the earlier; PriorityWord says it in words.
	Priority     int    `json:"priority"`
	PriorityWord string `json:"priority_word"`
	// DueAt is from when on it may be taken; of a failed one when it is queued again.
	DueAt     time.Time    `json:"scheduled_at"`
	Attempts  int          `json:"attempts"`
	Lease     *TaskLease   `json:"lease,omitempty"`
	Code      harvest.Code `json:"error_code,omitempty"`
	Error     string       `json:"error,omitempty"`
	UpdatedAt time.Time    `json:"updated_at"`
	// Cause is the last fault, Waiting why nothing is done about the task now.
	Cause   *Cause      `json:"cause,omitempty"`
	Waiting *WaitingFor `json:"waiting,omitempty"`
	// PlanOpen: its plan may still get work done.
	PlanOpen bool `json:"-"`
}

// TaskLease is who has a task in hand.
type TaskLease struct {
	Owner string    `json:"owner"`
	Until time.Time `json:"until"`
	// Expired: the owner was not heard of in time, and another may take the task.
	Expired bool `json:"expired,omitzero"`
}

func (t TaskRow) partition() harvest.Partition {
	return harvest.Partition{Provenance: t.Source, Endpoint: t.Endpoint, Operation: t.Operation}
}

func (t TaskRow) place() string {
	b, err := json.Marshal(TaskPlace{
		State: t.Status, Source: t.Source, Endpoint: t.Endpoint, Operation: t.Operation, Priority: t.Priority, Due: t.DueAt, ID: t.ID,
	})
	if err != nil { // names and numbers only
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// TaskList is a page of tasks: first those in hand, then those that wait, as they stand
// in the queue of their partition, then those that ended.
type TaskList struct {
	Tasks []TaskRow `json:"tasks"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Tasks lists tasks.
func (c *Control) Tasks(ctx context.Context, q TaskQuery) (TaskList, error) {
	out := TaskList{Tasks: []TaskRow{}}
	if err := c.known(ctx, q.Source); err != nil {
		return out, err
	}
	after, err := q.taskPlace()
	if err != nil {
		return out, err
	}
	if q.Plan != 0 {
		if _, err := c.store.Plan(ctx, q.Plan); err != nil {
			return out, c.orArchived(ctx, err, "plan", int64(q.Plan))
		}
	}
	rows, err := c.store.Tasks(ctx, q, after, q.Limit+1)
	if err != nil {
		return out, err
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		out.Next = rows[len(rows)-1].place()
	}
	b, err := c.barriers(ctx)
	if err != nil {
		return out, err
	}
	for _, t := range rows {
		b.explain(ctx, &t)
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// explain fills in the cause of a task and what it waits for.
func (b *barriers) explain(ctx context.Context, t *TaskRow) {
	t.PriorityWord = harvest.PriorityWord(t.Priority)
	if t.Lease != nil {
		t.Lease.Expired = !t.Lease.Until.After(b.now)
	}
	switch {
	case t.Status == harvest.TaskQueued:
		t.Cause = b.cause(t.partition())
		if t.Cause == nil {
			t.Cause = ownCause(t.Code, t.Error, t.UpdatedAt)
		}
		t.Waiting = b.queued(ctx, *t)
	case t.Status.Open():
		t.Cause = b.cause(t.partition())
		t.Waiting = b.inHand(ctx, t.partition())
		if t.Lease != nil && t.Lease.Expired {
			t.Waiting = waitFor(ReasonLeaseHeld, time.Time{}, "a worker that looks for tasks: patra serve")
			t.Waiting.Text = "its owner was not heard of in time, and nobody has taken it over yet"
		}
	case t.Status == harvest.TaskFailed:
		t.Cause = ownCause(t.Code, t.Error, t.UpdatedAt)
		if t.PlanOpen {
			t.Waiting = b.bar(ctx, t.partition())
		}
		if t.PlanOpen && t.Waiting == nil {
			t.Waiting = waitFor(ReasonScheduledLater, t.DueAt, "nobody's doing: it is queued again then")
		}
	}
}

// queued says why a task waits that nobody has in hand; nil if it is its turn.
func (b *barriers) queued(ctx context.Context, t TaskRow) *WaitingFor {
	if w := b.bar(ctx, t.partition()); w != nil {
		return w
	}
	if t.DueAt.After(b.now) {
		return waitFor(reasonOf(t.Code), t.DueAt, "nobody's doing: it is tried again then")
	}
	if w := b.ready(t.partition(), t.DueAt); w != nil {
		return w
	}
	return b.inHand(ctx, t.partition())
}

// TaskView is a task, where it stands, and what was tried of it.
type TaskView struct {
	TaskRow
	// Ahead is how many tasks of its partition stand before it in the queue.
	Ahead *Counted `json:"ahead,omitempty"`
	// Runs are the attempts, the newest first.
	Runs []RunItem `json:"runs"`
	// MoreRuns: there are older ones than are shown.
	MoreRuns bool   `json:"more_runs,omitzero"`
	Why      string `json:"why"`
	NextStep string `json:"next_step"`
}

// runsShown is how many attempts are shown with a task.
const runsShown = 10

// Task shows a task.
func (c *Control) Task(ctx context.Context, id harvest.TaskID) (TaskView, error) {
	v := TaskView{Runs: []RunItem{}}
	t, err := c.store.Task(ctx, id)
	if err != nil {
		return v, c.orArchived(ctx, err, "task", int64(id))
	}
	b, err := c.barriers(ctx)
	if err != nil {
		return v, err
	}
	b.explain(ctx, &t)
	v.TaskRow = t
	if t.Status == harvest.TaskQueued {
		n, err := c.store.TasksAhead(ctx, t, CountCap)
		if err != nil {
			return v, err
		}
		v.Ahead = new(CountUpTo(n))
	}
	runs, err := c.store.Runs(ctx, RunQuery{Task: id}, 0, runsShown+1)
	if err != nil {
		return v, err
	}
	v.MoreRuns = len(runs) > runsShown
	v.Runs = runs[:min(len(runs), runsShown)]
	v.Why, v.NextStep = v.sentence(b.now)
	return v, nil
}

// TaskWhy says what a task waits for, or why it ended, and what to do next.
func (c *Control) TaskWhy(ctx context.Context, id harvest.TaskID) (WhyView, error) {
	v, err := c.Task(ctx, id)
	return WhyView{
		Kind: "task", ID: int64(id), Status: string(v.Status), Text: v.Why, Cause: v.Cause, Waiting: v.Waiting, Next: v.NextStep,
	}, err
}
