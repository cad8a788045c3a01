package main

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) rateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rate", Short: "See how fast sources are asked and may be, and lower it for a time",
		Long: "All requests that share a rate key keep to one rate, over all processes. Its ceiling is declared in the registry; it\n" +
			"gives way by itself when a source complains. A person can lower it for a time, and never raise it above the registry.",
	}
	verbs(cmd, c.rateShowCmd(), c.rateLowerCmd())
	return cmd
}

func (c *cli) rateShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show [SOURCE]", Short: "Show what may be asked now, what was asked, and why it is less than declared", Args: atMostOneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			var code string
			if len(args) > 0 {
				code = args[0]
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Rates(cmd.Context(), code)
				if err != nil {
					return err
				}
				return c.showList(list, "rates", func() { c.printRates(list) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printRates(list control.RateList) {
	if len(list.Rates) == 0 {
		c.printf("nothing was planned yet, so nothing is asked\n")
		return
	}
	cells := make([][]any, len(list.Rates))
	for i, r := range list.Rates {
		why := r.Why
		if why == "" {
			why = "-"
		}
		cells[i] = []any{
			r.Key, strings.Join(r.Sources, ", "), perSecond(r.Limit), perSecond(r.Allowed), fmt.Sprintf("%.1f", r.Used), r.HTTP429, seatsText(r),
			quotaText(&control.RateStatus{Quotas: r.Quotas}), causeCell(r.Cause), why,
		}
	}
	c.table([]column{
		{head: "KEY", width: 14},
		{head: "SOURCES", width: 14, wraps: true, spare: true},
		{head: "DECLARED/S", right: true},
		{head: "ALLOWED/S", right: true},
		{head: "USED/S", right: true, spare: true},
		{head: "429/MIN", right: true, spare: true},
		{head: "IN FLIGHT", right: true, spare: true},
		{head: "QUOTA LEFT", spare: true},
		{head: "CAUSE", wraps: true},
		{head: "WHY LESS", wraps: true},
	}, cells)
}

// perSecond is a rate; 0 stands for none.
func perSecond(n float64) string {
	if n == 0 {
		return "no limit"
	}
	return fmt.Sprintf("%.3g", n)
}

func seatsText(r control.RateRow) string {
	if r.Seats == 0 {
		return fmt.Sprint(r.InFlight)
	}
	return fmt.Sprintf("%d of %d", r.InFlight, r.Seats)
}

func (c *cli) rateLowerCmd() *cobra.Command {
	var f changeFlags
	var o control.LowerOrder
	var length string
	cmd := &cobra.Command{
		Use: "lower SOURCE --to N --for DURATION --reason TEXT", Short: "Ask a source less for a time, at most N requests a second", Args: oneSource,
		Long: "Lower sets a ceiling below the declared one. It holds for all processes at once and ends by itself; --lift ends it\n" +
			"before. What a source asked for with Retry-After stays as it is. Sources that share the rate key are lowered with it;\n" +
			"--dry-run names them.",
		Example: "  patra rate lower crossref --to 0.5 --for 2h --reason 'they asked us to'\n  patra rate lower crossref --lift --reason 'all is well again'",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			if !o.Lift && (!cmd.Flags().Changed("to") || length == "") {
				return misuse(cmd, "lower needs --to N, in requests a second, and --for DURATION, such as 2h")
			}
			if length != "" {
				d, err := control.ParseDuration(length)
				if err != nil {
					return misuse(cmd, "--for %q is no length of time, such as 2h or 3d", length)
				}
				o.For = d
			}
			o.By = by
			o.Source = args[0]
			o.DryRun = f.dryRun
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.LowerRate(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printLowered(v) })
			})
		},
	}
	cmd.Flags().Float64Var(&o.To, "to", 0, "requests a second, less than declared")
	cmd.Flags().StringVar(&length, "for", "", "how long, such as 30m, 2h or 3d")
	cmd.Flags().BoolVar(&o.Lift, "lift", false, "let the declared ceiling hold again now")
	f.add(c, cmd)
	return cmd
}

func (c *cli) printLowered(v control.RateChange) {
	if !v.Changes {
		c.printf("%s: the declared rate holds, nobody lowered it\n", v.Source)
		return
	}
	for _, k := range v.Keys {
		word := "is"
		if !v.Applied {
			word = "would be"
		}
		c.printf("%s: %s %s a second of %s declared", k.Key, word, perSecond(k.To), perSecond(k.Limit))
		if k.Before != nil {
			c.printf(", was lowered to %s until %s", perSecond(k.Before.To), timeText(&k.Before.Until))
		}
		c.printf("; it is the rate of %s\n", strings.Join(k.Sources, ", "))
	}
	if v.Until != nil {
		c.printf("until %s\n", timeText(v.Until))
	}
	if v.Token != "" {
		c.notef("next: the same with --apply %s --reason TEXT instead of --dry-run\n", v.Token)
	}
}
