package main

import (
	"context"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) planCreateCmd() *cobra.Command {
	var stand standIn
	var manner mannerFlags
	var from, to, query, op, activity, token, reason string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "create SOURCE | create --apply TOKEN", Short: "Plan without working: see it first with --dry-run, then apply exactly that",
		Long: "Create cuts the window into slices and queues their tasks, for an executor to work on. With --dry-run nothing\n" +
			"is saved: it shows slices, expected records, requests and duration, and a token that --apply takes within ten\n" +
			"minutes, unless something has moved meanwhile. Counting costs requests, through the rate gate.",
		Example: "  patra plan create pubmed --dry-run\n  patra plan create --apply TOKEN",
		Args: func(cmd *cobra.Command, args []string) error {
			if token != "" && len(args) == 0 {
				return nil
			}
			if token != "" {
				return misuse(cmd, "--apply takes the token alone: source and window are in it")
			}
			return oneSource(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if token != "" {
				return c.create(cmd.Context(), func(ctl *control.Control) (control.Planned, error) {
					return ctl.ApplyPlan(cmd.Context(), token, c.by(reason))
				})
			}
			req := control.HarvestRequest{Source: args[0], Query: query, Activity: activity}
			var known bool
			req.Operation, known = harvest.ParseOperation(op)
			if !known || req.Operation == harvest.Update {
				return misuse(cmd, "--op %q: use HARVEST or BACKFILL; an UPDATE is planned by patra refresh", op)
			}
			if req.Operation == harvest.Backfill && (from == "" || to == "") {
				return misuse(cmd, "a BACKFILL needs both --from and --to")
			}
			var err error
			req.Manner, err = manner.read(cmd)
			if err != nil {
				return err
			}
			req.Spoken, err = parseSpoken(from, to)
			if err != nil {
				return err
			}
			req.BaseURL, err = stand.base()
			if err != nil {
				return err
			}
			if dryRun {
				return c.previewPlan(cmd.Context(), func(ctl *control.Control) (control.PlanPreview, error) { return ctl.PreviewHarvest(cmd.Context(), req) })
			}
			req.By = c.by(reason)
			return c.create(cmd.Context(), func(ctl *control.Control) (control.Planned, error) {
				return ctl.PlanHarvest(cmd.Context(), req)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "show what would be planned, and a token for --apply")
	f.StringVar(&token, "apply", "", "make the plan that a --dry-run showed")
	f.StringVar(&reason, "reason", "", "why, for the audit")
	f.StringVar(&op, "op", "HARVEST", "HARVEST or BACKFILL")
	manner.add(cmd)
	f.StringVar(&query, "query", "", "only what matches")
	f.StringVar(&from, "from", "", "start of the window, RFC 3339 or a date (UTC, or the day of a source that counts days)")
	f.StringVar(&to, "to", "", "end of the window, not part of it")
	f.StringVar(&activity, "activity", "", "name of the activity of a BACKFILL (default: made from window and query)")
	stand.add(f, "send this plan's requests to another host: a simulator or mirror")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// create makes a plan, and shows it.
func (c *cli) create(ctx context.Context, do func(*control.Control) (control.Planned, error)) error {
	return c.changing(ctx, func(ctl *control.Control) error {
		v, err := do(ctl)
		if err != nil {
			return err
		}
		return c.show(v, func() { c.printPlanned(v) })
	})
}

func (c *cli) printPlanned(v control.Planned) {
	for _, w := range v.Warnings {
		c.notef("note: %s\n", w)
	}
	switch {
	case v.Noop:
		c.printf("%s %s: nothing planned, %s\n", v.Source, v.Operation, v.Reason)
		return
	case v.Existing:
		c.printf("%s %s: plan %d %s [%s, %s) was there already\n", v.Source, v.Operation, v.Plan, v.Status, v.From, v.To)
	default:
		c.printf("%s %s: plan %d %s [%s, %s), about %d records\n", v.Source, v.Operation, v.Plan, v.Status, v.From, v.To, v.Expected)
	}
	if v.Reason != "" {
		c.printf("  %s\n", v.Reason)
	}
	c.notef("next: patra plan show %d, or to work on it: %s\n", v.Plan, workOn(v))
}

// workOn is the command that works on a plan in the foreground: the one that
// would have made it.
func workOn(v control.Planned) string {
	t := v.Trigger
	words := []string{"patra harvest", t.Provenance}
	if t.Operation == harvest.Backfill {
		words = []string{"patra backfill", t.Provenance, "--from", v.From.String(), "--to", v.To.String(), "--activity", quoted(t.Activity)}
	}
	if t.Query != "" {
		words = append(words, "--query", quoted(t.Query))
	}
	return strings.Join(append(words, baseFlags(t.BaseURL)...), " ")
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("-_./:%+@", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (c *cli) previewPlan(ctx context.Context, look func(*control.Control) (control.PlanPreview, error)) error {
	return c.changing(ctx, func(ctl *control.Control) error {
		v, err := look(ctl)
		if err != nil {
			return err
		}
		return c.show(v, func() { c.printPlanPreview(v) })
	})
}

func (c *cli) printPlanPreview(v control.PlanPreview) {
	for _, w := range v.Warnings {
		c.notef("note: %s\n", w)
	}
	if v.Noop {
		c.printf("%s %s: nothing would be planned, %s\n", v.Source, v.Operation, v.Reason)
		return
	}
	c.printf("%s %s  would plan [%s, %s)\n", v.Source, v.Operation, v.From, v.To)
	c.printf("  slices    %d, about %d records\n", v.Slices, v.Expected)
	c.printf("  requests  about %d, some %s at the configured rate (%d were spent on counting)\n", v.Requests, v.Duration, v.Counted)
	c.printQuotas(v.Quotas)
	if v.Reason != "" {
		c.printf("  then      %s\n", v.Reason)
	}
	for _, s := range v.First {
		c.printf("  [%s, %s) %s  %d %s\n", s.From, s.To, s.Range, s.Expected, s.By)
	}
	if more := v.Slices - len(v.First); more > 0 {
		c.printf("  ... and %d more\n", more)
	}
	c.printf("%s\n", v.Token)
	c.notef("nothing was saved; next: patra plan create --apply TOKEN (within %s)\n", control.TokenLife)
}
