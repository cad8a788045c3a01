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
		Long: "Backup writes the database as it stands at one instant into a new file, and looks through it. Harvests go on beside it,\n" +
			"and the schema may be an older one, as before an upgrade. A copy by cp is whole only while nothing runs. The archive\n" +
			"directory, PATRA_KEY and packs of your own are not in the file. Copy a server with its own tools.\n\n" +
			"To go back to a backup, end every patra, put a copy of it in the place of the database, remove the -wal and -shm files\n" +
			"beside that, and start again. Harvests read again what came later; order anew what was ordered later. Never let patra\n" +
			"work on both: each would ask the sources as if it were alone.",
		Example: "  patra db backup /backup/patra-2026-01-31.db",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withSchema(cmd.Context(), true, func(db control.BareStore) error {
				v, err := control.BackUp(cmd.Context(), db, args[0], c.backupProgress)
				if err != nil {
					return err
				}
				return c.show(v, func() {
					c.printf("%s: %s as it was at %s, %d bytes\n", v.File, v.Store, secondText(v.At), v.Bytes)
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
