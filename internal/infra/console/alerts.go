package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/control"
)

// alerts lists what people are told of, the worst first.
func (c *Console) alerts(ctx context.Context, v *visit) (*view, error) {
	q := control.AlertQuery{Source: v.query("source"), All: v.query("all") != "", Page: v.page()}
	list, err := c.control.Alerts(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &view{Title: v.t("rail./alerts"), Lead: v.t("alerts.lead"), Topics: "alerts audit time"}
	out.CLI, out.API = v.withAll(cli("patra alert list", "--source", q.Source), "/alerts", "source", q.Source)
	out.Filters = []field{{Name: "source", Label: v.t("col.source"), Value: q.Source}, {Name: "all", Label: v.t("alerts.all"), Kind: "check", Value: v.query("all")}}
	part := panel{ID: "list", Title: v.t("rail./alerts"), Next: v.nextPage(list.Next)}
	if len(list.Alerts) == 0 {
		part.Empty = v.t("alerts.none", time.Time(list.At).UTC().Format("15:04:05Z"))
	} else {
		part.Table = alertTable(v, list.Alerts)
	}
	out.Panels = []panel{part, targetsPanel(v, list.Targets), rulesPanel(v)}
	return out, nil
}

func alertTable(v *visit, rows []control.AlertRow) *table {
	t := &table{Caption: v.t("rail./alerts"), Head: []column{{Text: v.t("col.state")}, {Text: v.t("col.source")}, {Text: v.t("alerts.what")}, {Text: v.t("alerts.measured")}, {Text: v.t("alerts.since")}, {Text: v.t("alerts.do")}}}
	for _, a := range rows {
		t.Rows = append(t.Rows, row{Cells: []cell{
			{State: &state{Family: control.AlertFamily(a), Word: alertWord(v, a)}, Href: v.path("/alerts/%d", a.ID)},
			linked(a.Source, v.path("/sources/%s", a.Source)),
			{Text: a.Text, Href: v.explains(a), Small: string(a.Rule)},
			{Text: a.Measured, Small: a.Threshold},
			at(&a.Since),
			{Actions: v.allowed(alertActions(v, a))},
		}})
	}
	return t
}

// explains is the page that tells most about what an alert is about.
func (v *visit) explains(a control.AlertRow) string {
	if a.Source == "" {
		return v.path("/queue")
	}
	of := "?source=" + url.QueryEscape(a.Source)
	switch a.Rule {
	case alert.Throttled, alert.QuotaLow:
		return v.path("/rate") + of
	case alert.ErrorRate, alert.SourceOut:
		return v.path("/errors") + of
	case alert.SpoiltItems:
		return v.path("/quarantine") + of
	case alert.GapsOpen, alert.Late:
		return v.path("/coverage") + of + "#gaps"
	case alert.QueueSurge, alert.NobodyWorks, alert.LeasesLost, alert.Stuck:
		return v.path("/queue") + of
	default:
		return v.path("/sources/%s", a.Source)
	}
}

// testForm sends a message that says it is a test.
func testForm(v *visit) *form {
	return &form{
		Action: v.path("/alerts/test"), Submit: v.t("alerts.test"),
		Fields: []field{{Name: "reason", Label: v.t("change.reason"), Required: true, Hint: v.t("change.reason_hint")}},
	}
}

// testAlerts sends a test to everybody who is told, through the API.
func (c *Console) testAlerts(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if !c.receive(w, v, mostForm, "") {
		return
	}
	a := c.ask(v.apiRequest(http.MethodPost, "/alerts/test", map[string]any{"reason": v.PostFormValue("reason")}))
	if err := a.refused(); err != nil {
		c.fail(w, v, err)
		return
	}
	http.Redirect(w, r, v.path("/alerts")+"?done=test+alerts#targets", http.StatusSeeOther)
}

// alertWord is what became of an alert.
func alertWord(v *visit, a control.AlertRow) string {
	switch {
	case a.State == alert.Firing && a.SnoozedUntil != nil:
		return v.t("alerts.snoozed")
	case a.State == alert.Firing && a.AckedBy != "":
		return v.t("alerts.acked")
	default:
		return v.stateWord(string(a.State))
	}
}

// alertActions are what can be done about an alert that fires.
func alertActions(v *visit, a control.AlertRow) []action {
	if a.State != alert.Firing {
		return nil
	}
	at := fmt.Sprintf("/alerts/%d", a.ID)
	var out []action
	if a.AckedBy == "" {
		out = append(out, action{Label: v.t("change.ack"), Do: at + "/ack", Level: 1})
	}
	if a.SnoozedUntil != nil {
		return append(out, action{Label: v.t("alerts.wake"), Do: at + "/snooze?for=0s", Level: 2})
	}
	return append(out, action{Label: v.t("change.snooze"), Do: at + "/snooze?for=2h", Level: 2})
}

// targetsPanel tells who is told, and whether that arrives.
func targetsPanel(v *visit, targets []control.AlertTarget) panel {
	out := panel{ID: "targets", Title: v.t("alerts.targets")}
	if len(targets) == 0 {
		out.Empty = v.t("alerts.no_targets")
		out.EmptyNext = "PATRA_ALERTS=webhook+https://... patra serve"
		return out
	}
	t := &table{Caption: out.Title, Head: []column{{Text: v.t("col.name")}, {Text: v.t("alerts.kind")}, {Text: v.t("alerts.waiting"), Num: true}, {Text: v.t("alerts.given_up"), Num: true}, {Text: v.t("alerts.last_sent")}, {Text: v.t("alerts.error")}}}
	for _, one := range targets {
		t.Rows = append(t.Rows, row{Cells: []cell{text(one.Name), text(one.Kind), count(one.Waiting), count(one.GivenUp), at(one.LastSentAt), text(one.Error)}})
	}
	out.Table = t
	if v.May(control.Operator) {
		out.Form = testForm(v)
	}
	return out
}

// rulesPanel says what is looked at, each rule as a sentence.
func rulesPanel(v *visit) panel {
	t := &table{Caption: v.t("alerts.rules"), Head: []column{{Text: v.t("alerts.rule")}, {Text: v.t("alerts.severity")}, {Text: v.t("alerts.means")}, {Text: v.t("alerts.holds")}}}
	for _, r := range alert.Rules {
		holds := v.t("alerts.at_once")
		if r.For > 0 {
			holds = length(v.look.words, r.For)
		}
		t.Rows = append(t.Rows, row{Cells: []cell{mono(string(r.Code)), text(strings.ToLower(string(r.Severity))), text(r.Means), text(holds)}})
	}
	return panel{ID: "rules", Title: v.t("alerts.rules"), Table: t}
}

// alertPage shows one alert, its rule, and what was sent about it.
func (c *Console) alertPage(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	a, err := c.control.Alert(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &view{Title: v.t("alerts.alert", id), Lead: a.Text, Topics: "alerts audit", Up: v.path("/alerts"), Crumbs: []link{{v.t("rail./alerts"), v.path("/alerts")}}}
	out.State = &state{Family: control.AlertFamily(a.AlertRow), Word: alertWord(v, a.AlertRow)}
	out.CLI = "patra alert show " + strconv.FormatInt(id, 10)
	out.API = fmt.Sprintf("/alerts/%d", id)
	out.Actions = append(alertActions(v, a.AlertRow), action{Label: v.t("alerts.explain"), Href: v.explains(a.AlertRow), Needs: control.Viewer})
	out.Panels = []panel{{ID: "facts", Title: v.t("alerts.rule"), Note: a.Means, Facts: []fact{
		{v.t("alerts.rule"), mono(string(a.Rule))},
		{v.t("col.source"), linked(a.Source, v.path("/sources/%s", a.Source))},
		{v.t("alerts.measured"), text(a.Measured)},
		{v.t("alerts.threshold"), text(a.Threshold)},
		{v.t("alerts.since"), at(&a.Since)},
		{v.t("alerts.fired"), at(a.FiredAt)},
		{v.t("alerts.cleared"), at(a.ClearedAt)},
		{v.t("alerts.firings"), count(a.Firings)},
		{v.t("alerts.acked_by"), cell{Text: a.AckedBy, Small: a.AckReason}},
		{v.t("alerts.snoozed_until"), at(a.SnoozedUntil)},
		{v.t("alerts.next"), mono(a.Next)},
	}}}
	sent := panel{ID: "messages", Title: v.t("alerts.messages")}
	if len(a.Messages) == 0 {
		sent.Empty = v.t("alerts.no_messages")
	} else {
		sent.Table = &table{Caption: sent.Title, Head: []column{{Text: v.t("alerts.target")}, {Text: v.t("col.state")}, {Text: v.t("audit.at")}, {Text: v.t("alerts.sent")}, {Text: v.t("alerts.attempts"), Num: true}, {Text: v.t("alerts.error")}}}
		for _, m := range a.Messages {
			sent.Table.Rows = append(sent.Table.Rows, row{Cells: []cell{text(m.Target), text(v.stateWord(string(m.State))), at(&m.At), at(m.SentAt), count(m.Attempts), text(m.Error)}})
		}
	}
	out.Panels = append(out.Panels, sent)
	return out, nil
}
