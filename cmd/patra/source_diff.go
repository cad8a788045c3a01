package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/node"
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
				return &usageError{cmd: cmd.CommandPath(), err: errors.New("diff takes one source or one pack")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			isFile := strings.HasSuffix(args[0], ".yaml") || strings.HasSuffix(args[0], ".yml") || strings.ContainsRune(args[0], os.PathSeparator)
			switch {
			case isFile && (from != "" || to != ""):
				return &usageError{cmd: cmd.CommandPath(), err: errors.New("a pack is compared with what is in force now: leave --from and --to out")}
			case !isFile && from == "":
				return &usageError{cmd: cmd.CommandPath(), err: errors.New("diff CODE needs --from T, the earlier of the two instants")}
			}
			var (
				diff  []sourcefile.Difference
				heads [2]string
				code  = args[0]
				err   error
			)
			if isFile {
				code, diff, err = c.diffFile(cmd, args[0])
				heads = [2]string{"in force now", args[0]}
			} else {
				diff, heads, err = c.diffInstants(cmd, code, from, to)
			}
			if err != nil {
				return err
			}
			if diff == nil {
				diff = []sourcefile.Difference{}
			}
			err = c.show(map[string]any{"source": code, "old": heads[0], "new": heads[1], "fields": diff}, func() {
				c.printf("%s: %s -> %s, %s\n", code, heads[0], heads[1], count(len(diff), "difference"))
				for _, d := range diff {
					c.printf("  %s\n", d)
				}
			})
			if err == nil && exitCode && len(diff) > 0 {
				return exitError(exitDifferences)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the earlier instant, RFC 3339 or a date (UTC)")
	cmd.Flags().StringVar(&to, "to", "", "the later instant; default now")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit 10 if there are differences")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) diffFile(cmd *cobra.Command, file string) (string, []sourcefile.Difference, error) {
	p, _, err := c.readPack(file)
	if err != nil {
		return "", nil, err
	}
	con, err := c.contents(cmd, p.Definition.Source)
	if err != nil {
		return "", nil, err
	}
	return p.Definition.Source, sourcefile.Diff(con.Pack(con.ReadAt), p.Definition), nil
}

func (c *cli) diffInstants(cmd *cobra.Command, code, from, to string) ([]sourcefile.Difference, [2]string, error) {
	var heads [2]string
	a, err := parseTime("from", from)
	if err != nil {
		return nil, heads, err
	}
	b, err := parseTime("to", to)
	if err != nil {
		return nil, heads, err
	}
	con, err := c.contents(cmd, code)
	if err != nil {
		return nil, heads, err
	}
	if b.IsZero() {
		b = con.ReadAt
	}
	heads = [2]string{control.Time(a).String(), control.Time(b).String()}
	return sourcefile.Diff(con.Pack(a), con.Pack(b)), heads, nil
}

// contents reads a source.
func (c *cli) contents(cmd *cobra.Command, code string) (con source.Contents, err error) {
	err = c.withNode(cmd.Context(), func(ctx context.Context, n *node.Node) (err error) {
		con, err = n.Registry.Contents(ctx, code)
		return err
	})
	return con, err
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
			con, err := c.contents(cmd, args[0])
			if err != nil {
				return err
			}
			if when.IsZero() {
				when = con.ReadAt
			}
			if len(con.InForce(when)) == 0 {
				return fmt.Errorf("source %s at %s: no row was in force: %w", args[0], control.Time(when), harvest.ErrNotFound)
			}
			c.printf("%s# %s as in force at %s\n%s", schemaLine, args[0], control.Time(when), sourcefile.Format(con.Pack(when)))
			return nil
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "instant, RFC 3339 or a date (UTC); default now")
	return cmd
}

// schemaLine tells editors where the schema is.
const schemaLine = "# yaml-language-server: $schema=source.schema.json\n"
