package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) reportCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "report", Short: "Write a report for others"}
	verbs(cmd, c.reportSearchCmd("search NAME"))
	return cmd
}

// reportSearchCmd writes the report of a search.
func (c *cli) reportSearchCmd(use string) *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use: use, Short: "Write what a search has to tell for a review: PRISMA-S facts, PRISMA 2020 numbers and flow", Args: oneSearch,
		Long: "The report tells of a search as of its last run: for each source what was asked as it was sent, of whom, when, and how\n" +
			"many records were announced, received, filtered, received again, put aside and kept, over all runs; and the numbers and the\n" +
			"flow diagram of PRISMA 2020, whose boxes begin with what was received and end with what an export without doubles writes.\n" +
			"It needs nothing but itself, runs nothing, and the same store gives the same bytes. Numbers that do not add up are an error.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case c.json && c.form != asJSON:
				return misuse(cmd, "-o %s: a report is written in a format of its own: use --format with %s", c.form, strings.Join(control.ReportFormats(), ", "))
			case c.json:
				format = "json"
			}
			if !slices.Contains(control.ReportFormats(), format) {
				return misuse(cmd, "--format %q is not known: use %s", format, strings.Join(control.ReportFormats(), ", "))
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				r, err := ctl.SearchReport(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				b, err := r.Write(format)
				if err != nil {
					return err
				}
				return writeOut(c.out, out, func(w io.Writer) error {
					_, err := w.Write(b)
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "md", strings.Join(control.ReportFormats(), ", "))
	cmd.Flags().StringVar(&out, "out", "-", "file, or - for stdout")
	cmd.Flags().BoolVar(&c.json, "json", false, "the same as --format json")
	return cmd
}

func (c *cli) searchCountCmd() *cobra.Command {
	var stands []string
	cmd := &cobra.Command{
		Use: "count NAME", Short: "Ask each source of a search once how many records it has of it", Args: oneSearch,
		Example: "  patra search count insulin",
		RunE: func(cmd *cobra.Command, args []string) error {
			hosts, err := parseStandIns(stands)
			if err != nil {
				return err
			}
			return c.countSearch(cmd.Context(), args[0], hosts)
		},
	}
	cmd.Flags().StringArrayVar(&stands, "base-url", nil, "send the request for a source to another host, SOURCE=URL: a simulator or mirror")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// countSearch asks the sources of a search how many records each has of it.
func (c *cli) countSearch(ctx context.Context, name string, hosts map[string]string) error {
	return c.changing(ctx, func(ctl *control.Control) error {
		v, err := ctl.CountSearch(ctx, name, hosts)
		if err != nil {
			return err
		}
		return c.showList(v, "sources", func() { c.printSearchCounts(v) })
	})
}

func (c *cli) printSearchCounts(v control.SearchCounts) {
	cells := make([][]any, len(v.Sources))
	for i, s := range v.Sources {
		n := "-"
		if s.Count != nil {
			n = fmt.Sprint(*s.Count)
		}
		cells[i] = []any{s.Source, n, strings.Join(s.FilteredHere, "; "), s.Note}
	}
	c.table([]column{{head: "SOURCE", width: 16}, {head: "RECORDS"}, {head: "FILTERED HERE", wraps: true}, {head: "NOTE", wraps: true}}, cells)
}

func (c *cli) searchScheduleCmd() *cobra.Command {
	var f changeFlags
	var o control.SearchScheduleOrder
	cmd := &cobra.Command{
		Use: "schedule NAME --cron LINE --reason TEXT", Short: "Have patra serve ask the sources of a search by itself", Args: oneSearch,
		Long: "Schedule sets one schedule for each source of the search, named NAME.SOURCE, with the query of the search. Each goes on\n" +
			"from where the search stands, so it has to be run once before; what they find is new in the next run of the search.",
		Example: "  patra search schedule insulin --cron @daily --reason 'keep the review fresh'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Cron == "" {
				return misuse(cmd, "schedule needs --cron LINE, such as @daily or '15 4 * * *'")
			}
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			o.Name = args[0]
			o.By = by
			o.DryRun = f.dryRun
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.ScheduleSearch(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.showList(v, "schedules", func() {
					for _, s := range v.Schedules {
						c.printScheduleChange("set", s)
					}
					c.noteToken(v.Token)
				})
			})
		},
	}
	cmd.Flags().StringVar(&o.Cron, "cron", "", "when they begin: five fields such as '15 4 * * mon-fri', or @hourly, @daily, @weekly, @monthly")
	cmd.Flags().StringVar(&o.Zone, "zone", "UTC", "time zone of the line")
	f.add(c, cmd)
	return cmd
}
