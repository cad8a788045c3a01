package control

import (
	"cmp"
	"slices"
)

// WaitingShare is how many of the queued tasks wait for one thing.
type WaitingShare struct {
	// Reason is empty where they are next in turn.
	Reason Reason `json:"reason"`
	Text   string `json:"text"`
	Tasks  int64  `json:"tasks"`
	// More: a partition has more than are counted.
	More bool `json:"more,omitzero"`
}

// nextInTurn says what tasks wait for that wait for nothing.
const nextInTurn = "they are next in turn"

// reasonsOf counts what the tasks of all partitions wait for, the most first: those that
// are not due for their time, the others for what their partition waits for.
func reasonsOf(rows []QueueRow) []WaitingShare {
	out := []WaitingShare{}
	add := func(reason Reason, tasks int64, more bool) {
		if tasks <= 0 {
			return
		}
		at := slices.IndexFunc(out, func(s WaitingShare) bool { return s.Reason == reason })
		if at < 0 {
			out = append(out, WaitingShare{Reason: reason, Text: cmp.Or(reason.Meaning(), nextInTurn)})
			at = len(out) - 1
		}
		out[at].Tasks += tasks
		out[at].More = out[at].More || more
	}
	for _, r := range rows {
		reason := Reason("")
		if r.Waiting != nil {
			reason = r.Waiting.Reason
		}
		add(reason, r.Due, r.QueuedCapped)
		add(ReasonScheduledLater, r.Queued-r.Due, r.QueuedCapped)
	}
	slices.SortStableFunc(out, func(a, b WaitingShare) int { return cmp.Compare(b.Tasks, a.Tasks) })
	return out
}
