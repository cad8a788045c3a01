package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) searchCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "search", Short: "Ask several sources one question, and keep what each has found",
		Long: "A saved search is one query over several sources. Run, it reads what each source has of it, side by side; run again it\n" +
			"goes on where it stopped. Which records it has found is kept, also where they were held before. Another query, or other\n" +
			"sources, are another version of the search: the runs of the one before stay as they were.",
	}
	verbs(cmd, c.searchNewCmd(), c.searchListCmd(), c.searchShowCmd(), c.searchCountCmd(), c.searchRunCmd(), c.searchUpdateCmd(), c.searchExportCmd(),
		c.reportSearchCmd("report NAME"), c.searchScheduleCmd(), c.searchRemoveCmd())
	return cmd
}

// oneSearch wants exactly one argument, the name of a search.
func oneSearch(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse(cmd, "%s needs the name of a search, such as insulin-resistance", cmd.CommandPath())
	}
	return nil
}

func (c *cli) searchNewCmd() *cobra.Command {
	var f changeFlags
	var o control.SearchOrder
	var from string
	cmd := &cobra.Command{
		Use: "new NAME --query EXPR --sources A,B", Short: "Save a search, or another version of one", Args: oneSearch,
		Long: "New saves a query and the sources it is asked of; nothing is read yet. Where a search of that name is there, this is\n" +
			"its next version. Without --since each source is read from its beginning; --since is about when records were changed\n" +
			"at the source: when they were published belongs into the query, as year:2020..",
		Example: "  patra search new insulin --query 'tiab:\"insulin resistance\" AND year:2020..2026' --sources pubmed,europepmc --reason 'review 17'\n" +
			"  patra search new insulin --query 'tiab:insulin' --sources pubmed --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			o.Begins, err = parseTime("since", from)
			if err != nil {
				return err
			}
			o.By, err = f.byAnyReason(c, cmd)
			if err != nil {
				return err
			}
			o.Name = args[0]
			o.DryRun = f.dryRun
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.SaveSearch(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printSearchChange("saved", v) })
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Query, "query", "", `what is asked for, e.g. tiab:"insulin resistance" AND year:2020..2026`)
	fs.StringSliceVar(&o.Sources, "sources", nil, "the sources that are asked, such as pubmed,crossref")
	fs.StringVar(&from, "since", "", "only what was changed at the source since: a date, 2020, yesterday, -7d (default: everything)")
	f.add(c, cmd)
	return cmd
}

func (c *cli) printSearchChange(done string, v control.SearchChange) {
	s := v.After
	if s == nil {
		s = v.Before
	}
	switch {
	case !v.Changes:
		c.printf("%s: is %s already\n", s.Name, done)
	case !v.Applied:
		c.printf("%s: would be %s\n", s.Name, done)
	default:
		c.printf("%s: %s\n", s.Name, done)
	}
	if v.After != nil {
		c.printSearch(*v.After)
	}
	for _, note := range v.Notes {
		c.notef("note: %s\n", note)
	}
	if v.Applied && v.After != nil {
		c.notef("next: patra search count %s, which reads nothing and tells of words that a source does not know; then patra search run %s\n", s.Name, s.Name)
	}
	c.noteToken(v.Token)
}

// printSearch prints what a search asks for.
func (c *cli) printSearch(s control.Search) {
	c.printf("  version   %d\n", s.Version)
	c.printf("  query     %s\n", s.Query)
	c.printf("  sources   %s\n", strings.Join(s.Sources, ", "))
	from := "the beginning of each source"
	if s.From != nil {
		from = "what was changed since " + s.From.String()
	}
	c.printf("  from      %s\n", from)
}

func (c *cli) searchRemoveCmd() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "remove NAME --reason TEXT", Short: "End a search; its records and its runs stay", Args: oneSearch,
		Example: "  patra search remove insulin --reason 'the review is out'",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.RemoveSearch(cmd.Context(), control.SearchHold{By: by, Name: args[0], DryRun: f.dryRun})
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printSearchChange("removed", v) })
			})
		},
	}
	f.add(c, cmd)
	return cmd
}

