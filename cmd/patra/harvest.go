package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (c *cli) harvestCmd() *cobra.Command {
	return c.runCmd(harvest.Harvest, &cobra.Command{
		Use:   "harvest SOURCE",
		Short: "Bring the store up to date with a source",
		Long: "Harvest plans the window from where the last harvest ended up to now less the source's safety lag,\n" +
			"and works in the foreground until nothing of it is left. Run again it goes on where it stopped.",
		Example: "  patra harvest crossref\n  patra harvest pubmed --from 2026-01-01 --json",
	})
}

func (c *cli) backfillCmd() *cobra.Command {
	return c.runCmd(harvest.Backfill, &cobra.Command{
		Use:   "backfill SOURCE --from T --to T",
		Short: "Fill a window of history, newest first, without disturbing the harvest",
		Long: "Backfill reads [from, to) in an activity of its own, newest slices first. Run again it goes on where it\n" +
			"stopped; the same activity with an earlier --from goes further back; a new --activity reads it all again.",
		Example: "  patra backfill pubmed --from 2020-01-01 --to 2021-01-01",
	})
}

// runCmd adds to cmd what triggering an operation needs.
func (c *cli) runCmd(op harvest.Operation, cmd *cobra.Command) *cobra.Command {
	var from, to, query, activity string
	var stand standIn
	var manner mannerFlags
	var workers int
	var yes, dryRun, detach bool
	var reason string
	cmd.Args = oneSource
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		req := control.HarvestRequest{Source: args[0], Operation: op, Activity: activity, Query: query, Detach: detach}
		var err error
		req.Spoken, err = parseSpoken(from, to)
		if err != nil {
			return err
		}
		req.BaseURL, err = stand.base()
		if err != nil {
			return err
		}
		req.Manner, err = manner.read(cmd)
		if err != nil {
			return err
		}
		if err := checkWorkers(cmd, workers); err != nil {
			return err
		}
		if op == harvest.Backfill && (from == "" || to == "") {
			return misuse(cmd, "backfill needs both --from and --to")
		}
		if dryRun {
			return c.previewPlan(cmd.Context(), func(ctl *control.Control) (control.PlanPreview, error) { return ctl.PreviewHarvest(cmd.Context(), req) })
		}
		req.By = c.by(reason)
		return c.harvest(cmd.Context(), req.Source, workers, func(ctl *control.Control, w *control.Watch) (*control.Report, error) {
			req.Watch = w
			req.Approve = c.approve(cmd.InOrStdin(), yes)
			return ctl.Harvest(cmd.Context(), req)
		})
	}
	f := cmd.Flags()
	f.StringVar(&query, "query", "", `only what matches, e.g. tiab:"insulin resistance" AND year:2020..2026 AND NOT type:review`)
	f.StringVar(&from, "from", "", "start of the first window: 2026-01-31T12:00:00Z, 2026-01-31, 2026-01, 2026, today, yesterday or -7d (UTC; days of a source that counts days are its own)")
	f.StringVar(&to, "to", "", "end of the window, not part of it")
	stand.add(f, "send this plan's requests to another host: a simulator or mirror")
	if op == harvest.Backfill {
		f.StringVar(&activity, "activity", "", "name of the activity (default: made from window and query)")
	}
	manner.add(cmd)
	f.IntVar(&workers, "workers", 4, "slices worked on at once")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask before much is read")
	detachFlag(f, &detach)
	f.BoolVar(&dryRun, "dry-run", false, "show what would be planned, and a token for patra plan create --apply; nothing is saved")
	f.StringVar(&reason, "reason", "", "why, for the audit (default: the command)")
	f.BoolVar(&c.json, "json", false, "print one JSON object at the end")
	return cmd
}

// detachFlag adds --detach.
func detachFlag(f *pflag.FlagSet, detach *bool) {
	f.BoolVar(detach, "detach", false, "plan, and leave the work to patra serve")
}

// addWorkers is --workers of a process that stays: as many as its processors can serve.
func addWorkers(f *pflag.FlagSet, workers *int) {
	f.IntVar(workers, "workers", min(max(4, 2*runtime.NumCPU()), mostWorkers), "slices worked on at once")
	f.Lookup("workers").DefValue = "twice the processors, 4 to 64"
}

// mostWorkers is how many slices a process may work on at once.
const mostWorkers = 64

// checkWorkers checks --workers.
func checkWorkers(cmd *cobra.Command, workers int) error {
	if workers < 1 || workers > mostWorkers {
		return misuse(cmd, "--workers %d: use 1 to %d", workers, mostWorkers)
	}
	return nil
}

// oneSource wants exactly one argument, the source.
func oneSource(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return misuse(cmd, "%s needs the name of a source, such as crossref", cmd.CommandPath())
	}
	return misuse(cmd, "%s takes one source, got %q", cmd.CommandPath(), args)
}

// parseSpan reads --from and --to, which may be left out.
func parseSpan(from, to string) (f, t time.Time, err error) {
	f, err = parseTime("from", from)
	if err != nil {
		return f, t, err
	}
	t, err = parseTime("to", to)
	if err != nil || f.IsZero() || t.IsZero() {
		return f, t, err
	}
	_, err = harvest.NewWindow(f, t)
	return f, t, err
}

// parseSpoken reads --from and --to of a window of a source, which settles what days
// among them mean.
func parseSpoken(from, to string) (control.Spoken, error) {
	_, _, err := parseSpan(from, to)
	return control.Spoken{From: from, To: to}, err
}

