package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) blackboxCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "blackbox",
		Short: "What was asked for a page, what came, and what was done with it",
	}
	cmd.AddCommand(c.blackboxShowCmd(), c.blackboxExportCmd())
	return cmd
}

// onePage wants exactly one argument that names a page.
func onePage(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && control.IsPage(args[0]) {
		return nil
	}
	return misuse(cmd, "%s takes a page: RUN/BATCH, ing-RUN-BATCH as logs have it, or the id of the batch", cmd.CommandPath())
}

func (c *cli) blackboxShowCmd() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "show RUN/BATCH",
		Short:   "Show the black box of a page",
		Example: "  patra blackbox show 17/3\n  patra blackbox show ing-17-3 --json",
		Args:    onePage,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				box, err := ctl.BlackBox(cmd.Context(), args[0], limit)
				if err != nil {
					return err
				}
				return c.show(box, func() { c.printBox(box) })
			})
		},
	}
	limitFlag(cmd, &limit, "items shown, of those that were stored and of those in quarantine")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printBox(b *control.BlackBox) {
	l := b.Lineage
	c.printf("batch %s  %s %s %s  page %d of walk %d  %s\n", b.Batch, l.Source, l.Operation, l.Phase, l.Ordinal, l.Walk, b.Reply.State)
	c.printf("  lineage   plan %d, slice %d %s, task %d, run %d (attempt %d), batch %d\n", l.Plan, l.Slice, l.Window, l.Task, l.Run, l.Attempt, l.ID)
	c.printf("  snapshot  %s\n", l.SpecFingerprint)
	c.printf("\nasked\n")
	if b.Request.Line == "" {
		c.printf("  nothing was sent\n")
	} else {
		c.printf("  %s\n", b.Request.Line)
		if b.Request.Body != "" {
			c.printf("  body      %s\n", b.Request.Body)
		}
		c.printf("  sha256    %s\n", b.Request.SHA256)
	}
	if b.Request.Credential != "" {
		c.printf("  key       %s\n", b.Request.Credential)
	}
	c.printf("  selects   %s\n", b.Request.Expression)
	c.printf("  at        %s\n", control.Time(b.Request.OpenedAt))
	c.printReply(b)
	c.printEffects(b)
}

func (c *cli) printReply(b *control.BlackBox) {
	r := b.Reply
	c.printf("\ncame\n")
	if r.Status != 0 {
		c.printf("  status    %d, %s\n", r.Status, size(r.Bytes))
	}
	c.printf("  traffic   %s, %d again, %d throttled, %d failed at the server\n", control.Count(r.Sent, "request"), r.Retried, r.HTTP429, r.HTTP5xx)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		c.printf("  < %s: %s\n", name, r.Headers[name])
	}
	if r.SHA256 != "" {
		c.printf("  sha256    %s\n", r.SHA256)
	}
	if r.Code != "" {
		c.printf("  fault     %s: %s\n", r.Code, r.Error)
	}
	for line := range strings.Lines(r.Sample) {
		c.printf("  | %s\n", strings.TrimRight(line, "\r\n"))
	}
	if r.Position != "" {
		c.printf("  next      %s\n", r.Position)
	}
}

func (c *cli) printEffects(b *control.BlackBox) {
	e := b.Effects
	c.printf("\ndone\n")
	c.printf("  items     %d: %d inserted, %d updated, %d remapped, %d unchanged, %d stale, %d quarantined\n",
		e.Items, e.Inserted, e.Updated, e.Remapped, e.Unchanged, e.Stale, e.Quarantined)
	for _, m := range b.Cursor {
		c.printf("  cursor    %s %s -> %s\n", m.Kind, m.Prev, m.New)
	}
	rows := make([][]any, len(b.Items))
	for i, it := range b.Items {
		why := ""
		if it.Problem != nil {
			why = it.Problem.Code + " " + it.Problem.Path
		}
		rows[i] = []any{it.ID, it.Effect, it.Revision, it.RawSHA256[:min(12, len(it.RawSHA256))], why}
	}
	if len(rows) > 0 {
		c.table([]column{
			{head: "ITEM", width: 30}, {head: "EFFECT", width: 12}, {head: "REVISION", width: 8, right: true}, {head: "SHA256", width: 12}, {head: "REASON", wraps: true},
		}, rows)
	}
	if b.Capped {
		c.notef("there are more items; next: patra blackbox show %s --limit %d\n", b.Batch, 10*len(b.Items))
	}
	c.notef("next: patra replay %s\n", b.Batch)
}

func (c *cli) blackboxExportCmd() *cobra.Command {
	var o control.BoxOrder
	var out string
	cmd := &cobra.Command{
		Use:   "export RUN/BATCH --reason TEXT",
		Short: "Take the black box of a page out into a file, which patra replay takes",
		Long: "Export writes all that is kept of a page to one file, without secrets. Mail addresses are masked in it unless\n" +
			"--unmasked is given. The file may be used for seven days, and carries the number of its line in the audit.",
		Example: "  patra blackbox export 17/3 --reason \"parser gave no title\" --out box.jsonl.zst",
		Args:    onePage,
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(o.Reason) == "" {
				return misuse(cmd, "needs --reason TEXT, for the audit")
			}
			o.By = c.by(o.Reason)
			o.Batch = args[0]
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				return c.exportBox(cmd.Context(), ctl, o, out)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Reason, "reason", "", "why, for the audit")
	f.BoolVar(&o.Unmasked, "unmasked", false, "leave mail addresses in it")
	f.StringVar(&out, "out", "", "file; default patra-ing-RUN-BATCH.blackbox.jsonl.zst")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// exportBox writes a black box to a file.
func (c *cli) exportBox(ctx context.Context, ctl *control.Control, o control.BoxOrder, out string) error {
	box, done, err := ctl.ExportBlackBox(ctx, o)
	if err != nil {
		return err
	}
	if out != "" {
		done.File = out
	}
	if err := writeOut(c.out, done.File, func(w io.Writer) error { return box.Write(w) }); err != nil {
		return err
	}
	if done.File == "-" {
		return nil
	}
	return c.show(done, func() {
		c.printf("%s: %s, %s, audit line %d, to be used until %s\n", done.File, done.Batch, control.Count(done.Items, "item"), done.AuditID, control.Time(done.ExpiresAt))
		c.notef("next: patra replay %s\n", done.File)
	})
}
