package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) verifyCmd() *cobra.Command {
	var deep bool
	var after int64
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the store against its own rules; exit 10 if it breaks one",
		Long: "Verify checks the file first (SQLite), then the store's own rules. With --deep it also unpacks every\n" +
			"record as it came and holds it against the hash taken then, which reads the whole store. It only reads.",
		Example: "  patra verify\n  patra verify --deep",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !deep && cmd.Flags().Changed("after") {
				return misuse(cmd, "--after is for --deep")
			}
			v, err := c.verify(cmd.Context(), deep, after)
			stopped := v != nil && v.Deep != nil && interrupted(cmd.Context(), err)
			if err != nil && !stopped {
				return err
			}
			if err := c.showList(v, "findings", func() { c.printVerified(v) }); err != nil {
				return err
			}
			switch {
			case stopped:
				c.notef("patra: interrupted after version %d of %d [interrupted]\nnext: patra verify --deep --after %d\n",
					v.Deep.After, v.Deep.Of, v.Deep.After)
				return exitError(exitInterrupted)
			case len(v.Findings) > 0:
				return exitError(exitDifferences)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	f.BoolVar(&deep, "deep", false, "unpack every record as it came and hold it against its hash")
	f.Int64Var(&after, "after", 0, "with --deep: go on after this version of a record")
	return cmd
}

// verify checks the file, then what is in it. What was found is returned also if it
// was interrupted while it looked at bodies.
func (c *cli) verify(ctx context.Context, deep bool, after int64) (v *control.Verified, err error) {
	damage, err := node.Integrity(ctx, c.config())
	if err != nil {
		return nil, err
	}
	if len(damage) > 0 {
		return control.Damaged(cmp.Or(c.db, node.DefaultDB()), damage), nil
	}
	err = c.reading(ctx, func(ctl *control.Control) error {
		v, err = ctl.Verify(ctx, control.VerifyRequest{Deep: deep, After: after, Progress: c.deepProgress()})
		return err
	})
	return v, err
}

// deepProgress tells on stderr how far the check has come, at most every five
// seconds, and where it could go on if it were ended here.
func (c *cli) deepProgress() func(control.DeepCheck) {
	told := time.Now()
	return func(at control.DeepCheck) {
		if c.progress == "none" || time.Since(told) < 5*time.Second {
			return
		}
		told = time.Now()
		c.notef("verify  %d bodies, version %d of %d; goes on from here with --deep --after %d\n", at.Bodies, at.After, at.Of, at.After)
	}
}

func (c *cli) printVerified(v *control.Verified) {
	printFindings(c.printf, v.Findings)
	switch {
	case v.Damaged:
		c.notef("patra: the file of the database is damaged; nothing else was checked [damaged]\n" +
			"next: put back a copy from before the damage; `patra harvest SOURCE` then goes on from there\n")
	case v.Clean:
		words := []string{"every rule of the store holds"}
		if strings.HasPrefix(v.Store, "sqlite:") {
			words = append([]string{"the file is sound"}, words...)
		}
		if v.Deep != nil {
			words = append(words, fmt.Sprintf("%d bodies are what came", v.Deep.Bodies))
		}
		c.printf("clean: %s in %s\n", strings.Join(words, ", "), v.Store)
	}
}

// printFindings prints what was found, under the rule that is broken by it.
func printFindings(printf func(string, ...any), found []control.Finding) {
	rule := ""
	for _, f := range found {
		if f.Rule != rule {
			rule = f.Rule
			printf("does not hold: %s\n", rule)
		}
		printf("  %s: %s\n", f.Object, f.Detail)
	}
}
