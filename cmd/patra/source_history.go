package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

type rowView struct {
	Dimension  source.Dimension `json:"dimension"`
	Name       string           `json:"name,omitempty"`
	Scope      source.Scope     `json:"scope"`
	Task       string           `json:"task,omitempty"`
	ID         int64            `json:"id"`
	From       control.Time     `json:"effective_from"`
	To         *control.Time    `json:"effective_to"`
	Supersedes int64            `json:"supersedes,omitempty"`
	State      string           `json:"state"`
}

// rowState says where a row stands at an instant.
func rowState(r source.Row, at time.Time) string {
	switch {
	case r.Never():
		return "taken back"
	case r.From.After(at):
		return "scheduled"
	case r.InForce(at):
		return "in force"
	}
	return "ended"
}

func (c *cli) sourceHistoryCmd() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "history CODE", Short: "Show the rows of a source over time, and who changed them", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withNode(cmd.Context(), func(ctx context.Context, n *node.Node) error {
				return c.sourceHistory(ctx, n, args[0], limit)
			})
		},
	}
	limitFlag(cmd, &limit, "how many audit lines to show")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) sourceHistory(ctx context.Context, n *node.Node, code string, limit int) error {
	con, err := n.Registry.Contents(ctx, code)
	if err != nil {
		return err
	}
	lines, err := n.Store.Audits(ctx, "source/"+code, limit)
	if err != nil {
		return err
	}
	rows := []rowView{}
	for _, r := range con.Rows {
		rows = append(rows, rowView{
			Dimension: r.Dimension, Name: r.Name, Scope: r.Scope, Task: string(r.Task), ID: r.ID, From: control.Time(r.From), To: optional(r.To),
			Supersedes: r.Supersedes, State: rowState(r, con.ReadAt),
		})
	}
	slices.SortStableFunc(rows, func(a, b rowView) int {
		return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Task, b.Task),
			time.Time(a.From).Compare(time.Time(b.From)), cmp.Compare(a.ID, b.ID))
	})
	return c.show(map[string]any{"source": code, "at": control.Time(con.ReadAt), "rows": rows, "audit": lines}, func() {
		c.printRows(rows)
		c.printf("\n")
		c.printAudit(lines)
	})
}

// rowFamilies are the families of where a row stands.
var rowFamilies = map[string]control.Family{
	"in force": control.OK, "scheduled": control.Waiting, "ended": control.Off, "taken back": control.Off,
}

func (c *cli) printRows(rows []rowView) {
	var cells [][]any
	for _, r := range rows {
		head := strings.TrimSpace(string(r.Dimension) + " " + r.Name)
		scope := strings.TrimSpace(string(r.Scope) + " " + r.Task)
		to := "until further notice"
		if r.To != nil {
			to = r.To.String()
		}
		interval := fmt.Sprintf("[%s, %s)", r.From, to)
		if r.Supersedes != 0 {
			interval += fmt.Sprintf(" supersedes %d", r.Supersedes)
		}
		cells = append(cells, []any{head, scope, r.ID, withGlyph(r.State, rowFamilies[r.State]), interval})
	}
	c.table([]column{
		{head: "DIMENSION", width: 23},
		{head: "SCOPE", width: 13},
		{head: "ROW", width: 5, right: true},
		{head: "STATE", width: 11},
		{head: "INTERVAL", wraps: true},
	}, cells)
}
