package control

import (
	"slices"
	"testing"
)

// TestQueue_CountsWhatTasksWaitFor: tasks that are due wait for what their partition waits
// for, the others for their time, and those of several partitions are counted together.
func TestQueue_CountsWhatTasksWaitFor(t *testing.T) {
	paused := &WaitingFor{Reason: ReasonSourcePaused}
	got := reasonsOf([]QueueRow{
		{Source: "a", Queued: 5, Due: 3, Waiting: paused},
		{Source: "b", Queued: 4, Due: 4},
		{Source: "c", Queued: 7, Due: 6, Waiting: paused, QueuedCapped: true},
		{Source: "d", Running: 2},
	})
	want := []WaitingShare{
		{ReasonSourcePaused, ReasonSourcePaused.Meaning(), 9, true},
		{"", nextInTurn, 4, false},
		{ReasonScheduledLater, ReasonScheduledLater.Meaning(), 3, true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, wanted %+v", got, want)
	}
	if none := reasonsOf(nil); none == nil || len(none) != 0 {
		t.Errorf("an empty queue waits for %v", none)
	}
}
