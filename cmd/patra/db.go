package main

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// schemaQuestion is asked of a database whose schema may be another's.
type schemaQuestion func(context.Context, control.SchemaStore) (control.Schema, error)

// withSchema opens the database without a look at its schema, and asks about it.
func (c *cli) withSchema(ctx context.Context, read bool, ask schemaQuestion) (control.Schema, error) {
	cfg := c.config()
	cfg.ReadOnly = read
	db, err := node.Connect(ctx, cfg)
	if err != nil {
		return control.Schema{}, err
	}
	defer db.Close() //nolint:errcheck // migrations are committed
	return ask(ctx, db)
}

func (c *cli) dbCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "db", Short: "Look after the database"}
	verbs(cmd,
		&cobra.Command{
			Use: "migrate", Short: "Bring the schema up to date", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := c.withSchema(cmd.Context(), false, control.Migrate)
				if err != nil {
					return err
				}
				c.printf("%s: %d migrations applied, schema is %d\n", s.Store, s.Applied, s.Need)
				return nil
			},
		},
		&cobra.Command{
			Use: "status", Short: "Show the schema version", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := c.withSchema(cmd.Context(), true, control.SchemaOf)
				if err != nil {
					return err
				}
				c.printf("%s: schema %d, this patra needs %d\n", s.Store, s.Have, s.Need)
				return nil
			},
		})
	return cmd
}
