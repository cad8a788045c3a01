package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

// checkFlags are the flags of source check.
type checkFlags struct {
	control.CheckRequest
	stand                  standIn
	op, at, from, to, show string
	strict                 bool
}

func (c *cli) sourceCheckCmd() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Try a source out: read a little of it and say what is well, what is not, and the fix",
		Long: "Check compiles the source for every operation, looks at its credential, and reads one page the way a\n" +
			"harvest would: two requests by default, through the rate gate. It stores no records and moves no cursor.\n" +
			"What fails is named with its fix; what depends on it is skipped.",
		Example: "  patra source check crossref\n" +
			"  patra source check mysource --file mysource.yaml --show http\n" +
			"  patra source check mysource --save fixture && patra source check --file mysource.yaml --offline fixture",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && (f.File != "" || f.Offline != "") {
				return nil // the pack or the fixture says which
			}
			return oneSource(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.Source = args[0]
			}
			if err := f.parse(cmd); err != nil {
				return err
			}
			return c.checkSource(cmd.Context(), &f)
		},
	}
	g := cmd.Flags()
	f.stand.add(g, "send the requests to another host: a simulator or mirror")
	g.StringVar(&f.at, "at", "", "check the description in force at this instant, RFC 3339 or a date (UTC); default now")
	g.StringVar(&f.File, "file", "", "check this pack, which need not be applied")
	g.StringVar(&f.op, "op", "", "operation: harvest (default), backfill or update")
	g.IntVar(&f.Records, "records", 0, fmt.Sprintf("read on until so many records were seen, up to %d; default one page", control.MaxCheckRecords))
	g.StringVar(&f.from, "from", "", "start of the window to read, RFC 3339 or a date (UTC, or the day of a source that counts days); default the last closed day")
	g.StringVar(&f.to, "to", "", "end of the window, not part of it")
	g.StringVar(&f.Query, "query", "", `only what matches, e.g. tiab:"breast cancer"`)
	g.StringVar(&f.show, "show", "", "http: print each request and the beginning of its reply, without secrets")
	g.StringVar(&f.Save, "save", "", "write the replies to this new folder, without secrets")
	g.StringVar(&f.Offline, "offline", "", "read the replies from a folder made by --save; sends nothing")
	g.BoolVar(&f.strict, "strict", false, "warnings fail the check too")
	g.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// parse checks the flags against each other.
func (f *checkFlags) parse(cmd *cobra.Command) error {
	bad := func(format string, args ...any) error {
		return misuse(cmd, format, args...)
	}
	var err error
	f.Operation, err = parseOperation(cmd, f.op)
	if err != nil {
		return err
	}
	f.At, err = parseTime("at", f.at)
	if err != nil {
		return err
	}
	f.Spoken, err = parseSpoken(f.from, f.to)
	if err != nil {
		return err
	}
	f.BaseURL, err = f.stand.base()
	if err != nil {
		return err
	}
	switch {
	case f.Records < 0 || f.Records > control.MaxCheckRecords:
		return bad("--records %d: use 1 to %d", f.Records, control.MaxCheckRecords)
	case f.show != "" && f.show != "http":
		return bad("--show %q is not known: use --show http", f.show)
	case f.File != "" && !f.At.IsZero():
		return bad("--at is for what is in force, --file for what is not: leave one out")
	case f.Save != "" && f.Offline != "":
		return bad("--offline sends nothing that --save could write: leave one out")
	}
	if f.Offline != "" {
		for _, name := range []string{"from", "to", "query", "op", "records", "base-url", "with-credentials"} {
			if cmd.Flags().Changed(name) {
				return bad("--offline asks what --save asked: leave --%s out", name)
			}
		}
	}
	return nil
}

func (c *cli) checkSource(ctx context.Context, f *checkFlags) error {
	return c.changing(ctx, func(ctl *control.Control) error {
		rep, exchanges, err := ctl.CheckSource(ctx, f.CheckRequest)
		if errors.Is(err, fs.ErrExist) {
			return &usageError{cmd: "patra source check", err: fmt.Errorf("%w; --save needs a new or empty folder", err)}
		}
		if err != nil {
			return err
		}
		return c.checked(rep, control.ShowExchanges(exchanges), f)
	})
}

