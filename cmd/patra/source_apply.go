package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// changeFlags are those of every command that changes a source.
type changeFlags struct {
	dryRun bool
	token  string
	reason string
}

func (f *changeFlags) add(c *cli, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change, and a token for --apply")
	cmd.Flags().StringVar(&f.token, "apply", "", "token of a preview: change exactly what it showed, or nothing")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the audit")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
}

// order checks the flags. A change that is hard to see through needs a reason.
func (f *changeFlags) order(c *cli, cmd *cobra.Command, needsReason bool) (registry.Order, error) {
	if f.dryRun && f.token != "" {
		return registry.Order{}, &usageError{cmd: cmd.CommandPath(), err: errors.New("--dry-run and --apply exclude each other: look first, then order")}
	}
	if err := f.need(cmd, needsReason); err != nil {
		return registry.Order{}, err
	}
	return registry.Order{Audit: c.audit(f.reason), DryRun: f.dryRun, Token: f.token}, nil
}

func (f *changeFlags) need(cmd *cobra.Command, reason bool) error {
	if reason && f.reason == "" && !f.dryRun {
		return &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("%s needs --reason TEXT: it is kept in the audit", cmd.CommandPath())}
	}
	return nil
}

func (c *cli) sourceApplyCmd() *cobra.Command {
	var flags changeFlags
	var at string
	cmd := &cobra.Command{
		Use:   "apply FILE|NAME",
		Short: "Make the registry say what a pack says, from now on or from an instant",
		Long: "Apply checks the pack whole, compares it with the rows in force, and writes what differs in one\n" +
			"transaction: rows that say the same stay, others are superseded. Plans under way keep what they have.\n" +
			"The name of a source that comes with patra applies the pack of this build, as after an upgrade.",
		Example: "  patra source apply mysource.yaml --dry-run\n  patra source apply mysource.yaml --apply 4f0c... --reason 'larger pages'",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.order(c, cmd, false)
			if err != nil {
				return err
			}
			if o.From, err = parseTime("at", at); err != nil {
				return err
			}
			return c.applyPack(cmd, args[0], o)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "when it takes effect, RFC 3339 or a date (UTC); default now")
	flags.add(c, cmd)
	return cmd
}

func (c *cli) sourceScheduleCmd() *cobra.Command {
	var flags changeFlags
	var at, observe string
	cmd := &cobra.Command{
		Use:   "schedule FILE --at T",
		Short: "Switch to a pack at a future instant, watching the old rows beside it for a time",
		Long: "Schedule writes rows that begin at --at. The rows they supersede stay in force beside them for --observe,\n" +
			"the new ones winning, and end then. Until that time, and after it, `patra source rollback` takes it back.",
		Example: "  patra source schedule mysource.yaml --at 2027-01-01 --observe 1d --dry-run",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.order(c, cmd, true)
			if err != nil {
				return err
			}
			if o.From, err = parseTime("at", at); err != nil {
				return err
			}
			if o.From.IsZero() {
				return &usageError{cmd: cmd.CommandPath(), err: errors.New("schedule needs --at T, the instant of the switch; `patra source apply` does it now")}
			}
			if o.Observe, err = source.ParseDuration(observe); err != nil {
				return &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("--observe: %w", err)}
			}
			return c.applyPack(cmd, args[0], o)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "when it takes effect, RFC 3339 or a date (UTC)")
	cmd.Flags().StringVar(&observe, "observe", "0s", "how long the old rows stay in force beside the new, such as 1d")
	flags.add(c, cmd)
	return cmd
}

func (c *cli) applyPack(cmd *cobra.Command, file string, o registry.Order) error {
	p, d, err := c.described(file)
	if err != nil {
		return err
	}
	return c.withNode(cmd.Context(), func(ctx context.Context, n *node.Node) error {
		prev, err := n.Registry.Apply(ctx, d, o)
		if err != nil {
			return placed(p, err)
		}
		c.warnOf(p)
		return c.printPreview(p.Definition.Source, "patra source "+cmd.Name()+" "+file, prev, o)
	})
}

// warnOf says aloud what a pack claims for itself beyond its own source.
func (c *cli) warnOf(p *sourcefile.Pack) {
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
		spec, _, err := p.Compile(source.Trigger{Operation: op})
		if err != nil {
			continue // it may not be there for every operation
		}
		for _, w := range spec.Exposed() {
			c.notef("note: %s\n", w)
		}
		return
	}
}

