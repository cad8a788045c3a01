package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// AlertStore reads alerts and keeps what people decide about them. An alert that is
// not there is [harvest.ErrNotFound].
type AlertStore interface {
	// Alerts lists all there are: one for a rule and what it is about.
	Alerts(ctx context.Context) ([]alert.Alert, error)
	Alert(ctx context.Context, id int64) (alert.Alert, error)
	// AlertMessages lists what was sent about an alert, the newest first.
	AlertMessages(ctx context.Context, id int64, limit int) ([]AlertMessage, error)
	// AlertTargets tells how the messages to each target fare.
	AlertTargets(ctx context.Context) ([]AlertTarget, error)
	AckAlert(ctx context.Context, id int64, a source.Audit) error
	// SnoozeAlert has nothing sent about an alert until then; zero: from now on again.
	SnoozeAlert(ctx context.Context, id int64, until time.Time, a source.Audit) error
	// Traffic tells how the newest pages of a source fared since then.
	Traffic(ctx context.Context, code string, since time.Time) ([]alert.Traffic, error)
	// UsualQueues tells how long queues were in the last day, as far as that was noted.
	UsualQueues(ctx context.Context) (map[harvest.Partition]alert.Queue, error)
}

// AlertRow is an alert: what is wrong, what was found against what may be, since when,
// and what to do.
type AlertRow struct {
	ID        int64          `json:"id"`
	Rule      alert.Code     `json:"rule"`
	Severity  alert.Severity `json:"severity"`
	State     alert.State    `json:"state"`
	Source    string         `json:"source,omitempty"`
	Subject   string         `json:"subject"`
	Text      string         `json:"text"`
	Measured  string         `json:"measured"`
	Threshold string         `json:"threshold"`
	Next      string         `json:"next"`
	Since     Time           `json:"since"`
	FiredAt   *Time          `json:"fired_at,omitempty"`
	ClearedAt *Time          `json:"cleared_at,omitempty"`
	// Firings is how often it fired.
	Firings int `json:"firings"`
	// Told is what was last sent about it, FIRING or CLEARED, and when.
	Told         alert.State `json:"told,omitempty"`
	NotifiedAt   *Time       `json:"notified_at,omitempty"`
	AckedBy      string      `json:"acknowledged_by,omitempty"`
	AckedAt      *Time       `json:"acknowledged_at,omitempty"`
	AckReason    string      `json:"acknowledged_because,omitempty"`
	SnoozedUntil *Time       `json:"snoozed_until,omitempty"`
	SnoozedBy    string      `json:"snoozed_by,omitempty"`
}

func alertRow(a alert.Alert, now time.Time) AlertRow {
	r := AlertRow{
		ID: a.ID, Rule: a.Rule, Severity: a.Severity, State: a.State, Source: a.Source, Subject: a.Subject, Text: a.Text, Measured: a.Measured,
		Threshold: a.Threshold, Next: a.Next, Since: Time(a.Since), FiredAt: optional(a.FiredAt), ClearedAt: optional(a.ClearedAt),
		Firings: a.Firings, Told: a.Told, NotifiedAt: optional(a.ToldAt), AckedBy: a.AckedBy, AckedAt: optional(a.AckedAt),
		AckReason: a.AckReason,
	}
	if a.Snoozed(now) {
		r.SnoozedUntil = optional(a.SnoozedUntil)
		r.SnoozedBy = a.SnoozedBy
	}
	return r
}

// AlertFamily is the family of an alert: what wants a look, or does not any more.
func AlertFamily(a AlertRow) Family {
	switch {
	case a.State == alert.Cleared:
		return OK
	case a.State == alert.Pending:
		return Waiting
	case a.SnoozedUntil != nil || a.AckedBy != "":
		return Off
	case a.Severity == alert.Critical:
		return Stopped
	}
	return Remarked
}

// AlertTarget is how the messages to a target fare. Its address is never shown.
type AlertTarget struct {
	Name string `json:"name"`
	// Kind is how they are sent; empty: this process is not told of the target.
	Kind string `json:"kind,omitempty"`
	// Waiting messages were not sent yet, those GivenUp never will be.
	Waiting    int64  `json:"waiting"`
	GivenUp    int64  `json:"given_up"`
	LastSentAt *Time  `json:"last_sent_at,omitempty"`
	Error      string `json:"error,omitempty"` // what the last try that failed said, while something waits
}

// AlertMessage is a message about an alert, to one target.
type AlertMessage struct {
	Target   string      `json:"target"`
	State    alert.State `json:"state"`
	At       Time        `json:"at"`
	SentAt   *Time       `json:"sent_at,omitempty"`
	GivenUp  bool        `json:"given_up,omitzero"`
	Attempts int         `json:"attempts"`
	Error    string      `json:"error,omitempty"`
}