func (c *cli) searchListCmd() *cobra.Command {
	var p control.Page
	cmd := &cobra.Command{
		Use: "list", Short: "List saved searches and what came of their last runs", Args: noArgs,
		Example: "  patra search list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Searches(cmd.Context(), p)
				if err != nil {
					return err
				}
				return c.showList(v, "searches", func() { c.printSearches(v) })
			})
		},
	}
	limitFlag(cmd, &p.Limit, "at most so many")
	cmd.Flags().StringVar(&p.After, "after", "", "begin behind this name")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printSearches(v control.SearchList) {
	if len(v.Searches) == 0 {
		c.printf("no search is saved\n")
		c.notef("next: patra search new NAME --query 'tiab:\"insulin resistance\"' --sources pubmed,crossref --reason TEXT\n")
		return
	}
	cells := make([][]any, len(v.Searches))
	for i, s := range v.Searches {
		last, records := "-", "-"
		if s.Last != nil {
			last = string(s.Last.Status) + " " + s.Last.StartedAt.String()
			records = fmt.Sprint(s.Last.Records)
		}
		cells[i] = []any{s.Name, s.Version, strings.Join(s.Sources, ","), records, last, s.Query}
	}
	c.table([]column{
		{head: "SEARCH", width: 16},
		{head: "VERSION"},
		{head: "SOURCES", width: 20},
		{head: "RECORDS"},
		{head: "LAST RUN", wraps: true},
		{head: "QUERY", wraps: true},
	}, cells)
	if v.Next != "" {
		c.notef("more: patra search list --after %s\n", v.Next)
	}
}

