package main

import (
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) sourcePauseCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "pause CODE --reason TEXT", Short: "Take no more work of a source", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error { return c.hold(cmd, args[0], true, &f) },
	}
	c.holdFlags(cmd, &f)
	return cmd
}

func (c *cli) sourceResumeCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "resume CODE --reason TEXT", Short: "Work on a source again after a pause, or after a fatal fault stopped it", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error { return c.hold(cmd, args[0], false, &f) },
	}
	c.holdFlags(cmd, &f)
	return cmd
}

func (c *cli) holdFlags(cmd *cobra.Command, f *changeFlags) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the audit")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
}

// hold pauses or resumes a source. A pause leaves a stop as it is.
func (c *cli) hold(cmd *cobra.Command, code string, pause bool, f *changeFlags) error {
	if err := f.need(cmd, true); err != nil {
		return err
	}
	n, err := c.open(cmd.Context(), 1)
	if err != nil {
		return err
	}
	defer n.Close() //nolint:errcheck // everything is committed
	if err := c.known(cmd.Context(), n, code); err != nil {
		return err
	}
	was, err := n.Store.SourceState(cmd.Context(), code)
	if err != nil {
		return err
	}
	is := was
	is.Paused, is.Stopped = pause, pause && was.Stopped
	changes := is.Paused != was.Paused || is.Stopped != was.Stopped
	if changes && !f.dryRun {
		a := c.audit(f.reason)
		a.Action, a.Object = "SOURCE_RESUME", "source/"+code
		if pause {
			a.Action = "SOURCE_PAUSE"
		}
		if err := n.Store.Hold(cmd.Context(), code, is.Paused, is.Stopped, a); err != nil {
			return err
		}
	}
	if c.json {
		return c.printJSON(map[string]any{"source": code, "before": holdWord(was), "after": holdWord(is), "applied": changes && !f.dryRun})
	}
	switch {
	case !changes:
		c.printf("%s: is %s already\n", code, holdWord(is))
	case f.dryRun:
		c.printf("%s: %s would become %s\n", code, holdWord(was), holdWord(is))
	default:
		c.printf("%s: %s, was %s\n", code, holdWord(is), holdWord(was))
	}
	if was.Reason != "" && changes {
		c.printf("  was held since %s: %s\n", node.Time(was.Since), was.Reason)
	}
	return nil
}

func holdWord(s sqlstore.SourceState) string {
	switch {
	case s.Stopped:
		return "stopped"
	case s.Paused:
		return "paused"
	}
	return "ready"
}
