package control

import (
	"context"
	"fmt"
	"time"
)

// outForLong is how often in a row a target of events was out when a person should know:
// by then it has been for about half a minute.
const outForLong = 5

// addEvents tells how those fare who are told of revisions, and which of them need a person.
func (c *Control) addEvents(ctx context.Context, out *Status) error {
	list, err := c.OutboxTargets(ctx)
	if err != nil {
		return err
	}
	out.Events = list.Targets
	for _, t := range list.Targets {
		if n, is := t.need(time.Time(out.At)); is {
			out.Needs = append(out.Needs, n)
		}
	}
	return nil
}

// need is what a person should do about a target, if anything.
func (t OutboxTarget) need(now time.Time) (Need, bool) {
	n := Need{Level: NeedEvents, Since: t.OldestAt}
	behind := Count(int(t.Backlog), "revision")
	switch {
	case t.State == TargetOut && t.Failures >= outForLong:
		n.Text = fmt.Sprintf("the target %s takes nothing, %s behind: %s", t.Name, behind, t.Error)
		n.Next = "patra outbox list --target " + t.Name
	case t.Parked > 0:
		n.Text = fmt.Sprintf("the target %s refused %s, parked", t.Name, Count(int(t.Parked), "message"))
		n.Next = "patra outbox list --parked --target " + t.Name
	case t.State == TargetUnserved && t.OldestAt != nil && now.Sub(time.Time(*t.OldestAt)) > unservedFor:
		n.Text = fmt.Sprintf("nobody sends to the target %s, %s behind", t.Name, behind)
		n.Next = "patra serve relay, where PATRA_EVENTS names the target"
	default:
		return n, false
	}
	return n, true
}

// unservedFor is how long nobody may send to a target: a relay that was ended for an upgrade
// is back by then.
const unservedFor = 5 * time.Minute