// placed puts what the registry found where it stands in the file, if it stands
// there at all.
func placed(p *sourcefile.Pack, err error) error {
	bad, ok := errors.AsType[source.Violations](err)
	if !ok {
		return err
	}
	for _, v := range bad {
		if !p.Has(v.Path) {
			return err
		}
	}
	return p.Place(bad)
}

func (c *cli) sourceRollbackCmd() *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "rollback CODE",
		Short: "Take the newest change of a source back",
		Long: "Rollback ends the rows of the newest change now, or keeps them from ever beginning, and lets the rows they\n" +
			"superseded hold again. Plans under way keep what they have; name and base URL of the source stay as they are.",
		Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.order(c, cmd, true)
			if err != nil {
				return err
			}
			return c.withNode(cmd.Context(), func(ctx context.Context, n *node.Node) error {
				prev, err := n.Registry.Rollback(ctx, args[0], o)
				if err != nil {
					return err
				}
				return c.printPreview(args[0], "patra source rollback "+args[0], prev, o)
			})
		},
	}
	flags.add(c, cmd)
	return cmd
}

type changeView struct {
	Action     string        `json:"action"` // add, close or reopen
	Slot       string        `json:"slot"`
	Row        int64         `json:"row,omitempty"`
	From       *control.Time `json:"effective_from,omitempty"`
	To         *control.Time `json:"effective_to,omitempty"`
	Supersedes int64         `json:"supersedes,omitempty"`
}

func changeViews(changes []source.Change, dryRun bool) []changeView {
	out := []changeView{}
	for _, ch := range changes {
		v := changeView{Slot: ch.Slot.String()}
		switch {
		case ch.Add != nil:
			v.Action, v.From, v.Supersedes = "add", optional(ch.Add.From), ch.Add.Supersedes
			if !dryRun {
				v.Row = ch.Add.ID
			}
		case ch.Close != 0:
			v.Action, v.Row, v.To = "close", ch.Close, optional(ch.Until)
		default:
			v.Action, v.Row = "reopen", ch.Reopen
		}
		out = append(out, v)
	}
	return out
}

// printPreview shows what a change does, or did.
func (c *cli) printPreview(code, again string, p registry.Preview, o registry.Order) error {
	views, fields := changeViews(p.Changes, o.DryRun), sourcefile.Diff(p.Before, p.After)
	if p.New {
		fields = []sourcefile.Difference{}
	}
	if c.json {
		if fields == nil {
			fields = []sourcefile.Difference{}
		}
		return c.printJSON(map[string]any{
			"source": code, "applied": !o.DryRun, "at": control.Time(p.At), "token": p.Token, "new": p.New, "changes": views, "fields": fields,
		})
	}
	if len(views) == 0 && len(fields) == 0 && !p.New {
		c.printf("%s: nothing to change, the rows in force say the same\n", code)
		return nil
	}
	what := "changed"
	switch {
	case o.DryRun:
		what = "would change"
	case p.New:
		what = "described"
	}
	c.printf("%s: %s, %s from %s\n", code, what, count(len(views), "row"), when(p.At, o))
	for _, v := range views {
		switch v.Action {
		case "add":
			c.printf("  + %-28s", v.Slot)
			if v.Row != 0 {
				c.printf(" row %d", v.Row)
			}
			c.printf(" from %s", v.From)
			if v.Supersedes != 0 {
				c.printf(", supersedes row %d", v.Supersedes)
			}
		case "close":
			c.printf("  - %-28s row %d ends %s", v.Slot, v.Row, v.To)
		default:
			c.printf("  < %-28s row %d holds again", v.Slot, v.Row)
		}
		c.printf("\n")
	}
	for _, f := range fields {
		c.printf("  %s\n", f)
	}
	if o.DryRun {
		c.printf("token: %s\n", p.Token)
		flags := ""
		if !o.From.IsZero() {
			flags = " --at " + control.Time(o.From).String()
			if o.Observe > 0 {
				flags += " --observe " + o.Observe.String()
			}
		}
		c.notef("next: %s%s --apply %s --reason TEXT\n", again, flags, p.Token)
	}
	return nil
}

func when(at time.Time, o registry.Order) string {
	if o.From.IsZero() && o.DryRun {
		return "now on"
	}
	return control.Time(at).String()
}
