package control

import (
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Family groups the states of plans, slices, tasks, sources and credentials by
// what they mean to whoever looks after them. Command line, console and API show
// a state as the glyph of its family and its own word, in that order.
type Family string

// The families. A gap has none: it is time that no slice covers, not a state.
const (
	Waiting  Family = "waiting"  // nothing is done now, something will be
	Active   Family = "active"   // somebody works on it
	OK       Family = "ok"       // done, or ready for use
	Partial  Family = "partial"  // done in part, or put aside
	Failed   Family = "failed"   // it ended without success
	Off      Family = "off"      // somebody took it out of use
	Stopped  Family = "stopped"  // a fatal fault took it out of use
	Remarked Family = "remarked" // it works, and something about it wants a look
)

var glyphs = map[Family]string{
	Waiting: "·", Active: "▶", OK: "✓", Partial: "◐", Failed: "✕", Off: "⊘", Stopped: "■", Remarked: "!",
}

// Glyph is one character that stands for the family.
func (f Family) Glyph() string { return glyphs[f] }

// PlanFamily is the family of a plan's state.
func PlanFamily(s harvest.PlanState) Family {
	switch s {
	case harvest.PlanDraft:
		return Waiting
	case harvest.PlanSlicing:
		return Active
	case harvest.PlanPartial:
		return Partial
	case harvest.PlanFailed:
		return Failed
	case harvest.PlanCancelled:
		return Off
	default: // READY and COMPLETED
		return OK
	}
}

// SliceFamily is the family of a slice's state. A slice that is ready waits for
// its task to be worked on.
func SliceFamily(s harvest.SliceState) Family {
	switch s {
	case harvest.SliceFailed:
		return Failed
	case harvest.SliceDone:
		return OK
	case harvest.SliceResliced:
		return Partial
	case harvest.SliceCancelled:
		return Off
	default: // PENDING and READY
		return Waiting
	}
}

// RecordFamily is the family of a record's state.
func RecordFamily(s harvest.RecordStatus) Family {
	switch s {
	case harvest.RecordRetracted:
		return Remarked
	case harvest.RecordMerged, harvest.RecordGone:
		return Off
	default: // ACTIVE
		return OK
	}
}

// TaskFamily is the family of a task's state. One that was cut again is done in part.
func TaskFamily(s harvest.TaskState) Family {
	switch s {
	case harvest.TaskDispatched, harvest.TaskExecuting:
		return Active
	case harvest.TaskSucceeded:
		return OK
	case harvest.TaskPartial:
		return Partial
	case harvest.TaskFailed:
		return Failed
	case harvest.TaskCancelled:
		return Off
	default: // QUEUED
		return Waiting
	}
}

// RunFamily is the family of a run's state.
func RunFamily(s harvest.RunState) Family {
	switch s {
	case harvest.RunSucceeded:
		return OK
	case harvest.RunPartial:
		return Partial
	case harvest.RunFailed:
		return Failed
	case harvest.RunCancelled:
		return Off
	default: // RUNNING
		return Active
	}
}

// BatchFamily is the family of a page's state.
func BatchFamily(s harvest.BatchState) Family {
	switch s {
	case harvest.BatchSucceeded:
		return OK
	case harvest.BatchFailed:
		return Failed
	case harvest.BatchSkipped:
		return Partial
	default: // RUNNING
		return Active
	}
}

// reasons say in words why work waits, by its code.
var reasons = map[harvest.Code]string{
	harvest.CodeQuiet:     "quiet hours of the source",
	harvest.CodeBroken:    "the source failed again and again and rests, then one request is tried",
	harvest.CodeQuota:     "the quota is used up",
	harvest.CodeQuotaKept: "what is left of the quota is kept for what hurries more",
	harvest.CodeRate:      "the rate limit",
}

// WaitReason says in words why work waits. A code that is no reason of its own is
// that of the last try.
func WaitReason(code harvest.Code) string {
	if code == "" {
		return "not due yet"
	}
	words, known := reasons[code]
	if !known {
		words = "the last try failed"
	}
	return words + " (" + string(code) + ")"
}

// ShortNamespace is a namespace as lists show it, beside its query: the scope and the
// first eight digits of the hash that stands for endpoint, date and query. The name of
// an activity stays whole.
func ShortNamespace(namespace string) string {
	const digits = 8
	scope, key, _ := strings.Cut(namespace, "/")
	if harvest.Scope(scope) != harvest.ScopeExpr || len(key) <= digits {
		return namespace
	}
	return scope + "/" + key[:digits]
}
