package main

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) sourceTestCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test PACK...",
		Short: "Try packs on the replies beside them: what is asked, which records come out",
		Long: "Beside mysource.yaml, mysource.cases.yaml holds replies and what they mean: the request that is sent, the\n" +
			"records that come out with their fields, or the fault. Test runs them through the client and the decoder of a\n" +
			"harvest, without a database and without the network. A shipped pack is named by its source.",
		Example: "  patra source test mysource.yaml\n  patra source test crossref pubmed",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misuse(cmd, "test needs at least one pack, such as mysource.yaml or crossref")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.testPacks(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) testPacks(ctx context.Context, packs []string) error {
	tested, err := node.TestPacks(ctx, packs)
	if err != nil {
		return err
	}
	err = c.showList(tested, "packs", func() {
		for _, t := range tested.Packs {
			c.printTested(t)
		}
	})
	if err != nil {
		return err
	}
	if tested.Failed > 0 {
		return exitError(exitDifferences)
	}
	return nil
}

func (c *cli) printTested(t control.TestedPack) {
	wrong := 0
	for _, r := range t.Results {
		if len(r.Differences) == 0 {
			continue
		}
		wrong++
		c.printf("%s %s:%d: %s\n", c.glyph(control.Failed), t.Cases, r.Line, r.Name)
		for _, d := range r.Differences {
			c.printf("    %s\n", d)
		}
	}
	family := control.OK
	if wrong > 0 {
		family = control.Failed
	}
	c.printf("%s %s: %d of %s as expected\n", c.glyph(family), t.Pack, len(t.Results)-wrong, control.Count(len(t.Results), "case"))
}
