package main

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) printAudit(lines []control.AuditLine) {
	rows := make([][]any, len(lines))
	for i, l := range lines {
		rows[i] = []any{control.Time(l.At), l.Actor, l.Action, l.Object, l.Reason}
	}
	c.table([]column{
		{head: "AT", width: 24},
		{head: "WHO", width: 16},
		{head: "WHAT", width: 18},
		{head: "OBJECT", width: 20},
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
		Use: "list", Short: "List the newest of what people did, or with --all of all lines", Args: noArgs,
		Example: "  patra audit list --object source/crossref",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Audit(cmd.Context(), control.AuditQuery{Object: object, All: all, Limit: limit})
				if err != nil {
					return err
				}
				return c.showList(v, "audit", func() { c.printAudit(v.Audit) })
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
