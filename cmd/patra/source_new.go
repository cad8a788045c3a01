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

// skeleton is a pack with everything still to be said. What stands empty is not
// given; lint asks for it by name.
const skeleton = `# patra source schema > source.schema.json    gives editors completion and help.
# patra source lint NAME.yaml                 says what is missing or wrong.

source: NAME
name:
homepage:
baseUrl:              # https://api.example.org
zone: UTC             # whose days the source means
recordType: work      # what a record is: article, work, trial ...
identity: TEXT        # form of ids: TEXT, DOI or NUMBER

# What the provider allows: limit requests per window. What we use of it: qps,
# evenly spaced, about nine tenths of it if left out. Leave all of it out for
# one request a second.
rateLimit:
  limit:
  window:
  qps:
  burst:

# Which date the source is harvested by, and how its filter understands time.
window:
  key:                # name of the date, such as updated
  filters:            # which word of the request filters by which date:
                      #   from: updated
                      #   until: updated
  precision:          # DAY, SECOND, MILLI or MICRO
  bound:              # CLOSED if the upper bound sent includes itself, else OPEN
  safetyLag: 10m
  baseline: 30d       # where a first harvest begins

# How pages follow each other, and what proves that there are no more.
pagination:
  type:               # OFFSET, PAGE, TOKEN, URL, SCROLL or TIME
  pageSize:
  end:                # EMPTY_PAGE, NO_TOKEN, NO_URL, HAS_MORE_FALSE, TOTAL_REACHED ...

endpoints:
  list:
    usage: SEARCH
    path:             # /works
    format: JSON      # or XML
    query:            # parameters, with templates:
                      #   from: ${iso(window.from)}
                      #   until: ${iso(window.to)}      ${window.last} if the bound is CLOSED
                      #   rows: ${page.size}
                      #   offset: ${page.offset}        or ${page.no}, ${page.token}
    response:
      items:          # path of the list of items
      id:             # path of the id within an item
      updatedAt:      # {path: updated, format: RFC3339, key: updated}

# Fields of the standard record, each a path within an item.
mapping:
  fields:
    title:
    # authors, journal, published, doi ...: patra source schema, or sources/crossref.yaml
`
