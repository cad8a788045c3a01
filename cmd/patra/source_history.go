package main

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) sourceHistoryCmd() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "history CODE", Short: "Show the rows of a source over time, and who changed them", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				history, err := ctl.SourceHistory(cmd.Context(), args[0], limit)
				if err != nil {
					return err
				}
				return c.showList(history, "audit", func() {
					c.printRows(history.Rows)
					c.printf("\n")
					c.printAudit(history.Audit)
				})
			})
		},
	}
	limitFlag(cmd, &limit, "how many audit lines to show")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printRows(rows []control.RegistryRow) {
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
		cells = append(cells, []any{head, scope, r.ID, withGlyph(r.State, control.RowFamily(r.State)), interval})
	}
	c.table([]column{
		{head: "DIMENSION", width: 24},
		{head: "SCOPE", width: 14},
		{head: "ROW", width: 5, right: true, gap: 2},
		{head: "STATE", width: 12},
		{head: "INTERVAL", wraps: true},
	}, cells)
}
