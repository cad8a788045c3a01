package main

import (
	"encoding/json"

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/spf13/cobra"
)

func (c *cli) verifyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the store against its own rules (I1 to I10); exit 10 if it breaks one",
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := c.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // nothing was written to it
			found, err := n.Store.Verify(cmd.Context())
			if err != nil {
				return err
			}
			if c.json {
				if found == nil {
					found = []sqlstore.Finding{}
				}
				b, err := json.Marshal(map[string]any{"clean": len(found) == 0, "findings": found, "store": n.Store.DSN()})
				if err != nil {
					return err
				}
				c.printf("%s\n", b)
			} else {
				for _, f := range found {
					c.printf("%-4s %s: %s\n", f.Invariant, f.Object, f.Detail)
				}
				if len(found) == 0 {
					c.printf("clean: invariants I1 to I10 hold in %s\n", n.Store.DSN())
				}
			}
			if len(found) > 0 {
				return exitError(exitDifferences)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}
