package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) planCreateCmd() *cobra.Command {
	var stand standIn
	var from, to, query, op, activity, token, priority, reason string
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
				return &usageError{cmd: cmd.CommandPath(), err: errors.New("--apply takes the token alone: source and window are in it")}
			}
			return oneSource(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := c.open(cmd.Context(), 1)
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // everything is committed
			if token != "" {
				p, err := n.Planner.Apply(cmd.Context(), token, harvest.Trigger{Kind: "MANUAL"})
				if err != nil {
					return err
				}
				return c.created(cmd.Context(), n, p, reason)
			}
			t := harvest.Trigger{Provenance: args[0], Kind: "MANUAL", Query: query, Activity: activity}
			var known bool
			if t.Operation, known = harvest.ParseOperation(op); !known || t.Operation == harvest.Update {
				return &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("--op %q: use HARVEST or BACKFILL; an UPDATE is planned by patra refresh", op)}
			}
			if t.Priority, known = harvest.ParsePriority(priority); !known && priority != "" {
				return &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("--priority %q: use high, medium or low", priority)}
			}
			if t.From, t.To, err = parseSpan(from, to); err != nil {
				return err
			}
			if t.BaseURL, err = stand.base(); err != nil {
				return err
			}
			if t.Operation == harvest.Backfill && t.Activity == "" {
				t.Activity = "backfill-" + harvest.HashKey(from, to, query)[:16]
			}
			if dryRun {
				n.Registry.Preview()
				p, err := n.Planner.Preview(cmd.Context(), t)
				if err != nil {
					return err
				}
				return c.printPlanPreview(p)
			}
			p, err := n.Planner.Plan(cmd.Context(), t)
			if err != nil {
				return err
			}
			return c.created(cmd.Context(), n, p, reason)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "show what would be planned, and a token for --apply")
	f.StringVar(&token, "apply", "", "make the plan that a --dry-run showed")
	f.StringVar(&reason, "reason", "", "why, for the audit")
	f.StringVar(&op, "op", "HARVEST", "HARVEST or BACKFILL")
	f.StringVar(&priority, "priority", "", "high, medium or low: the place in the queue of a HARVEST, an UPDATE or a BACKFILL (default: its own)")
	f.StringVar(&query, "query", "", "only what matches")
	f.StringVar(&from, "from", "", "start of the window, RFC 3339 or a date (UTC)")
	f.StringVar(&to, "to", "", "end of the window, not part of it")
	f.StringVar(&activity, "activity", "", "name of the activity of a BACKFILL (default: made from window and query)")
	stand.add(f, "send this plan's requests to another host: a simulator or mirror")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// created leaves an audit line about a plan that was made, and shows it.
func (c *cli) created(ctx context.Context, n *node.Node, p planner.Planned, reason string) error {
	if p.Plan.ID != 0 && !p.Plan.Existing {
		a := c.audit(reason)
		a.Action, a.Object = "PLAN_CREATE", fmt.Sprintf("plan/%d", p.Plan.ID)
		if err := n.Store.Audit(ctx, a, p.Window); err != nil {
			return err
		}
	}
	return c.printPlanned(p)
}

type plannedJSON struct {
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Namespace string            `json:"namespace"`
	Plan      harvest.PlanID    `json:"plan,omitzero"`
	Status    harvest.PlanState `json:"status,omitempty"`
	Existing  bool              `json:"existing,omitzero"`
	Noop      bool              `json:"noop"`
	Reason    string            `json:"reason,omitempty"`
	From      control.Time      `json:"from"`
	To        control.Time      `json:"to"`
	Expected  int64             `json:"expected_records"`
	Warnings  []string          `json:"warnings,omitempty"`
}

func planned(p planner.Planned) plannedJSON {
	return plannedJSON{
		Source: p.Namespace.Provenance, Operation: p.Namespace.Operation, Namespace: p.Namespace.String(), Plan: p.Plan.ID, Status: p.Plan.Status,
		Existing: p.Plan.Existing, Noop: p.Noop, Reason: p.Reason, From: control.Time(p.Window.From), To: control.Time(p.Window.To), Expected: p.Expected, Warnings: p.Warnings,
	}
}