// checked shows what came of a check, and ends with the exit code of that.
func (c *cli) checked(rep *control.CheckReport, shown []control.ShownExchange, f *checkFlags) error {
	if c.json && f.show != "" {
		rep.Exchanges = shown
	}
	err := c.showList(rep, "groups", func() {
		if f.show != "" {
			c.printExchanges(shown)
		}
		c.printCheck(rep)
	})
	if err != nil {
		return err
	}
	if f.Save != "" {
		again := rep.Source
		if f.File != "" {
			again = "--file " + f.File
		}
		c.notef("replies saved in %s; again without a request: patra source check %s --offline %s\n", f.Save, again, f.Save)
	}
	if rep.FailedGroup() != "" {
		return exitError(rep.Blames().Exit())
	}
	if f.strict && rep.Summary.Warnings > 0 {
		c.notef("patra: --strict, and there are warnings [check_warned]\nnext: do what stands behind fix, or leave --strict out\n")
		return exitError(exitFailed)
	}
	next := "patra harvest " + rep.Source
	if f.File != "" {
		next = "patra source apply " + f.File + " --reason TEXT"
	}
	c.notef("next: %s\n", next)
	return nil
}

func (c *cli) printCheck(r *control.CheckReport) {
	c.printf("%s %s: %s\n", r.Source, r.Operation, r.Origin)
	if base, credentials := control.SplitBase(r.BaseURL); credentials {
		c.printf("requests go to %s, with credentials\n", base)
	} else if base != "" {
		c.printf("requests go to %s\n", base)
	}
	for _, g := range r.Groups {
		c.printf("\n%s\n", g.Name)
		c.printChecks(g.Checks)
		if g.Name == control.MappingGroup && len(r.Fields) > 0 {
			c.printFields(r.Fields)
		}
	}
	cost := control.Count(r.Requests.Sent, "request")
	if r.Offline {
		cost = fmt.Sprintf("0 requests, %d replayed", r.Requests.Replayed)
	}
	s := r.Summary
	c.printf("\n%s %s: %d ok, %s, %d failed, %d skipped; %s, %s; nothing was stored\n", c.glyph(control.CheckFamily(r.Status)), r.Source, s.OK, control.Count(s.Warnings, "warning"), s.Failed, s.Skipped, cost, size(r.Requests.Bytes))
}

// printChecks prints the lines of a group: short what is well, with the fix what is not.
func (c *cli) printChecks(checks []control.Check) {
	for _, k := range checks {
		family := control.CheckFamily(k.Status)
		word := ""
		switch family {
		case control.Failed:
			word = "failed: "
		case control.Remarked:
			word = "warning: "
		}
		c.printf("  %s %s%s\n", c.glyph(family), word, k.Text)
		for _, d := range k.Details {
			c.printf("      %s\n", d)
		}
		if k.Fix != "" {
			c.printf("    fix: %s\n", k.Fix)
		}
	}
}

func (c *cli) printFields(fields []control.FieldCoverage) {
	rows := make([][]any, len(fields))
	for i, f := range fields {
		rows[i] = []any{"    " + f.Field, fmt.Sprintf("%d of %d", f.Found, f.Of), fmt.Sprintf("%.1f", f.Percent), f.Example}
	}
	c.table([]column{
		{head: "    FIELD", width: 22},
		{head: "FOUND", width: 11, right: true},
		{head: "%", width: 6, right: true, gap: 2},
		{head: "EXAMPLE", wraps: true},
	}, rows)
}

func (c *cli) printExchanges(all []control.ShownExchange) {
	for _, e := range all {
		c.printf("%s %s\n", e.Method, e.URL)
		c.printHeaders("> ", e.Request)
		if e.Form != "" {
			c.printf("> \n> %s\n", e.Form)
		}
		if e.Failure != "" {
			c.printf("< %s: %s\n", e.Failure, e.Error)
		}
		if e.Status == 0 {
			c.printf("\n")
			continue
		}
		c.printf("< %d %s\n", e.Status, http.StatusText(e.Status))
		c.printHeaders("< ", e.Header)
		for line := range strings.Lines(e.Head) {
			c.printf("  %s\n", strings.TrimRight(line, "\r\n"))
		}
		if e.Size > len(e.Head) {
			c.printf("  .. %s in all\n", size(int64(e.Size)))
		}
		c.printf("\n")
	}
}

func (c *cli) printHeaders(before string, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			c.printf("%s%s: %s\n", before, name, v)
		}
	}
}