func (c *cli) searchShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a search: how far each source is proven, what was found, its runs and versions", Args: oneSearch,
		Example: "  patra search show insulin",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Search(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printSearchView(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printSearchView(v control.SearchView) {
	c.printf("%s\n", v.Name)
	c.printSearch(v.Search)
	cells := make([][]any, len(v.Selections))
	for i, s := range v.Selections {
		proven := s.ProvenTo
		if proven == "" {
			proven = "-"
		}
		cells[i] = []any{s.Source, countText(control.Counted{Count: s.Records.Count, More: s.More}), proven, s.Note}
	}
	c.table([]column{
		{head: "SOURCE", width: 16},
		{head: "RECORDS"},
		{head: "PROVEN TO", width: 21},
		{head: "NOTE", wraps: true},
	}, cells)
	if len(v.Runs) == 0 {
		c.notef("next: patra search run %s\n", v.Name)
		return
	}
	c.printSearchRuns(v.Runs)
	for _, old := range v.Versions[1:] {
		c.printf("  before    version %d of %s: %s in %s\n", old.Version, old.CreatedAt, old.Query, strings.Join(old.Sources, ", "))
	}
}

func (c *cli) printSearchRuns(runs []control.SearchRunView) {
	cells := make([][]any, len(runs))
	for i, r := range runs {
		cells[i] = []any{r.Run, r.Status, r.StartedAt, r.Records, r.New}
	}
	c.table([]column{{head: "RUN"}, {head: "STATUS"}, {head: "STARTED", width: 27}, {head: "RECORDS"}, {head: "NEW"}}, cells)
}

func (c *cli) searchRunCmd() *cobra.Command {
	return c.searchRunning(&cobra.Command{
		Use: "run NAME", Short: "Read what the sources of a search have of it",
		Long: "Run reads the query from all sources of the search side by side, each within its limits, and works in the foreground\n" +
			"until nothing is left. Run again it goes on where it stopped. If a source fails the others are whole, the search is\n" +
			"PARTIAL, and the exit code 6.",
		Example: "  patra search run insulin\n  patra search run insulin --base-url pubmed=http://127.0.0.1:8901/pubmed",
	})
}

func (c *cli) searchUpdateCmd() *cobra.Command {
	return c.searchRunning(&cobra.Command{
		Use: "update NAME", Short: "Read what is new since the last run of a search",
		Long:    "Update goes on from where the last run ended and says how many records were found that no run before had seen.",
		Example: "  patra search update insulin",
	})
}

// searchRunning adds to cmd what running a search needs.
func (c *cli) searchRunning(cmd *cobra.Command) *cobra.Command {
	var stands []string
	var workers int
	var yes, dryRun bool
	var reason string
	cmd.Args = oneSearch
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkWorkers(cmd, workers); err != nil {
			return err
		}
		req := control.SearchRunRequest{By: c.by(reason), Name: args[0], Approve: c.approve(cmd.InOrStdin(), yes)}
		var err error
		req.BaseURL, err = parseStandIns(stands)
		if err != nil {
			return err
		}
		if dryRun {
			return c.countSearch(cmd.Context(), req.Name, req.BaseURL)
		}
		return c.runSearch(cmd.Context(), req, workers)
	}
	f := cmd.Flags()
	f.StringArrayVar(&stands, "base-url", nil, "send the requests for a source to another host, SOURCE=URL: a simulator or mirror")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask before much is read")
	f.BoolVar(&dryRun, "dry-run", false, "ask each source how many records it has of it; nothing is read or saved")
	f.StringVar(&reason, "reason", "", "why, for the audit (default: the command)")
	f.IntVar(&workers, "workers", 4, "slices of each source worked on at once")
	f.BoolVar(&c.json, "json", false, "print one JSON object at the end")
	return cmd
}

// parseStandIns reads hosts that are asked in place of sources' own.
func parseStandIns(texts []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range texts {
		code, address, found := strings.Cut(text, "=")
		if !found {
			return nil, &usageError{err: fmt.Errorf("--base-url %q: say of which source, such as pubmed=http://127.0.0.1:8901/pubmed", text)}
		}
		stand := standIn{url: address}
		base, err := stand.base()
		if err != nil {
			return nil, err
		}
		out[code] = base
	}
	return out, nil
}

// runSearch runs a search and prints what came of it.
func (c *cli) runSearch(ctx context.Context, req control.SearchRunRequest, workers int) error {
	cfg := c.config()
	cfg.Workers = workers
	shown := &searchWatch{name: req.Name}
	req.Watch = shown.add
	var run control.SearchRan
	err := useNode(ctx, cfg, func(_ context.Context, n *node.Node) (err error) {
		stop := c.watchLine(shown.line)
		defer stop()
		run, err = n.Control.RunSearch(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.showList(run, "sources", func() { c.printSearchRun(run) }); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		c.notef("patra: interrupted; every page that was read is kept [interrupted]\n" +
			"next: run the same command again: it goes on where it stopped\n")
		return exitError(exitInterrupted)
	case run.Status == control.SearchFailed:
		return exitError(exitFailed)
	case run.Status != control.SearchCompleted:
		c.notef("next: when the reason is gone, patra search run %s goes on where it stopped; with another query it is another version: patra search new %s --query\n", run.Search, run.Search)
		return exitError(exitPartial)
	}
	return nil
}

func (c *cli) printSearchRun(r control.SearchRan) {
	c.printf("%s  run %d of version %d  %s\n", r.Search, r.Run, r.Version, r.Status)
	c.printf("  records   %d found, %d of them new\n", r.Records, r.New)
	cells := make([][]any, len(r.Sources))
	for i, s := range r.Sources {
		said := "-"
		if s.Announced != nil {
			said = fmt.Sprint(*s.Announced)
		}
		cells[i] = []any{s.Source, s.Status, said, s.Received, s.Filtered, s.Quarantined, s.Records, s.New, s.Reason}
	}
	c.table([]column{
		{head: "SOURCE", width: 16},
		{head: "STATUS"},
		{head: "SAID"},
		{head: "CAME"},
		{head: "FILTERED"},
		{head: "ASIDE"},
		{head: "RECORDS"},
		{head: "NEW"},
		{head: "REASON", wraps: true},
	}, cells)
}

// searchExportCmd is patra export of what a search has found.
func (c *cli) searchExportCmd() *cobra.Command {
	cmd := c.exportCmd()
	export := cmd.RunE
	cmd.Use = "export NAME"
	cmd.Short = "Write out what a search has found, as patra export does"
	cmd.Example = "  patra search export insulin --for zotero --dedupe exact --out insulin.ris\n  patra search export insulin --new --out new.jsonl"
	cmd.Args = oneSearch
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.Flags().Set("search", args[0]); err != nil {
			return err
		}
		return export(cmd, nil)
	}
	return cmd
}
