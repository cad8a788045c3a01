package main

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// withSchema opens the database without a look at its schema, and uses it.
func (c *cli) withSchema(ctx context.Context, read bool, use func(control.BareStore) error) error {
	cfg := c.config()
	cfg.ReadOnly = read
	db, err := node.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // migrations are committed
	return use(db)
}

// schema tells the version of the database's schema.
func (c *cli) schema(ctx context.Context) (s control.Schema, err error) {
	err = c.withSchema(ctx, true, func(db control.BareStore) error {
		s, err = control.SchemaOf(ctx, db)
		return err
	})
	return s, err
}

func (c *cli) dbCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "db", Short: "Look after the database"}
	verbs(cmd,
		c.dbMigrateCmd(),
		c.dbStatusCmd(),
		c.dbBackupCmd(),
		c.dbArchiveCmd(),
		c.dbCompactCmd(),
		c.dbGrantsCmd())
	return cmd
}

func (c *cli) dbMigrateCmd() *cobra.Command {
	var dryRun bool
	var reason string
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the schema up to date", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dryRun {
				s, err := c.schema(cmd.Context())
				if err != nil {
					return err
				}
				return c.show(s, func() { c.printSchema(s) })
			}
			return c.withSchema(cmd.Context(), false, func(db control.BareStore) error {
				v, err := control.Migrate(cmd.Context(), db, c.by(reason))
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printf("%s: %d migrations applied, schema is %d\n", v.Store, len(v.Migrations), v.Need) })
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show which schema it has and which it would get; nothing is changed")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit (default: the command)")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) dbStatusCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Show the schema version, how large the tables are, and what is archived when", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.schema(cmd.Context())
			if err != nil {
				return err
			}
			if s.Have != s.Need { // nothing else can be read
				return c.show(s, func() { c.printSchema(s) })
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.DBStatus(cmd.Context())
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printDBStatus(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printSchema(s control.Schema) {
	c.printf("%s: schema %d, this patra needs %d\n", s.Store, s.Have, s.Need)
}

func (c *cli) printDBStatus(v control.DBStatus) {
	c.printSchema(v.Schema)
	if v.Bytes != nil {
		c.printf("size      %d bytes", *v.Bytes)
		if v.FreeBytes != nil {
			c.printf(", %d of them free for new rows", *v.FreeBytes)
		}
		c.printf("\n")
	}
	if v.Keeping.Where == "" {
		c.printf("archive   nowhere, so everything stays; name a directory with --archive\n")
	} else {
		c.printf("archive   %s; the trail of the work stays %s, replaced versions of records %s\n",
			v.Keeping.Where, keptWords(v.Keeping.TrailSeconds), keptWords(v.Keeping.VersionsSeconds))
	}
	if a := v.LastArchive; a != nil {
		c.printf("archived  %d rows on %s in %s\n", a.Rows, a.CreatedAt.UTC().Format(time.DateOnly), a.File)
	}
	rows := make([][]any, len(v.Tables))
	for i, t := range v.Tables {
		rows[i] = []any{t.Table, countText(control.Counted{Count: t.Rows, More: t.More}), t.Bytes, "-"}
		if !time.Time(t.Oldest).IsZero() {
			rows[i][3] = control.Time(t.Oldest)
		}
		if t.Bytes != nil {
			rows[i][2] = *t.Bytes
		}
	}
	c.table([]column{{head: "TABLE", width: 22}, {head: "ROWS", right: true}, {head: "BYTES", right: true}, {head: "OLDEST"}}, rows)
}

// keptWords says how long something stays.
func keptWords(seconds int64) string {
	if seconds == 0 {
		return "for ever"
	}
	return control.Count(int(seconds/86400), "day")
}

const grantRoles = "reader, executor, planner, scheduler, relay, console, operator, owner"

func (c *cli) dbGrantsCmd() *cobra.Command {
	var user string
	var readOnly bool
	cmd := &cobra.Command{
		Use: "grants ROLE", Short: "Print what a user of a MySQL server must be granted for a role, and no more",
		Long: "Grants prints SQL for " + grantRoles + ". A reader looks at things, the next five are\n" +
			"roles of patra serve, an operator runs all other commands, the owner migrates the schema too. It asks no database.\n\n" +
			"A console needs what the people need who use it: the rights of an operator, those of a reader with --read-only. So does\n" +
			"another role that serves the API (--listen). Executors, planners, schedulers and relays may not change the registry: apply\n" +
			"packs as operator first (patra source apply).",
		Example: "  patra db grants executor --user patra_executor@10.0.0.%",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse(cmd, "%s takes one role: %s", cmd.CommandPath(), grantRoles)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if user == "" {
				user = "patra_" + args[0]
			}
			isConsole := args[0] == "console"
			if readOnly && !isConsole {
				return misuse(cmd, "--read-only is about a console: patra db grants console --read-only")
			}
			as := args[0]
			if isConsole {
				as = "operator"
			}
			if readOnly {
				as = "reader"
			}
			list, err := node.Grants(as, c.db, user)
			if err != nil {
				return err
			}
			return c.show(map[string]any{"role": args[0], "as": as, "user": user, "grants": list}, func() {
				if isConsole {
					c.printf("-- what the role %s needs\n", as)
				}
				for _, line := range list {
					c.printf("%s\n", line)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "of a console: one that lets nobody change anything")
	cmd.Flags().StringVar(&user, "user", "", "user, or user@host, who is granted them (default: patra_ROLE from any host)")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}
