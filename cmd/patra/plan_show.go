package main

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) planListCmd() *cobra.Command {
	var src, op, state string
	var open bool
	var limit int
	var before int64
	cmd := &cobra.Command{
		Use: "list", Short: "List plans, newest first", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := control.PlanQuery{Source: src, State: harvest.PlanState(strings.ToUpper(state)), Open: open, Before: harvest.PlanID(before), Limit: limit}
			var known bool
			q.Operation, known = harvest.ParseOperation(op)
			if op != "" && !known {
				return misuse(cmd, "--op %q: use HARVEST, BACKFILL or UPDATE", op)
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Plans(cmd.Context(), q)
				if err != nil {
					return err
				}
				return c.showList(list, "plans", func() { c.printPlans(list.Plans) })
			})
		},
	}
	cmd.Flags().StringVar(&src, "source", "", "only of this source")
	cmd.Flags().StringVar(&op, "op", "", "only of this operation: HARVEST, BACKFILL or UPDATE")
	cmd.Flags().StringVar(&state, "state", "", "only in this state, such as READY or COMPLETED")
	cmd.Flags().BoolVar(&open, "open", false, "only those of which work is left")
	limitFlag(cmd, &limit, "how many")
	cmd.Flags().Int64Var(&before, "before", 0, "only plans with a smaller number: the next page")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printPlans(rows []control.PlanRow) {
	if len(rows) == 0 {
		c.printf("no plans yet\n")
		return
	}
	cells := make([][]any, len(rows))
	for i, p := range rows {
		state := withGlyph(p.Status, control.PlanFamily(p.Status))
		cells[i] = []any{p.ID, p.Source, p.Operation, state, windowText(p.From, p.To), cmp.Or(p.Activity, "-"), shown(p.Query)}
	}
	c.table([]column{
		{head: "PLAN", width: 6},
		{head: "SOURCE", width: 14},
		{head: "OPERATION", spare: true},
		{head: "STATE", width: 10},
		{head: "WINDOW", width: 50, wraps: true},
		{head: "ACTIVITY", width: 25, wraps: true, spare: true},
		{head: "QUERY", wraps: true},
	}, cells)
}

// windowText is a window, or a range of candidates, for people.
func windowText(from, to harvest.Mark) string {
	return harvest.Span{From: from, To: to}.Short()
}

// partText is a window and the part of what lies in it.
func partText(from, to harvest.Mark, part string) string {
	return strings.TrimSuffix(windowText(from, to)+" "+part, " ")
}

func (c *cli) planShowCmd() *cobra.Command {
	var limit int
	var after int64
	cmd := &cobra.Command{
		Use: "show PLAN", Short: "Show a plan: what it came to, and its slices", Args: oneNumber("plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Plan(cmd.Context(), harvest.PlanID(id), harvest.SliceID(after), limit)
				if err != nil {
					return err
				}
				return c.show(v, func() {
					c.printPlan(v)
					if len(v.SliceList) == limit {
						c.notef("next: patra plan show %d --after %d\n", v.Plan.ID, v.SliceList[limit-1].ID)
					}
				})
			})
		},
	}
	limitFlag(cmd, &limit, "slices shown")
	cmd.Flags().Int64Var(&after, "after", 0, "only slices with a greater number: the next page")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printPlan(v control.PlanView) {
	p := v.Plan
	c.printf("plan %d  %s %s  %s  %s\n", p.ID, p.Source, p.Operation, p.Status, windowText(p.From, p.To))
	c.printf("  endpoint  %s\n", p.Endpoint)
	if p.Query != "" {
		c.printf("  query     %s\n", p.Query)
	}
	if v.Pacing != nil {
		c.printf("  paced     %s\n", v.Pacing.Text())
	}
	if p.Unsliced {
		word := "up to"
		if p.Operation == harvest.Backfill {
			word = "back to"
		}
		c.printf("  sliced    %s %s; the next trigger goes on\n", word, p.SlicedTo)
	}
	c.printf("  slices    %d done, %d cut again, %d failed, %d open\n", v.Slices.Done, v.Slices.Resliced, v.Slices.Failed, v.Slices.Open)
	c.printf("  records   %d new, %d changed, %d unchanged, %d quarantined; %d requests\n",
		v.Records.Inserted, v.Records.Updated, v.Records.Unchanged, v.Records.Quarantined, v.Requests)
	c.printSlices(v.SliceList)
}

func (c *cli) printSlices(rows []control.SliceRow) {
	if len(rows) == 0 {
		return
	}
	cells := make([][]any, len(rows))
	for i, s := range rows {
		cells[i] = []any{s.ID, sliceState(s.Status), partText(s.From, s.To, s.Range), s.Tries, causeCell(s.Cause), waitCell(s.Waiting), s.Reason}
	}
	c.table([]column{
		{head: "SLICE", width: 8},
		{head: "STATE", width: 10},
		{head: "WINDOW", width: 50, wraps: true},
		{head: "TRIES", width: 6, spare: true},
		{head: "CAUSE", wraps: true},
		{head: "WAITS FOR", wraps: true},
		{head: "REASON", wraps: true},
	}, cells)
}

// oneNumber wants exactly one argument, a number as lists show it.
func oneNumber(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if n, err := strconv.ParseInt(args[0], 10, 64); err == nil && n > 0 {
				return nil
			}
		}
		return misuse(cmd, "%s takes the number of a %s, as patra %s list shows it", cmd.CommandPath(), what, cmd.Parent().Name())
	}
}
