package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/spf13/cobra"
)

func (c *cli) planCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "plan", Short: "Plan, and look after what was planned: slices, gaps, retries"}
	verbs(cmd, c.planCreateCmd(), c.planListCmd(), c.planShowCmd(), c.planGapsCmd(), c.planRetryCmd(), c.planAcceptCmd(), c.planCancelCmd())
	return cmd
}

func (c *cli) planGapsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "gaps SOURCE", Short: "List the windows that hold the watermark", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := c.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // nothing was written to it
			if err := c.known(cmd.Context(), n, args[0]); err != nil {
				return err
			}
			gaps, err := n.Store.Gaps(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(map[string]any{"source": args[0], "gaps": gaps})
			}
			if len(gaps) == 0 {
				c.printf("%s: no gaps\n", args[0])
				return nil
			}
			c.printGaps(gaps)
			c.notef("next: patra plan retry %s, or patra plan accept-gap SLICE --reason TEXT\n", args[0])
			return nil
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// shownGaps is how many gaps are printed for people to read.
const shownGaps = 100

// shown are the first of many gaps, and says so.
func (c *cli) shown(gaps []sqlstore.Gap) []sqlstore.Gap {
	if len(gaps) <= shownGaps {
		return gaps
	}
	c.printf("the first %d of %d gaps; --json lists all of them\n", shownGaps, len(gaps))
	return gaps[:shownGaps]
}

func (c *cli) printGaps(gaps []sqlstore.Gap) {
	gaps = c.shown(gaps)
	wide := 50
	for _, g := range gaps {
		wide = max(wide, len(partText(g.From, g.To, g.Range)))
	}
	c.printf("%-8s %-*s %-10s %-22s %s\n", "SLICE", wide, "WINDOW", "STATE", "TRIED AGAIN", "REASON")
	for _, g := range gaps {
		at := "-"
		if !g.RetryAt.IsZero() {
			at = control.Time(g.RetryAt).String()
		}
		c.printf("%-8d %-*s %-10s %-22s %s\n", g.Slice, wide, partText(g.From, g.To, g.Range), g.Status, at, g.Reason)
	}
}

func (c *cli) planRetryCmd() *cobra.Command {
	var f changeFlags
	var cancelled bool
	cmd := &cobra.Command{
		Use: "retry SOURCE --reason TEXT", Short: "Queue the failed slices of a source again at once", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.need(cmd, true); err != nil {
				return err
			}
			n, err := c.open(cmd.Context(), 1)
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // everything is committed
			if err := c.known(cmd.Context(), n, args[0]); err != nil {
				return err
			}
			if f.dryRun {
				gaps, err := n.Store.Gaps(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				gaps = slices.DeleteFunc(gaps, func(g sqlstore.Gap) bool {
					return g.Whole || g.Status != string(harvest.SliceFailed) && !cancelled
				})
				if c.json {
					return c.printJSON(map[string]any{"source": args[0], "gaps": gaps, "slices": len(gaps), "applied": false})
				}
				c.printf("%s: %d slices would be queued again\n", args[0], len(gaps))
				c.printGaps(gaps)
				return nil
			}
			a := c.audit(f.reason)
			a.Action, a.Object = "PLAN_RETRY", "source/"+args[0]
			k, err := n.Store.RetryGaps(cmd.Context(), args[0], cancelled, a)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(map[string]any{"source": args[0], "slices": k, "applied": true})
			}
			c.printf("%s: %d slices queued again\n", args[0], k)
			c.notef("next: patra serve executor, which works on all that is queued; or run again the command that had them planned\n")
			return nil
		},
	}
	cmd.Flags().BoolVar(&cancelled, "cancelled", false, "also slices that were cancelled one by one")
	c.holdFlags(cmd, &f)
	return cmd
}

func (c *cli) planAcceptCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "accept-gap SLICE --reason TEXT", Short: "Let the watermark pass a window that will not be read",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if _, err := strconv.ParseInt(args[0], 10, 64); err == nil {
					return nil
				}
			}
			return &usageError{cmd: cmd.CommandPath(), err: errors.New("accept-gap takes the number of a slice, as patra plan gaps shows it")}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.need(cmd, true); err != nil {
				return err
			}
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			n, err := c.open(cmd.Context(), 1)
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // everything is committed
			if f.dryRun {
				w, err := n.Store.TryAcceptGap(cmd.Context(), harvest.SliceID(id))
				if err != nil {
					return err
				}
				s, err := n.Store.Slice(cmd.Context(), harvest.SliceID(id))
				if err != nil {
					return err
				}
				if c.json {
					return c.printJSON(map[string]any{"slice": s, "watermark": w, "applied": false})
				}
				c.printf("slice %d would count as read, and the watermark would be %s; what lies in %s would never be asked for by this harvest\n", id, w, partText(s.From, s.To, s.Range))
				return nil
			}
			a := c.audit(f.reason)
			a.Action, a.Object = "GAP_ACCEPT", fmt.Sprintf("slice/%d", id)
			w, err := n.Store.AcceptGap(cmd.Context(), harvest.SliceID(id), a)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(map[string]any{"slice": id, "watermark": w, "applied": true})
			}
			c.printf("slice %d: gap accepted, watermark is %s\n", id, w)
			return nil
		},
	}
	c.holdFlags(cmd, &f)
	return cmd
}
