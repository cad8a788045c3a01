package console

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
)

// outbox tells which programs are told of revisions of records, and what they did not take.
func (c *Console) outbox(ctx context.Context, v *visit) (*view, error) {
	q := control.OutboxQuery{Target: v.query("target"), Parked: v.query("parked") != "", Page: v.page()}
	list, err := c.control.Outbox(ctx, q)
	if err != nil {
		return nil, err
	}
	parked := ""
	if q.Parked {
		parked = "true"
	}
	out := &view{
		Title: v.t("rail./outbox"), Lead: v.t("outbox.lead"), Topics: "work audit time",
		CLI: cli("patra outbox list", "--target", q.Target),
		API: api("/outbox", "target", q.Target, "parked", parked, "after", v.query("after")),
	}
	if q.Parked {
		out.CLI += " --parked"
	}
	out.Filters = []field{
		{Name: "target", Label: v.t("alerts.target"), Value: q.Target},
		{Name: "parked", Label: v.t("outbox.parked_only"), Kind: "check", Value: v.query("parked")},
	}
	out.Panels = []panel{eventTargets(v, list.Targets), heldMessages(v, list)}
	return out, nil
}

// eventTargets lists who is told, how far behind each is, and why.
func eventTargets(v *visit, targets []control.OutboxTarget) panel {
	out := panel{ID: "targets", Title: v.t("alerts.targets")}
	if len(targets) == 0 {
		out.Empty = v.t("outbox.no_targets")
		out.EmptyNext = "patra serve --events file:/var/lib/patra/events.jsonl"
		return out
	}
	t := &table{Caption: out.Title, Head: []column{
		{Text: v.t("col.name")},
		{Text: v.t("alerts.kind")},
		{Text: v.t("col.state")},
		{Text: v.t("outbox.backlog"), Num: true, Keep: true},
		{Text: v.t("outbox.oldest")},
		{Text: v.t("alerts.waiting"), Num: true},
		{Text: v.t("outbox.parked"), Num: true},
		{Text: v.t("alerts.sent"), Num: true},
		{Text: v.t("alerts.last_sent")},
		{Text: v.t("outbox.retry_at")},
		{Text: v.t("alerts.error")},
		{Text: v.t("alerts.do")},
	}}
	for _, one := range targets {
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(one.Name, v.path("/outbox")+"?target="+url.QueryEscape(one.Name)),
			text(one.Kind),
			stated(control.TargetFamily(one.State), v.t("outbox."+one.State)),
			counted(control.Counted{Count: one.Backlog, More: one.Backlog >= control.CountCap}), at(one.OldestAt), count(one.Waiting), count(one.Parked), count(one.Sent), at(one.LastSentAt), at(one.RetryAt), text(one.Error),
			{Actions: v.allowed(targetActions(v, one))},
		}})
	}
	out.Table = t
	return out
}

// targetActions are what can be done about a target of which something was not taken.
func targetActions(v *visit, t control.OutboxTarget) []action {
	if t.Waiting+t.Parked == 0 && t.Failures == 0 {
		return nil
	}
	return []action{{Label: v.t("outbox.retry_all"), Do: "/outbox/retry?target=" + url.QueryEscape(t.Name), Level: 2}}
}

// heldMessages lists the messages that were not taken.
func heldMessages(v *visit, list control.OutboxList) panel {
	out := panel{ID: "list", Title: v.t("outbox.messages"), Next: v.nextPage(list.Next)}
	if len(list.Messages) == 0 {
		out.Empty = v.t("outbox.none", v.now.Format("15:04:05Z"))
		if v.URL.RawQuery != "" {
			out.Empty = v.t("data.filtered")
		}
		return out
	}
	t := &table{Caption: out.Title, Head: []column{
		{Text: v.t("outbox.message")},
		{Text: v.t("alerts.target")},
		{Text: v.t("col.state")},
		{Text: v.t("col.record")},
		{Text: v.t("col.revision"), Num: true},
		{Text: v.t("alerts.attempts"), Num: true},
		{Text: v.t("outbox.retry_at")},
		{Text: v.t("alerts.error")},
		{Text: v.t("alerts.do")},
	}}
	for _, m := range list.Messages {
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(m.ID, 10), v.path("/outbox/%d", m.ID)),
			text(m.Target),
			stated(control.MessageFamily(m.State), v.t("outbox."+m.State)),
			recordOf(v, m),
			count(m.Revision), count(m.Attempts), at(m.RetryAt), text(m.Error),
			{Actions: v.allowed(messageActions(v, m))},
		}})
	}
	out.Table = t
	return out
}

// recordOf leads to the record that a message is about.
func recordOf(v *visit, m control.OutboxMessage) cell {
	return cell{Text: m.Record, Small: m.Source, Href: v.path("/records/%s/%s", m.Source, m.Record)}
}

// messageActions are what can be done about a message.
func messageActions(v *visit, m control.OutboxMessage) []action {
	return []action{{Label: v.t("outbox.retry"), Do: fmt.Sprintf("/outbox/messages/%d/retry", m.ID), Level: 2}}
}

// outboxMessage shows one message that was not taken, and why.
func (c *Console) outboxMessage(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	m, err := c.control.OutboxMessage(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("outbox.title", id), State: stated(control.MessageFamily(m.State), v.t("outbox."+m.State)).State, Lead: v.t("outbox." + m.State + "_means"),
		Topics: "work audit time", Up: v.path("/outbox"), Crumbs: []link{{v.t("rail./outbox"), v.path("/outbox")}},
		CLI: fmt.Sprintf("patra outbox show %d", id), API: fmt.Sprintf("/outbox/messages/%d", id),
	}
	out.Actions = messageActions(v, m.OutboxMessage)
	out.Panels = []panel{{ID: "facts", Title: v.t("outbox.message"), Facts: []fact{
		{v.t("alerts.target"), linked(m.Target, v.path("/outbox")+"?target="+url.QueryEscape(m.Target))},
		{v.t("outbox.event"), mono(m.EventID)},
		{v.t("col.source"), linked(m.Source, v.path("/sources/%s", m.Source))},
		{v.t("col.record"), recordOf(v, m.OutboxMessage)},
		{v.t("col.revision"), count(m.Revision)},
		{v.t("alerts.attempts"), count(m.Attempts)},
		{v.t("alerts.since"), at(&m.Since)},
		{v.t("outbox.retry_at"), at(m.RetryAt)},
		{v.t("alerts.error"), text(m.Error)},
	}}}
	return out, nil
}
