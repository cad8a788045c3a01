package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) runsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run", Short: "See single attempts at tasks: their pages, what they took, why they ended",
	}
	verbs(cmd, c.runListCmd(), c.runShowCmd(), c.runWhyCmd())
	return cmd
}

var runStates = []harvest.RunState{harvest.RunRunning, harvest.RunSucceeded, harvest.RunPartial, harvest.RunFailed, harvest.RunCancelled}

func (c *cli) runListCmd() *cobra.Command {
	var f listFlags
	var q control.RunQuery
	var state, since string
	var task, plan int64
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, newest first", Args: noArgs,
		Example: "  patra run list --source crossref --state FAILED --since -2h\n  patra run list --task 17",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.State = harvest.RunState(strings.ToUpper(state))
			if err := knownState(cmd, q.State, runStates); err != nil {
				return err
			}
			var err error
			q.Since, err = parseTime("since", since)
			if err != nil {
				return err
			}
			q.Task = harvest.TaskID(task)
			q.Plan = harvest.PlanID(plan)
			q.Page = f.page()
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Runs(cmd.Context(), q)
				if err != nil {
					return err
				}
				return c.showList(list, "runs", func() {
					c.printRuns(list.Runs)
					c.nextPage(cmd, list.Next)
				})
			})
		},
	}
	cmd.Flags().StringVar(&q.Source, "source", "", "only of this source")
	cmd.Flags().StringVar(&state, "state", "", "only in this state, such as RUNNING or FAILED")
	cmd.Flags().Int64Var(&plan, "plan", 0, "only of this plan")
	cmd.Flags().Int64Var(&task, "task", 0, "only of this task")
	cmd.Flags().StringVar(&since, "since", "", "only those begun since: an instant, a date, or an age such as -2h")
	f.add(c, cmd)
	return cmd
}

func (c *cli) printRuns(rows []control.RunItem) {
	cells := make([][]any, len(rows))
	for i, r := range rows {
		state := harvest.RunState(r.Status)
		pages, items := any(nil), any(nil)
		if r.Stats != nil {
			pages = r.Stats.Pages
			items = r.Stats.Items
		}
		cells[i] = []any{
			r.ID, r.Source, r.Operation, withGlyph(state, control.RunFamily(state)), r.Task, r.Attempt, secondText(r.StartedAt), lasted(r.StartedAt, r.FinishedAt),
			pages, items, causeCell(r.Cause), waitCell(r.Waiting),
		}
	}
	c.printList([]column{
		{head: "RUN", width: 7},
		{head: "SOURCE", width: 14},
		{head: "OPERATION", spare: true},
		{head: "STATE", width: 10},
		{head: "TASK", width: 7, spare: true},
		{head: "ATTEMPT", right: true, spare: true},
		{head: "BEGAN", width: 21},
		{head: "TOOK", right: true, spare: true},
		{head: "PAGES", right: true, spare: true},
		{head: "ITEMS", right: true, spare: true},
		{head: "CAUSE", wraps: true},
		{head: "GIVEN BACK", wraps: true},
	}, cells, "no runs")
}

// lasted is how long something took, a dash while it goes on.
func lasted(from, to time.Time) string {
	if to.IsZero() {
		return "-"
	}
	return to.Sub(from).Round(10 * time.Millisecond).String()
}

func (c *cli) runShowCmd() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show a run: its pages with what their time went to, and why it stopped", Args: oneNumber("run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Run(cmd.Context(), harvest.RunID(id), f.page())
				if err != nil {
					return err
				}
				return c.show(v, func() {
					c.printRun(v)
					if v.Next != "" {
						c.notef("next: patra run show %d --after %s\n", v.ID, v.Next)
					}
				})
			})
		},
	}
	limitFlag(cmd, &f.limit, "pages shown")
	cmd.Flags().StringVar(&f.after, "after", "", "only pages with a greater number: the next page")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printRun(v control.RunView) {
	state := harvest.RunState(v.Status)
	c.printf("run %d  %s %s  %s  %s\n", v.ID, v.Source, v.Operation, c.text(withGlyph(state, control.RunFamily(state))), windowText(v.From, v.To))
	c.printf("  of        plan %d, slice %d, task %d, attempt %d, by %s\n", v.Plan, v.Slice, v.Task, v.Attempt, v.Owner)
	c.printf("  time      from %s, took %s\n", secondText(v.StartedAt), lasted(v.StartedAt, v.FinishedAt))
	if s := v.Stats; s != nil {
		c.printf("  asked     %d requests, %d repeated, %d answered 429, %d answered 5xx, %d bytes\n", s.Sent, s.Retried, s.HTTP429, s.HTTP5xx, s.Bytes)
		c.printf("  pages     %d stored, %d failed; %d items: %d new, %d changed, %d quarantined\n",
			s.Pages, s.PagesFailed, s.Items, s.Inserted, s.Updated, s.Quarantined)
		c.printf("  latency   %d ms a page, %d ms at most; %d ms at the rate gate\n", s.AvgLatency, s.MaxLatency, s.WaitTotal)
	}
	if v.Cause != nil {
		c.printf("  cause     %s\n", causeCell(v.Cause))
	}
	if v.Waiting != nil {
		c.printf("  waits     %s\n", waitCell(v.Waiting))
	}
	c.printf("  why       %s\n", v.Why)
	c.printf("  next      %s\n", v.NextStep)
	c.printBatches(v.Batches)
}

func (c *cli) printBatches(rows []control.BatchItem) {
	if len(rows) == 0 {
		return
	}
	cells := make([][]any, len(rows))
	for i, b := range rows {
		state := harvest.BatchState(b.Status)
		reason := b.Code
		if reason == "" {
			reason = "-"
		}
		cells[i] = []any{
			fmt.Sprintf("%d/%d", b.Run, b.No), b.Phase, withGlyph(state, control.BatchFamily(state)), b.Items, b.Sent, b.Retried, b.HTTP429,
			b.Wait, b.Network, b.Processing, reason,
		}
	}
	c.table([]column{
		{head: "BATCH", width: 10},
		{head: "PHASE", spare: true},
		{head: "STATE", width: 10},
		{head: "ITEMS", right: true},
		{head: "SENT", right: true, spare: true},
		{head: "RETRIED", right: true, spare: true},
		{head: "429", right: true, spare: true},
		{head: "WAIT MS", right: true, spare: true},
		{head: "NETWORK MS", right: true, spare: true},
		{head: "PROCESSING MS", right: true, spare: true},
		{head: "CAUSE", wraps: true},
	}, cells)
}

func (c *cli) runWhyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "why RUN", Short: "Say what a run waits for or why it ended, and what to do next", Args: oneNumber("run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.why(cmd, args, func(ctl *control.Control, id int64) (control.WhyView, error) {
				return ctl.RunWhy(cmd.Context(), harvest.RunID(id))
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}
