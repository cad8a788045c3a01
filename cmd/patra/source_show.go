package main

import (
	"context"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

type listedView struct {
	Code       string        `json:"code"`
	Name       string        `json:"name"`
	Origin     string        `json:"origin"`
	Applied    bool          `json:"applied"`
	SourceRows int           `json:"source_rows"`
	TaskRows   int           `json:"task_rows"`
	NextChange *control.Time `json:"next_change"`
	State      string        `json:"state"`
	Reason     string        `json:"reason,omitempty"`
	Since      *control.Time `json:"since,omitempty"`
}

func (c *cli) sourceListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the sources and what is in force of each", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withNode(cmd.Context(), c.listSources)
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) listSources(ctx context.Context, n *node.Node) error {
	all, err := n.Registry.List(ctx)
	if err != nil {
		return err
	}
	views := []listedView{}
	for _, e := range all {
		st, err := n.Store.SourceState(ctx, e.Code)
		if err != nil {
			return err
		}
		v := listedView{
			Code: e.Code, Name: e.Name, Origin: e.Origin, Applied: e.Applied, State: holdWord(st),
			SourceRows: e.InForce[source.ScopeSource], TaskRows: e.InForce[source.ScopeTask], NextChange: optional(e.NextChange),
		}
		switch {
		case st.Stopped || st.Paused:
			v.Reason = st.Reason
			v.Since = optional(st.Since)
		case !e.Applied:
			v.Reason = "applied when first asked for"
		case e.Newer:
			v.Reason = "this patra comes with another pack: patra source apply " + e.Code + " --dry-run"
		}
		views = append(views, v)
	}
	return c.show(map[string]any{"sources": views}, func() {
		rows := make([][]any, len(views))
		for i, v := range views {
			rows[i] = []any{v.Code, v.Name, v.Origin, v.SourceRows, v.TaskRows, v.NextChange, withGlyph(v.State, holdFamilies[v.State]), v.Reason}
		}
		c.table([]column{
			{head: "SOURCE", width: 15},
			{head: "NAME", width: 23, wraps: true},
			{head: "ORIGIN", width: 7},
			{head: "SOURCE", right: true},
			{head: "TASK", right: true},
			{head: "NEXT CHANGE", width: 19},
			{head: "STATE", width: 7},
			{head: "REASON", wraps: true},
		}, rows)
	})
}

// holdFamilies are the families of what a source may be.
var holdFamilies = map[string]control.Family{"ready": control.OK, "paused": control.Off, "stopped": control.Stopped}

type choiceView struct {
	Dimension source.Dimension   `json:"dimension"`
	Name      string             `json:"name,omitempty"`
	From      string             `json:"from"` // TASK, SOURCE or default
	Row       int64              `json:"row,omitempty"`
	Begins    *control.Time      `json:"effective_from,omitempty"`
	Ends      *control.Time      `json:"effective_to,omitempty"`
	Why       string             `json:"why"`
	Fallback  bool               `json:"fallback,omitzero"`
	Rivals    []int64            `json:"rivals,omitempty"`
	Values    []sourcefile.Value `json:"values,omitempty"`
}

func choiceViews(choices []source.Choice) []choiceView {
	out := []choiceView{}
	for _, ch := range choices {
		v := choiceView{Dimension: ch.Dimension, Name: ch.Name, From: "default", Why: ch.Why, Fallback: ch.Fallback, Rivals: ch.Rivals}
		if ch.Row != nil {
			v.From, v.Row, v.Begins, v.Ends = string(ch.Row.Scope), ch.Row.ID, optional(ch.Row.From), optional(ch.Row.To)
			v.Values = sourcefile.Values(ch.Row.Body)
		}
		out = append(out, v)
	}
	return out
}

func (c *cli) sourceShowCmd() *cobra.Command {
	var operation, at string
	cmd := &cobra.Command{
		Use:     "show CODE",
		Short:   "Show the contract of a source at an instant: each row, why it was picked, its values",
		Example: "  patra source show crossref\n  patra source show crossref --operation backfill --at 2027-01-01",
		Args:    oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, err := parseOperation(cmd, operation)
			if err != nil {
				return err
			}
			when, err := parseTime("at", at)
			if err != nil {
				return err
			}
			return c.withNode(cmd.Context(), func(ctx context.Context, n *node.Node) error {
				e, err := n.Registry.Show(ctx, args[0], op, when)
				if err != nil {
					return err
				}
				if err := c.printContract(e); err != nil {
					return err
				}
				if len(e.Violations) > 0 {
					return exitError(exitUsage)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&operation, "operation", "", "harvest (default), backfill or update")
	cmd.Flags().StringVar(&at, "at", "", "instant, RFC 3339 or a date (UTC); default now")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printContract(e registry.Explain) error {
	fingerprint := ""
	if e.Contract.Spec != nil {
		var err error
		if fingerprint, err = e.Contract.Spec.Fingerprint(); err != nil {
			return err
		}
	}
	views := choiceViews(e.Choices)
	nextRun, quietUntil := scheduleTimes(e)
	if c.json {
		violations, warnings := []string{}, []string{}
		for _, v := range e.Violations {
			violations = append(violations, v.String())
		}
		for _, w := range e.Contract.Warnings {
			warnings = append(warnings, w.String())
		}
		return c.printJSON(map[string]any{
			"source": e.Code, "operation": e.Operation, "at": control.Time(e.At), "dimensions": views, "spec_fingerprint": fingerprint,
			"config_hash": e.Contract.ConfigHash, "warnings": warnings, "violations": violations,
			"next_run": nextRun, "quiet_until": quietUntil,
		})
	}
	c.printf("%s %s  contract at %s\n", e.Code, e.Operation, control.Time(e.At))
	for _, v := range views {
		head := string(v.Dimension)
		if v.Name != "" {
			head += " " + v.Name
		}
		c.printf("\n%-24s %-8s %s\n", head, v.From, v.Why)
		if v.Begins != nil {
			ends := "until further notice"
			if v.Ends != nil {
				ends = v.Ends.String()
			}
			c.printf("  in force  [%s, %s)\n", v.Begins, ends)
		}
		for _, x := range v.Values {
			c.printf("  %s: %s\n", x.Path, strings.ReplaceAll(x.Text, "\n", " "))
		}
	}
	c.printf("\nconfig hash       %s\n", e.Contract.ConfigHash)
	if nextRun != nil {
		c.printf("next run          %s, by patra serve\n", nextRun)
	}
	if quietUntil != nil {
		c.printf("left alone        until %s\n", quietUntil)
	}
	if fingerprint != "" {
		c.printf("spec fingerprint  %s\n", fingerprint)
	}
	for _, w := range e.Contract.Warnings {
		c.printf("note: %s\n", w)
	}
	for _, v := range e.Violations {
		c.printf("error: %s\n", v)
	}
	if len(e.Violations) > 0 {
		c.notef("patra: the rows in force do not compile for %s: %s [contract_invalid]\n", e.Operation, count(len(e.Violations), "mistake"))
	}
	return nil
}

// scheduleTimes are when the operation next begins by itself, and until when the
// source is left alone at the instant shown; nil where there is no such time.
func scheduleTimes(e registry.Explain) (next, quietUntil *control.Time) {
	s := e.Contract.Schedule
	if s == nil {
		return nil, nil
	}
	if line := s.Line(e.Operation); !line.IsZero() {
		if at, ok := line.Next(e.At, s.Zone); ok {
			next = optional(at)
		}
	}
	if until, quiet := s.QuietUntil(e.At); quiet {
		quietUntil = optional(until)
	}
	return next, quietUntil
}
