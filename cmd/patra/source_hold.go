package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) sourcePauseCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "pause CODE --reason TEXT", Short: "Take no more work of a source", Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error { return c.hold(cmd, args[0], true, &f, nil) },
	}
	c.holdFlags(cmd, &f)
	return cmd
}

func (c *cli) sourceResumeCmd() *cobra.Command {
	var f changeFlags
	var r resumption
	cmd := &cobra.Command{
		Use: "resume CODE --reason TEXT", Short: "Work on a source again after a pause, or after a fatal fault stopped it", Args: oneSource,
		Long: "Resume ends a pause at once. A source that a fatal fault stopped is checked first, as `patra source check` does,\n" +
			"with one or two requests: it stays stopped if the check fails. --force resumes it all the same.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := r.at.base(); err != nil {
				return err
			}
			return c.hold(cmd, args[0], false, &f, &r)
		},
	}
	c.holdFlags(cmd, &f)
	cmd.Flags().BoolVar(&r.force, "force", false, "resume a stopped source without a check")
	r.at.add(cmd.Flags(), "send the requests of the check to another host: a simulator or mirror")
	return cmd
}

// resumption is how a source that was stopped is resumed.
type resumption struct {
	force bool
	at    standIn // where the check asks
}

// stillStoppedError says that a source was not resumed since its check failed.
type stillStoppedError struct {
	source string
	report *sourcecheck.Report
}

func (e *stillStoppedError) Error() string {
	return fmt.Sprintf("%s stays stopped: its check failed at %s", e.source, e.report.FailedGroup())
}

// Problem implements problem.Error. It lists what failed, with its fix.
func (e *stillStoppedError) Problem() problem.Problem {
	var lines []string
	for _, g := range e.report.Groups {
		for _, k := range g.Checks {
			if k.Status != sourcecheck.Failed {
				continue
			}
			lines = append(lines, k.Text)
			if k.Fix != "" {
				lines = append(lines, "fix: "+k.Fix)
			}
		}
	}
	return problem.Problem{
		Code: "check_failed", Kind: problem.Upstream, Title: e.Error(), Detail: strings.Join(lines, "\n"),
		Next: fmt.Sprintf("mend it and run the same command again; `patra source check %s --show http` shows what was sent and came, "+
			"and patra source resume %s --force --reason TEXT resumes it as it is", e.source, e.source),
	}
}

// mustPass checks a source before it is asked again. One that cannot be harvested
// is checked as it is backfilled.
func (c *cli) mustPass(ctx context.Context, n *node.Node, code string, at standIn) error {
	base, err := at.base()
	if err != nil {
		return err
	}
	var rep *sourcecheck.Report
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill} {
		rep, _, err = n.CheckSource(ctx, node.SourceCheck{Source: code, Operation: op, BaseURL: base})
		if err != nil {
			return err
		}
		if rep.FailedGroup() != sourcecheck.Config {
			break
		}
	}
	if rep.FailedGroup() != "" {
		return &stillStoppedError{code, rep}
	}
	c.notef("%s was checked with %s: all is well\n", code, count(rep.Requests.Sent, "request"))
	return nil
}

func (c *cli) holdFlags(cmd *cobra.Command, f *changeFlags) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the audit")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
}

// hold pauses a source, or resumes it if it is told how. A pause leaves a stop as
// it is.
func (c *cli) hold(cmd *cobra.Command, code string, pause bool, f *changeFlags, r *resumption) error {
	if err := f.need(cmd, true); err != nil {
		return err
	}
	return c.withNode(cmd.Context(), func(ctx context.Context, n *node.Node) error {
		return c.holdSource(ctx, n, code, pause, f, r)
	})
}

func (c *cli) holdSource(ctx context.Context, n *node.Node, code string, pause bool, f *changeFlags, r *resumption) error {
	if err := c.known(ctx, n, code); err != nil {
		return err
	}
	was, err := n.Store.SourceState(ctx, code)
	if err != nil {
		return err
	}
	is := was
	is.Paused, is.Stopped = pause, pause && was.Stopped
	changes := is.Paused != was.Paused || is.Stopped != was.Stopped
	checks := !pause && was.Stopped && !r.force
	if checks && !f.dryRun {
		if err := c.mustPass(ctx, n, code, r.at); err != nil {
			return err
		}
	}
	if changes && !f.dryRun {
		a := c.audit(f.reason)
		if !pause && was.Stopped && r.force {
			a.Reason += " (forced, without a check)"
		}
		a.Action, a.Object = "SOURCE_RESUME", "source/"+code
		if pause {
			a.Action = "SOURCE_PAUSE"
		}
		if err := n.Store.Hold(ctx, code, is.Paused, is.Stopped, a); err != nil {
			return err
		}
	}
	if c.json {
		return c.printJSON(map[string]any{"source": code, "before": holdWord(was), "after": holdWord(is), "applied": changes && !f.dryRun})
	}
	switch {
	case !changes:
		c.printf("%s: is %s already\n", code, holdWord(is))
	case f.dryRun && checks:
		c.printf("%s: %s would become %s if its check passes\n", code, holdWord(was), holdWord(is))
	case f.dryRun:
		c.printf("%s: %s would become %s\n", code, holdWord(was), holdWord(is))
	default:
		c.printf("%s: %s, was %s\n", code, holdWord(is), holdWord(was))
	}
	if was.Reason != "" && changes {
		c.printf("  was held since %s: %s\n", control.Time(was.Since), was.Reason)
	}
	return nil
}

func holdWord(s harvest.SourceState) string {
	switch {
	case s.Stopped:
		return "stopped"
	case s.Paused:
		return "paused"
	}
	return "ready"
}
