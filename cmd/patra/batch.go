package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) batchCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "batch", Short: "See single pages: what was asked, what came, what was done with it"}
	show := &cobra.Command{
		Use: "show RUN/BATCH", Short: "Show a page of a run with all that is kept of it", Args: oneBatch,
		Example: "  patra batch show 17/3",
		RunE: func(cmd *cobra.Command, args []string) error {
			run, no, err := control.ParseBatchName(args[0])
			if err != nil {
				return err
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Batch(cmd.Context(), run, no)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printBatch(v) })
			})
		},
	}
	show.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	verbs(cmd, show)
	return cmd
}

// oneBatch wants exactly one argument, the name of a page.
func oneBatch(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse(cmd, "%s takes a page by its run and number, such as 17/3, as patra run show lists them", cmd.CommandPath())
	}
	return nil
}

func (c *cli) printBatch(v control.BatchView) {
	state := harvest.BatchState(v.Status)
	c.printf("batch %d/%d  %s %s  %s\n", v.Run, v.No, v.Source, v.Operation, c.text(withGlyph(state, control.BatchFamily(state))))
	c.printf("  of        plan %d, slice %d, task %d; walk %d, %s page %d; correlation id %s\n", v.Plan, v.Slice, v.Task, v.Walk, v.Phase, v.Ordinal, v.Correlation)
	c.printf("  place     %s\n", v.Before)
	switch {
	case v.Proof != "":
		c.printf("  after     %s, proven to be the end: %s\n", cmp.Or(v.After, "-"), v.Proof)
	case v.After != "":
		c.printf("  after     %s, more to come\n", v.After)
	}
	r := v.Records
	c.printf("  items     %d: %d new, %d changed, %d mapped anew, %d unchanged, %d stale, %d filtered, %d quarantined\n",
		v.Items, r.Inserted, r.Updated, r.Remapped, r.Unchanged, r.Stale, r.Filtered, r.Quarantined)
	if v.Asked > 0 {
		c.printf("  ids       %d asked for, %d without details\n", v.Asked, v.BadIDs)
	}
	c.printf("  http      %s, %d requests, %d repeated, %d answered 429, %d answered 5xx, %d bytes\n", httpText(v.HTTP), v.Sent, v.Retried, v.HTTP429, v.HTTP5xx, v.Bytes)
	c.printf("  time      claimed %s, ended %s: %d ms wait, %d ms network, %d ms processing\n",
		secondText(v.Opened), secondText(v.Ended), v.Wait, v.Network, v.Processing)
	if v.Credential != "" {
		c.printf("  key       %s\n", v.Credential)
	}
	if v.Request != "" {
		c.printf("  request   %s\n", v.Request)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Headers)) {
		c.printf("  header    %s: %s\n", name, v.Headers[name])
	}
	if v.ReplySHA256 != "" {
		c.printf("  reply     sha256 %s\n", v.ReplySHA256)
	}
	if v.Sample != "" {
		c.printf("  began     %s\n", v.Sample)
	}
	if v.Code != "" {
		c.printf("  cause     %s: %s %s\n", v.Code, v.Error, v.Means)
	}
	c.printf("  next      %s\n", v.NextStep)
}

// httpText is the status of the last reply, if one came.
func httpText(status int64) string {
	if status == 0 {
		return "no reply"
	}
	return strconv.FormatInt(status, 10)
}
