package main

import (
	"os"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) sourceDiffCmd() *cobra.Command {
	var from, to string
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "diff (CODE --from T [--to T] | FILE)",
		Short: "Compare a source at two instants, or a pack with what is in force now",
		Example: "  patra source diff crossref --from 2026-11-01 --to 2026-12-01\n" +
			"  patra source diff crossref.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse(cmd, "diff takes one source or one pack")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			isFile := strings.HasSuffix(args[0], ".yaml") || strings.HasSuffix(args[0], ".yml") || strings.ContainsRune(args[0], os.PathSeparator)
			switch {
			case isFile && (from != "" || to != ""):
				return misuse(cmd, "a pack is compared with what is in force now: leave --from and --to out")
			case !isFile && from == "":
				return misuse(cmd, "diff CODE needs --from T, the earlier of the two instants")
			}
			a, err := parseTime("from", from)
			if err != nil {
				return err
			}
			b, err := parseTime("to", to)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				var diff control.SourceDiff
				if isFile {
					diff, err = ctl.DiffPack(cmd.Context(), args[0])
				} else {
					diff, err = ctl.DiffSource(cmd.Context(), args[0], a, b)
				}
				if err != nil {
					return err
				}
				err = c.showList(diff, "fields", func() { c.printDiff(diff) })
				if err == nil && exitCode && len(diff.Fields) > 0 {
					return exitError(exitDifferences)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the earlier instant, RFC 3339 or a date (UTC)")
	cmd.Flags().StringVar(&to, "to", "", "the later instant; default now")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit 10 if there are differences")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printDiff(d control.SourceDiff) {
	c.printf("%s: %s -> %s, %s\n", d.Source, d.Old, d.New, control.Count(len(d.Fields), "difference"))
	for _, f := range d.Fields {
		c.printf("  %s\n", f)
	}
}

func (c *cli) sourceExportCmd() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use: "export CODE", Short: "Print a pack that applies to the rows in force", Args: oneSource,
		Example: "  patra source export crossref > crossref.yaml\n  patra source export crossref --at 2026-11-01 > before.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			when, err := parseTime("at", at)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				pack, err := ctl.ExportSource(cmd.Context(), args[0], when)
				if err != nil {
					return err
				}
				c.printf("%s%s", schemaLine, pack)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "instant, RFC 3339 or a date (UTC); default now")
	return cmd
}

// schemaLine tells editors where the schema is.
const schemaLine = "# yaml-language-server: $schema=source.schema.json\n"
