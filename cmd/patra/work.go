package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) workCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "work", Short: "See which records are of one work, and decide about it",
		Long: "Records of several sources that are of one text in one state of publication make a work: identifiers link them, by\n" +
			"rules that docs/works.md has in words. Preprint and article, versions, notices and what they are about are related and\n" +
			"stay works of their own. What is only alike is suggested, and joined by nobody but you; what you cut apart stays so.\n\n" +
			"The number of a work is the smallest number of its records. It stays when records come; where two works become one the\n" +
			"older number stays, and the other leads to it.",
	}
	verbs(cmd, c.workListCmd(), c.workShowCmd(), c.workSuggestionsCmd(), c.workIdentifiersCmd(),
		c.workJoinCmd(), c.workSplitCmd(), c.workRevokeCmd(), c.workLinkCmd())
	return cmd
}

// pageFlags adds what every list along numbers has.
func (c *cli) pageFlags(cmd *cobra.Command, p *control.Page) {
	cmd.Flags().StringVar(&p.After, "after", "", "the next page: what `next` said")
	limitFlag(cmd, &p.Limit, "how many")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
}

func (c *cli) noteNext(next string) {
	if next != "" {
		c.notef("next: the same with --after %s\n", next)
	}
}

func (c *cli) workListCmd() *cobra.Command {
	var p control.Page
	cmd := &cobra.Command{
		Use: "list", Short: "List works that several records are of", Args: noArgs,
		Example: "  patra work list\n  patra work list --limit 10 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Works(cmd.Context(), p)
				if err != nil {
					return err
				}
				return c.showList(v, "works", func() { c.printWorks(v) })
			})
		},
	}
	c.pageFlags(cmd, &p)
	return cmd
}

func (c *cli) printWorks(v control.WorkList) {
	if len(v.Works) == 0 {
		c.printf("no work has several records; patra work link looks at what is new\n")
		return
	}
	rows := make([][]any, len(v.Works))
	for i, w := range v.Works {
		year := ""
		if w.Year > 0 {
			year = strconv.Itoa(w.Year)
		}
		rows[i] = []any{w.ID, len(w.Records), strings.Join(w.Sources, ", "), year, cut(w.Title, 80)}
	}
	c.table([]column{
		{head: "WORK", right: true},
		{head: "RECORDS", right: true},
		{head: "SOURCES", width: 24},
		{head: "YEAR"},
		{head: "TITLE", wraps: true},
	}, rows)
	c.noteNext(v.Next)
}

// workNumber reads the number of a work.
func workNumber(cmd *cobra.Command, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, misuse(cmd, "%q is not the number of a work: patra work list shows them", text)
	}
	return n, nil
}

