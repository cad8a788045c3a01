package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/infra/sqlstore"
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
				return &usageError{cmd: cmd.CommandPath(), err: errors.New("--after is for --deep")}
			}
			v, err := c.verify(cmd.Context(), deep, after)
			stopped := v != nil && v.Deep != nil && interrupted(cmd.Context(), err)
			if err != nil && !stopped {
				return err
			}
			c.printVerified(v)
			switch {
			case stopped:
				c.notef("patra: interrupted after version %d of %d [interrupted]\nnext: patra verify --deep --after %d\n", v.Deep.After, v.Deep.Of, v.Deep.After)
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

// verified is what came of a check, in the form --json prints.
type verified struct {
	Clean    bool                `json:"clean"`
	Findings []sqlstore.Finding  `json:"findings"`
	Store    string              `json:"store"`
	Deep     *sqlstore.DeepCheck `json:"deep,omitempty"`
	// damaged: the file itself is, and nothing else was looked at.
	damaged bool
}

// verify checks the file, then the rules, then the bodies. What was found is
// returned also if it was interrupted in the last.
func (c *cli) verify(ctx context.Context, deep bool, after int64) (*verified, error) {
	dsn := cmp.Or(c.db, node.DefaultDB())
	damage, err := sqlstore.Integrity(ctx, dsn, sqlstore.Options{Logger: c.logger()})
	if err != nil {
		return nil, err
	}
	if len(damage) > 0 {
		return &verified{Findings: damage, Store: dsn, damaged: true}, nil
	}
	n, err := c.openRead(ctx)
	if err != nil {
		return nil, err
	}
	defer n.Close() //nolint:errcheck // nothing was written to it
	found, err := n.Store.Verify(ctx)
	if err != nil {
		return nil, err
	}
	v := &verified{Findings: append([]sqlstore.Finding{}, found...), Store: n.Store.DSN()}
	if deep {
		found, at, derr := n.Store.VerifyBodies(ctx, after, c.deepProgress())
		v.Findings, v.Deep = append(v.Findings, found...), &at
		if derr != nil {
			return v, derr
		}
	}
	if err := n.Store.CheckFile(); err != nil {
		return nil, err
	}
	v.Clean = len(v.Findings) == 0
	return v, nil
}

// deepProgress tells on stderr how far the check has come, at most every five
// seconds, and where it could go on if it were ended here.
func (c *cli) deepProgress() func(sqlstore.DeepCheck) {
	told := time.Now()
	return func(at sqlstore.DeepCheck) {
		if c.progress == "none" || time.Since(told) < 5*time.Second {
			return
		}
		told = time.Now()
		c.notef("verify  %d bodies, version %d of %d; goes on from here with --deep --after %d\n", at.Bodies, at.After, at.Of, at.After)
	}
}

func (c *cli) printVerified(v *verified) {
	if c.json {
		b, err := json.Marshal(v)
		if err != nil { // plain values
			panic(err)
		}
		c.printf("%s\n", b)
		return
	}
	printFindings(c.printf, v.Findings)
	switch {
	case v.damaged:
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
func printFindings(printf func(string, ...any), found []sqlstore.Finding) {
	rule := ""
	for _, f := range found {
		if f.Rule != rule {
			rule = f.Rule
			printf("does not hold: %s\n", rule)
		}
		printf("  %s: %s\n", f.Object, f.Detail)
	}
}
