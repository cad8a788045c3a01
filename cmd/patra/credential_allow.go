package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) credentialAllowCmd() *cobra.Command {
	var change keyChange
	var origins, pools, rates []string
	var withdraw bool
	cmd := &cobra.Command{
		Use:   "allow SOURCE (--origin URL | --pool-for SOURCE | --rate-for SOURCE)... --reason WHY",
		Short: "Let a source's credentials go to another address, or another source use them or its rate limit",
		Long: "A credential is bound to where its source was when it was set: no pack can have it sent elsewhere. This is how\n" +
			"somebody who may does: by naming the address, or the other source. Without a flag what is allowed is listed.",
		Example: "  patra credential allow pubmed --origin https://mirror.example.org --reason \"our mirror\"\n" +
			"  patra credential allow pubmed --pool-for pmc --rate-for pmc --reason \"one NCBI key for both\"\n" +
			"  patra credential allow pubmed --origin https://mirror.example.org --withdraw --reason \"the mirror is gone\"",
		Args: oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			usage := func(err error) error { return &usageError{cmd: cmd.CommandPath(), err: err} }
			p := keyring.Permission{Pool: args[0], Withdraw: withdraw}
			for _, address := range origins {
				o := source.Origin(address)
				if o == "" {
					return usage(fmt.Errorf("--origin %q is not an http or https address", address))
				}
				p.Grants = append(p.Grants, source.Grant{Kind: source.GrantOrigin, Value: o})
			}
			for _, code := range pools {
				p.Grants = append(p.Grants, source.Grant{Kind: source.GrantPool, Value: code})
			}
			for _, code := range rates {
				p.Grants = append(p.Grants, source.Grant{Kind: source.GrantRate, Value: code})
			}
			if len(p.Grants) == 0 {
				if withdraw {
					return usage(errors.New("say what is withdrawn: --origin, --pool-for or --rate-for"))
				}
				return c.withReader(cmd.Context(), func(ctx context.Context, n *node.Node) error {
					return c.listGrants(ctx, n, args[0])
				})
			}
			if change.reason == "" && !change.dryRun {
				return usage(errors.New("needs --reason WHY, for the audit"))
			}
			return c.changeCredentials(cmd.Context(), args[0], change.dryRun, func(n *node.Node) ([]source.CredentialChange, error) {
				for _, code := range slices.Concat(pools, rates) {
					if err := c.known(cmd.Context(), n, code); err != nil {
						return nil, err
					}
				}
				return n.Keys.Allow(cmd.Context(), p, change.order(c))
			})
		},
	}
	change.add(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&origins, "origin", nil, "its credentials may be sent to this address: scheme, host and port")
	f.StringArrayVar(&pools, "pool-for", nil, "this source may use its credentials, where that source is now")
	f.StringArrayVar(&rates, "rate-for", nil, "this source may count its requests under the same rate limit")
	f.BoolVar(&withdraw, "withdraw", false, "take back what was allowed")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) listGrants(ctx context.Context, n *node.Node, code string) error {
	if err := c.known(ctx, n, code); err != nil {
		return err
	}
	grants, err := n.Keys.Grants(ctx, code)
	if err != nil {
		return err
	}
	if grants == nil {
		grants = []source.Grant{}
	}
	return c.show(map[string]any{"source": code, "allowed": grants}, func() {
		for _, g := range grants {
			c.printf("%s: %s\n", code, g)
		}
		if len(grants) == 0 {
			c.notef("nothing beyond where its credentials were set for\n")
		}
	})
}
