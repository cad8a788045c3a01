package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) taskCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "task", Short: "See the tasks of the queue: who has them, where they stand, why they wait",
		Long: "A task is the work on one slice of a plan. Workers take it as often as it needs; each time is a run (patra run).",
	}
	verbs(cmd, c.taskListCmd(), c.taskShowCmd(), c.taskWhyCmd())
	return cmd
}

// listFlags are those of a list in pages.
type listFlags struct {
	limit int
	after string
}

func (f *listFlags) add(c *cli, cmd *cobra.Command) {
	limitFlag(cmd, &f.limit, "how many")
	cmd.Flags().StringVar(&f.after, "after", "", "where the page before ended, as it said: the next page")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
}

func (f *listFlags) page() control.Page { return control.Page{After: f.after, Limit: f.limit} }

// nextPage says how to go on, where there is more.
func (c *cli) nextPage(cmd *cobra.Command, next string) {
	if next != "" {
		c.notef("next: %s\n", again(cmd, next))
	}
}

// again is the command line for the next page of a list.
func again(cmd *cobra.Command, next string) string {
	words := append([]string{cmd.CommandPath()}, cmd.Flags().Args()...)
	for _, name := range []string{"source", "state", "plan", "task", "since", "limit"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			words = append(words, "--"+name+" "+flag.Value.String())
		}
	}
	for _, name := range []string{"all", "quiet"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			words = append(words, "--"+name)
		}
	}
	page := "--after "
	if cmd.Flags().Lookup("after") == nil {
		page = "--before "
	}
	return strings.Join(append(words, page+next), " ")
}

func (c *cli) taskListCmd() *cobra.Command {
	var f listFlags
	var q control.TaskQuery
	var state string
	var plan int64
	cmd := &cobra.Command{
		Use: "list", Short: "List tasks: those in hand first, then the queue in its order, then what ended", Args: noArgs,
		Example: "  patra task list --source crossref --state QUEUED\n  patra task list --plan 12 --state FAILED",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.State = harvest.TaskState(strings.ToUpper(state))
			if err := knownState(cmd, q.State, control.TaskOrder); err != nil {
				return err
			}
			q.Plan = harvest.PlanID(plan)
			q.Page = f.page()
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Tasks(cmd.Context(), q)
				if err != nil {
					return err
				}
				return c.showList(list, "tasks", func() {
					c.printTasks(list.Tasks)
					c.nextPage(cmd, list.Next)
				})
			})
		},
	}
	cmd.Flags().StringVar(&q.Source, "source", "", "only of this source")
	cmd.Flags().StringVar(&state, "state", "", "only in this state, such as QUEUED, EXECUTING or FAILED")
	cmd.Flags().Int64Var(&plan, "plan", 0, "only of this plan")
	f.add(c, cmd)
	return cmd
}

// knownState refuses a state that there is not. None is given: all are meant.
func knownState[S ~string](cmd *cobra.Command, state S, known []S) error {
	if state == "" {
		return nil
	}
	words := make([]string, len(known))
	for i, k := range known {
		if k == state {
			return nil
		}
		words[i] = string(k)
	}
	return misuse(cmd, "--state %s is not known: use one of %s", string(state), strings.Join(words, ", "))
}

func (c *cli) printTasks(rows []control.TaskRow) {
	cells := make([][]any, len(rows))
	for i, t := range rows {
		cells[i] = []any{
			t.ID, t.Source, t.Operation, withGlyph(t.Status, control.TaskFamily(t.Status)), t.Plan, partText(t.From, t.To, t.Range), t.PriorityWord, t.Attempts,
			causeCell(t.Cause), waitCell(t.Waiting),
		}
	}
	c.printList([]column{
		{head: "TASK", width: 7},
		{head: "SOURCE", width: 14},
		{head: "OPERATION", spare: true},
		{head: "STATE", width: 10},
		{head: "PLAN", width: 5, spare: true},
		{head: "WINDOW", width: 50, wraps: true},
		{head: "PRIORITY", spare: true},
		{head: "TRIES", right: true, spare: true},
		{head: "CAUSE", wraps: true},
		{head: "WAITS FOR", wraps: true},
	}, cells, "no tasks")
}

// causeCell is the last fault in a list, a dash without one.
func causeCell(k *control.Cause) string {
	if k == nil {
		return "-"
	}
	text := string(k.Code)
	if k.Count > 0 {
		text += ", " + strconv.Itoa(k.Count) + " in a row since " + timeText(k.Since)
	}
	return text
}

// waitCell is what is waited for in a list, a dash if nothing is.
func waitCell(w *control.WaitingFor) string {
	if w == nil {
		return "-"
	}
	text := w.Text + " (" + string(w.Reason) + ")"
	if w.Until != nil {
		text += " until " + timeText(w.Until)
	}
	return text
}

func (c *cli) taskShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show TASK", Short: "Show a task: its lease, its place in the queue, its runs, and why it waits", Args: oneNumber("task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.taskView(cmd, args, func(v control.TaskView) { c.printTask(v) })
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) taskView(cmd *cobra.Command, args []string, words func(control.TaskView)) error {
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	return c.reading(cmd.Context(), func(ctl *control.Control) error {
		v, err := ctl.Task(cmd.Context(), harvest.TaskID(id))
		if err != nil {
			return err
		}
		return c.show(v, func() { words(v) })
	})
}

func (c *cli) printTask(v control.TaskView) {
	state := withGlyph(v.Status, control.TaskFamily(v.Status))
	c.printf("task %d  %s %s  %s  %s\n", v.ID, v.Source, v.Operation, c.text(state), partText(v.From, v.To, v.Range))
	c.printf("  of        plan %d, slice %d, endpoint %s\n", v.Plan, v.Slice, v.Endpoint)
	c.printf("  queue     %s priority, due %s\n", v.PriorityWord, secondText(v.DueAt))
	if v.Ahead != nil {
		c.printf("  place     %s tasks of its partition stand before it\n", countText(*v.Ahead))
	}
	if l := v.Lease; l != nil {
		c.printf("  lease     %s until %s\n", l.Owner, secondText(l.Until))
	}
	if v.Cause != nil {
		c.printf("  cause     %s\n", causeCell(v.Cause))
	}
	if v.Waiting != nil {
		c.printf("  waits     %s\n", waitCell(v.Waiting))
	}
	c.printf("  why       %s\n", v.Why)
	c.printf("  next      %s\n", v.NextStep)
	if len(v.Runs) > 0 {
		c.printRuns(v.Runs)
	}
	if v.MoreRuns {
		c.notef("next: patra run list --task %d\n", v.ID)
	}
}

// secondText is an instant to the second, or a dash.
func secondText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return control.Time(t.Truncate(time.Second)).String()
}

func (c *cli) taskWhyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "why TASK", Short: "Say what a task waits for or why it ended, and what to do next", Args: oneNumber("task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.why(cmd, args, func(ctl *control.Control, id int64) (control.WhyView, error) {
				return ctl.TaskWhy(cmd.Context(), harvest.TaskID(id))
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// why asks what something waits for, and says it.
func (c *cli) why(cmd *cobra.Command, args []string, ask func(*control.Control, int64) (control.WhyView, error)) error {
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	return c.reading(cmd.Context(), func(ctl *control.Control) error {
		v, err := ask(ctl, id)
		if err != nil {
			return err
		}
		return c.show(v, func() {
			c.printf("%s %d is %s. %s\n", v.Kind, v.ID, v.Status, v.Text)
			c.printf("next: %s\n", v.Next)
		})
	})
}
