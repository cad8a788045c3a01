package main

import (
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) quarantineDiscardCmd() *cobra.Command {
	var f changeFlags
	var name string
	cmd := &cobra.Command{
		Use: "discard ITEM --name NAME --reason TEXT", Short: "Throw an item away; its bytes cannot be had back", Args: oneNumber("quarantine item"),
		Long: "Discard takes the bytes of an item away and no longer lists it, also if the source sends the same item again. If a\n" +
			"later version of the record can be read, it is stored as any other. Type the name of the item as the list shows it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			if name == "" && !f.dryRun {
				return misuse(cmd, "discard needs --name NAME: type the name of the item, as patra quarantine show %s says it", args[0])
			}
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Discard(cmd.Context(), control.DiscardOrder{By: by, ID: id, Name: name, DryRun: f.dryRun})
				if err != nil {
					return err
				}
				return c.show(v, func() {
					words := "would be discarded"
					if v.Applied {
						words = "was discarded"
					}
					c.printf("item %d, %s %s (%s), %s\n", v.Item.ID, v.Item.Source, v.Item.Name, codeAt(v.Item.Code, v.Item.Path), words)
					c.noteToken(v.Token)
				})
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the name of the item, typed")
	f.add(c, cmd)
	return cmd
}

// choiceFlags say which items in quarantine something is done with.
type choiceFlags struct{ source, code string }

func (f *choiceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.source, "source", "", "the items of this source")
	cmd.Flags().StringVar(&f.code, "code", "", "only with this cause, such as missing_field")
}

// choice reads the numbers of items that were given.
func (f *choiceFlags) choice(cmd *cobra.Command, args []string) (control.QuarantineChoice, error) {
	ch := control.QuarantineChoice{Source: f.source, Code: harvest.Code(f.code)}
	for _, a := range args {
		id, err := strconv.ParseInt(a, 10, 64)
		if err != nil || id < 1 {
			return ch, misuse(cmd, "%q is not the number of an item, as patra quarantine list shows it", a)
		}
		ch.Items = append(ch.Items, id)
	}
	if f.source == "" && len(ch.Items) == 0 {
		return ch, misuse(cmd, "say which items: their numbers, or --source")
	}
	return ch, nil
}

func (c *cli) quarantineRefetchCmd() *cobra.Command {
	var f changeFlags
	var choose choiceFlags
	var stand standIn
	cmd := &cobra.Command{
		Use: "refetch [ITEM...] --reason TEXT", Short: "Ask the source again for the records of items", Args: cobra.ArbitraryArgs,
		Long: "Refetch asks for the records by their ids, as patra refresh does: within the rate limit, in an activity of its own.\n" +
			"Items without an id are left out; patra quarantine list names them by a hash.",
		Example: "  patra quarantine refetch 12 13 --reason 'mended upstream'\n  patra quarantine refetch --source pubmed --code bad_date --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			ch, err := choose.choice(cmd, args)
			if err != nil {
				return err
			}
			base, err := stand.base()
			if err != nil {
				return err
			}
			o := control.RefetchOrder{By: by, QuarantineChoice: ch, BaseURL: base}
			if !f.dryRun {
				return c.harvest(cmd.Context(), "quarantine", 4, func(ctl *control.Control, w *control.Watch) (*control.Report, error) {
					o.Watch = w
					return ctl.Refetch(cmd.Context(), o)
				})
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.PreviewRefetch(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.show(v, func() {
					for _, r := range v.Nameless {
						c.printf("item %d has no id that could be asked for\n", r.ID)
					}
					c.printRefreshPreview(v.Refresh)
					c.noteToken(v.Token)
				})
			})
		},
	}
	choose.add(cmd)
	stand.add(cmd.Flags(), "send the requests to another host: a simulator or mirror")
	f.add(c, cmd)
	return cmd
}

func (c *cli) quarantineReparseCmd() *cobra.Command {
	var f changeFlags
	var choose choiceFlags
	cmd := &cobra.Command{
		Use: "reparse [ITEM...] --reason TEXT", Short: "Read items again as the source is described now, and store those that pass", Args: cobra.ArbitraryArgs,
		Long: "Reparse reads the bytes that were kept by the mapping in force; no source is asked. What can be stored becomes a record\n" +
			"as if it had come now, but is as old as it is; what cannot stays in quarantine. Look first with --dry-run.",
		Example: "  patra quarantine reparse --source pubmed --dry-run\n  patra quarantine reparse --source pubmed --apply TOKEN --reason 'date path mended'",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			ch, err := choose.choice(cmd, args)
			if err != nil {
				return err
			}
			o := control.ReparseOrder{By: by, QuarantineChoice: ch}
			if !f.dryRun {
				return c.harvest(cmd.Context(), "quarantine", 4, func(ctl *control.Control, w *control.Watch) (*control.Report, error) {
					o.Watch = w
					return ctl.Reparse(cmd.Context(), o)
				})
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.PreviewReparse(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printReparse(v) })
			})
		},
	}
	choose.add(cmd)
	f.add(c, cmd)
	return cmd
}

func (c *cli) printReparse(v control.ReparsePreview) {
	c.printf("%s: %d items would become records, %d would stay in quarantine\n", v.Source, len(v.Passes), len(v.Fails))
	var rows [][]any
	for _, r := range append(v.Passes, v.Fails...) {
		becomes := "record " + r.Record
		if r.Record == "" {
			becomes = "stays: " + codeAt(r.Code, r.Path)
		}
		rows = append(rows, []any{r.Item, r.Name, becomes, r.Detail})
	}
	c.table([]column{{head: "ITEM", width: 6}, {head: "NAME", width: 20}, {head: "BECOMES", width: 24}, {head: "WHY", wraps: true}}, rows)
	c.noteToken(v.Token)
}
