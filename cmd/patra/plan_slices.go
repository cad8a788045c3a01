package main

import (
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) planSlicesCmd() *cobra.Command {
	var f listFlags
	var state, from, to, zoom string
	var groups bool
	cmd := &cobra.Command{
		Use: "slices PLAN", Short: "List the slices of a plan, or sum them up by time with --groups", Args: oneNumber("plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			id := harvest.PlanID(n)
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				if groups {
					m, err := ctl.SliceMatrix(cmd.Context(), control.GroupQuery{Plan: id, From: from, To: to, Zoom: control.Zoom(zoom)})
					if err != nil {
						return err
					}
					return c.showList(m, "groups", func() { c.printGroups(m) })
				}
				list, err := ctl.Slices(cmd.Context(), control.SliceQuery{
					Plan: id, State: harvest.SliceState(strings.ToUpper(state)), From: from, To: to, Page: f.page(),
				})
				if err != nil {
					return err
				}
				return c.showList(list, "slices", func() {
					c.printSlices(list.Slices)
					if list.Next != "" {
						c.notef("there are more: %s\n", again(cmd, list.Next))
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only in this state, such as READY, DONE or FAILED")
	cmd.Flags().StringVar(&from, "from", "", "only those whose windows begin at this instant or later; of an UPDATE a number")
	cmd.Flags().StringVar(&to, "to", "", "only those whose windows begin before this instant")
	cmd.Flags().BoolVar(&groups, "groups", false, "how many are in which state, by year, month, day, hour or minute")
	cmd.Flags().StringVar(&zoom, "zoom", "", "with --groups: how much a group covers (default: what fits)")
	f.add(c, cmd)
	return cmd
}

// printGroups lists groups of slices, a line for each.
func (c *cli) printGroups(m control.SliceMatrix) {
	if len(m.Groups) == 0 {
		c.printf("no slices\n")
		return
	}
	rows := make([][]any, len(m.Groups))
	for i, g := range m.Groups {
		rows[i] = []any{windowText(g.From, g.To), g.Family().Glyph(), g.Done, g.Failed, g.Cancelled, g.Active, g.Waiting, g.Resliced}
	}
	c.table([]column{
		{head: "WINDOW", width: 50, wraps: true},
		{head: ""},
		{head: "DONE"},
		{head: "FAILED"},
		{head: "CANCELLED"},
		{head: "IN HAND"},
		{head: "WAITING"},
		{head: "CUT AGAIN"},
	}, rows)
	for _, s := range m.Uncovered {
		c.printf("no slice answers for %s\n", s.Short())
	}
}
