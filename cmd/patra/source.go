package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) sourceCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "source",
		Short: "Describe sources: packs in, the contract in force, its history",
		Long: "A source is described in a YAML pack. Applying it writes rows with a beginning and, later, an end,\n" +
			"so that what was in force at any instant can be shown, compared and taken back.\n\n" +
			"Begin with `patra source new NAME > NAME.yaml` and `patra source lint NAME.yaml`.",
	}
	verbs(cmd, c.sourceListCmd(), c.sourceShowCmd(), c.sourceHistoryCmd(), c.sourceDiffCmd(), c.sourceExportCmd(),
		c.sourceLintCmd(), c.sourceTestCmd(), c.sourceCheckCmd(), c.sourceNewCmd(), c.sourceSchemaCmd(),
		c.sourceApplyCmd(), c.sourceScheduleCmd(), c.sourceRollbackCmd(), c.sourcePauseCmd(), c.sourceResumeCmd())
	return cmd
}

// verbs makes cmd a group of commands, which alone shows its help.
func verbs(cmd *cobra.Command, subs ...*cobra.Command) {
	cmd.Args = noVerb
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subs...)
}

// noVerb refuses a verb that is not there, naming the nearest.
func noVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range cmd.Commands() {
		known = append(known, sub.Name())
	}
	return &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), source.Suggest(args[0], known))}
}

// oneFile wants exactly one argument, a pack.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("%s takes one source pack, such as mysource.yaml; got %d", cmd.CommandPath(), len(args))}
	}
	return nil
}

// vars are the instance's own values, as a node has them.
func (c *cli) vars() map[string]string {
	return map[string]string{"contact": c.contact, "tool": "patra"}
}

// readPack reads and checks a pack whole.
func (c *cli) readPack(name string) (*sourcefile.Pack, []source.Warning, error) {
	b, err := sourcefile.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if own, ok := node.ShippedPack(name); ok {
			name, b, err = name+".yaml", own, nil
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read source pack: %w", err)
	}
	p, err := sourcefile.Parse(name, b)
	if p == nil {
		return nil, nil, err
	}
	warnings, err := p.Check(c.vars(), node.CheckSpec)
	return p, warnings, err
}

// described is a pack that may be applied: a file, or by its name one that comes
// with patra.
func (c *cli) described(name string) (*sourcefile.Pack, registry.Described, error) {
	p, _, err := c.readPack(name)
	if err != nil {
		return p, registry.Described{}, err
	}
	origin := registry.File
	if _, err := os.Stat(name); err != nil {
		origin = registry.Shipped
	}
	return p, registry.Described{Definition: p.Definition, Hash: p.Hash(), Origin: origin}, nil
}

// by is who changes something, and why. Where no reason was given the command
// itself stands for it.
func (c *cli) by(reason string) control.By {
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return control.By{Actor: "cli/" + who, Reason: cmp.Or(reason, c.command)}
}

// audit is a line about a change, but for what is done to what.
func (c *cli) audit(reason string) source.Audit {
	by := c.by(reason)
	return source.Audit{Actor: by.Actor, Reason: by.Reason}
}

// parseOperation reads an operation; empty is HARVEST.
func parseOperation(cmd *cobra.Command, s string) (harvest.Operation, error) {
	if s == "" {
		return harvest.Harvest, nil
	}
	op, ok := harvest.ParseOperation(s)
	if !ok {
		flag := "--op"
		if cmd.Flags().Lookup("operation") != nil {
			flag = "--operation"
		}
		return "", &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("%s %q is not known: use harvest, backfill or update", flag, s)}
	}
	return op, nil
}

func optional(t time.Time) *control.Time {
	if t.IsZero() {
		return nil
	}
	v := control.Time(t)
	return &v
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
