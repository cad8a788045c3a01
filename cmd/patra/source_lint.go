package main

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) sourceLintCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check packs: every mistake at once, with its place and what to write instead",
		Long: "Lint reads packs and compiles them for every operation, without a database and without the network.\n" +
			"Notes name the defaults taken where a pack leaves something open; they are no mistakes.",
		Example: "  patra source lint sources/*.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misuse(cmd, "lint needs at least one pack, such as mysource.yaml")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return c.lint(args) },
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) lint(files []string) error {
	linted, err := control.Lint(node.Shelf(c.config()), files)
	if err != nil {
		return err
	}
	if c.json {
		if err := c.printData(linted, "mistakes"); err != nil {
			return err
		}
		if !linted.Clean {
			return exitError(exitUsage)
		}
		return nil
	}
	for _, f := range linted.Files {
		c.printf("%s: ok, %s\n", f.Name, control.Count(len(f.Notes), "note"))
		for _, w := range f.Notes {
			c.printf("  note: %s\n", w)
		}
	}
	return linted.Err()
}

func (c *cli) sourceSchemaCmd() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of packs, for editors", Args: noArgs,
		Example: "  patra source schema > source.schema.json",
		RunE: func(*cobra.Command, []string) error {
			c.printf("%s", node.PackSchema())
			return nil
		},
	}
}