func (c *cli) workShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show WORK | SOURCE ID", Short: "Show a work: its records and why each is in it, its best fields, and what is related to it",
		Example: "  patra work show 17\n  patra work show pubmed 31452104",
		Args: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 1:
				_, err := workNumber(cmd, args[0])
				return err
			case 2:
				return nil
			}
			return misuse(cmd, "%s takes the number of a work, or a source and the id of a record", cmd.CommandPath())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				id, err := workNamed(cmd.Context(), cmd, ctl, args)
				if err != nil {
					return err
				}
				v, err := ctl.WorkShown(cmd.Context(), id)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printWork(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func workNamed(ctx context.Context, cmd *cobra.Command, ctl *control.Control, args []string) (int64, error) {
	if len(args) == 2 {
		return ctl.WorkOfRecord(ctx, args[0], args[1])
	}
	return workNumber(cmd, args[0])
}

func (c *cli) printWork(v control.WorkView) {
	c.printf("work %d  %s\n", v.ID, control.Count(len(v.Records), "record"))
	if v.RedirectedFrom != 0 {
		c.printf("  was       %d: its record is of this work by now\n", v.RedirectedFrom)
	}
	for _, r := range v.Records {
		c.printf("  record    %s %s  %s  %s\n", r.Source, r.ID, c.text(withGlyph(r.Status, control.RecordFamily(r.Status))), cut(r.Title, 80))
		for _, id := range r.Identifiers {
			c.printf("            %s %s (%s)\n", id.Scheme, id.Value, strings.ReplaceAll(id.Word, "_", " "))
		}
		for _, l := range r.Path {
			c.printf("            linked %s %s - %s %s: %s (%s)\n", l.From.Source, l.From.ID, l.To.Source, l.To.ID, l.Means, l.Evidence)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Fields)) {
		f := v.Fields[name]
		c.printf("  %-16s %s\n", name, cut(plainJSON(f.Value), 100))
		c.printf("  %-16s from %s\n", "", strings.Join(f.From, ", "))
	}
	for _, l := range v.Family {
		c.printf("  family    %s %s is %s %s %s, work %d (%s)\n", l.From.Source, l.From.ID, l.Relation, l.To.Source, l.To.ID, l.To.Work, l.Evidence)
	}
	for _, l := range v.Suggestions {
		c.printf("  perhaps   %s\n", suggestionLine(l))
	}
	for _, d := range v.Decisions {
		revoked := ""
		if d.RevokedBy != 0 {
			revoked = fmt.Sprintf(", revoked by %d", d.RevokedBy)
		}
		c.printf("  decided   %d: %s by %s at %s%s: %s\n", d.ID, strings.ToLower(d.Kind), d.Actor, wholeSecond(d.At), revoked, d.Reason)
	}
	for _, m := range v.Moves {
		c.printf("  moved     record %d from work %d to work %d at %s\n", m.Record, m.FromWork, m.ToWork, wholeSecond(m.At))
	}
}

func suggestionLine(l control.WorkLink) string {
	what := "the same as"
	if l.Relation != "" {
		what = l.Relation
	}
	return fmt.Sprintf("%.2f  %s %s (work %d) %s %s %s (work %d): %s", l.Score, l.From.Source, l.From.ID, l.From.Work, what,
		l.To.Source, l.To.ID, l.To.Work, suggestedFor(l))
}

// suggestedFor says what speaks for a suggestion, and why it is no link.
func suggestedFor(l control.WorkLink) string { return l.Evidence + "; " + l.Why }

func (c *cli) workSuggestionsCmd() *cobra.Command {
	var p control.Page
	cmd := &cobra.Command{
		Use: "suggestions", Short: "List records that may be of one work, or preprint and article, with a score and the reason", Args: noArgs,
		Long:    "Nothing of this is joined by itself. patra work join WORK WORK says that they are one, patra work split WORK WORK that they are not.",
		Example: "  patra work suggestions --limit 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Suggestions(cmd.Context(), p)
				if err != nil {
					return err
				}
				return c.showList(v, "suggestions", func() { c.printSuggestions(v) })
			})
		},
	}
	c.pageFlags(cmd, &p)
	return cmd
}

func (c *cli) printSuggestions(v control.SuggestionList) {
	if len(v.Suggestions) == 0 {
		c.printf("nothing is suggested\n")
		return
	}
	rows := make([][]any, 0, 2*len(v.Suggestions))
	for _, l := range v.Suggestions {
		kind := "double"
		if l.Relation != "" {
			kind = l.Relation
		}
		rows = append(rows,
			[]any{fmt.Sprintf("%.2f", l.Score), kind, l.From.Work, l.From.Source, l.From.ID, cut(l.From.Title, 80)},
			[]any{"", "", l.To.Work, l.To.Source, l.To.ID, cut(l.To.Title, 80)},
			[]any{"", "", "", "", "", suggestedFor(l)})
	}
	c.table([]column{
		{head: "SCORE"},
		{head: "MAY BE", width: 12},
		{head: "WORK", right: true},
		{head: "SOURCE", width: 12},
		{head: "RECORD", width: 24},
		{head: "TITLE, REASON", wraps: true},
	}, rows)
	c.noteNext(v.Next)
}

func (c *cli) workIdentifiersCmd() *cobra.Command {
	var p control.Page
	cmd := &cobra.Command{
		Use: "identifiers", Short: "List identifiers that link nothing: too many records have them, or those that do contradict each other", Args: noArgs,
		Example: "  patra work identifiers",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.BadIdentifiers(cmd.Context(), p)
				if err != nil {
					return err
				}
				return c.showList(v, "identifiers", func() {
					for _, b := range v.Identifiers {
						c.printf("%s  %d records: %s\n", b.Value, b.Holders, b.Why)
					}
					if len(v.Identifiers) == 0 {
						c.printf("every identifier that several records have is believed\n")
					}
					c.noteNext(v.Next)
				})
			})
		},
	}
	c.pageFlags(cmd, &p)
	return cmd
}
