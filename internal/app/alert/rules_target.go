package alert

import (
	"fmt"
	"time"
)

// findOf holds what is known of a target against the rules about those.
func findOf(now time.Time, t TargetFacts) (all []Finding) {
	for _, r := range Rules {
		if !r.OfTargets() {
			continue
		}
		for _, found := range r.findOfTarget(now, t) {
			found.Rule = r.Code
			found.Severity = r.Severity
			found.For = r.For
			found.Subject = "events/" + t.Name
			all = append(all, found)
		}
	}
	return all
}

func findParked(_ time.Time, t TargetFacts) []Finding {
	if t.Parked == 0 {
		return nil
	}
	return []Finding{{
		Text:     fmt.Sprintf("The target %s refused messages about records again and again: they are parked.", t.Name),
		Measured: fmt.Sprintf("%d parked", t.Parked), Threshold: "none",
		Next: "patra outbox list --parked says why; mend it, then patra outbox retry --target " + t.Name + " --reason TEXT",
	}}
}

// behindFor is how old what a target has not got may be.
const behindFor = 10 * time.Minute

func findBehind(now time.Time, t TargetFacts) []Finding {
	f := Finding{Threshold: behindFor.String(), Next: "patra outbox list", Since: t.OldestAt}
	switch {
	case t.Failures > 0:
		f.Text = fmt.Sprintf("The target %s of events takes nothing: %s", t.Name, t.Error)
		f.Measured = fmt.Sprintf("%d tries in a row, %d revisions wait", t.Failures, t.Backlog)
		f.Threshold = "none"
	case t.Backlog == 0 || now.Sub(t.OldestAt) <= behindFor:
		return nil
	case !t.Served:
		f.Text = fmt.Sprintf("Nobody sends to the target %s of events.", t.Name)
		f.Measured = fmt.Sprintf("%d revisions wait", t.Backlog)
		f.Next = "patra serve relay, with --events; or patra outbox target remove " + t.Name + " --reason TEXT"
	default:
		f.Text = fmt.Sprintf("The target %s of events does not keep up.", t.Name)
		f.Measured = fmt.Sprintf("%d revisions wait", t.Backlog)
	}
	return []Finding{f}
}
