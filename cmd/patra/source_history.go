package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
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
			n, err := c.open(cmd.Context(), 1)
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // nothing was written to it
			con, err := n.Registry.Contents(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			lines, err := n.Store.Audits(cmd.Context(), "source/"+args[0], limit)
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
			if c.json {
				if lines == nil {
					lines = []sqlstore.AuditLine{}
				}
				return c.printJSON(map[string]any{"source": args[0], "at": control.Time(con.ReadAt), "rows": rows, "audit": lines})
			}
			c.printf("%-24s %-14s %5s  %-12s %s\n", "DIMENSION", "SCOPE", "ROW", "STATE", "INTERVAL")
			for _, r := range rows {
				head, scope, to := string(r.Dimension), string(r.Scope), "until further notice"
				if r.Name != "" {
					head += " " + r.Name
				}
				if r.Task != "" {
					scope += " " + r.Task
				}
				if r.To != nil {
					to = r.To.String()
				}
				c.printf("%-24s %-14s %5d  %-12s [%s, %s)", head, scope, r.ID, r.State, r.From, to)
				if r.Supersedes != 0 {
					c.printf(" supersedes %d", r.Supersedes)
				}
				c.printf("\n")
			}
			c.printf("\n")
			c.printAudit(lines)
			return nil
		},
	}
	limitFlag(cmd, &limit, "how many audit lines to show")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printAudit(lines []sqlstore.AuditLine) {
	c.printf("%-24s %-16s %-18s %-20s %s\n", "AT", "WHO", "WHAT", "OBJECT", "WHY")
	for _, l := range lines {
		c.printf("%-24s %-16s %-18s %-20s %s\n", control.Time(l.At).String(), l.Actor, l.Action, l.Object, l.Reason)
	}
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
			n, err := c.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // nothing was written to it
			read := n.Store.Decisions
			if all {
				read = n.Store.Audits
			}
			lines, err := read(cmd.Context(), object, limit)
			if err != nil {
				return err
			}
			if c.json {
				if lines == nil {
					lines = []sqlstore.AuditLine{}
				}
				return c.printJSON(map[string]any{"audit": lines})
			}
			c.printAudit(lines)
			return nil
		},
	}
	list.Flags().StringVar(&object, "object", "", "only lines about one object, such as source/crossref")
	list.Flags().BoolVar(&all, "all", false, "also what patra did by itself: packs applied, lags tuned, picks that were not plain")
	limitFlag(list, &limit, "how many lines to show")
	list.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	verbs(cmd, list)
	return cmd
}