// AlertQuery says which alerts are listed.
type AlertQuery struct {
	Source string // empty: of all sources
	// All lists also those that are over, or do not hold for long enough yet.
	All bool
	Page
}

// AlertList are alerts, the worst first, and how those fare who are told.
type AlertList struct {
	At      Time          `json:"at"`
	Alerts  []AlertRow    `json:"alerts"`
	Targets []AlertTarget `json:"targets"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// AlertView is an alert with its rule and what was sent about it.
type AlertView struct {
	AlertRow
	Means    string         `json:"means"`
	Messages []AlertMessage `json:"messages"`
}

var (
	stateOrder    = []alert.State{alert.Firing, alert.Pending, alert.Cleared}
	severityOrder = []alert.Severity{alert.Critical, alert.Warning, alert.Notice}
)

// Alerts lists what people are told of.
func (c *Control) Alerts(ctx context.Context, q AlertQuery) (AlertList, error) {
	out := AlertList{Alerts: []AlertRow{}, Targets: []AlertTarget{}}
	if err := c.known(ctx, q.Source); err != nil {
		return out, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	out.At = Time(now)
	all, err := c.store.Alerts(ctx)
	if err != nil {
		return out, err
	}
	rows := []AlertRow{}
	for _, a := range all {
		if (q.All || a.State == alert.Firing) && (q.Source == "" || a.Source == q.Source) {
			rows = append(rows, alertRow(a, now))
		}
	}
	slices.SortFunc(rows, func(a, b AlertRow) int {
		return cmp.Or(
			cmp.Compare(slices.Index(stateOrder, a.State), slices.Index(stateOrder, b.State)),
			cmp.Compare(slices.Index(severityOrder, a.Severity), slices.Index(severityOrder, b.Severity)),
			time.Time(a.Since).Compare(time.Time(b.Since)), cmp.Compare(a.ID, b.ID))
	})
	out.Alerts, out.Next, err = cut(rows, q.Page, func(r AlertRow) string { return strconv.FormatInt(r.ID, 10) })
	if err != nil {
		return out, err
	}
	out.Targets, err = c.alertTargets(ctx)
	return out, err
}

// alertTargets are the targets that this process sends to, and those that anybody did.
func (c *Control) alertTargets(ctx context.Context) ([]AlertTarget, error) {
	known, err := c.store.AlertTargets(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range c.alerts.Targets() {
		at := slices.IndexFunc(known, func(k AlertTarget) bool { return k.Name == t.Name })
		if at < 0 {
			known = append(known, AlertTarget{Name: t.Name, Kind: t.Kind})
			continue
		}
		known[at].Kind = t.Kind
	}
	slices.SortFunc(known, func(a, b AlertTarget) int { return cmp.Compare(a.Name, b.Name) })
	return known, nil
}

// messagesShown is how many messages are listed with an alert.
const messagesShown = 20

// Alert shows one.
func (c *Control) Alert(ctx context.Context, id int64) (AlertView, error) {
	row, err := c.alertRow(ctx, id)
	if err != nil {
		return AlertView{}, err
	}
	v := AlertView{AlertRow: row}
	if r, known := alert.RuleOf(row.Rule); known {
		v.Means = r.Means
	}
	v.Messages, err = c.store.AlertMessages(ctx, id, messagesShown)
	return v, err
}

func (c *Control) alertRow(ctx context.Context, id int64) (AlertRow, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return AlertRow{}, err
	}
	a, err := c.store.Alert(ctx, id)
	return alertRow(a, now), err
}

// AlertOrder names an alert and what is to become of it.
type AlertOrder struct {
	By
	ID     int64
	DryRun bool
}

// AlertChange is what becomes of an alert.
type AlertChange struct {
	Applied bool     `json:"applied"`
	Changes bool     `json:"changes"`
	Before  AlertRow `json:"before"`
	After   AlertRow `json:"after"`
	// Token makes exactly this change.
	Token string `json:"token,omitempty"`
}

// ErrAlertOver says that there is nothing to acknowledge.
var ErrAlertOver = problem.New("the alert does not fire", problem.Problem{
	Code: "alert_over", Kind: problem.Conflict, Next: "patra alert list shows those that do",
})

// AckAlert notes that somebody knows of an alert, until it is over.
func (c *Control) AckAlert(ctx context.Context, o AlertOrder) (AlertChange, error) {
	before, err := c.alertRow(ctx, o.ID)
	if err != nil {
		return AlertChange{}, err
	}
	if before.State != alert.Firing {
		return AlertChange{Before: before, After: before}, ErrAlertOver
	}
	after := before
	after.AckedBy = o.Actor
	after.AckReason = o.Reason
	out := AlertChange{Changes: before.AckedBy == "", Before: before, After: after}
	a := o.line("ALERT_ACK", fmt.Sprintf("alert/%d", o.ID))
	return c.changeAlert(ctx, out, o, a, []any{before.ID, before.State, before.Since, before.AckedBy}, func() error {
		return c.store.AckAlert(ctx, o.ID, a)
	})
}

// longestSnooze bounds how long nobody hears of an alert.
const longestSnooze = 90 * 24 * time.Hour

// SnoozeAlert has nothing sent about an alert for a while; 0: it is sent again from
// now on.
func (c *Control) SnoozeAlert(ctx context.Context, o AlertOrder, during time.Duration) (AlertChange, error) {
	if during < 0 || during > longestSnooze {
		return AlertChange{}, problem.New("an alert is snoozed for 90 days at the most", problem.Problem{
			Code: "usage", Kind: problem.Usage, Next: "say how long, such as 2h or 1d; 0 ends it",
		})
	}
	before, err := c.alertRow(ctx, o.ID)
	if err != nil {
		return AlertChange{}, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return AlertChange{}, err
	}
	var until time.Time
	after := before
	after.SnoozedUntil = nil
	after.SnoozedBy = ""
	if during > 0 {
		until = now.Add(during).Truncate(time.Second)
		after.SnoozedUntil = optional(until)
		after.SnoozedBy = o.Actor
	}
	out := AlertChange{Changes: during > 0 || before.SnoozedUntil != nil, Before: before, After: after}
	a := o.line("ALERT_SNOOZE", fmt.Sprintf("alert/%d", o.ID))
	return c.changeAlert(ctx, out, o, a, []any{before.ID, before.SnoozedUntil, during}, func() error {
		return c.store.SnoozeAlert(ctx, o.ID, until, a)
	})
}

// changeAlert makes a change, or shows it with the token that makes it.
func (c *Control) changeAlert(
	ctx context.Context, out AlertChange, o AlertOrder, a source.Audit, shown []any, do func() error,
) (AlertChange, error) {
	if o.DryRun {
		var err error
		out.Token, err = c.seenToken(ctx, a.Action, a.Object, shown)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, a.Action, a.Object, shown); err != nil {
		return out, err
	}
	if !out.Changes {
		return out, nil
	}
	if err := do(); err != nil {
		return out, err
	}
	out.Applied = true
	var err error
	out.After, err = c.alertRow(ctx, o.ID)
	return out, err
}

// AlertTest is what became of a message that was sent to try whether it arrives.
type AlertTest struct {
	Applied bool              `json:"applied"`
	Results []AlertTestResult `json:"results"`
}

// AlertTestResult is what one target said.
type AlertTestResult struct {
	Target string `json:"target"`
	Kind   string `json:"kind"`
	Sent   bool   `json:"sent"`
	Error  string `json:"error,omitempty"`
}

// ErrNoTargets says that alerts go nowhere.
var ErrNoTargets = problem.New("alerts go nowhere: no target is named", problem.Problem{
	Code: "no_alert_target", Kind: problem.Usage,
	Next: "name one in PATRA_ALERTS, such as slack+https://hooks.slack.com/services/..., or one a line in the file that " +
		"PATRA_ALERTS_FILE names",
})

// TestAlerts sends a message that says it is a test, to one target or to all of them.
func (c *Control) TestAlerts(ctx context.Context, o By, target string, dryRun bool) (AlertTest, error) {
	out := AlertTest{Results: []AlertTestResult{}}
	if err := c.alerts.Check(); err != nil {
		return out, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	for _, t := range c.alerts.Targets() {
		if target != "" && t.Name != target {
			continue
		}
		out.Results = append(out.Results, AlertTestResult{Target: t.Name, Kind: t.Kind})
	}
	switch {
	case len(out.Results) == 0 && target != "":
		return out, fmt.Errorf("alert target %s: %w", target, harvest.ErrNotFound)
	case len(out.Results) == 0:
		return out, ErrNoTargets
	case dryRun:
		return out, nil
	}
	for i := range out.Results {
		r := &out.Results[i]
		err := c.alerts.Send(ctx, r.Target, alert.TestMessage(now, o.Actor))
		r.Sent = err == nil
		if err != nil {
			r.Error = err.Error()
		}
	}
	out.Applied = true
	return out, c.store.Audit(ctx, o.line("ALERT_TEST", "alert/test"), out.Results)
}

// noAlerts sends to nobody.
type noAlerts struct{}

// Check implements alert.Sender.
func (noAlerts) Check() error { return nil }

// Targets implements alert.Sender.
func (noAlerts) Targets() []alert.Target { return nil }

// Send implements alert.Sender.
func (noAlerts) Send(context.Context, string, alert.Message) error { return ErrNoTargets }
