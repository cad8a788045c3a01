package main

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) queueCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "queue", Short: "See what waits and runs, and why it waits"}
	var op string
	show := &cobra.Command{
		Use: "show [SOURCE]", Short: "Show the queue by source, endpoint and operation, and who works on it", Args: atMostOneSource,
		Long: "Show lists partitions, each one source, endpoint and operation: first those of which something may be taken, the next\n" +
			"in turn first, then those that wait. CAUSE is what the source said last while it has not answered since, WAITS FOR is\n" +
			"what has to happen before work goes on. Below stand the workers with tasks in hand.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var code string
			if len(args) > 0 {
				code = args[0]
			}
			var operation harvest.Operation
			if op != "" {
				var err error
				operation, err = parseOperation(cmd, op)
				if err != nil {
					return err
				}
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				q, err := ctl.Queue(cmd.Context(), code, operation)
				if err != nil {
					return err
				}
				return c.showList(q, "partitions", func() { c.printQueue(q) })
			})
		},
	}
	show.Flags().StringVar(&op, "operation", "", "only of this operation: HARVEST, BACKFILL or UPDATE")
	show.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	verbs(cmd, show)
	return cmd
}

func (c *cli) printQueue(q control.Queue) {
	if len(q.Partitions) == 0 {
		c.printf("nothing waits and nothing runs, at %s\n", q.At)
		return
	}
	cells := make([][]any, len(q.Partitions))
	for i, p := range q.Partitions {
		cells[i] = []any{
			p.Source, p.Endpoint, p.Operation, countText(control.Counted{Count: p.Queued, More: p.QueuedCapped}), p.Due, p.Running, timeOrDash(p.Oldest),
			p.LastMinute.Stored, p.LastMinute.Failed, p.LastMinute.HTTP429, causeCell(p.Cause), waitCell(p.Waiting),
		}
	}
	c.table([]column{
		{head: "SOURCE", width: 14},
		{head: "ENDPOINT", width: 10, spare: true},
		{head: "OPERATION"},
		{head: "QUEUED", right: true},
		{head: "DUE", right: true, spare: true},
		{head: "RUNNING", right: true},
		{head: "OLDEST DUE", width: 21, spare: true},
		{head: "PAGES/MIN", right: true, spare: true},
		{head: "FAILED/MIN", right: true, spare: true},
		{head: "429/MIN", right: true, spare: true},
		{head: "CAUSE", wraps: true},
		{head: "WAITS FOR", wraps: true},
	}, cells)
	for _, w := range q.Workers {
		c.printf("%s has %s in hand, leased until %s", w.Owner, control.Count(int(w.Tasks), "task"), timeText(&w.Until))
		if w.Expired > 0 {
			c.printf("; %d leases ran out", w.Expired)
		}
		c.printf("\n")
	}
}

// timeOrDash is an instant in a table.
func timeOrDash(t *control.Time) string {
	if t == nil {
		return "-"
	}
	return timeText(t)
}
