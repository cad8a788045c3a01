package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// keepFlags say where archives are, and how long things stay in the database before they
// go there.
type keepFlags struct {
	dir             string
	trail, versions string
	events          string
}

func (k *keepFlags) add(f *pflag.FlagSet) {
	f.StringVar(&k.dir, "archive", "", "directory that old rows are moved to, or none (PATRA_ARCHIVE, default for SQLite: beside the database)")
	f.StringVar(&k.trail, "keep-trail", "365d", "how long plans and all they did stay in the database, 0: for ever (PATRA_KEEP_TRAIL)")
	f.StringVar(&k.versions, "keep-versions", "0", "how long replaced versions of records stay there, 0: for ever (PATRA_KEEP_VERSIONS)")
	f.StringVar(&k.events, "keep-events", "1d", "how long it is remembered what all targets of events got (PATRA_KEEP_EVENTS)")
}

// into puts them into a configuration.
func (k *keepFlags) into(cfg *node.Config) error {
	cfg.Archive = k.dir
	if k.dir == "" {
		cfg.Archive = node.ArchiveBeside(cfg.DB)
	}
	if k.dir == "none" {
		cfg.Archive = ""
	}
	var err error
	cfg.KeepTrail, err = keptFor("--keep-trail", k.trail)
	if err != nil {
		return err
	}
	cfg.KeepVersions, err = keptFor("--keep-versions", k.versions)
	if err != nil {
		return err
	}
	cfg.KeepEvents, err = control.ParseDuration(k.events)
	if err != nil || cfg.KeepEvents <= 0 {
		return fmt.Errorf("--keep-events %q: use a length of time such as 1h or 7d", k.events)
	}
	return nil
}

func keptFor(flag, text string) (time.Duration, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	d, err := control.ParseDuration(text)
	if err != nil || d < control.ShortestKept {
		return 0, fmt.Errorf("%s %q: use 0 for ever, or a time of at least %d days such as 90d", flag, text, control.ShortestKept/(24*time.Hour))
	}
	return d, nil
}

func (c *cli) dbArchiveCmd() *cobra.Command {
	var f changeFlags
	var before string
	cmd := &cobra.Command{
		Use: "archive --reason TEXT", Short: "Move old rows from the database to files", Args: noArgs,
		Long: "Archive writes what is old to a file of JSON lines, compressed with zstd, reads it back, and then removes it from the\n" +
			"database: plans that are done with their slices, tasks, runs and pages, triggers, moves of cursors and replaced versions\n" +
			"of records. Records, watermarks, what is proven, gaps, quarantine and the audit stay. Whatever is archived is found by\n" +
			"its number: patra db archive show plan/12. `patra serve` does the same by itself, a little at a time.",
		Example: "  patra db archive --dry-run\n  patra db archive --before 2026-01-01 --reason 'disk'\n  patra db archive show plan/12",
		RunE: func(cmd *cobra.Command, _ []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			at, err := parseTime("before", before)
			if err != nil {
				return err
			}
			order := control.ArchiveOrder{By: by, Before: at}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				if f.dryRun {
					return c.previewArchive(cmd, ctl, order)
				}
				v, err := ctl.Archive(cmd.Context(), order)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printArchived(v) })
			})
		},
	}
	f.add(c, cmd)
	cmd.Flags().StringVar(&before, "before", "", "archive what is older than this, of versions of records too; default: what --keep-trail and --keep-versions say")
	cmd.AddCommand(c.dbArchiveListCmd(), c.dbArchiveShowCmd())
	return cmd
}

