package main

import (
	"regexp"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) sourceNewCmd() *cobra.Command {
	var from, set string
	cmd := &cobra.Command{
		Use: "new NAME | new --from oai-pmh [NAME] URL", Short: "Print a skeleton of a pack, or a pack made of what a repository says of itself",
		Long: "New prints a commented skeleton. With --from oai-pmh it asks a repository for its name, datestamps, formats and sets,\n" +
			"three requests, and prints a pack that can be checked and harvested as it is.",
		Example: "  patra source new mysource > mysource.yaml\n  patra source lint mysource.yaml\n" +
			"  patra source new --from oai-pmh https://zenodo.org/oai2d > zenodo-org.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if from != "" && (len(args) == 1 || len(args) == 2) {
				return nil
			}
			return oneSource(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if from != "" && len(args) == 1 {
				name = ""
			}
			if name != "" && !regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`).MatchString(name) {
				return misuse(cmd, "%q is not a code: small letters, digits, - and _, beginning with a letter", name)
			}
			switch from {
			case "":
				c.printf("%s%s", schemaLine, strings.ReplaceAll(skeleton, "NAME", name))
				return nil
			case "oai-pmh":
				return c.changing(cmd.Context(), func(ctl *control.Control) error {
					pack, err := ctl.PackFromOAI(cmd.Context(), name, args[len(args)-1], set)
					if err == nil {
						c.printf("%s%s", schemaLine, pack)
					}
					return err
				})
			}
			return misuse(cmd, "--from %q is not known: use --from oai-pmh", from)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "make the pack from what a source says of itself: oai-pmh, with the base URL of a repository")
	cmd.Flags().StringVar(&set, "set", "", "with --from oai-pmh: read this set only")
	return cmd
}

// skeleton is a pack with everything still to be said.
const skeleton = control.PackSkeleton
