package main

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) targetListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List who is told of revisions, and how that goes", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.OutboxTargets(cmd.Context())
				if err != nil {
					return err
				}
				return c.showList(list, "targets", func() { c.printTargets(list.Targets) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// oneTarget wants exactly one argument, the name of a target.
func oneTarget(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse(cmd, "%s needs the name of a target: patra outbox target list shows them", cmd.CommandPath())
	}
	return nil
}

func (c *cli) targetAddCmd() *cobra.Command {
	var f changeFlags
	var o control.TargetOrder
	cmd := &cobra.Command{
		Use: "add NAME --reason TEXT", Short: "Have a target told from now on, and with --everything of all that is held", Args: oneTarget,
		Long: "The target is one that --events or PATRA_EVENTS names. patra serve adds it by itself; added before, it is told of what is\n" +
			"stored until the relay begins. --everything sends the newest revision of every record that is held, then goes on with what\n" +
			"comes: for a target that is new, or that has lost what it had.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return c.changeTarget(cmd, &f, o, (*control.Control).AddTarget, func(v control.TargetChange) {
				switch {
				case !v.Changes:
					c.printf("%s is told already: nothing changes\n", v.Name)
				case v.Applied && v.Everything:
					c.printf("%s (%s) gets everything that is held, and then what comes\n", v.Name, v.Kind)
				case v.Applied:
					c.printf("%s (%s) is told of what is stored from now on\n", v.Name, v.Kind)
				default:
					c.printf("%s (%s) would be told\n", v.Name, v.Kind)
					c.noteToken(v.Token)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&o.Everything, "everything", false, "send all that is held first, also to one that had it")
	f.add(c, cmd)
	return cmd
}

func (c *cli) targetRemoveCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "remove NAME --reason TEXT", Short: "Forget a target, and what it has not got", Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeTarget(cmd, &f, control.TargetOrder{Name: args[0]}, (*control.Control).RemoveTarget, func(v control.TargetChange) {
				if !v.Applied {
					c.printf("%s (%s) would be forgotten, with %d revisions that it has not got\n", v.Name, v.Kind, v.Unsent)
					c.noteToken(v.Token)
					return
				}
				c.printf("%s (%s) is forgotten, with %d revisions that it has not got\n", v.Name, v.Kind, v.Unsent)
				if v.Configured {
					c.notef("note: it is still named in PATRA_EVENTS or --events: patra serve would add it again\n")
				}
			})
		},
	}
	f.add(c, cmd)
	return cmd
}

// changeTarget makes a change to a target, and says what became of it.
func (c *cli) changeTarget(
	cmd *cobra.Command, f *changeFlags, o control.TargetOrder,
	do func(*control.Control, context.Context, control.TargetOrder) (control.TargetChange, error), say func(control.TargetChange),
) error {
	by, err := f.by(c, cmd)
	if err != nil {
		return err
	}
	o.By = by
	o.DryRun = f.dryRun
	return c.changing(cmd.Context(), func(ctl *control.Control) error {
		v, err := do(ctl, cmd.Context(), o)
		if err != nil {
			return err
		}
		return c.show(v, func() { say(v) })
	})
}
