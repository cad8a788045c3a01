package main

import (
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) quarantineCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "quarantine", Short: "See the items that could not be stored as records, and decide on them",
		Long: "An item that cannot be read, or lacks what its source's mapping requires, is put aside with its bytes and the cause;\n" +
			"the page that brought it is stored without it. Nothing is lost while it is there.",
	}
	verbs(cmd, c.quarantineListCmd(), c.quarantineShowCmd(), c.quarantineReparseCmd(), c.quarantineRefetchCmd(), c.quarantineDiscardCmd())
	return cmd
}

func (c *cli) quarantineListCmd() *cobra.Command {
	var q control.QuarantineQuery
	var code string
	cmd := &cobra.Command{
		Use: "list", Short: "List items by name and cause, the newest first", Args: noArgs,
		Example: "  patra quarantine list --source pubmed\n  patra quarantine list --code missing_field",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Record != "" && q.Source == "" {
				return misuse(cmd, "--record goes with --source: ids are those of a source")
			}
			q.Code = harvest.Code(code)
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Quarantine(cmd.Context(), q)
				if err != nil {
					return err
				}
				return c.showList(v, "items", func() { c.printQuarantine(v) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Source, "source", "", "only of this source")
	f.StringVar(&code, "code", "", "only with this cause, such as missing_field")
	f.StringVar(&q.Record, "record", "", "only of the record with this id")
	f.BoolVar(&q.Discarded, "discarded", false, "those that somebody discarded, in place of those that wait")
	f.Int64Var(&q.Before, "before", 0, "only items with a smaller number: the next page")
	limitFlag(cmd, &q.Limit, "how many")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printQuarantine(v control.QuarantineList) {
	if len(v.Items) == 0 {
		c.printf("no such items in quarantine\n")
		return
	}
	rows := make([][]any, len(v.Items))
	for i, r := range v.Items {
		rows[i] = []any{r.ID, r.Source, r.Name, codeAt(r.Code, r.Path), wholeSecond(r.Last), quarantineState(r), r.Detail}
	}
	c.table([]column{
		{head: "ITEM", width: 6},
		{head: "SOURCE", width: 12},
		{head: "RECORD", width: 20},
		{head: "CAUSE", width: 20},
		{head: "LAST SEEN", width: 20},
		{head: "STATE", width: 10},
		{head: "WHAT IS WRONG", wraps: true},
	}, rows)
	if v.Next != "" {
		c.notef("next: the same with --before %s\n", v.Next)
	}
}

// quarantineState says whether something is missing because of the item.
func quarantineState(r control.QuarantineRow) stated {
	switch {
	case r.DiscardedAt != nil:
		return withGlyph("discarded", control.Off)
	case r.ReadSince:
		return withGlyph("read since", control.OK)
	}
	return withGlyph("put aside", control.Partial)
}

func (c *cli) quarantineShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ITEM", Short: "Show an item: where it fails, its beginning, and the page that brought it", Args: oneNumber("quarantine item"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.QuarantineItem(cmd.Context(), id)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printQuarantineItem(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printQuarantineItem(v control.QuarantineView) {
	c.printf("item %d  %s %s  %s  %s\n", v.ID, v.Source, v.Name, codeAt(v.Code, v.Path), c.text(quarantineState(v.QuarantineRow)))
	if v.Means != "" {
		c.printf("  means     %s\n", v.Means)
	}
	if v.Detail != "" {
		c.printf("  wrong     %s\n", v.Detail)
	}
	if v.Path != "" {
		c.printf("  at        %s\n", v.Path)
	}
	c.printf("  seen      from %s to %s\n", wholeSecond(v.First), wholeSecond(v.Last))
	c.printOrigin(v.Origin)
	c.printf("  bytes     %d, sha256 %s\n", v.Bytes, v.RawSHA256)
	if v.Raw != "" {
		c.printf("\n%s\n", v.Raw)
	}
	if v.Cut {
		c.notef("only the beginning is shown\n")
	}
}

// printOrigin says which page brought something.
func (c *cli) printOrigin(o control.Origin) {
	if o.Plan == 0 {
		c.printf("  page      %d, which is not kept any more\n", o.Batch)
		return
	}
	c.printf("  page      %d of run %d, task %d, slice %d, plan %d (%s)\n", o.Batch, o.Run, o.Task, o.Slice, o.Plan, o.Operation)
	if o.Request != "" {
		c.printf("  asked     %s\n", o.Request)
	}
}
