package main

import (
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/spf13/cobra"
)

func (c *cli) reconcileCmd() *cobra.Command {
	var f changeFlags
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
			req := reconcile.Request{Source: args[0]}
			usage := func(err error) error { return &usageError{cmd: cmd.CommandPath(), err: err} }
			var err error
			if req.From, req.To, err = parseSpan(from, to); err != nil {
				return err
			}
			if req.Step, err = source.ParseDuration(step); err != nil || req.Step <= 0 {
				return usage(fmt.Errorf("--step %q is not a length of time such as 1d, 7d or 6h", step))
			}
			if req.BaseURL, err = stand.base(); err != nil {
				return err
			}
			if plan {
				if err := f.need(cmd, true); err != nil {
					return err
				}
			} else if f.dryRun || f.reason != "" {
				return usage(errors.New("--dry-run and --reason go with --plan"))
			}
			return c.reconcile(cmd, req, plan, &f)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "start of the span, RFC 3339 or a date (UTC); default: thirty days")
	cmd.Flags().StringVar(&to, "to", "", "end of the span, not part of it; default: up to where all is proven")
	cmd.Flags().StringVar(&step, "step", "1d", "length of a window: days of the source's calendar, or a part of a day")
	stand.add(cmd.Flags(), "ask another host: a simulator or mirror")
	cmd.Flags().BoolVar(&plan, "plan", false, "plan to read the windows that differ again")
	c.holdFlags(cmd, &f)
	return cmd
}

type differenceJSON struct {
	From     control.Time `json:"from"`
	To       control.Time `json:"to"`
	Upstream int64        `json:"upstream"`
	Stored   int64        `json:"stored"`
	// What is known of the records that differ.
	Quarantined int64        `json:"quarantined"`
	BadIDs      int64        `json:"bad_ids"`
	Missing     int64        `json:"missing"`
	Unexplained int64        `json:"unexplained"`
	ReadAt      control.Time `json:"read_at,omitzero"`
	Why         string       `json:"why"`
	Activity    string       `json:"activity,omitempty"`
	Planned     *plannedJSON `json:"planned,omitempty"`
}

type reconcileJSON struct {
	Source      string           `json:"source"`
	Namespace   string           `json:"namespace"`
	From        control.Time     `json:"from"`
	To          control.Time     `json:"to"`
	Step        string           `json:"step"`
	Windows     int              `json:"windows"`
	Requests    int              `json:"requests"`
	Upstream    int64            `json:"upstream"`
	Stored      int64            `json:"stored"`
	Rough       bool             `json:"rough"`
	Differences []differenceJSON `json:"differences"`
	// Unread are gaps that were accepted: nothing is compared there.
	Unread  []control.ReportWindow `json:"unread"`
	Applied bool                   `json:"applied"`
}

func (c *cli) reconcile(cmd *cobra.Command, req reconcile.Request, plan bool, f *changeFlags) error {
	ctx := cmd.Context()
	n, err := c.open(ctx, 1)
	if err != nil {
		return err
	}
	defer n.Close() //nolint:errcheck // everything is committed
	res, err := n.Control.Reconcile(ctx, req)
	if err != nil {
		return err
	}
	again, err := n.Control.Rereads(ctx, res.Differing())
	if err != nil {
		return err
	}
	apply := plan && !f.dryRun && len(again) > 0
	if apply {
		if err := n.Control.PlanRereads(ctx, req.Source, req.BaseURL, again, c.by(f.reason)); err != nil {
			return err
		}
	}
	v := reconciled(req, res, again, plan, apply)
	if c.json {
		if err := c.printJSON(v); err != nil {
			return err
		}
	} else {
		c.printReconciled(v, plan)
	}
	if len(again) > 0 {
		return exitError(exitDifferences)
	}
	return nil
}

func reconciled(req reconcile.Request, res reconcile.Result, again []control.Reread, plan, applied bool) reconcileJSON {
	v := reconcileJSON{
		Source: req.Source, Namespace: res.Namespace.String(), Step: req.Step.String(), Windows: len(res.Windows), Requests: res.Traffic.Sent,
		From: control.Time(res.Windows[0].From), To: control.Time(res.Windows[len(res.Windows)-1].To), Rough: res.Rough, Differences: []differenceJSON{}, Unread: []control.ReportWindow{}, Applied: applied,
	}
	for _, w := range res.Accepted {
		v.Unread = append(v.Unread, control.ReportWindow{From: control.Time(w.From), To: control.Time(w.To)})
	}
	for _, w := range res.Windows {
		v.Upstream, v.Stored = v.Upstream+w.Upstream, v.Stored+w.Stored
	}
	for _, w := range again {
		d := differenceJSON{
			From: control.Time(w.From), To: control.Time(w.To), Upstream: w.Upstream, Stored: w.Stored, Why: w.Why(), ReadAt: control.Time(w.Known.ReadAt),
			Quarantined: w.Known.Quarantined, BadIDs: w.Known.BadIDs, Missing: w.Known.Missing, Unexplained: w.Unexplained(),
		}
		if plan {
			d.Activity = w.Activity
		}
		if applied {
			p := planned(w.Planned)
			d.Planned = &p
		}
		v.Differences = append(v.Differences, d)
	}
	return v
}

func (c *cli) printReconciled(v reconcileJSON, plan bool) {
	c.printf("%s  [%s, %s): %d windows, upstream counts %d, stored are %d\n", v.Source, v.From, v.To, v.Windows, v.Upstream, v.Stored)
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
	c.printf("%-50s %10s %10s %10s  %s\n", "WINDOW", "UPSTREAM", "STORED", "DIFFERENCE", "WHY, PLAN")
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
		c.printf("%-50s %10d %10d %+10d  %s\n", fmt.Sprintf("[%s, %s)", d.From, d.To), d.Upstream, d.Stored, d.Upstream-d.Stored, what)
	}
	c.notef("note: more may be stored than is counted and windows may differ though nothing is wrong: a record that was changed\n" +
		"since the last harvest counts upstream in a later window, and one that was deleted there is kept here\n")
	first := v.Differences[0]
	switch {
	case v.Applied:
		c.notef("next: patra backfill %s --from %s --to %s --activity %s, which works on all of them; or patra serve\n", v.Source, first.From, first.To, first.Activity)
	default:
		c.notef("next: patra harvest %s, then look again; patra reconcile %s --plan --reason TEXT reads them again\n", v.Source, v.Source)
	}
}
