package main

import (
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) alertCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "alert", Short: "See what people are told without asking, and say that you know",
		Long: "patra serve (with the role scheduler) holds all sources against its rules once a minute. What a rule finds is one\n" +
			"alert, however many requests fail of it: a message when it begins, and one when it is over.\n\n" +
			"Messages go where PATRA_ALERTS says, or the file that PATRA_ALERTS_FILE names, one target a line:\n" +
			"  webhook+https://HOST/PATH                     JSON, as an event of CloudEvents 1.0\n" +
			"  slack+https://hooks.slack.com/services/...\n" +
			"  dingtalk+https://oapi.dingtalk.com/robot/send?access_token=...&secret=SEC...\n" +
			"  feishu+https://open.feishu.cn/open-apis/bot/v2/hook/...?secret=...\n" +
			"  smtp://USER:PASSWORD@HOST:587?from=ADDRESS&to=ADDRESS,ADDRESS     (smtps://HOST:465 for TLS from the start)\n" +
			"A name may stand behind it, as in slack+https://...#team.",
	}
	verbs(cmd, c.alertListCmd(), c.alertShowCmd(), c.alertAckCmd(), c.alertSnoozeCmd(), c.alertTestCmd())
	return cmd
}

// oneAlert wants exactly one argument, the number of an alert.
func oneAlert(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse(cmd, "%s needs the number of an alert: patra alert list shows them", cmd.CommandPath())
	}
	if _, err := strconv.ParseInt(args[0], 10, 64); err != nil {
		return misuse(cmd, "%q is not the number of an alert: patra alert list shows them", args[0])
	}
	return nil
}

func alertNumber(args []string) int64 {
	n, _ := strconv.ParseInt(args[0], 10, 64) // oneAlert has looked at it
	return n
}

func (c *cli) alertListCmd() *cobra.Command {
	var q control.AlertQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List what fires, the worst first, and how messages about it fare", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Alerts(cmd.Context(), q)
				if err != nil {
					return err
				}
				return c.showList(list, "alerts", func() { c.printAlerts(list) })
			})
		},
	}
	cmd.Flags().StringVar(&q.Source, "source", "", "only of this source")
	cmd.Flags().BoolVar(&q.All, "all", false, "also those that are over, or do not hold for long enough yet")
	limitFlag(cmd, &q.Limit, "how many to show")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printAlerts(list control.AlertList) {
	if len(list.Alerts) == 0 {
		c.printf("nothing fires, as of %s\n", control.Time(time.Time(list.At).Truncate(time.Second)))
	} else {
		rows := make([][]any, len(list.Alerts))
		for i, a := range list.Alerts {
			rows[i] = []any{
				a.ID, withGlyph(alertWord(a), control.AlertFamily(a)), string(a.Severity), string(a.Rule), a.Subject,
				control.Time(time.Time(a.Since).Truncate(time.Second)), a.Text,
			}
		}
		c.table([]column{
			{head: "ALERT", right: true},
			{head: "STATE", gap: 2},
			{head: "SEVERITY", gap: 2},
			{head: "RULE", gap: 2},
			{head: "SUBJECT", width: 16},
			{head: "SINCE", width: 20},
			{head: "WHY", wraps: true},
		}, rows)
	}
	for _, t := range list.Targets {
		if t.Waiting > 0 {
			c.notef("note: %s to %s wait: %s\n", control.Count(int(t.Waiting), "message"), t.Name, t.Error)
		}
		if t.GivenUp > 0 {
			c.notef("note: %s to %s never arrived\n", control.Count(int(t.GivenUp), "message"), t.Name)
		}
	}
	if len(list.Targets) == 0 {
		c.notef("note: alerts are sent to nobody; patra alert --help says how to name a target\n")
	}
}

// alertWord says in a word how an alert stands.
func alertWord(a control.AlertRow) string {
	switch {
	case a.State == "FIRING" && a.SnoozedUntil != nil:
		return snoozed
	case a.State == "FIRING" && a.AckedBy != "":
		return "known"
	case a.State == "FIRING":
		return "firing"
	case a.State == "PENDING":
		return "pending"
	}
	return "over"
}

