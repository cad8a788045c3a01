package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) recordCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "record", Short: "Look at the records that are held, where they came from and how they changed",
		Long: "A record is held once, with every revision that its source has made of it. To write records out, use patra export.",
	}
	verbs(cmd, c.recordListCmd(), c.recordShowCmd(), c.recordHistoryCmd())
	return cmd
}

func (c *cli) recordListCmd() *cobra.Command {
	var q control.RecordQuery
	var status, since string
	cmd := &cobra.Command{
		Use: "list", Short: "List records by source and id", Args: noArgs,
		Example: "  patra record list --source pubmed --state retracted\n  patra record list --source crossref --prefix 10.1000/\n  patra record list --find 10.1056/nejmoa2034577",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			q.Since, err = parseTime("since", since)
			if err != nil {
				return err
			}
			q.Status = harvest.RecordStatus(strings.ToUpper(status))
			switch q.Status {
			case "", harvest.RecordActive, harvest.RecordRetracted, harvest.RecordMerged, harvest.RecordGone:
			default:
				return misuse(cmd, "--state %q is not known: use active, retracted, merged or gone", status)
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := listRecords(cmd.Context(), ctl, q)
				if err != nil {
					return err
				}
				return c.showList(v, "records", func() { c.printRecords(v) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Source, "source", "", "only of this source")
	f.StringVar(&status, "state", "", "only in this state: active, retracted, merged or gone")
	f.StringVar(&since, "since", "", "only what was stored or changed since this instant")
	f.StringVar(&q.Prefix, "prefix", "", "only ids that begin so")
	f.StringVar(&q.Find, "find", "", "only those that go by an identifier or a title, whole or by its first forty letters")
	f.StringVar(&q.After, "after", "", "the next page: what `next` said")
	limitFlag(cmd, &q.Limit, "how many")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// listRecords reads as many records as are wanted: each answer looks at so many only.
func listRecords(ctx context.Context, ctl *control.Control, q control.RecordQuery) (control.RecordList, error) {
	out := control.RecordList{Records: []control.RecordRow{}}
	wanted := q.Limit
	for {
		q.Limit = wanted - len(out.Records)
		page, err := ctl.Records(ctx, q)
		if err != nil {
			return out, err
		}
		out.Records = append(out.Records, page.Records...)
		out.Next = page.Next
		if page.Next == "" || len(out.Records) >= wanted {
			return out, nil
		}
		q.After = page.Next
	}
}

func (c *cli) printRecords(v control.RecordList) {
	if len(v.Records) == 0 {
		c.printf("no such records\n")
		return
	}
	rows := make([][]any, len(v.Records))
	for i, r := range v.Records {
		rows[i] = []any{r.Source, r.ID, withGlyph(r.Status, control.RecordFamily(r.Status)), r.Revision, r.UpdatedAt, wholeSecond(r.SeenAt), cut(r.Title, 80)}
	}
	c.table([]column{
		{head: "SOURCE", width: 12},
		{head: "RECORD", width: 24},
		{head: "STATE", width: 10},
		{head: "REVISION", right: true, spare: true},
		{head: "UPDATED", width: 20, spare: true},
		{head: "SEEN", width: 20, spare: true},
		{head: "TITLE", wraps: true},
	}, rows)
	if v.Next != "" {
		c.notef("next: the same with --after %s\n", v.Next)
	}
}

// oneRecord wants a source and the id of a record.
func oneRecord(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return misuse(cmd, "%s takes a source and the id of a record, such as pubmed 31452104", cmd.CommandPath())
	}
	return nil
}

func (c *cli) recordShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show SOURCE ID", Short: "Show a record: its fields, its identifiers, and the page that brought it", Args: oneRecord,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Record(cmd.Context(), args[0], args[1])
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printRecord(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printRecord(v control.RecordView) {
	c.printf("%s %s  %s  revision %d\n", v.Source, v.ID, c.text(withGlyph(v.Status, control.RecordFamily(v.Status))), v.Revision)
	if v.Title != "" {
		c.printf("  title     %s\n", v.Title)
	}
	for _, name := range control.IdentifierFields {
		if value, there := v.Identifiers[name]; there {
			c.printf("  %-9s %s\n", name, plainJSON(value))
		}
	}
	if v.UpdatedAt != nil {
		c.printf("  updated   %s, by the source's own word\n", v.UpdatedAt)
	}
	c.printf("  stored    %s first, %s last; seen %s\n", wholeSecond(v.CreatedAt), wholeSecond(v.ChangedAt), wholeSecond(v.SeenAt))
	if v.MergedInto != "" {
		c.printf("  merged    into %s\n", v.MergedInto)
	}
	if v.MissingSince != nil {
		c.printf("  missing   since %s: the source was asked for it and did not have it\n", wholeSecond(*v.MissingSince))
	}
	c.printOrigin(v.Origin)
	c.printf("  mapping   %s\n", v.MappingVersion)
	c.printf("  raw       sha256 %s\n", v.RawSHA256)
	for _, q := range v.Quarantine {
		c.printf("  aside     item %d: %s %s\n", q.ID, codeAt(q.Code, q.Path), q.Detail)
	}
	c.printf("  fields    %s\n", string(v.Fields))
}

// plainJSON is a value as people read it: a text without its quotes.
func plainJSON(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

func (c *cli) recordHistoryCmd() *cobra.Command {
	var p control.Page
	cmd := &cobra.Command{
		Use: "history SOURCE ID", Short: "List the revisions of a record and what each changed, the newest first", Args: oneRecord,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.RecordHistory(cmd.Context(), args[0], args[1], p)
				if err != nil {
					return err
				}
				return c.showList(v, "revisions", func() { c.printHistory(v) })
			})
		},
	}
	cmd.Flags().StringVar(&p.After, "after", "", "the next page: what `next` said")
	limitFlag(cmd, &p.Limit, "how many revisions")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printHistory(v control.RecordHistory) {
	c.printf("%s %s  %s  %s\n", v.Record.Source, v.Record.ID, c.text(withGlyph(v.Record.Status, control.RecordFamily(v.Record.Status))), v.Record.Title)
	if v.SeenUnchangedAt != nil {
		c.printf("seen unchanged last %s\n", wholeSecond(*v.SeenUnchangedAt))
	}
	for _, q := range v.Refused {
		c.printf("came and was not stored, last %s: item %d in quarantine, %s %s\n", wholeSecond(q.Last), q.ID, codeAt(q.Code, q.Path), q.Detail)
	}
	for _, r := range v.Revisions {
		c.printf("revision %d  %s  %s  stored %s, page %d of plan %d\n", r.Revision, r.Effect, r.Status, wholeSecond(r.StoredAt), r.Origin.Batch, r.Origin.Plan)
		for _, f := range r.Changes {
			c.printf("  %s\n", f.Field)
			if f.Before != nil {
				c.printf("    - %s\n", cut(plainJSON(f.Before), 200))
			}
			if f.After != nil {
				c.printf("    + %s\n", cut(plainJSON(f.After), 200))
			}
		}
	}
	if v.Next != "" {
		c.notef("next: the same with --after %s\n", v.Next)
	}
}
