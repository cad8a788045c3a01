package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) reconcileCmd() *cobra.Command {
	var dryRun bool
	var reason string
	var from, to, step string
	var stand standIn
	var plan bool
	cmd := &cobra.Command{
		Use: "reconcile SOURCE", Short: "Hold what is stored against the source's own counts", Args: oneSource,
		Long: "Reconcile asks the source how many records each window holds, one request per window through the rate gate,\n" +
			"and compares with what is stored, over what is proven complete: the last thirty days unless --from is given.\n" +
			"With --plan each window that differs is planned to be read again, as a BACKFILL of its own. Exit code 10 says\n" +
			"that windows differ.",
		Example: "  patra reconcile crossref\n  patra reconcile crossref --from 2026-01-01 --step 7d --plan --reason \"records were shown late\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			req := control.ReconcileRequest{Source: args[0], Plan: plan, Preview: dryRun}
			usage := func(err error) error { return &usageError{cmd: cmd.CommandPath(), err: err} }
			var err error
			req.Spoken, err = parseSpoken(from, to)
			if err != nil {
				return err
			}
			req.Step, err = control.ParseDuration(step)
			if err != nil || req.Step <= 0 {
				return usage(fmt.Errorf("--step %q is not a length of time such as 1d, 7d or 6h", step))
			}
			req.BaseURL, err = stand.base()
			if err != nil {
				return err
			}
			switch {
			case plan && reason == "" && !dryRun:
				return misuse(cmd, "%s --plan needs --reason TEXT: it is kept in the audit", cmd.CommandPath())
			case !plan && (dryRun || reason != ""):
				return usage(errors.New("--dry-run and --reason go with --plan"))
			}
			return c.reconcile(cmd.Context(), req, c.by(reason))
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "start of the span, RFC 3339 or a date (UTC, or the day of a source that counts days); default: thirty days")
	cmd.Flags().StringVar(&to, "to", "", "end of the span, not part of it; default: up to where all is proven")
	cmd.Flags().StringVar(&step, "step", "1d", "length of a window: days of the source's calendar, or a part of a day")
	stand.add(cmd.Flags(), "ask another host: a simulator or mirror")
	cmd.Flags().BoolVar(&plan, "plan", false, "plan to read the windows that differ again")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show which windows would be planned to be read again")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) reconcile(ctx context.Context, req control.ReconcileRequest, by control.By) error {
	return c.changing(ctx, func(ctl *control.Control) error {
		v, err := ctl.Reconcile(ctx, req, by)
		if err != nil {
			return err
		}
		err = c.showList(v, "differences", func() { c.printReconciled(v, req.Plan) })
		if err != nil {
			return err
		}
		if len(v.Differences) > 0 {
			return exitError(exitDifferences)
		}
		return nil
	})
}

func (c *cli) printReconciled(v control.Reconciled, plan bool) {
	c.printf("%s  [%s, %s): %d windows, upstream counts %d, stored are %d\n", v.Source, v.From, v.To, v.Windows, v.Upstream, v.Stored)
	for _, n := range v.Notes {
		c.notef("note: %s\n", n)
	}
	if v.Rough {
		c.notef("note: %s does not promise that its totals are exact\n", v.Source)
	}
	for _, w := range v.Unread {
		c.printf("  not compared: [%s, %s) was accepted unread\n", w.From, w.To)
	}
	if len(v.Differences) == 0 {
		c.printf("  no differences\n")
		return
	}
	c.printf("  %d windows differ\n", len(v.Differences))
	var rows [][]any
	for _, d := range v.Differences {
		what := d.Why
		switch {
		case d.Planned != nil && d.Planned.Noop:
			what += "; planned for this finding already"
		case d.Planned != nil:
			what += fmt.Sprintf("; plan %d %s", d.Planned.Plan, d.Activity)
		case plan:
			what += "; would be " + d.Activity
		}
		window := fmt.Sprintf("[%s, %s)", d.From, d.To)
		rows = append(rows, []any{window, d.Upstream, d.Stored, fmt.Sprintf("%+d", d.Upstream-d.Stored), what})
	}
	c.table([]column{
		{head: "WINDOW", width: 50},
		{head: "UPSTREAM", width: 10, right: true},
		{head: "STORED", width: 10, right: true},
		{head: "DIFFERENCE", right: true, gap: 2},
		{head: "WHY, PLAN", wraps: true},
	}, rows)
	c.notef("note: more may be stored than is counted and windows may differ though nothing is wrong: a record that was changed\n" +
		"since the last harvest counts upstream in a later window, and one that was deleted there is kept here\n")
	first := v.Differences[0]
	switch {
	case v.Applied:
		c.notef("next: patra backfill %s --from %s --to %s --activity %s, which works on all of them; or patra serve\n",
			v.Source, first.From, first.To, first.Activity)
	default:
		c.notef("next: patra harvest %s, then look again; patra reconcile %s --plan --reason TEXT reads them again\n", v.Source, v.Source)
	}
}
