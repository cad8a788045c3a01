package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) cursorCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cursor", Short: "See how far each harvest is proven complete",
		Long: "A cursor says up to where everything is proven complete. It only moves forward, over proven windows; to read a\n" +
			"window again, run patra backfill, which has a cursor of its own.",
	}
	verbs(cmd, c.cursorListCmd(), c.cursorShowCmd(), c.cursorEventsCmd(), c.cursorSkipCmd())
	return cmd
}

func (c *cli) cursorListCmd() *cobra.Command {
	var f listFlags
	var src string
	cmd := &cobra.Command{
		Use: "list", Short: "List cursors", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Cursors(cmd.Context(), control.CursorQuery{Source: src, Page: f.page()})
				if err != nil {
					return err
				}
				return c.showList(list, "cursors", func() {
					c.printCursors(list.Cursors)
					c.nextPage(cmd, list.Next)
				})
			})
		},
	}
	cmd.Flags().StringVar(&src, "source", "", "only of this source")
	f.add(c, cmd)
	return cmd
}

func (c *cli) printCursors(rows []control.CursorRow) {
	cells := make([][]any, len(rows))
	for i, r := range rows {
		cells[i] = []any{r.ID, r.Source, r.Operation, short(r.Value), r.Direction, control.ShortNamespace(r.Namespace), shown(r.Query)}
	}
	c.printList([]column{
		{head: "CURSOR", width: 7},
		{head: "SOURCE", width: 14},
		{head: "OPERATION", spare: true},
		{head: "PROVEN TO", width: 21},
		{head: "DIRECTION", spare: true},
		{head: "NAMESPACE", width: 14, spare: true},
		{head: "QUERY", wraps: true},
	}, cells, "no cursors yet: nothing was planned")
}

func (c *cli) cursorShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show CURSOR", Short: "Show a cursor, what holds it, and its last moves", Args: oneNumber("cursor"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.cursorView(cmd, args, control.Moves{Limit: 5}, "")
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) cursorEventsCmd() *cobra.Command {
	var from, to string
	var moves control.Moves
	cmd := &cobra.Command{
		Use: "events CURSOR", Short: "List the moves of a cursor, newest first", Args: oneNumber("cursor"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			moves.From, moves.To, err = parseSpan(from, to)
			if err != nil {
				return err
			}
			return c.cursorView(cmd, args, moves, "events")
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "only moves made at this instant or later: RFC 3339, a date (UTC) or an age such as -7d")
	cmd.Flags().StringVar(&to, "to", "", "only moves made before this instant")
	limitFlag(cmd, &moves.Limit, "how many")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// cursorView shows a cursor, or its events where these are what is asked for.
func (c *cli) cursorView(cmd *cobra.Command, args []string, moves control.Moves, at string) error {
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	return c.reading(cmd.Context(), func(ctl *control.Control) error {
		v, err := ctl.Cursor(cmd.Context(), harvest.CursorID(id), moves)
		if err != nil {
			return err
		}
		return c.showList(v, at, func() { c.printCursor(v) })
	})
}

func (c *cli) printCursor(v control.CursorView) {
	cur := v.Cursor
	c.printf("cursor %d  %s %s by %s, %s\n", cur.ID, cur.Source, cur.Operation, cur.Key, control.ShortNamespace(cur.Namespace))
	c.printf("  query     %s\n", cmp.Or(cur.Query, everything))
	c.printf("  proven    from %s to %s, moves so far: %d\n", short(cur.Init), short(cur.Value), cur.Moves)
	if cur.Observed != "" {
		c.printf("  newest    record seen is of %s; that decides nothing\n", short(cur.Observed))
	}
	if len(v.HeldBy) > 0 {
		word := ""
		if v.MoreHeld {
			word = "more than "
		}
		c.printf("  held      by %s%d gaps\n", word, len(v.HeldBy))
		c.printGapKinds(control.FoldGaps(v.HeldBy))
	}
	var rows [][]any
	for _, e := range v.Events {
		by := "the first plan"
		switch {
		case e.Remarks != "":
			by = e.Remarks
		case e.Plan != 0:
			by = fmt.Sprintf("plan %d slice %d run %d", e.Plan, e.Slice, e.Run)
		}
		if e.BatchNo != 0 {
			by += fmt.Sprintf(" page %d", e.BatchNo)
		}
		if e.Late != nil && *e.Late > 0 {
			by += fmt.Sprintf(", %d late", *e.Late)
		}
		rows = append(rows, []any{control.Time(e.At.Truncate(time.Second)), e.Kind, short(e.Prev), short(e.New), by})
	}
	c.table([]column{
		{head: "TIME", width: 21}, {head: "EVENT", width: 10}, {head: "FROM", width: 21}, {head: "TO", width: 21}, {head: "BY", wraps: true},
	}, rows)
}

// everything is the query of a cursor that leaves nothing out.
const everything = "everything"

// shown is a query in a list.
func shown(query string) string { return cut(cmp.Or(query, "-"), 60) }

// short is the value of a cursor without a fraction of a second that is none.
func short(value string) string { return strings.Replace(value, ".000000Z", "Z", 1) }

func (c *cli) cursorSkipCmd() *cobra.Command {
	var f changeFlags
	var to string
	cmd := &cobra.Command{
		Use: "skip CURSOR --to T --reason TEXT", Short: "Let a cursor pass its gaps up to T: that window will not be read",
		Args: oneNumber("cursor"),
		Long: "Skip accepts every gap that holds the cursor up to T, as patra plan accept-gap does for one. The cursor of a\n" +
			"BACKFILL goes back: T is then the beginning of the oldest gap to accept. Open slices are not skipped: cancel them\n" +
			"first. With --dry-run it shows the gaps and accepts none.",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			if to == "" {
				return misuse(cmd, "skip needs --to: the instant up to which gaps are accepted")
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				return c.skip(cmd.Context(), ctl, harvest.CursorID(id), to, by, f.dryRun)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "accept gaps up to this instant, of a BACKFILL back to it, of an UPDATE up to this number")
	f.add(c, cmd)
	return cmd
}

// skip accepts the gaps that a cursor has before it as far as a place.
func (c *cli) skip(ctx context.Context, ctl *control.Control, id harvest.CursorID, to string, by control.By, dryRun bool) error {
	until, err := ctl.CursorPlace(ctx, id, to)
	if err != nil {
		return err
	}
	if dryRun {
		v, err := ctl.PreviewSkip(ctx, id, until)
		if err != nil {
			return err
		}
		return c.show(v, func() {
			c.printSkip(v, until, true)
			c.noteToken(v.Token)
		})
	}
	v, err := ctl.Skip(ctx, id, until, by)
	if err != nil {
		return err
	}
	return c.show(v, func() { c.printSkip(v, until, false) })
}

func (c *cli) printSkip(v control.Skipped, until harvest.Mark, preview bool) {
	switch {
	case len(v.Gaps) == 0:
		c.printf("cursor %d: no gap ends by %s; it is proven to %s\n", v.Cursor.ID, until, short(v.Cursor.Value))
	case preview:
		c.printf("cursor %d: %d gaps would be accepted\n", v.Cursor.ID, v.Accepted)
		for _, g := range c.shown(v.Gaps) {
			c.printf("would not be read: %s %s\n", partText(g.From, g.To, g.Range), g.Reason)
		}
	default:
		c.printf("cursor %d: %d gaps accepted, it is now at %s\n", v.Cursor.ID, v.Accepted, short(v.Cursor.Value))
	}
}
