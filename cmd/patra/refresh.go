package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/papertrace/patra/internal/app/control"
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
	var manner mannerFlags
	var workers int
	var detach bool
	var change changeFlags
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
			how, err := manner.read(cmd)
			if err != nil {
				return err
			}
			if err := checkWorkers(cmd, workers); err != nil {
				return err
			}
			req, done, err := f.request(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			defer done()
			req.BaseURL = base
			req.Manner = how
			req.By, err = change.byAnyReason(c, cmd)
			if err != nil {
				return err
			}
			req.Detach = detach
			err = c.refresh(cmd.Context(), req, workers, change.dryRun)
			if errors.Is(err, control.ErrNoIDs) {
				return &usageError{cmd: "patra refresh", err: fmt.Errorf("--ids %s holds no id", f.ids)}
			}
			return err
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
	manner.add(cmd)
	fs.IntVar(&workers, "workers", 4, "slices worked on at once")
	detachFlag(fs, &detach)
	fs.BoolVar(&change.dryRun, "dry-run", false, "show how many records would be read, with how many requests, and a token for --apply; nothing is asked or saved")
	change.addRest(c, cmd)
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
	if d, err := control.ParseDuration(f.olderThan); f.olderThan != "" && (err != nil || d < 0) {
		return bad(fmt.Errorf("--older-than %q is no length of time, such as 90d, 12h or PT12H", f.olderThan))
	}
	if f.max < 0 {
		return bad(fmt.Errorf("--max %d is below zero", f.max))
	}
	return nil
}

// request is what the flags ask for. done closes the list of ids when it was read.
func (f *refreshFlags) request(code string, stdin io.Reader) (req control.RefreshRequest, done func(), err error) {
	req = control.RefreshRequest{
		Source: code, OlderThan: f.olderThan, MappingChanged: f.mapping, Signals: f.signals, Max: f.max, Activity: f.activity,
	}
	switch f.ids {
	case "":
		return req, func() {}, nil
	case "-":
		req.IDs = stdin
		return req, func() {}, nil
	}
	file, err := os.Open(f.ids)
	if err != nil {
		return req, nil, &usageError{cmd: "patra refresh", err: fmt.Errorf("--ids: %w", err)}
	}
	req.IDs = file
	return req, func() { file.Close() }, nil //nolint:errcheck // only read
}

func (c *cli) refresh(ctx context.Context, req control.RefreshRequest, workers int, preview bool) error {
	if !preview {
		return c.harvest(ctx, req.Source, workers, func(ctl *control.Control, w *control.Watch) (*control.Report, error) {
			req.Watch = w
			return ctl.Refresh(ctx, req)
		})
	}
	return c.changing(ctx, func(ctl *control.Control) error {
		v, err := ctl.PreviewRefresh(ctx, req)
		if err != nil {
			return err
		}
		return c.show(v, func() { c.printRefreshPreview(v) })
	})
}

func (c *cli) printRefreshPreview(v control.RefreshPreview) {
	if v.Noop {
		c.printf("%s UPDATE: nothing would be read, %s\n", v.Source, v.Reason)
		return
	}
	c.printf("%s UPDATE  would read %d records again (%s)\n", v.Source, v.Records, v.Activity)
	c.printf("  requests  about %d, some %s at the configured rate\n", v.Requests, v.Duration)
	c.printQuotas(v.Quotas)
	c.notef("nothing was asked and nothing was saved\n")
	c.noteToken(v.Token)
}

func (c *cli) printQuotas(quotas []control.QuotaShare) {
	for _, q := range quotas {
		c.printf("  quota     %.1f %% of %d per %s\n", 100*q.Share, q.Limit, q.Window)
	}
}
