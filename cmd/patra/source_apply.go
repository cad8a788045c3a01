package main

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) sourceApplyCmd() *cobra.Command {
	var flags changeFlags
	var at string
	cmd := &cobra.Command{
		Use:   "apply FILE|NAME",
		Short: "Make the registry say what a pack says, from now on or from an instant",
		Long: "Apply checks the pack whole, compares it with the rows in force, and writes what differs in one\n" +
			"transaction: rows that say the same stay, others are superseded. Plans under way keep what they have.\n" +
			"The name of a source applies its pack of the folder of --sources, or else the one that comes with this build, as after an upgrade.",
		Example: "  patra source apply mysource.yaml --dry-run\n  patra source apply mysource.yaml --apply 4f0c... --reason 'larger pages'",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.sourceOrder(c, cmd, false)
			if err != nil {
				return err
			}
			o.At, err = parseTime("at", at)
			if err != nil {
				return err
			}
			return c.applyPack(cmd, args[0], o)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "when it takes effect, RFC 3339 or a date (UTC); default now")
	flags.add(c, cmd)
	return cmd
}

func (c *cli) sourceScheduleCmd() *cobra.Command {
	var flags changeFlags
	var at, observe string
	cmd := &cobra.Command{
		Use:   "schedule FILE --at T",
		Short: "Switch to a pack at a future instant, watching the old rows beside it for a time",
		Long: "Schedule writes rows that begin at --at. The rows they supersede stay in force beside them for --observe,\n" +
			"the new ones winning, and end then. Until that time, and after it, `patra source rollback` takes it back.",
		Example: "  patra source schedule mysource.yaml --at 2027-01-01 --observe 1d --dry-run",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.sourceOrder(c, cmd, true)
			if err != nil {
				return err
			}
			o.At, err = parseTime("at", at)
			if err != nil {
				return err
			}
			if o.At.IsZero() {
				return misuse(cmd, "schedule needs --at T, the instant of the switch; `patra source apply` does it now")
			}
			o.Observe, err = control.ParseDuration(observe)
			if err != nil {
				return misuse(cmd, "--observe: %w", err)
			}
			return c.applyPack(cmd, args[0], o)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "when it takes effect, RFC 3339 or a date (UTC)")
	cmd.Flags().StringVar(&observe, "observe", "0s", "how long the old rows stay in force beside the new, such as 1d")
	flags.add(c, cmd)
	return cmd
}

func (c *cli) applyPack(cmd *cobra.Command, file string, o control.SourceOrder) error {
	return c.changing(cmd.Context(), func(ctl *control.Control) error {
		change, err := ctl.ApplyPack(cmd.Context(), file, o)
		if err != nil {
			return err
		}
		for _, note := range change.Notes {
			c.notef("note: %s\n", note)
		}
		return c.show(change, func() { c.printChange(change, "patra source "+cmd.Name()+" "+file, o) })
	})
}

func (c *cli) sourceRollbackCmd() *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "rollback CODE",
		Short: "Take the newest change of a source back",
		Long: "Rollback ends the rows of the newest change now, or keeps them from ever beginning, and lets the rows they\n" +
			"superseded hold again. Plans under way keep what they have; name and base URL of the source stay as they are.",
		Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.sourceOrder(c, cmd, true)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				change, err := ctl.RollbackSource(cmd.Context(), args[0], o)
				if err != nil {
					return err
				}
				return c.show(change, func() { c.printChange(change, "patra source rollback "+args[0], o) })
			})
		},
	}
	flags.add(c, cmd)
	return cmd
}

// printChange shows what a change does, or did. again is the command that was given.
func (c *cli) printChange(ch control.SourceChange, again string, o control.SourceOrder) {
	if len(ch.Changes) == 0 && len(ch.Fields) == 0 && !ch.New {
		c.printf("%s: nothing to change, the rows in force say the same\n", ch.Source)
		return
	}
	what := "changed"
	when := ch.At.String()
	switch {
	case o.DryRun:
		what = "would change"
		if o.At.IsZero() {
			when = "now on"
		}
	case ch.New:
		what = "described"
	}
	c.printf("%s: %s, %s from %s\n", ch.Source, what, control.Count(len(ch.Changes), "row"), when)
	for _, row := range ch.Changes {
		c.printRowChange(row)
	}
	for _, f := range ch.Fields {
		c.printf("  %s\n", f)
	}
	if !o.DryRun {
		return
	}
	c.printf("token: %s\n", ch.Token)
	flags := ""
	if !o.At.IsZero() {
		flags = " --at " + control.Time(o.At).String()
		if o.Observe > 0 {
			flags += " --observe " + o.Observe.String()
		}
	}
	c.notef("next: %s%s --apply %s --reason TEXT\n", again, flags, ch.Token)
}

func (c *cli) printRowChange(row control.RowChange) {
	switch row.Action {
	case "add":
		c.printf("  + %-28s", row.Slot)
		if row.Row != 0 {
			c.printf(" row %d", row.Row)
		}
		c.printf(" from %s", row.From)
		if row.Supersedes != 0 {
			c.printf(", supersedes row %d", row.Supersedes)
		}
		c.printf("\n")
	case "close":
		c.printf("  - %-28s row %d ends %s\n", row.Slot, row.Row, row.To)
	default:
		c.printf("  < %-28s row %d holds again\n", row.Slot, row.Row)
	}
}
