package harvest

import (
	"errors"
	"fmt"
	"slices"
)

// ErrTransition is returned for a change of state that the life cycle forbids.
var ErrTransition = errors.New("state change not allowed")

// The states below are the strings stored in the database. Each type has a
// table of the changes that may happen; nothing else may (ruling C2).
type (
	// PlanState is the life of a plan.
	PlanState string
	// SliceState is the life of a slice.
	SliceState string
	// TaskState is the life of a task.
	TaskState string
	// RunState is the life of one attempt.
	RunState string
	// BatchState is the life of one page.
	BatchState string
)

// States that are asked for together.
var (
	// PlansOpen may still get work done.
	PlansOpen = []PlanState{PlanReady, PlanPartial}
	// PlansVoid count for nothing.
	PlansVoid = []PlanState{PlanCancelled, PlanFailed}
	// SlicesOpen are to be worked on without anybody's doing.
	SlicesOpen = []SliceState{SlicePending, SliceReady}
	// SlicesGap are gaps unless they were accepted.
	SlicesGap = []SliceState{SliceFailed, SliceCancelled}
	// TasksOpen are to be worked on without anybody's doing.
	TasksOpen = []TaskState{TaskQueued, TaskDispatched, TaskExecuting}
	// TasksInHand have an owner.
	TasksInHand = []TaskState{TaskDispatched, TaskExecuting}
)

// States of a plan. PARTIAL is not terminal: a later trigger goes on slicing.
const (
	PlanDraft     PlanState = "DRAFT"
	PlanSlicing   PlanState = "SLICING"
	PlanReady     PlanState = "READY"
	PlanPartial   PlanState = "PARTIAL"
	PlanFailed    PlanState = "FAILED"
	PlanCompleted PlanState = "COMPLETED"
	PlanCancelled PlanState = "CANCELLED"
)

// States of a slice. FAILED is a gap that may be tried again; DONE and
// RESLICED are for ever.
const (
	SlicePending   SliceState = "PENDING"
	SliceReady     SliceState = "READY"
	SliceFailed    SliceState = "FAILED"
	SliceDone      SliceState = "DONE"
	SliceResliced  SliceState = "RESLICED"
	SliceCancelled SliceState = "CANCELLED"
)

// States of a task.
const (
	TaskQueued     TaskState = "QUEUED"
	TaskDispatched TaskState = "DISPATCHED"
	TaskExecuting  TaskState = "EXECUTING"
	TaskSucceeded  TaskState = "SUCCEEDED"
	TaskFailed     TaskState = "FAILED"
	TaskPartial    TaskState = "PARTIAL"
	TaskCancelled  TaskState = "CANCELLED"
)

// States of a run.
const (
	RunRunning   RunState = "RUNNING"
	RunSucceeded RunState = "SUCCEEDED"
	RunPartial   RunState = "PARTIAL"
	RunFailed    RunState = "FAILED"
	RunCancelled RunState = "CANCELLED"
)

// States of a batch. SKIPPED was claimed and never asked for, or given up since a page
// before it could not be stored: it tells nothing of the upstream.
const (
	BatchRunning   BatchState = "RUNNING"
	BatchSucceeded BatchState = "SUCCEEDED"
	BatchFailed    BatchState = "FAILED"
	BatchSkipped   BatchState = "SKIPPED"
)

var (
	planChanges = map[PlanState][]PlanState{
		PlanDraft:   {PlanSlicing, PlanFailed, PlanCancelled},
		PlanSlicing: {PlanReady, PlanPartial, PlanFailed, PlanCancelled},
		PlanPartial: {PlanSlicing, PlanReady, PlanCancelled},
		PlanReady:   {PlanCompleted, PlanCancelled},
	}
	sliceChanges = map[SliceState][]SliceState{
		SlicePending:   {SliceReady, SliceFailed, SliceCancelled},
		SliceReady:     {SliceDone, SliceFailed, SliceResliced, SliceCancelled},
		SliceFailed:    {SliceReady, SliceCancelled},
		SliceCancelled: {SliceReady},
	}
	taskChanges = map[TaskState][]TaskState{
		TaskQueued:     {TaskDispatched, TaskCancelled},
		TaskDispatched: {TaskExecuting, TaskDispatched, TaskQueued, TaskFailed, TaskCancelled},
		TaskExecuting:  {TaskSucceeded, TaskFailed, TaskPartial, TaskCancelled, TaskQueued, TaskDispatched},
		TaskFailed:     {TaskQueued, TaskCancelled},
		TaskCancelled:  {TaskQueued},
	}
	runChanges = map[RunState][]RunState{
		RunRunning: {RunSucceeded, RunPartial, RunFailed, RunCancelled},
	}
	batchChanges = map[BatchState][]BatchState{
		BatchRunning: {BatchSucceeded, BatchFailed, BatchSkipped},
	}
)

// From lists the states that may change into s.
func (s PlanState) From() []PlanState { return statesBefore(planChanges, s) }

// To checks the change from s to next.
func (s PlanState) To(next PlanState) error { return checkChange("plan", planChanges, s, next) }

// From lists the states that may change into s.
func (s SliceState) From() []SliceState { return statesBefore(sliceChanges, s) }

// To checks the change from s to next.
func (s SliceState) To(next SliceState) error { return checkChange("slice", sliceChanges, s, next) }

// From lists the states that may change into s.
func (s TaskState) From() []TaskState { return statesBefore(taskChanges, s) }

// To checks the change from s to next.
func (s TaskState) To(next TaskState) error { return checkChange("task", taskChanges, s, next) }

// From lists the states that may change into s.
func (s RunState) From() []RunState { return statesBefore(runChanges, s) }

// To checks the change from s to next.
func (s RunState) To(next RunState) error { return checkChange("run", runChanges, s, next) }

// From lists the states that may change into s.
func (s BatchState) From() []BatchState { return statesBefore(batchChanges, s) }

// Open reports whether work on the task is still to come without anybody's doing.
func (s TaskState) Open() bool {
	return s == TaskQueued || s == TaskDispatched || s == TaskExecuting
}

// statesBefore lists the states of a table that may change into one, in order.
func statesBefore[S ~string](table map[S][]S, to S) []S {
	var out []S
	for from, next := range table {
		if slices.Contains(next, to) {
			out = append(out, from)
		}
	}
	slices.Sort(out)
	return out
}

// checkChange refuses a change of state that is not in the table.
func checkChange[S ~string](what string, table map[S][]S, from, to S) error {
	if slices.Contains(table[from], to) {
		return nil
	}
	return fmt.Errorf("%s from %s to %s: %w", what, from, to, ErrTransition)
}
