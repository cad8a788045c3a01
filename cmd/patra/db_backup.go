package main

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) dbBackupCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Copy a SQLite database while others work with it",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse(cmd, "%s takes the name of the file that the copy shall be", cmd.CommandPath())
			}
			return nil
		},
		Long: "Backup writes the database as it stands at one instant into a new file, and looks through it. Harvests go on beside it.\n" +
			"A copy by cp is whole only while nothing runs. To go back to a backup, end every patra, put a copy of it in the place\n" +
			"of the database, remove the -wal and -shm files beside that, and start again: what came later is read again by\n" +
			"itself. The archive directory, PATRA_KEY and packs of your own are not in the file. On a server use its own tools.",
		Example: "  patra db backup /backup/patra-2026-01-31.db",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.BackUp(cmd.Context(), args[0], c.backupProgress)
				if err != nil {
					return err
				}
				return c.show(v, func() {
					c.printf("%s: %s as it was at %s, %d bytes\n", v.File, v.Store, secondText(v.At), v.Bytes)
					if v.Archive != "" {
						c.notef("note: not in it is the archive directory, %s\n", v.Archive)
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// backupProgress tells on stderr how far a copy has come.
func (c *cli) backupProgress(written, of int64) {
	if c.progress != "none" {
		c.notef("backup  %d of about %d bytes\n", written, of)
	}
}
