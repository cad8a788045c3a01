package main

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) sourceListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the sources and what is in force of each", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Sources(cmd.Context(), control.Page{})
				if err != nil {
					return err
				}
				return c.showList(list, "sources", func() { c.printSources(list.Sources) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printSources(list []control.SourceRow) {
	rows := make([][]any, len(list))
	for i, s := range list {
		rows[i] = []any{s.Code, s.Name, s.Origin, s.SourceRows, s.TaskRows, s.NextChange, withGlyph(s.State, control.SourceFamily(s.State)), s.Reason}
	}
	c.table([]column{
		{head: "SOURCE", width: 16},
		{head: "NAME", width: 24, wraps: true},
		{head: "ORIGIN", width: 8, spare: true},
		{head: "SOURCE", right: true, spare: true},
		{head: "TASK", width: 5, right: true, gap: 2, spare: true},
		{head: "NEXT CHANGE", width: 21},
		{head: "STATE", width: 8},
		{head: "REASON", wraps: true},
	}, rows)
}

func (c *cli) sourceShowCmd() *cobra.Command {
	var operation, at string
	var explain bool
	cmd := &cobra.Command{
		Use:     "show CODE",
		Short:   "Show the contract of a source at an instant: each row, why it was picked, its values",
		Example: "  patra source show crossref\n  patra source show crossref --operation backfill --at 2027-01-01\n  patra source show crossref --explain",
		Args:    oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, err := parseOperation(cmd, operation)
			if err != nil {
				return err
			}
			when, err := parseTime("at", at)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				look := ctl.SourceContract
				print := c.printContract
				if explain {
					look = ctl.ExplainSource
					print = c.printPicks
				}
				con, err := look(cmd.Context(), args[0], op, when)
				if err != nil {
					return err
				}
				if err := c.show(con, func() { print(con) }); err != nil {
					return err
				}
				if len(con.Violations) > 0 {
					return exitError(exitUsage)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&operation, "operation", "", "harvest (default), backfill or update")
	cmd.Flags().StringVar(&at, "at", "", "instant, RFC 3339 or a date (UTC); default now")
	cmd.Flags().BoolVar(&explain, "explain", false, "tell, in place of values, the table and row of each part, the rows it was picked over, and why")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// printPicks prints which row each part of a contract was taken from, and why it and
// no other.
func (c *cli) printPicks(con control.SourceContract) {
	c.printf("%s %s  contract at %s\n", con.Source, con.Operation, con.At)
	if con.DescribedFrom != nil {
		c.printf("nothing was described of it yet: its first row begins at %s\n", con.DescribedFrom)
		return
	}
	for _, v := range con.Choices {
		head := strings.TrimSpace(fmt.Sprint(v.Dimension, " ", v.Name))
		c.printf("\n%-24s %-8s %s\n", head, v.From, v.Why)
		c.printf("  table     %s%s\n", v.Table, ofRow(v.Row))
		if v.Begins != nil {
			c.printf("  in force  [%s, %s)\n", v.Begins, endOf(v.Ends))
		}
		for _, p := range v.Passed {
			scope := strings.TrimSpace(p.From + " " + string(p.Task))
			c.printf("  not       row %d (%s): %s\n", p.Row, scope, p.Why)
		}
		if v.PassedMore > 0 {
			c.printf("  not       %s\n", control.Count(v.PassedMore, "older row"))
		}
	}
	for _, v := range con.Credentials {
		c.printf("\n%-24s %-8s %s\n", "credential "+v.Endpoint, v.From, strings.TrimSpace(v.Name+" "+v.Why))
		if v.Row != 0 {
			c.printf("  table     reg_prov_credential%s\n", ofRow(v.Row))
		}
		for _, p := range v.Passed {
			c.printf("  not       row %d (%s): %s\n", p.Row, p.Name, p.Why)
		}
	}
	for _, v := range con.Violations {
		c.printf("error: %s\n", v)
	}
}

// ofRow names a row behind its table; a part that no row is about has none.
func ofRow(id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf(", row %d", id)
}

// endOf is the end of an interval of a row.
func endOf(ends *control.Time) string {
	if ends == nil {
		return "until further notice"
	}
	return ends.String()
}

func (c *cli) printContract(con control.SourceContract) {
	c.printf("%s %s  contract at %s\n", con.Source, con.Operation, con.At)
	if con.DescribedFrom != nil {
		c.printf("nothing was described of it yet: its first row begins at %s\n", con.DescribedFrom)
		return
	}
	for _, s := range con.Summary {
		c.printf("  %-10s %s\n", s.What, s.Text)
	}
	for _, v := range con.Choices {
		head := strings.TrimSpace(fmt.Sprint(v.Dimension, " ", v.Name))
		c.printf("\n%-24s %-8s %s\n", head, v.From, v.Why)
		if v.Begins != nil {
			c.printf("  in force  [%s, %s)\n", v.Begins, endOf(v.Ends))
		}
		for _, x := range v.Values {
			c.printf("  %s: %s\n", x.Path, strings.ReplaceAll(x.Text, "\n", " "))
		}
	}
	if len(con.Thresholds) > 0 {
		c.printf("\nthresholds\n")
	}
	for _, t := range con.Thresholds {
		c.printf("  %-26s %-12s %s\n", t.Key, t.Value, t.Origin)
	}
	c.printf("\nconfig hash       %s\n", con.ConfigHash)
	if con.NextRun != nil {
		c.printf("next run          %s, by patra serve\n", con.NextRun)
	}
	if con.QuietUntil != nil {
		c.printf("left alone        until %s\n", con.QuietUntil)
	}
	if con.Fingerprint != "" {
		c.printf("spec fingerprint  %s\n", con.Fingerprint)
	}
	for _, w := range con.Warnings {
		c.printf("note: %s\n", w)
	}
	for _, v := range con.Violations {
		c.printf("error: %s\n", v)
	}
	if len(con.Violations) > 0 {
		c.notef("patra: the rows in force do not compile for %s: %s [contract_invalid]\n", con.Operation, control.Count(len(con.Violations), "mistake"))
	}
}
