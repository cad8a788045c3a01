package main

import (
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) tokenCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Look after who may use the API of patra serve --listen",
		Long: "A token is sent as `Authorization: Bearer TOKEN`. A viewer looks; an operator also does what can be taken back:\n" +
			"pause, retry, plan; an admin does everything. Only the hash of a token is kept. While there is none, who is on the\n" +
			"machine may use the API on 127.0.0.1 without one, and it is served nowhere else.",
	}
	verbs(cmd, c.tokenNewCmd(), c.tokenListCmd(), c.tokenRevokeCmd())
	return cmd
}

// oneToken wants exactly one argument, the name of a token.
func oneToken(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse(cmd, "%s takes one name of a token; got %d", cmd.CommandPath(), len(args))
	}
	return nil
}

func (c *cli) tokenNewCmd() *cobra.Command {
	var f changeFlags
	var role, expires string
	cmd := &cobra.Command{
		Use: "new NAME --role viewer|operator|admin [--expires 90d]", Short: "Make a token, and show it once", Args: oneToken,
		Example: "  patra token new grafana --role viewer\n  patra token new airflow --role operator --expires 90d",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.byAnyReason(c, cmd)
			if err != nil {
				return err
			}
			o := control.TokenOrder{By: by, Name: args[0], DryRun: f.dryRun}
			var known bool
			o.Role, known = control.ParseAccess(role)
			if !known {
				return misuse(cmd, "--role %q: use viewer, operator or admin", role)
			}
			if expires != "" {
				after, err := control.ParseDuration(expires)
				if err != nil || after <= 0 {
					return misuse(cmd, "--expires %q is not how long it may be used: write 90d or 12h", expires)
				}
				o.Expire = after
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.NewToken(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.show(v, func() {
					c.printToken(v)
					c.noteToken(v.Seen)
				})
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "what it may do: viewer, operator or admin")
	cmd.Flags().StringVar(&expires, "expires", "", "how long it may be used, such as 90d (default: until it is revoked)")
	f.add(c, cmd)
	return cmd
}

func (c *cli) printToken(v control.TokenMade) {
	t := v.Token
	until := "until it is revoked"
	if !t.ExpiresAt.IsZero() {
		until = "until " + control.Time(t.ExpiresAt.Truncate(time.Second)).String()
	}
	if !v.Applied {
		c.printf("token %s would be made: %s, %s\n", t.Name, t.Role, until)
		return
	}
	c.printf("%s\n", v.Secret)
	c.notef("token %s: %s, %s. It is shown this once and cannot be read again.\n", t.Name, t.Role, until)
}

func (c *cli) tokenListCmd() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "Show the tokens that may be used", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Tokens(cmd.Context(), all)
				if err != nil {
					return err
				}
				return c.showList(v, "tokens", func() { c.printTokens(v.Tokens) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that have expired or were revoked")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printTokens(tokens []control.TokenRow) {
	if len(tokens) == 0 {
		c.notef("no tokens; patra token new NAME --role viewer\n")
		return
	}
	rows := make([][]any, len(tokens))
	for i, t := range tokens {
		until := ""
		if !t.ExpiresAt.IsZero() {
			until = control.Time(t.ExpiresAt.Truncate(time.Second)).String()
		}
		made := control.Time(t.CreatedAt.Truncate(time.Second)).String()
		rows[i] = []any{t.Name, string(t.Role), withGlyph(strings.ToLower(t.State), control.TokenFamily(t.State)), until, made, t.CreatedBy}
	}
	c.table([]column{
		{head: "NAME", gap: 2},
		{head: "ROLE", gap: 2},
		{head: "STATE", gap: 2},
		{head: "EXPIRES", gap: 2},
		{head: "MADE", gap: 2},
		{head: "BY", wraps: true},
	}, rows)
}

func (c *cli) tokenRevokeCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "revoke NAME --reason TEXT", Short: "End a token at once", Args: oneToken,
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				if f.dryRun {
					v, err := ctl.PreviewRevoke(cmd.Context(), args[0])
					if err != nil {
						return err
					}
					return c.show(v, func() {
						c.printf("token %s (%s) would be revoked\n", v.Token.Name, v.Token.Role)
						c.noteToken(v.Seen)
					})
				}
				v, err := ctl.RevokeToken(cmd.Context(), args[0], by)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printf("token %s (%s) is revoked\n", v.Token.Name, v.Token.Role) })
			})
		},
	}
	f.add(c, cmd)
	return cmd
}
