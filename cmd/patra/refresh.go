package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// refreshFlags say which records are read again.
type refreshFlags struct {
	ids, olderThan   string
	mapping, signals bool
	max              int
	activity         string
}

func (c *cli) refreshCmd() *cobra.Command {
	var f refreshFlags
	var stand standIn
	var workers int
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "refresh SOURCE (--ids FILE|- | --older-than DURATION | --mapping-changed | --signals)",
		Short: "Read records again by their ids: stale, mapped otherwise, or signalled",
		Long: "Refresh freezes which records it is about, then asks the source for each of them once, in an activity of its\n" +
			"own; the harvest is not disturbed. A record that is not found in two refreshes a day apart becomes GONE, one that\n" +
			"is answered under another id MERGED, and one that is found again ACTIVE; nothing is ever deleted. Run again on\n" +
			"the same day it goes on where it stopped; a new --activity reads everything again.",
		Example: "  patra refresh pubmed --older-than 90d\n  patra refresh crossref --ids dois.txt\n  patra refresh pubmed --signals --dry-run",
		Args:    oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			base, err := stand.base()
			if err != nil {
				return err
			}
			if err := checkWorkers(cmd, workers); err != nil {
				return err
			}
			n, err := c.open(cmd.Context(), workers)
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // everything is committed
			req := control.HarvestRequest{Source: args[0], Operation: harvest.Update, BaseURL: base}
			if req.Pick, req.Activity, err = f.pick(cmd.Context(), n, args[0], cmd.InOrStdin()); err != nil {
				return err
			}
			if dryRun {
				n.Registry.Preview()
				p, err := n.Planner.Preview(cmd.Context(), harvest.Trigger{Provenance: args[0], Operation: harvest.Update, Activity: req.Activity, Pick: req.Pick})
				if err != nil {
					return err
				}
				return c.printRefreshPreview(args[0], req.Activity, p)
			}
			return c.runHarvest(cmd.Context(), n, req)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.ids, "ids", "", "the records with these ids, one a line, from a file or - for stdin")
	fs.StringVar(&f.olderThan, "older-than", "", "records last seen longer ago than this, such as 90d or PT12H")
	fs.BoolVar(&f.mapping, "mapping-changed", false, "records made by another mapping than the one in force")
	fs.BoolVar(&f.signals, "signals", false, "what notices, quarantine and ids without details point to")
	fs.IntVar(&f.max, "max", 0, "at most so many, those longest not seen first (default: all)")
	fs.StringVar(&f.activity, "activity", "", "name of the activity (default: made from what is asked for and the date)")
	stand.add(fs, "send this plan's requests to another host: a simulator or mirror")
	fs.IntVar(&workers, "workers", 4, "slices worked on at once")
	fs.BoolVar(&dryRun, "dry-run", false, "show how many records would be read, with how many requests; nothing is asked or saved")
	fs.BoolVar(&c.json, "json", false, "print one JSON object at the end")
	return cmd
}

// check wants exactly one way to say which records.
func (f *refreshFlags) check(cmd *cobra.Command) error {
	bad := func(err error) error { return &usageError{cmd: cmd.CommandPath(), err: err} }
	given := 0
	for _, is := range []bool{f.ids != "", f.olderThan != "", f.mapping, f.signals} {
		if is {
			given++
		}
	}
	if given != 1 {
		return bad(errors.New("say which records: one of --ids, --older-than, --mapping-changed and --signals"))
	}
	if d, err := source.ParseDuration(f.olderThan); f.olderThan != "" && (err != nil || d < 0) {
		return bad(fmt.Errorf("--older-than %q is no length of time, such as 90d, 12h or PT12H", f.olderThan))
	}
	if f.max < 0 {
		return bad(fmt.Errorf("--max %d is below zero", f.max))
	}
	return nil
}

// pick is what the flags ask for, and the name of the activity: the same command
// on the same day is the same activity.
func (f *refreshFlags) pick(ctx context.Context, n *node.Node, code string, stdin io.Reader) (p harvest.CandidatePick, activity string, err error) {
	p.Max = f.max
	kind := ""
	switch {
	case f.ids != "":
		if p.IDs, err = readIDs(ctx, n, code, f.ids, stdin); err != nil {
			return p, "", err
		}
		if len(p.IDs) == 0 {
			return p, "", &usageError{cmd: "patra refresh", err: fmt.Errorf("--ids %s holds no id", f.ids)}
		}
		kind = "ids-" + harvest.HashKey(p.IDs...)[:16]
	case f.olderThan != "":
		d, err := source.ParseDuration(f.olderThan)
		if err != nil {
			return p, "", err
		}
		if p.SeenBefore, err = n.Control.Ago(ctx, d); err != nil {
			return p, "", err
		}
		kind = "older-than-" + strings.ToLower(f.olderThan)
	case f.mapping:
		p.MappingChanged, kind = true, "mapping-changed"
	default:
		p.Signals, kind = true, "signals"
	}
	now, err := n.Control.Ago(ctx, 0)
	if f.activity != "" {
		return p, f.activity, err
	}
	if f.max > 0 {
		kind += fmt.Sprintf("-max-%d", f.max)
	}
	return p, "refresh-" + kind + "-" + now.Format(time.DateOnly), err
}

func readIDs(ctx context.Context, n *node.Node, code, name string, stdin io.Reader) ([]string, error) {
	if name == "-" {
		return n.Control.ReadIDs(ctx, code, stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, &usageError{cmd: "patra refresh", err: fmt.Errorf("--ids: %w", err)}
	}
	defer file.Close() //nolint:errcheck // only read
	return n.Control.ReadIDs(ctx, code, file)
}

func (c *cli) printRefreshPreview(code, activity string, p planner.Preview) error {
	if c.json {
		return c.printJSON(struct {
			Source    string            `json:"source"`
			Operation harvest.Operation `json:"operation"`
			Activity  string            `json:"activity"`
			Records   int64             `json:"expected_records"`
			Slices    int               `json:"slices"`
			Requests  int64             `json:"requests"`
			Seconds   float64           `json:"duration_seconds"`
			Noop      bool              `json:"noop"`
			Reason    string            `json:"reason,omitempty"`
		}{code, harvest.Update, activity, p.Expected, len(p.Slices), p.Requests, p.Duration.Seconds(), p.Noop, p.Reason})
	}
	if p.Noop {
		c.printf("%s UPDATE: nothing would be read, %s\n", code, p.Reason)
		return nil
	}
	c.printf("%s UPDATE  would read %d records again (%s)\n", code, p.Expected, activity)
	c.printf("  requests  about %d, some %s at the configured rate\n", p.Requests, p.Duration)
	for _, q := range p.Quotas {
		c.printf("  quota     %.1f %% of %d per %s\n", 100*q.Share, q.Limit, q.Window)
	}
	c.notef("nothing was asked and nothing was saved\n")
	return nil
}
