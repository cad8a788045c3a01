package main

import (
	"context"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) planCancelCmd() *cobra.Command {
	var f changeFlags
	var slice bool
	cmd := &cobra.Command{
		Use: "cancel PLAN --reason TEXT", Short: "Give up what a plan has not done yet, or one slice with --slice", Args: oneNumber("plan"),
		Long: "Cancel ends the tasks of a plan that are not done; nothing of a page in flight is stored. What was done stays.\n" +
			"The next harvest plans the window of a cancelled plan again if nothing newer was planned; a single slice stays a\n" +
			"gap, and so holds the watermark, until it is accepted with patra plan accept-gap or queued again with patra plan\n" +
			"retry --cancelled. What a refresh had not read yet is there for the next one, also for the same command again.",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			scope := control.CancelScope{Plan: harvest.PlanID(id)}
			if slice {
				scope = control.CancelScope{Slice: harvest.SliceID(id)}
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				if f.dryRun {
					return c.previewCancel(cmd.Context(), ctl, scope)
				}
				v, err := ctl.Cancel(cmd.Context(), scope, by)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printf("%s: %d slices given up\n", v.Object, v.Slices) })
			})
		},
	}
	cmd.Flags().BoolVar(&slice, "slice", false, "the number is that of a slice")
	f.add(c, cmd)
	return cmd
}

// previewCancel shows what would be given up, if it would not be refused.
func (c *cli) previewCancel(ctx context.Context, ctl *control.Control, scope control.CancelScope) error {
	v, err := ctl.PreviewCancel(ctx, scope)
	if err != nil {
		return err
	}
	return c.show(v, func() {
		if scope.Slice != 0 {
			c.printf("slice %d would be given up and hold the watermark as a gap (it is %s)\n", scope.Slice, v.Status)
		} else {
			c.printf("plan %d: %d open or failed slices would be given up, %d that are done would stay\n", scope.Plan, v.Slices, v.Done)
		}
		c.noteToken(v.Token)
	})
}