func parseTime(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := control.ParseTime(s, time.Now())
	if err != nil {
		return t, &usageError{err: fmt.Errorf("--%s: %w", flag, err)}
	}
	return t, nil
}

// working is a use case that works in the foreground.
type working func(*control.Control, *control.Watch) (*control.Report, error)

// harvest triggers, plans and works, and prints what came of it.
func (c *cli) harvest(ctx context.Context, code string, workers int, do working) error {
	cfg := c.config()
	cfg.Workers = workers
	watch := new(control.Watch)
	var rep *control.Report
	err := useNode(ctx, cfg, func(_ context.Context, n *node.Node) (err error) {
		stop := c.watch(code, watch)
		defer stop()
		if err := n.Control.RegisterTargets(ctx); err != nil {
			return err
		}
		rep, err = do(n.Control, watch)
		if err != nil || ctx.Err() != nil || rep.Detached {
			return err
		}
		if err := n.Control.SendEvents(ctx); err != nil {
			return err
		}
		return n.Control.LinkHarvested(ctx)
	})
	if err != nil {
		return err
	}
	for _, w := range slices.Concat(rep.Notes, rep.Warnings) {
		c.notef("note: %s\n", w)
	}
	err = c.show(rep, func() { c.printReport(rep) })
	if err != nil {
		return err
	}
	switch {
	case rep.Detached && ctx.Err() == nil:
		c.notef("%s left to patra serve; next: patra status %s\n", control.Count(int(rep.Slices.Open), "slice"), rep.Source)
		return nil
	case ctx.Err() != nil:
		c.notef("patra: interrupted; every page that was read is kept, %d slices are left [interrupted]\n"+
			"next: run the same command again: it goes on where it stopped\n", rep.Slices.Open)
		return exitError(exitInterrupted)
	case rep.State.Stopped:
		c.notef("patra: source %s was stopped: %s [line_stopped]\n"+
			"next: when the reason is gone, patra source resume %s --reason TEXT, then the same command again\n",
			rep.Held, rep.State.Reason, rep.Held)
		return exitError(exitUpstream)
	case rep.Slices.Failed > 0 || rep.Slices.Open > 0 || rep.Waits:
		return exitError(exitPartial)
	}
	return nil
}

func (c *cli) printReport(r *control.Report) {
	if r.Noop && r.Waits {
		c.printf("%s %s  waits: %s\n", r.Source, r.Operation, r.Reason)
		return
	}
	if r.Noop && r.Operation == harvest.Update {
		c.printf("%s %s  nothing to read again (%s)\n", r.Source, r.Operation, r.Reason)
		return
	}
	if r.Noop {
		at := "nothing harvested yet"
		if r.Watermark != nil {
			at = "complete " + reached(r)
		}
		c.printf("%s %s  nothing new (%s)\n", r.Source, r.Operation, at)
		return
	}
	c.printf("%s %s  %s  %s\n", r.Source, r.Operation, r.Status, r.Window.Short())
	c.printf("  records   %d new, %d changed, %d remapped, %d unchanged, %d stale, %d quarantined\n",
		r.Records.Inserted, r.Records.Updated, r.Records.Remapped, r.Records.Unchanged, r.Records.Stale, r.Records.Quarantined)
	c.printf("  slices    %d done, %d cut again, %d failed, %d open\n", r.Slices.Done, r.Slices.Resliced, r.Slices.Failed, r.Slices.Open)
	c.printf("  requests  %d sent, %d of them repeats, %d throttled (429), %d server errors, %s\n",
		r.Requests.Sent, r.Requests.Retried, r.Requests.HTTP429, r.Requests.HTTP5xx, size(r.Bytes))
	if r.Operation == harvest.Update {
		c.printf("  not found %d, of them %d gone for good; %d merged into others\n",
			r.Records.Missing+r.Records.Gone, r.Records.Gone, r.Records.Merged)
	} else if r.Watermark != nil && r.Unproven {
		c.printf("  complete  nothing yet: no window is proven to its end\n")
	} else if r.Watermark != nil {
		c.printf("  complete  %s\n", reached(r))
	}
	if r.BadIDs > 0 {
		c.printf("  bad ids   %d that the source gives no details of; they are asked for again after 7 days\n", r.BadIDs)
	}
	for i, g := range r.Gaps {
		if i == shownGaps {
			c.printf("  gaps      %d more; patra plan gaps %s --json lists all of them\n", len(r.Gaps)-i, r.Source)
			break
		}
		c.printf("  gap       %s %s: %s", partText(g.From, g.To, g.Range), g.Status, g.Reason)
		switch {
		case g.RetryAt == nil:
		case r.State.Stopped || r.State.Paused:
			c.printf(" (tried again once %s is resumed)", r.Held)
		default:
			c.printf(" (tried again after %s)", g.RetryAt)
		}
		c.printf("\n")
	}
	if r.Reason != "" {
		c.printf("  waits     %s\n", r.Reason)
	}
	c.printf("  took      %s\n", (time.Duration(r.Duration) * time.Millisecond).Round(time.Millisecond))
}

// reached is up to where everything is proven; a BACKFILL goes back.
func reached(r *control.Report) string {
	if r.Operation == harvest.Backfill {
		return "back to " + r.Watermark.String()
	}
	return "up to " + r.Watermark.String()
}

func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
