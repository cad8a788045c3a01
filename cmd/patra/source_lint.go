package main

import (
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
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
				return &usageError{cmd: cmd.CommandPath(), err: errors.New("lint needs at least one pack, such as mysource.yaml")}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return c.lint(args) },
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

type lintView struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
	Path   string `json:"path,omitempty"`
	Text   string `json:"text"`
}

func (c *cli) lint(files []string) error {
	mistakes, notes := []lintView{}, []lintView{}
	var all sourcefile.Problems
	for _, file := range files {
		warnings, err := c.lintFile(file)
		problems, known := errors.AsType[sourcefile.Problems](err)
		if err != nil && !known {
			return err
		}
		all = append(all, problems...)
		for _, p := range problems {
			mistakes = append(mistakes, lintView{p.File, p.Line, p.Column, p.Path, p.Text})
		}
		for _, w := range warnings {
			if err == nil {
				notes = append(notes, lintView{File: file, Path: w.Path, Text: w.Text})
			}
		}
		if !c.json && err == nil {
			c.printf("%s: ok, %s\n", file, count(len(warnings), "note"))
			for _, w := range warnings {
				c.printf("  note: %s\n", w)
			}
		}
	}
	if c.json {
		if err := c.printJSON(map[string]any{"clean": len(all) == 0, "mistakes": mistakes, "notes": notes}); err != nil {
			return err
		}
		if len(all) > 0 {
			return exitError(exitUsage)
		}
		return nil
	}
	if len(all) > 0 {
		return &lintError{all}
	}
	return nil
}

// lintFile checks a pack, or the cases of one.
func (c *cli) lintFile(file string) ([]source.Warning, error) {
	if !sourcefile.IsCases(file) {
		_, warnings, err := c.readPack(file)
		return warnings, err
	}
	data, err := sourcefile.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	_, err = sourcefile.ParseCases(file, data)
	return nil, err
}

// lintError is what lint found.
type lintError struct{ problems sourcefile.Problems }

func (e *lintError) Error() string { return e.problems.Error() }

// Problem implements problem.Error.
func (e *lintError) Problem() problem.Problem {
	return problem.Problem{
		Code: "pack_invalid", Kind: problem.Usage, Title: count(len(e.problems), "mistake") + " in " + count(e.files(), "pack"), Detail: e.Error(),
		Next: "mend the lines named above and lint again",
	}
}

func (e *lintError) files() int {
	seen := map[string]bool{}
	for _, p := range e.problems {
		seen[p.File] = true
	}
	return len(seen)
}

func (c *cli) sourceSchemaCmd() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of packs, for editors", Args: noArgs,
		Example: "  patra source schema > source.schema.json",
		RunE: func(*cobra.Command, []string) error {
			c.printf("%s", sourcefile.Schema())
			return nil
		},
	}
}
