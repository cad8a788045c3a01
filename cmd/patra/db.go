package main

import (
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) dbCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "db", Short: "Look after the database"}
	open := func(cmd *cobra.Command, read bool) (*sqlstore.Store, error) {
		dsn := c.db
		if dsn == "" {
			dsn = node.DefaultDB()
		}
		return sqlstore.Connect(cmd.Context(), dsn, sqlstore.Options{Logger: c.logger(), ReadOnly: read})
	}
	verbs(cmd,
		&cobra.Command{
			Use: "migrate", Short: "Bring the schema up to date", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := open(cmd, false)
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
				s, err := open(cmd, true)
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
