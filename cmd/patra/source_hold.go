package main

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) sourcePauseCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "pause CODE[/ENDPOINT] --reason TEXT", Short: "Take no more work of a source, or through one endpoint of it", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.hold(cmd, args[0], &f, func(ctl *control.Control, o control.HoldOrder) (control.SourceHold, error) {
				return ctl.PauseSource(cmd.Context(), o)
			})
		},
	}
	f.add(c, cmd)
	return cmd
}

func (c *cli) sourceResumeCmd() *cobra.Command {
	var f changeFlags
	var how control.Resumption
	var stand standIn
	cmd := &cobra.Command{
		Use: "resume CODE[/ENDPOINT] --reason TEXT", Short: "Work on a source again after a pause, or after a fatal fault stopped it", Args: oneSource,
		Long: "Resume ends a pause at once. A source that a fatal fault stopped is checked first, as `patra source check` does,\n" +
			"with one or two requests: it stays stopped if the check fails. --force resumes it all the same.",
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := stand.base()
			if err != nil {
				return err
			}
			how.BaseURL = base
			return c.hold(cmd, args[0], &f, func(ctl *control.Control, o control.HoldOrder) (control.SourceHold, error) {
				return ctl.ResumeSource(cmd.Context(), o, how)
			})
		},
	}
	f.add(c, cmd)
	cmd.Flags().BoolVar(&how.Force, "force", false, "resume a stopped source without a check")
	stand.add(cmd.Flags(), "send the requests of the check to another host: a simulator or mirror")
	return cmd
}

// hold pauses or resumes a source, and says what became of it.
func (c *cli) hold(cmd *cobra.Command, code string, f *changeFlags, do func(*control.Control, control.HoldOrder) (control.SourceHold, error)) error {
	by, err := f.by(c, cmd)
	if err != nil {
		return err
	}
	return c.changing(cmd.Context(), func(ctl *control.Control) error {
		h, err := do(ctl, control.HoldOrder{By: by, Source: code, DryRun: f.dryRun})
		if err != nil {
			return err
		}
		if h.Checks && !f.dryRun {
			c.notef("%s was checked with %s: all is well\n", code, control.Count(h.Requests, "request"))
		}
		return c.show(h, func() {
			c.printHold(h, f.dryRun)
			c.noteToken(h.Token)
		})
	})
}

func (c *cli) printHold(h control.SourceHold, dryRun bool) {
	switch {
	case !h.Changes:
		c.printf("%s: is %s already\n", h.Source, h.After)
	case dryRun && h.Checks:
		c.printf("%s: %s would become %s if its check passes\n", h.Source, h.Before, h.After)
	case dryRun:
		c.printf("%s: %s would become %s\n", h.Source, h.Before, h.After)
	default:
		c.printf("%s: %s, was %s\n", h.Source, h.After, h.Before)
	}
	if h.Reason != "" && h.Changes {
		c.printf("  was held since %s: %s\n", h.Since, h.Reason)
	}
}
