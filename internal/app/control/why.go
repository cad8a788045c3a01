package control

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// WhyView says in a sentence or two what something waits for, or why it ended, and what to
// do next. Cause and waiting are kept apart: what the upstream said last, and what is
// waited for now.
type WhyView struct {
	Kind    string      `json:"kind"` // task or run
	ID      int64       `json:"id"`
	Status  string      `json:"status"`
	Text    string      `json:"text"`
	Cause   *Cause      `json:"cause,omitempty"`
	Waiting *WaitingFor `json:"waiting,omitempty"`
	Next    string      `json:"next"`
}

// outageCause is what an upstream said in place of an answer.
func outageCause(o harvest.Outage) *Cause {
	return &Cause{Code: o.Code, Text: o.Text, At: optional(o.At), Since: optional(o.Since), Count: o.Count}
}

// stopCause is the fault that stopped a source.
func stopCause(st harvest.SourceState) *Cause {
	code, text, _ := strings.Cut(st.Reason, ": ")
	return &Cause{Code: harvest.Code(code), Text: text, At: optional(st.Since), Since: optional(st.Since)}
}

// ownCause is the fault that a row remembers itself; none if it only waited.
func ownCause(code harvest.Code, text string, at time.Time) *Cause {
	f := harvest.Fault{Code: code}
	if code == "" || f.Waits() || isRelease(code) {
		return nil
	}
	return &Cause{Code: code, Text: text, At: optional(at)}
}

// isRelease reports whether a code says only that work was given back without a fault.
func isRelease(code harvest.Code) bool {
	switch code {
	case harvest.CodeHeld, harvest.CodeSourceHeld, harvest.CodeShutdown, harvest.CodeCancelled, harvest.CodeUnasked, harvest.CodeBeside:
		return true
	}
	return false
}

const nothingToDo = "nothing"

// sentence says why a task is as it is, and what to do next.
func (v TaskView) sentence(now time.Time) (text, next string) {
	switch {
	case v.Status == harvest.TaskQueued:
		return v.queuedSentence()
	case v.Status.Open():
		return v.inHandSentence(now)
	case v.Status == harvest.TaskFailed:
		return v.failedSentence()
	case v.Status == harvest.TaskPartial:
		return "It was cut again: smaller slices answer for its window.", fmt.Sprintf("patra plan show %d", v.Plan)
	case v.Status == harvest.TaskCancelled:
		return "It was given up: " + cmp.Or(v.Error, "somebody cancelled it") + ".",
			fmt.Sprintf("patra plan retry %s --cancelled --reason TEXT, or patra plan accept-gap %d --reason TEXT", v.Source, v.Slice)
	}
	return "It is done: its window was read to a proven end.", nothingToDo
}

func (v TaskView) queuedSentence() (text, next string) {
	text = "It is due and will be taken with the next look into the queue."
	next = nothingToDo
	if v.Waiting != nil {
		text = "It waits" + untilText(v.Waiting) + ": " + v.Waiting.Text + "."
		next = v.Waiting.Unblocks
	}
	if v.Ahead != nil && v.Ahead.Count > 0 {
		text += fmt.Sprintf(" %s of its partition stand before it.", countedText(*v.Ahead, "task"))
	}
	return text + causeText(v.Cause), next
}

func (v TaskView) inHandSentence(now time.Time) (text, next string) {
	next = fmt.Sprintf("patra run list --task %d", v.ID)
	if len(v.Runs) > 0 {
		next = fmt.Sprintf("patra run show %d", v.Runs[0].ID)
	}
	owner := ""
	if v.Lease != nil {
		owner = v.Lease.Owner
	}
	if v.Lease != nil && v.Lease.Expired && v.Waiting != nil {
		return fmt.Sprintf("%s had it in hand until %s and was not heard of since; the next worker that looks takes it over.",
			owner, Time(v.Lease.Until.Truncate(time.Second))) + causeText(v.Cause), v.Waiting.Unblocks
	}
	text = owner + " has it in hand"
	if len(v.Runs) > 0 && v.Runs[0].FinishedAt.IsZero() {
		text += fmt.Sprintf(" since %s (%s)", Time(v.Runs[0].StartedAt.Truncate(time.Second)), now.Sub(v.Runs[0].StartedAt).Truncate(time.Second))
	}
	if v.Waiting != nil {
		text += " and waits" + untilText(v.Waiting) + ": " + v.Waiting.Text
	}
	return text + "." + causeText(v.Cause), next
}

func (v TaskView) failedSentence() (text, next string) {
	text = fmt.Sprintf("It was given up after %s with %s, and its window is a gap that holds the watermark.", Count(v.Attempts, "attempt"), codeText(v.Code, v.Error))
	next = fmt.Sprintf("patra plan retry %s --reason TEXT, or patra plan accept-gap %d --reason TEXT", v.Source, v.Slice)
	if do := whatToDo(v.Code, v.Source); do != "" {
		next = do + "; " + next
	}
	if v.Waiting != nil {
		text += " It is queued again" + untilText(v.Waiting) + ": " + v.Waiting.Text + "."
	}
	return text, next
}

// untilText is " until T" if that is known.
func untilText(w *WaitingFor) string {
	if w == nil || w.Until == nil {
		return ""
	}
	return " until " + Time(time.Time(*w.Until).Truncate(time.Second)).String()
}

// causeText is a sentence about the last fault, with a space before it; empty without
// one.
func causeText(k *Cause) string {
	if k == nil {
		return ""
	}
	text := " The source said last: " + codeText(k.Code, k.Text)
	if k.Count > 0 && k.Since != nil {
		text += fmt.Sprintf(", %d in a row since %s", k.Count, Time(time.Time(*k.Since).Truncate(time.Second)))
	}
	return text + "."
}

// codeText is a code and what was said with it.
func codeText(code harvest.Code, said string) string {
	switch {
	case code == "":
		return cmp.Or(said, "no reason that is known")
	case said == "":
		return string(code)
	}
	return string(code) + " (" + said + ")"
}

// whatToDo is what a person can do about a code, empty if that is nothing.
func whatToDo(code harvest.Code, source string) string {
	m, known := code.Meaning()
	if !known || strings.HasPrefix(m.Do, "Nothing") {
		return ""
	}
	return strings.TrimSuffix(strings.ReplaceAll(m.Do, "NAME", source), ".")
}

// countedText is a number of things in words, with a sign that there are more.
func countedText(n Counted, what string) string {
	if n.More {
		return fmt.Sprintf("%d+ %ss", n.Count, what)
	}
	return Count(int(n.Count), what)
}
