package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) planCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "plan", Short: "Plan, and look after what was planned: slices, gaps, retries"}
	verbs(cmd, c.planCreateCmd(), c.planListCmd(), c.planShowCmd(), c.planSlicesCmd(), c.planSpecCmd(), c.planGapsCmd(), c.planRetryCmd(), c.planAcceptCmd(), c.planCancelCmd())
	return cmd
}

func (c *cli) planGapsCmd() *cobra.Command {
	var f listFlags
	var all bool
	cmd := &cobra.Command{
		Use: "gaps SOURCE", Short: "List the windows that hold the watermark", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			page := f.page()
			if folded := !all && !c.json; folded && !cmd.Flags().Changed("limit") {
				page.Limit = foldedGaps
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Gaps(cmd.Context(), args[0], page)
				if err != nil {
					return err
				}
				return c.showList(list, "gaps", func() {
					c.printGapList(list, all)
					if list.Next != "" {
						c.notef("there are more: %s\n", again(cmd, list.Next))
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "each window by itself, instead of those with one reason together")
	f.add(c, cmd)
	return cmd
}

func (c *cli) printGapList(list control.GapList, all bool) {
	switch {
	case len(list.Gaps) == 0 && list.Next == "":
		c.printf("%s: no gaps\n", list.Source)
	default:
		if all {
			c.printGaps(list.Gaps)
		} else {
			c.printGapKinds(list.Kinds)
		}
		c.notef("next: %s\n", list.Mends())
	}
}

// foldedGaps is how many gaps are read to be told by their reasons, a line for each.
const foldedGaps = 2000

// shownGaps is how many gaps are printed for people to read.
const shownGaps = 100

// shown are the first of many gaps, and says so.
func (c *cli) shown(gaps []control.Gap) []control.Gap {
	if len(gaps) <= shownGaps {
		return gaps
	}
	c.printf("the first %d of %d gaps; --json lists all of them\n", shownGaps, len(gaps))
	return gaps[:shownGaps]
}

// printGaps lists gaps one by one.
func (c *cli) printGaps(gaps []control.Gap) {
	rows := make([][]any, len(gaps))
	for i, g := range gaps {
		rows[i] = gapCells(g)
	}
	c.table(gapColumns, rows)
}

// printGapKinds lists the first gap of each kind, and how many are like it.
func (c *cli) printGapKinds(kinds []control.GapKind) {
	var rows [][]any
	for _, k := range kinds {
		rows = append(rows, gapCells(k.First))
		if k.Count > 1 {
			rows = append(rows, []any{"", fmt.Sprintf("and %d more, same reason", k.Count-1), "", "", ""})
		}
	}
	c.table(gapColumns, rows)
}

var gapColumns = []column{
	{head: "SLICE", width: 8}, {head: "WINDOW", width: 50}, {head: "STATE", width: 10}, {head: "TRIED AGAIN", width: 22}, {head: "REASON", wraps: true},
}

func gapCells(g control.Gap) []any {
	at := "-"
	if !g.RetryAt.IsZero() {
		at = control.Time(g.RetryAt).String()
	}
	return []any{g.Slice, partText(g.From, g.To, g.Range), sliceState(harvest.SliceState(g.Status)), at, g.Reason}
}

// sliceState is the state of a slice in a list.
func sliceState(s harvest.SliceState) stated { return withGlyph(s, control.SliceFamily(s)) }

func (c *cli) planRetryCmd() *cobra.Command {
	var f changeFlags
	var cancelled bool
	cmd := &cobra.Command{
		Use: "retry SOURCE --reason TEXT", Short: "Queue the failed slices of a source again at once", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				if f.dryRun {
					v, err := ctl.PreviewRetry(cmd.Context(), args[0], cancelled)
					if err != nil {
						return err
					}
					return c.show(v, func() {
						c.printf("%s: %d slices would be queued again\n", v.Source, v.Slices)
						c.printGapKinds(control.FoldGaps(v.Gaps))
						c.noteToken(v.Token)
					})
				}
				v, err := ctl.Retry(cmd.Context(), args[0], cancelled, by)
				if err != nil {
					return err
				}
				return c.show(v, func() {
					c.printf("%s: %d slices queued again\n", v.Source, v.Slices)
					c.notef("next: patra serve executor, which works on all that is queued; or run again the command that had them planned\n")
				})
			})
		},
	}
	cmd.Flags().BoolVar(&cancelled, "cancelled", false, "also slices that were cancelled one by one")
	f.add(c, cmd)
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
			return misuse(cmd, "accept-gap takes the number of a slice, as patra plan gaps shows it")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				return c.acceptGap(cmd.Context(), ctl, harvest.SliceID(id), by, f.dryRun)
			})
		},
	}
	f.add(c, cmd)
	return cmd
}

func (c *cli) acceptGap(ctx context.Context, ctl *control.Control, id harvest.SliceID, by control.By, dryRun bool) error {
	if dryRun {
		v, err := ctl.PreviewAccept(ctx, id)
		if err != nil {
			return err
		}
		return c.show(v, func() {
			c.printf("slice %d would count as read, and the watermark would be %s; what lies in %s would never be asked for by this harvest\n",
				id, v.Watermark, partText(v.Slice.From, v.Slice.To, v.Slice.Range))
			c.noteToken(v.Token)
		})
	}
	v, err := ctl.AcceptGap(ctx, id, by)
	if err != nil {
		return err
	}
	return c.show(v, func() { c.printf("slice %d: gap accepted, watermark is %s\n", v.Slice, v.Watermark) })
}
