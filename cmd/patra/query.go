package main

import (
	"errors"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) queryCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "query", Short: "Look at a query before it is asked"}
	cmd.AddCommand(c.queryExplainCmd())
	return cmd
}

func (c *cli) queryExplainCmd() *cobra.Command {
	var req control.QueryRequest
	var baseURL []string
	cmd := &cobra.Command{
		Use: "explain QUERY", Short: "Show what each source is sent, and what is filtered here", Args: cobra.ExactArgs(1),
		Long: "A query means the same everywhere. A source is sent what it can be asked for, as long as it then finds at least all\n" +
			"of what is wanted; the rest is looked for here, in each record that comes. Explain shows both halves for each\n" +
			"source, and what nobody can know, as the source lacks the field: such records are kept and counted as undecided.\n" +
			"With --count each source is asked, by one request within its limits, how many it counts.",
		Example: "  patra query explain 'tiab:\"insulin resistance\" AND year>=2020 NOT type:review' --sources pubmed,crossref,europepmc\n" +
			"  patra query explain 'au:müller' --sources hal,doaj --count --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(req.Sources) == 0 {
				return &usageError{cmd: cmd.CommandPath(), err: errors.New("say which sources: --sources pubmed,crossref")}
			}
			req.Query = args[0]
			base, err := basesOf(baseURL)
			if err != nil {
				return err
			}
			req.Base = base
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.ExplainQuery(cmd.Context(), req)
				if err != nil {
					return err
				}
				return c.showList(v, "sources", func() { c.printQuery(v, req.Count) })
			})
		},
	}
	cmd.Flags().StringSliceVar(&req.Sources, "sources", nil, "the sources that would be asked, such as pubmed,crossref")
	cmd.Flags().BoolVar(&req.Count, "count", false, "ask each source how many it counts")
	cmd.Flags().StringArrayVar(&baseURL, "base-url", nil, "count at another host: SOURCE=URL, or the URL of a simulator, whose paths are the sources' codes")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// basesOf says which host is asked in place of a source's own: that of the source, or a
// simulator that has them all. It is nil if there is none.
func basesOf(texts []string) (func(code string) string, error) {
	if len(texts) == 1 && !strings.Contains(texts[0], "=") {
		stand := standIn{url: texts[0]}
		root, err := stand.base()
		if err != nil || root == "" {
			return nil, err
		}
		return func(code string) string { return strings.TrimSuffix(root, "/") + "/" + code }, nil
	}
	hosts, err := parseStandIns(texts)
	if err != nil || len(hosts) == 0 {
		return nil, err
	}
	return func(code string) string { return hosts[code] }, nil
}

func (c *cli) printQuery(v control.ExplainedQuery, counted bool) {
	c.printf("query  %s\n", v.Query)
	for _, s := range v.Sources {
		c.printf("\n%s\n", s.Source)
		if s.Finds == "" {
			c.printf("  refused   %s\n", strings.ReplaceAll(s.Refused, "\n", "\n            "))
			continue
		}
		for _, p := range s.Params {
			c.printf("  sent      %s=%s\n", p.Name, p.Value)
		}
		if len(s.Params) == 0 {
			c.printf("  sent      nothing\n")
		}
		c.printf("  finds     %s\n", s.FoundWords())
		for _, f := range s.FilteredHere {
			c.printf("  filtered  %s\n", f)
		}
		for _, f := range s.Unknown {
			c.printf("  unknown   %s\n", f)
		}
		if counted {
			c.printf("  counts    %s\n", s.CountWords())
		}
		for _, n := range s.Notes {
			c.printf("  note      %s\n", n)
		}
	}
}
