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
	"github.com/papertrace/patra/internal/infra/sqlstore"
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
	if lines == nil {
		lines = []sqlstore.AuditLine{}
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

func (c *cli) printAudit(lines []sqlstore.AuditLine) {
	rows := make([][]any, len(lines))
	for i, l := range lines {
		rows[i] = []any{control.Time(l.At), l.Actor, l.Action, l.Object, l.Reason}
	}
	c.table([]column{
		{head: "AT", width: 23},
		{head: "WHO", width: 15},
		{head: "WHAT", width: 17},
		{head: "OBJECT", width: 19},
		{head: "WHY", wraps: true},
	}, rows)
}

func (c *cli) auditCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Who changed what, when and why",
	}
	var object string
	var all bool
	var limit int
	list := &cobra.Command{
		Use: "list", Short: "List the newest of what people did, or with --all of all lines", Example: "  patra audit list --object source/crossref", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withReader(cmd.Context(), func(ctx context.Context, n *node.Node) error {
				read := n.Store.Decisions
				if all {
					read = n.Store.Audits
				}
				lines, err := read(ctx, object, limit)
				if err != nil {
					return err
				}
				if lines == nil {
					lines = []sqlstore.AuditLine{}
				}
				return c.show(map[string]any{"audit": lines}, func() { c.printAudit(lines) })
			})
		},
	}
	list.Flags().StringVar(&object, "object", "", "only lines about one object, such as source/crossref")
	list.Flags().BoolVar(&all, "all", false, "also what patra did by itself: packs applied, lags tuned, picks that were not plain")
	limitFlag(list, &limit, "how many lines to show")
	list.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	verbs(cmd, list)
	return cmd
}
