package main

import (
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) dbCompactCmd() *cobra.Command {
	var dryRun bool
	var reason string
	cmd := &cobra.Command{
		Use: "compact --reason TEXT", Short: "Pack what is stored of records anew, as small as it gets", Args: noArgs,
		Long: "Compact goes through all versions of records and packs what came and its fields into one body, with a dictionary of what\n" +
			"the records of a source have in common: those that were stored before there was one, and those of older versions of\n" +
			"patra. Harvests may go on beside it. It can be ended at any time: everything can be read, and the next one goes on\n" +
			"where it ended. The bytes that are free then are used for new rows; a file of SQLite does not get shorter by it.",
		Example: "  patra db compact --dry-run\n  patra db compact --reason 'disk'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dryRun {
				return c.reading(cmd.Context(), func(ctl *control.Control) error {
					v, err := ctl.PreviewCompact(cmd.Context())
					if err != nil {
						return err
					}
					return c.showList(v, "packing", func() { c.printPacking(v) })
				})
			}
			if reason == "" {
				return misuse(cmd, "%s needs --reason TEXT: it is kept in the audit", cmd.CommandPath())
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Compact(cmd.Context(), c.by(reason), c.compactProgress())
				if err != nil {
					return err
				}
				return c.show(v, func() {
					c.printf("%d of %d bodies were packed anew: %d bytes instead of %d\n", v.Packed, v.Bodies, v.Now, v.Before)
					if v.Unreadable > 0 {
						c.printf("%d cannot be read and were left as they are; next: patra verify --deep\n", v.Unreadable)
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show how what is stored is packed; nothing is changed")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printPacking(v control.CompactPreview) {
	if len(v.Packing) == 0 {
		c.printf("nothing is stored yet\n")
		return
	}
	rows := make([][]any, len(v.Packing))
	for i, p := range v.Packing {
		again := "stays"
		if p.Again {
			again = "packed anew where that is smaller"
		}
		rows[i] = []any{p.Codec, p.Bodies, p.Bytes, again}
	}
	c.table([]column{{head: "CODEC", width: 10}, {head: "BODIES", right: true}, {head: "BYTES", right: true}, {head: "THEN"}}, rows)
}

// compactProgress tells on stderr how far it has come, at most every five seconds.
func (c *cli) compactProgress() func(control.Compacted) {
	told := time.Now()
	return func(at control.Compacted) {
		if c.progress == "none" || time.Since(told) < 5*time.Second {
			return
		}
		told = time.Now()
		c.notef("compact  version %d of %d, %d packed anew: %d bytes instead of %d\n", at.After, at.Of, at.Packed, at.Now, at.Before)
	}
}
