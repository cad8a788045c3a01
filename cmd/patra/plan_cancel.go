package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
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
			scope, object := sqlstore.CancelScope{Plan: harvest.PlanID(id)}, fmt.Sprintf("plan/%d", id)
			if slice {
				scope, object = sqlstore.CancelScope{Slice: harvest.SliceID(id)}, fmt.Sprintf("slice/%d", id)
			}
			a := c.audit(f.reason)
			a.Action, a.Object = "PLAN_CANCEL", object
			if f.dryRun {
				return c.previewCancel(cmd.Context(), n, scope, a)
			}
			k, err := n.Store.Cancel(cmd.Context(), scope, a)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(map[string]any{"object": object, "slices": k, "applied": true})
			}
			c.printf("%s: %d slices given up\n", object, k)
			return nil
		},
	}
	cmd.Flags().BoolVar(&slice, "slice", false, "the number is that of a slice")
	c.holdFlags(cmd, &f)
	return cmd
}

// previewCancel shows what would be given up, if it would not be refused.
func (c *cli) previewCancel(ctx context.Context, n *node.Node, scope sqlstore.CancelScope, a source.Audit) error {
	k, err := n.Store.TryCancel(ctx, scope, a)
	if err != nil {
		return err
	}
	if scope.Slice != 0 {
		s, err := n.Store.Slice(ctx, scope.Slice)
		if err != nil {
			return err
		}
		if c.json {
			return c.printJSON(map[string]any{"object": a.Object, "status": s.Status, "slices": k, "applied": false})
		}
		c.printf("slice %d would be given up and hold the watermark as a gap (it is %s)\n", scope.Slice, s.Status)
		return nil
	}
	p, err := n.Store.Plan(ctx, scope.Plan)
	if err != nil {
		return err
	}
	sum, err := n.Store.Summary(ctx, p.ID)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(map[string]any{"object": a.Object, "status": p.Status, "slices": k, "applied": false})
	}
	c.printf("plan %d: %d open or failed slices would be given up, %d that are done would stay\n", p.ID, k, sum.Slices.Done)
	return nil
}
