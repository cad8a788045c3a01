package main

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

// changeFlags are those of every command that changes something: it can be looked at first, what
// was shown can be made exactly, and the audit keeps why.
type changeFlags struct {
	dryRun bool
	token  string
	reason string
}

func (f *changeFlags) add(c *cli, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change, and a token for --apply")
	f.addRest(c, cmd)
}

// addRest adds the flags but --dry-run, of which a command says itself what it shows.
func (f *changeFlags) addRest(c *cli, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.token, "apply", "", "token of a preview: change exactly what it showed, or nothing")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the audit")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
}

// by checks the flags of a change that needs a reason, and says who makes it and why.
func (f *changeFlags) by(c *cli, cmd *cobra.Command) (control.By, error) {
	if f.reason == "" && !f.dryRun {
		return control.By{}, misuse(cmd, "%s needs --reason TEXT: it is kept in the audit", cmd.CommandPath())
	}
	return f.byAnyReason(c, cmd)
}

// byAnyReason is by for a change of which the command is reason enough.
func (f *changeFlags) byAnyReason(c *cli, cmd *cobra.Command) (control.By, error) {
	if f.dryRun && f.token != "" {
		return control.By{}, misuse(cmd, "--dry-run and --apply exclude each other: look first, then order")
	}
	by := c.by(f.reason)
	by.Token = f.token
	return by, nil
}

// sourceOrder is by for a change of the registry.
func (f *changeFlags) sourceOrder(c *cli, cmd *cobra.Command, needsReason bool) (control.SourceOrder, error) {
	check := f.byAnyReason
	if needsReason {
		check = f.by
	}
	by, err := check(c, cmd)
	return control.SourceOrder{By: by, DryRun: f.dryRun, Token: f.token}, err
}

// noteToken says how to make exactly the change that was shown.
func (c *cli) noteToken(token string) {
	if token != "" {
		c.notef("nothing was changed; next: the same with --apply %s --reason TEXT in place of --dry-run\n", token)
	}
}
