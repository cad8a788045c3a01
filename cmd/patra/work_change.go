package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

// decideWork is a decision about works.
type decideWork func(*control.Control, context.Context, control.WorkOrder) (control.WorkChange, error)

// workNumbers wants so many numbers of works at least.
func workNumbers(least int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return misuse(cmd, "%s needs %s: patra work list shows their numbers", cmd.CommandPath(), control.Count(least, "work"))
		}
		for _, a := range args {
			if _, err := workNumber(cmd, a); err != nil {
				return err
			}
		}
		return nil
	}
}

func (c *cli) workJoinCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "join WORK WORK... --reason TEXT", Short: "Make works one, whatever rules say", Args: workNumbers(2),
		Long: "The decision is kept on the first record of each work and outranks every rule, also after the records are read again,\n" +
			"until it is revoked.",
		Example: "  patra work join 17 52 --dry-run\n  patra work join 17 52 --reason 'the same paper, JSTOR and Wiley'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.decideWork(cmd, &f, workOrder(args, nil), (*control.Control).JoinWorks)
		},
	}
	f.add(c, cmd)
	return cmd
}

func (c *cli) workSplitCmd() *cobra.Command {
	var f changeFlags
	var records []string
	cmd := &cobra.Command{
		Use: "split WORK [WORK] --reason TEXT", Short: "Cut records out of a work, or keep two works apart", Args: workNumbers(1),
		Long: "With --record, those records are cut out of the work. With two works, these stay apart, and a suggestion to join them is\n" +
			"answered. No rule joins again what was cut, until the decision is revoked.",
		Example: "  patra work split 17 --record pubmed/31452104 --reason 'the reply, not the letter'\n  patra work split 17 52 --reason 'two cohorts'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.decideWork(cmd, &f, workOrder(args, records), (*control.Control).SplitWork)
		},
	}
	cmd.Flags().StringArrayVar(&records, "record", nil, "a record that is cut off, SOURCE/ID; again for another")
	f.add(c, cmd)
	return cmd
}

func (c *cli) workRevokeCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "revoke DECISION --reason TEXT", Short: "Take a join or a split back: rules decide again", Args: oneNumber("decision"),
		Example: "  patra work revoke 3 --reason 'joined by mistake'",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			return c.decideWork(cmd, &f, control.WorkOrder{Decision: id}, (*control.Control).RevokeWork)
		},
	}
	f.add(c, cmd)
	return cmd
}

func workOrder(args, records []string) control.WorkOrder {
	o := control.WorkOrder{Records: records}
	for _, a := range args {
		n, _ := strconv.ParseInt(a, 10, 64) // workNumbers has looked at it
		o.Works = append(o.Works, n)
	}
	return o
}

func (c *cli) decideWork(cmd *cobra.Command, f *changeFlags, o control.WorkOrder, do decideWork) error {
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
		return c.show(v, func() {
			c.printWorkChange(v)
			c.noteToken(v.Token)
		})
	})
}

func (c *cli) printWorkChange(v control.WorkChange) {
	if !v.Changes {
		c.printf("nothing changes: they are one work already\n")
		return
	}
	verb := "is now"
	if !v.Applied {
		verb = "would be"
	}
	for _, w := range v.After {
		numbers := make([]string, len(w.Records))
		for i, n := range w.Records {
			numbers[i] = strconv.FormatInt(n, 10)
		}
		c.printf("work %d %s of %s: %s\n", w.ID, verb, control.Count(len(w.Records), "record"), strings.Join(numbers, ", "))
	}
	if v.Related {
		are := "are now"
		if !v.Applied {
			are = "would be"
		}
		c.printf("a preprint and its article stay two works: they %s one family\n", are)
	}
}

func (c *cli) workLinkCmd() *cobra.Command {
	var o control.LinkOrder
	var reason string
	cmd := &cobra.Command{
		Use: "link", Short: "Link what was stored or changed since it was done last", Args: noArgs,
		Long: "patra serve does this by itself; after a patra harvest it is done by this command. With --again all records are looked at once more; the\n" +
			"works that come of it are the same unless rules or mappings have changed.",
		Example: "  patra work link\n  patra work link --again",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				o.By = c.by(reason)
				v, err := ctl.Link(cmd.Context(), o)
				if err != nil {
					return err
				}
				done := "looked at"
				if o.DryRun {
					done = "would be looked at"
				}
				return c.show(v, func() { c.printf("%s %s\n", control.Count(int(v.Records), "record"), done) })
			})
		},
	}
	cmd.Flags().BoolVar(&o.Again, "again", false, "look at all records once more")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "count what would be looked at; nothing is changed")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit (default: the command)")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}