func (c *cli) alertShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ALERT", Short: "Show an alert, its rule, and what was sent about it", Args: oneAlert,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Alert(cmd.Context(), alertNumber(args))
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printAlert(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printAlert(v control.AlertView) {
	c.printf("%s alert %d: %s\n", c.glyph(control.AlertFamily(v.AlertRow)), v.ID, v.Text)
	c.printf("  rule      %s, %s: %s\n", v.Rule, v.Severity, v.Means)
	c.printf("  about     %s\n", v.Subject)
	c.printf("  state     %s, fired %d times\n", alertWord(v.AlertRow), v.Firings)
	c.printf("  found     %s, limit %s\n", v.Measured, v.Threshold)
	c.printf("  since     %s\n", v.Since)
	if v.ClearedAt != nil {
		c.printf("  over      %s\n", v.ClearedAt)
	}
	if v.AckedBy != "" {
		c.printf("  known     by %s since %s: %s\n", v.AckedBy, v.AckedAt, v.AckReason)
	}
	if v.SnoozedUntil != nil {
		c.printf("  snoozed   until %s by %s\n", v.SnoozedUntil, v.SnoozedBy)
	}
	for _, m := range v.Messages {
		switch {
		case m.SentAt != nil:
			c.printf("  sent      %s to %s at %s\n", m.State, m.Target, m.SentAt)
		case m.GivenUp:
			c.printf("  given up  %s to %s after %d tries: %s\n", m.State, m.Target, m.Attempts, m.Error)
		default:
			c.printf("  waits     %s to %s since %s, %d tries: %s\n", m.State, m.Target, m.At, m.Attempts, m.Error)
		}
	}
	if v.ClearedAt == nil {
		c.printf("next: %s\n", v.Next)
	}
}

func (c *cli) alertAckCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "ack ALERT --reason TEXT", Short: "Note that you know of an alert, until it is over", Args: oneAlert,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeAlert(cmd, args, &f, "acknowledged", func(ctl *control.Control, o control.AlertOrder) (control.AlertChange, error) {
				return ctl.AckAlert(cmd.Context(), o)
			})
		},
	}
	f.add(c, cmd)
	return cmd
}

func (c *cli) alertSnoozeCmd() *cobra.Command {
	var f changeFlags
	var during string
	cmd := &cobra.Command{
		Use: "snooze ALERT --for 2h --reason TEXT", Short: "Send nothing about an alert for a while; --for 0s ends that", Args: oneAlert,
		Long: "What is over by then is told when the time has come, and what still fires if that was not told before.",
		RunE: func(cmd *cobra.Command, args []string) error {
			length, err := control.ParseDuration(during)
			if err != nil {
				return misuse(cmd, "--for %q is no length of time: write 2h, 1d, or 0s to end it", during)
			}
			return c.changeAlert(cmd, args, &f, snoozed, func(ctl *control.Control, o control.AlertOrder) (control.AlertChange, error) {
				return ctl.SnoozeAlert(cmd.Context(), o, length)
			})
		},
	}
	cmd.Flags().StringVar(&during, "for", "1h", "how long, such as 2h or 1d; 0s: send again from now on")
	f.add(c, cmd)
	return cmd
}

// snoozed is what an alert is that nothing is sent about for a while.
const snoozed = "snoozed"

// changeAlert makes a change to an alert, and says what became of it.
func (c *cli) changeAlert(
	cmd *cobra.Command, args []string, f *changeFlags, done string, do func(*control.Control, control.AlertOrder) (control.AlertChange, error),
) error {
	by, err := f.by(c, cmd)
	if err != nil {
		return err
	}
	return c.changing(cmd.Context(), func(ctl *control.Control) error {
		v, err := do(ctl, control.AlertOrder{By: by, ID: alertNumber(args), DryRun: f.dryRun})
		if err != nil {
			return err
		}
		return c.show(v, func() {
			switch {
			case !v.Changes:
				c.printf("alert %d: nothing changes\n", v.Before.ID)
			case !v.Applied:
				c.printf("alert %d would be %s: %s\n", v.Before.ID, done, v.Before.Text)
				c.noteToken(v.Token)
			case v.After.SnoozedUntil != nil:
				c.printf("alert %d: %s until %s: %s\n", v.After.ID, done, v.After.SnoozedUntil, v.After.Text)
			case v.Before.SnoozedUntil != nil && done == snoozed:
				c.printf("alert %d: no longer snoozed: %s\n", v.After.ID, v.After.Text)
			default:
				c.printf("alert %d: %s: %s\n", v.After.ID, done, v.After.Text)
			}
		})
	})
}

func (c *cli) alertTestCmd() *cobra.Command {
	var dryRun bool
	var reason string
	cmd := &cobra.Command{
		Use: "test [TARGET]", Short: "Send a message that says it is a test, to see whether it arrives",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse(cmd, "%s takes one target, got %q", cmd.CommandPath(), args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var target string
			if len(args) > 0 {
				target = args[0]
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.TestAlerts(cmd.Context(), c.by(reason), target, dryRun)
				if err != nil {
					return err
				}
				failed := false
				for _, r := range v.Results {
					failed = failed || v.Applied && !r.Sent
				}
				if err := c.showList(v, "results", func() { c.printAlertTest(v) }); err != nil || !failed {
					return err
				}
				return exitError(exitFailed)
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show who would be sent a message; nothing is sent")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit (default: the command)")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printAlertTest(v control.AlertTest) {
	for _, r := range v.Results {
		switch {
		case !v.Applied:
			c.printf("%s (%s): a message would be sent\n", r.Target, r.Kind)
		case r.Sent:
			c.printf("%s (%s): sent\n", r.Target, r.Kind)
		default:
			c.printf("%s (%s): not sent: %s\n", r.Target, r.Kind, r.Error)
		}
	}
}
