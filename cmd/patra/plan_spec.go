package main

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) planSpecCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "spec PLAN", Short: "Show the description of its source that a plan froze, and what of it is otherwise now", Args: oneNumber("plan"),
		Example: "  patra plan spec 17",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				s, err := ctl.PlanSpec(cmd.Context(), harvest.PlanID(n))
				if err != nil {
					return err
				}
				return c.show(s, func() { c.printSpec(s) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// printSpec tells what a plan froze: in some lines, then what changed, then in full.
func (c *cli) printSpec(s control.PlanSpec) {
	for _, line := range s.Summary {
		c.printf("%-10s %s\n", line.What, line.Text)
	}
	c.printf("fingerprint %s\n", s.Fingerprint)
	switch {
	case s.Unknown != "":
		c.printf("%s\n", s.Unknown)
	case len(s.Changed) == 0:
		c.printf("the source is described the same now\n")
	}
	for _, v := range s.Changed {
		c.printf("now otherwise: %s\n", v)
	}
	var laid bytes.Buffer
	if json.Indent(&laid, s.Spec, "", "  ") == nil {
		c.printf("%s\n", laid.String())
	}
}
