package main

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) explainCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain [CODE]", Short: "What a code or a state means, what patra does about it, and what you can do",
		Example: "  patra explain circuit_open\n  patra explain", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			word := ""
			if len(args) > 0 {
				word = args[0]
			}
			v, err := control.ExplainCode(word)
			if err != nil {
				return err
			}
			return c.showList(v, "explained", func() {
				if word == "" {
					c.listExplained(v.Explained)
					return
				}
				c.printExplained(v.Explained)
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// listExplained prints every word with what it means.
func (c *cli) listExplained(all []control.Explanation) {
	rows := make([][]any, len(all))
	for i, e := range all {
		rows[i] = []any{e.Code, e.Kind, e.Means}
	}
	c.table([]column{{head: "CODE", width: 22}, {head: "OF", width: 20}, {head: "MEANS", wraps: true}}, rows)
}

// printExplained prints all that is known of a word.
func (c *cli) printExplained(senses []control.Explanation) {
	for i, e := range senses {
		if i > 0 {
			c.printf("\n")
		}
		c.printf("%s (%s)\n  means:        %s\n", e.Code, e.Kind, e.Means)
		if e.Does == "" {
			continue
		}
		c.printf("  what is done: %s\n  what to do:   %s\n", e.Does, e.Do)
	}
}
