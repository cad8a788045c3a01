package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) coverageCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "coverage SOURCE",
		Short: "Show which windows of a source are proven complete",
		Args:  oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Coverage(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.showList(list, "namespaces", func() { c.printCoverage(list) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// coverageParts is how many parts of a window are named.
const coverageParts = 4

func (c *cli) printCoverage(list control.CoverageList) {
	code := list.Source
	if len(list.Namespaces) == 0 {
		c.printf("%s: nothing planned yet\nnext: patra harvest %s\n", code, code)
		return
	}
	for _, v := range list.Namespaces {
		c.printf("%s %s %s by %s, watermark %s\n", code, v.Operation, control.ShortNamespace(v.Namespace), v.CursorKey, v.Watermark)
		c.printf("  %-8s %s\n", "query", cmp.Or(v.Query, everything))
		if l := v.LateRate; l != nil {
			word := "unknown: " + l.Reason
			if l.Rate != nil {
				word = fmt.Sprintf("%.2f %% of the new versions of 7 days", 100**l.Rate)
			}
			if l.Cut {
				word += ", by the newest pages of these days: there were many"
			}
			c.printf("  %-8s %s\n", "late", word)
		}
		for _, part := range []struct {
			name string
			list []control.Interval
		}{{"proven", v.Proven}, {"open", v.Open}, {"failed", v.Failed}, {"missing", v.Missing}} {
			for _, i := range part.list {
				c.printf("  %-8s %s", part.name, windowText(i.From, i.To))
				c.printf("%s", partsText(i))
				if i.Reason != "" {
					c.printf("  %s", i.Reason)
				}
				c.printf("\n")
			}
		}
		if v.LookedTo != nil {
			c.printf("  %-8s %s: so many slices lie beyond the watermark that the others were not looked at\n", "looked to", *v.LookedTo)
		}
	}
	if list.More {
		c.notef("there are more namespaces than these %d: patra cursor list --source %s\n", len(list.Namespaces), code)
	}
}

// partsText says which slices of a window are meant, where these are not all.
func partsText(i control.Interval) string {
	n := len(i.Ranges)
	switch {
	case n == 0:
		return ""
	case n == i.Parts:
		return fmt.Sprintf("  in %d parts", n)
	case n > coverageParts:
		return fmt.Sprintf("  %d of %d parts: %s, ...", n, i.Parts, strings.Join(i.Ranges[:coverageParts], ", "))
	}
	return fmt.Sprintf("  %d of %d parts: %s", n, i.Parts, strings.Join(i.Ranges, ", "))
}