func (c *cli) previewArchive(cmd *cobra.Command, ctl *control.Control, order control.ArchiveOrder) error {
	v, err := ctl.PreviewArchive(cmd.Context(), order)
	if err != nil {
		return err
	}
	return c.showList(v, "archives", func() {
		c.printf("would be moved to %s:\n", v.Where)
		trail := "nothing is"
		if !v.TrailBefore.IsZero() {
			trail = "before " + control.Time(v.TrailBefore).String()
		}
		versions := "nothing is"
		if !v.VersionsBefore.IsZero() {
			versions = "before " + control.Time(v.VersionsBefore).String()
		}
		c.table([]column{{head: "WHAT", width: 32}, {head: "HOW MANY", right: true}, {head: "OLD ENOUGH"}}, [][]any{
			{"plans that are done", countText(v.Due.Plans), trail},
			{"their pages", countText(v.Due.Batches), trail},
			{"moves of cursors", countText(v.Due.Moves), trail},
			{"triggers without a plan", countText(v.Due.Triggers), trail},
			{"replaced versions of records", countText(v.Due.Versions), versions},
		})
		c.printf("token %s\nnext: %s --apply %s --reason TEXT\n", v.Token, cmd.CommandPath(), v.Token)
	})
}

func (c *cli) printArchived(v control.ArchiveReport) {
	if len(v.Archives) == 0 {
		c.printf("nothing is old enough to be archived\n")
		return
	}
	for _, a := range v.Archives {
		c.printf("%d rows, %d bytes: %s\n", a.Rows, a.Bytes, a.File)
	}
	c.printf("%d rows were moved to %s\n", v.Rows, v.Where)
}

func (c *cli) dbArchiveListCmd() *cobra.Command {
	var n int
	var after string
	cmd := &cobra.Command{
		Use: "list", Short: "List the files that old rows were moved to, the newest first", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Archives(cmd.Context(), control.Page{After: after, Limit: n})
				if err != nil {
					return err
				}
				return c.showList(v, "archives", func() { c.printArchives(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&after, "after", "", "go on behind this archive, as the list before said")
	limitFlag(cmd, &n, "at most so many")
	return cmd
}

func (c *cli) printArchives(v control.ArchiveList) {
	if len(v.Archives) == 0 {
		c.printf("nothing was archived yet\n")
		return
	}
	rows := make([][]any, len(v.Archives))
	for i, a := range v.Archives {
		state := "done"
		if !a.Done {
			state = "being removed"
		}
		rows[i] = []any{a.ID, control.Time(a.CreatedAt), a.Rows, a.Bytes, a.Tables["ing_plan"].Count, state, a.File, a.Reason}
	}
	c.table([]column{
		{head: "ID", right: true},
		{head: "ARCHIVED", width: 20},
		{head: "ROWS", right: true},
		{head: "BYTES", right: true},
		{head: "PLANS", right: true},
		{head: "STATE"},
		{head: "FILE"},
		{head: "WHY", wraps: true},
	}, rows)
	if v.Next != "" {
		c.printf("more: --after %s\n", v.Next)
	}
}

func (c *cli) dbArchiveShowCmd() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use: "show KEY", Short: "Show archived rows by what they belong to, such as plan/12, batch/17 or ing-5-17",
		Long: "Show finds rows in all archives: by the number of a trigger, plan, slice, task, run, batch or cursor, by the name of a\n" +
			"page in logs (ing-RUN-NUMBER), or of a record by record/SOURCE/TYPE/ID.",
		Example: "  patra db archive show plan/12\n  patra db archive show ing-5-17 --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return misuse(cmd, "%s takes one key, such as plan/12", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.ShowArchived(cmd.Context(), args[0], raw)
				if err != nil {
					return err
				}
				return c.showList(v, "rows", func() { c.printArchivedRows(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&raw, "raw", false, "with the bytes that upstreams sent, which may hold e-mail addresses")
	return cmd
}

func (c *cli) printArchivedRows(v control.ArchivedRows) {
	for _, r := range v.Rows {
		c.printf("%s  archived on %s in %s\n", r.Table, r.ArchivedAt.UTC().Format(time.DateOnly), r.File)
		for _, name := range slices.Sorted(maps.Keys(r.Row)) {
			if r.Row[name] != nil {
				c.printf("  %-22s %s\n", name, fmt.Sprint(r.Row[name]))
			}
		}
	}
	if v.Capped {
		c.printf("and more: --json, and a narrower key, such as one task of the plan\n")
	}
}
