package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) credentialAllowCmd() *cobra.Command {
	var change changeFlags
	var origins, pools, rates []string
	var withdraw bool
	cmd := &cobra.Command{
		Use:   "allow SOURCE (--origin URL | --pool-for SOURCE | --rate-for SOURCE)... --reason TEXT",
		Short: "Let a source's credentials go to another address, or another source use them or its rate limit",
		Long: "A credential is bound to where its source was when it was set: no pack can have it sent elsewhere. This is how\n" +
			"somebody who may does: by naming the address, or the other source. Without a flag what is allowed is listed.",
		Example: "  patra credential allow pubmed --origin https://mirror.example.org --reason \"our mirror\"\n" +
			"  patra credential allow pubmed --pool-for pmc --rate-for pmc --reason \"one NCBI key for both\"\n" +
			"  patra credential allow pubmed --origin https://mirror.example.org --withdraw --reason \"the mirror is gone\"",
		Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			usage := func(err error) error { return &usageError{cmd: cmd.CommandPath(), err: err} }
			p := control.Permission{Pools: pools, Rates: rates, Withdraw: withdraw}
			for _, address := range origins {
				o := control.ParseOrigin(address)
				if o == "" {
					return usage(fmt.Errorf("--origin %q is not an http or https address", address))
				}
				p.Origins = append(p.Origins, o)
			}
			if p.Empty() {
				if withdraw {
					return usage(errors.New("say what is withdrawn: --origin, --pool-for or --rate-for"))
				}
				return c.listGrants(cmd.Context(), args[0])
			}
			by, err := change.by(c, cmd)
			if err != nil {
				return err
			}
			order := control.CredentialOrder{By: by, Source: args[0], DryRun: change.dryRun, Help: cmd.CommandPath() + " --help"}
			return c.changeCredentials(cmd.Context(), func(ctl *control.Control) (control.CredentialChanges, error) {
				return ctl.Allow(cmd.Context(), p, order)
			})
		},
	}
	change.add(c, cmd)
	f := cmd.Flags()
	f.StringArrayVar(&origins, "origin", nil, "its credentials may be sent to this address: scheme, host and port")
	f.StringArrayVar(&pools, "pool-for", nil, "this source may use its credentials, where that source is now")
	f.StringArrayVar(&rates, "rate-for", nil, "this source may count its requests under the same rate limit")
	f.BoolVar(&withdraw, "withdraw", false, "take back what was allowed")
	return cmd
}

func (c *cli) listGrants(ctx context.Context, code string) error {
	return c.reading(ctx, func(ctl *control.Control) error {
		list, err := ctl.Grants(ctx, code)
		if err != nil {
			return err
		}
		return c.showList(list, "changes", func() {
			for _, g := range list.Allowed {
				c.printf("%s: %s\n", code, g)
			}
			if len(list.Allowed) == 0 {
				c.notef("nothing beyond where its credentials were set for\n")
			}
		})
	})
}