func (c *cli) printPlanned(p planner.Planned) error {
	v := planned(p)
	if c.json {
		return c.printJSON(v)
	}
	for _, w := range v.Warnings {
		c.notef("note: %s\n", w)
	}
	switch {
	case v.Noop:
		c.printf("%s %s: nothing planned, %s\n", v.Source, v.Operation, v.Reason)
		return nil
	case v.Existing:
		c.printf("%s %s: plan %d %s [%s, %s) was there already\n", v.Source, v.Operation, v.Plan, v.Status, v.From, v.To)
	default:
		c.printf("%s %s: plan %d %s [%s, %s), about %d records\n", v.Source, v.Operation, v.Plan, v.Status, v.From, v.To, v.Expected)
	}
	if v.Reason != "" {
		c.printf("  %s\n", v.Reason)
	}
	c.notef("next: patra plan show %d, or to work on it: %s\n", v.Plan, workOn(p))
	return nil
}

// workOn is the command that works on a plan in the foreground: the one that
// would have made it.
func workOn(p planner.Planned) string {
	t := p.Trigger
	words := []string{"patra harvest", t.Provenance}
	if t.Operation == harvest.Backfill {
		words = []string{"patra backfill", t.Provenance, "--from", control.Time(p.Window.From).String(), "--to", control.Time(p.Window.To).String(), "--activity", quoted(t.Activity)}
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

// previewRows is how many slices a preview lists.
const previewRows = 20

func (c *cli) printPlanPreview(p planner.Preview) error {
	type slice struct {
		From     control.Time `json:"from"`
		To       control.Time `json:"to"`
		Range    string       `json:"range,omitempty"`
		Expected int64        `json:"expected_records"`
		By       string       `json:"estimated_by,omitempty"`
	}
	type quota struct {
		Limit  int64   `json:"limit"`
		Window string  `json:"window"`
		Share  float64 `json:"share"`
	}
	v := struct {
		plannedJSON
		Slices   int     `json:"slices"`
		First    []slice `json:"first_slices"`
		Requests int64   `json:"requests"`
		Counted  int     `json:"count_requests"`
		Seconds  float64 `json:"duration_seconds"`
		Quotas   []quota `json:"quotas,omitempty"`
		Token    string  `json:"token,omitempty"`
	}{plannedJSON: planned(p.Planned), Slices: len(p.Slices), First: []slice{}, Requests: p.Requests, Counted: p.Counted, Seconds: p.Duration.Seconds(), Token: p.Token}
	for _, s := range p.Slices[:min(previewRows, len(p.Slices))] {
		w, r := s.NominalWindow(), ""
		if !s.Range.Whole() {
			r = s.Range.String()
		}
		v.First = append(v.First, slice{control.Time(w.From), control.Time(w.To), r, s.Hints.ExpectedRecords, s.Hints.EstimatedBy})
	}
	for _, q := range p.Quotas {
		v.Quotas = append(v.Quotas, quota{q.Limit, q.Window.String(), q.Share})
	}
	if c.json {
		return c.printJSON(v)
	}
	for _, w := range v.Warnings {
		c.notef("note: %s\n", w)
	}
	if v.Noop {
		c.printf("%s %s: nothing would be planned, %s\n", v.Source, v.Operation, v.Reason)
		return nil
	}
	c.printf("%s %s  would plan [%s, %s)\n", v.Source, v.Operation, v.From, v.To)
	c.printf("  slices    %d, about %d records\n", v.Slices, v.Expected)
	c.printf("  requests  about %d, some %s at the configured rate (%d were spent on counting)\n", v.Requests, p.Duration, v.Counted)
	for _, q := range p.Quotas {
		c.printf("  quota     %.1f %% of %d per %s\n", 100*q.Share, q.Limit, q.Window)
	}
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
	c.notef("nothing was saved; next: patra plan create --apply TOKEN (within %s)\n", planner.TokenLife)
	return nil
}
