package main

import (
	"cmp"
	"context"

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// connect opens the database without a look at its schema.
func (c *cli) connect(ctx context.Context, read bool) (*sqlstore.Store, error) {
	dsn := cmp.Or(c.db, node.DefaultDB())
	if !read {
		if err := node.MakeDataDir(dsn); err != nil {
			return nil, err
		}
	}
	return sqlstore.Connect(ctx, dsn, sqlstore.Options{Logger: c.logger(), ReadOnly: read})
}

func (c *cli) dbCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "db", Short: "Look after the database"}
	verbs(cmd,
		&cobra.Command{
			Use: "migrate", Short: "Bring the schema up to date", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := c.connect(cmd.Context(), false)
				if err != nil {
					return err
				}
				defer s.Close() //nolint:errcheck // migrations are committed
				done, err := s.Migrate(cmd.Context())
				if err != nil {
					return err
				}
				_, want, err := s.Schema(cmd.Context())
				if err != nil {
					return err
				}
				c.printf("%s: %d migrations applied, schema is %d\n", s.DSN(), len(done), want)
				return nil
			},
		},
		&cobra.Command{
			Use: "status", Short: "Show the schema version", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := c.connect(cmd.Context(), true)
				if err != nil {
					return err
				}
				defer s.Close() //nolint:errcheck // nothing was written
				have, want, err := s.Schema(cmd.Context())
				if err != nil {
					return err
				}
				c.printf("%s: schema %d, this patra needs %d\n", s.DSN(), have, want)
				return nil
			},
		})
	return cmd
}
