package main

import (
	"cmp"
	"os/user"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
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
	return misuse(cmd, "unknown command %q for %q%s", args[0], cmd.CommandPath(), control.Suggest(args[0], known))
}

// oneFile wants exactly one argument, a pack.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse(cmd, "%s takes one source pack, such as mysource.yaml; got %d", cmd.CommandPath(), len(args))
	}
	return nil
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
		return "", misuse(cmd, "%s %q is not known: use harvest, backfill or update", flag, s)
	}
	return op, nil
}
