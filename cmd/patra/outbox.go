package main

import (
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) outboxCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "outbox", Short: "See who is told of every revision of a record, and what was not taken",
		Long: "patra serve (with the role relay) sends every revision of a record, as an event of CloudEvents 1.0, to the targets that\n" +
			"--events or PATRA_EVENTS names, or the file that PATRA_EVENTS_FILE names, one target a line:\n" +
			"  file:PATH?rotate=256M                    a line of JSON each; PATH.1 is the oldest of those that became too large\n" +
			"  stdout:\n" +
			"  nats://USER:PASSWORD@HOST:4222?subject=patra.records     a stream of JetStream (nats+tls:// with TLS)\n" +
			"  kafka://HOST:9092,HOST:9092/TOPIC        (kafka+tls://USER:PASSWORD@..., sasl=scram-sha-256, scram-sha-512 or plain)\n" +
			"  webhook+https://HOST/PATH?secret=SIGNS   signed by HMAC-SHA256; private=allow for an address of your own network\n" +
			"A name may stand behind it, as in file:/data/events.jsonl#lake. A target is told of what is stored from when it was added\n" +
			"on: by patra serve or patra harvest, or by patra outbox target add, with --everything of all that is held too.\n" +
			"Each arrives at least once, those of a record in order: keep the greatest revision of each record you have seen, and\n" +
			"drop what is not greater.",
	}
	target := &cobra.Command{Use: "target", Short: "See, add and remove those who are told of revisions"}
	verbs(target, c.targetListCmd(), c.targetAddCmd(), c.targetRemoveCmd())
	verbs(cmd, c.outboxListCmd(), c.outboxShowCmd(), c.outboxRetryCmd(), target)
	return cmd
}

func (c *cli) outboxListCmd() *cobra.Command {
	var q control.OutboxQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List the targets, and the messages that they did not take", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Outbox(cmd.Context(), q)
				if err != nil {
					return err
				}
				return c.showList(list, "targets", func() {
					c.printTargets(list.Targets)
					c.printMessages(list.Messages)
				})
			})
		},
	}
	cmd.Flags().StringVar(&q.Target, "target", "", "only of this target")
	cmd.Flags().BoolVar(&q.Parked, "parked", false, "only messages that are not tried any more")
	cmd.Flags().StringVar(&q.After, "after", "", "where the page before ended")
	limitFlag(cmd, &q.Limit, "how many messages to show")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printTargets(targets []control.OutboxTarget) {
	if len(targets) == 0 {
		c.printf("nobody is told of revisions, so none are written down; patra outbox --help says how to name a target\n")
		return
	}
	rows := make([][]any, len(targets))
	for i, t := range targets {
		why := t.Error
		if t.Everything {
			why = "everything that is held is sent first"
		}
		rows[i] = []any{t.Name, t.Kind, withGlyph(t.State, control.TargetFamily(t.State)), t.Sent, t.Backlog, t.Waiting, t.Parked, why}
	}
	c.table([]column{
		{head: "TARGET", gap: 2},
		{head: "KIND", gap: 2},
		{head: "STATE", gap: 2},
		{head: "SENT", right: true},
		{head: "BEHIND", right: true},
		{head: "WAIT", right: true},
		{head: "PARKED", right: true},
		{head: "WHY", wraps: true},
	}, rows)
}

func (c *cli) printMessages(messages []control.OutboxMessage) {
	if len(messages) == 0 {
		return
	}
	c.printf("\n")
	rows := make([][]any, len(messages))
	for i, m := range messages {
		rows[i] = []any{m.ID, m.Target, withGlyph(m.State, control.MessageFamily(m.State)), m.Source, m.Record, m.Revision, m.Attempts, m.Error}
	}
	c.table([]column{
		{head: "MESSAGE", right: true},
		{head: "TARGET", gap: 2},
		{head: "STATE", gap: 2},
		{head: "SOURCE", gap: 2},
		{head: "RECORD", gap: 2},
		{head: "REVISION", right: true},
		{head: "TRIES", right: true},
		{head: "WHY", wraps: true},
	}, rows)
}

// oneMessage wants exactly one argument, the number of a message.
func oneMessage(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse(cmd, "%s needs the number of a message: patra outbox list shows them", cmd.CommandPath())
	}
	if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 {
		return misuse(cmd, "%q is not the number of a message: patra outbox list shows them", args[0])
	}
	return nil
}

func (c *cli) outboxShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show MESSAGE", Short: "Show a message that was not taken", Args: oneMessage,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				id, _ := strconv.ParseInt(args[0], 10, 64) // oneMessage has looked at it
				m, err := ctl.OutboxMessage(cmd.Context(), id)
				if err != nil {
					return err
				}
				return c.show(m, func() { c.printMessage(m) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printMessage(m control.OutboxMessageView) {
	c.printf("%s message %d to %s: revision %d of %s %s\n", c.glyph(control.MessageFamily(m.State)), m.ID, m.Target, m.Revision, m.Source, m.Record)
	c.printf("  event     %s\n", m.EventID)
	c.printf("  state     %s since %s, tried %d times\n", m.State, m.Since, m.Attempts)
	if m.Error != "" {
		c.printf("  said      %s\n", m.Error)
	}
	if m.RetryAt != nil {
		c.printf("  next try  %s\n", m.RetryAt)
	}
	if m.State == control.MessageParked {
		c.printf("next: mend what the target says, then patra outbox retry %d --reason TEXT; a newer revision of the record is sent by itself\n", m.ID)
	}
}

func (c *cli) outboxRetryCmd() *cobra.Command {
	var f changeFlags
	var q control.OutboxRetry
	cmd := &cobra.Command{
		Use: "retry [MESSAGE] --reason TEXT", Short: "Try a message again at once, or all that were not taken",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneMessage(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				q.ID, _ = strconv.ParseInt(args[0], 10, 64) // looked at above
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.RetryOutbox(cmd.Context(), q, by, f.dryRun)
				if err != nil {
					return err
				}
				return c.show(v, func() {
					if v.Applied {
						c.printf("%s will be tried again at once\n", control.Count(int(v.Messages), "message"))
						return
					}
					c.printf("%s would be tried again\n", control.Count(int(v.Messages), "message"))
					c.noteToken(v.Token)
				})
			})
		},
	}
	cmd.Flags().StringVar(&q.Target, "target", "", "all of this target")
	f.add(c, cmd)
	return cmd
}
