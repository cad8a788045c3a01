package main

import (
	"log/slog"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

func (c *cli) serveCmd() *cobra.Command {
	var workers int
	var poll time.Duration
	cmd := &cobra.Command{
		Use:   "serve [all|scheduler|planner|executor ...]",
		Short: "Work by itself: begin what schedules say is due, and do it",
		Long: "Serve runs until it is stopped. Roles run together or apart, each in any number, over one database:\n" +
			"the scheduler triggers what the schedules of the sources say is due, the planner goes on with plans that\n" +
			"stopped early because enough was open, the executor works on the tasks of all sources. Without a role: all.\n\n" +
			"A schedule is the `schedule` part of a source pack. SIGTERM and Ctrl-C stop taking work, finish or release\n" +
			"what is in hand, and end within 10 s.",
		Example: "  patra serve\n  patra serve scheduler planner --db mysql://...\n  patra serve executor --workers 16 --db mysql://...",
		Args: func(cmd *cobra.Command, args []string) error {
			if _, err := node.ParseRoles(args); err != nil {
				return &usageError{cmd: cmd.CommandPath(), err: err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			roles, err := node.ParseRoles(args)
			if err != nil {
				return err
			}
			if workers < 1 || workers > 64 {
				return misuse(cmd, "--workers %d: use 1 to 64", workers)
			}
			if poll < 100*time.Millisecond || poll > time.Hour {
				return misuse(cmd, "--poll %s: use 100ms to 1h", poll)
			}
			cfg := c.config()
			cfg.Workers, cfg.Logger = workers, c.serveLogger()
			n, err := node.Open(cmd.Context(), cfg)
			if err != nil && cmd.Context().Err() != nil { // stopped before it had begun
				c.notef("patra: stopped\n")
				return nil
			}
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // everything is committed
			words := make([]string, len(roles))
			for i, r := range roles {
				words[i] = string(r)
			}
			err = n.Serve(cmd.Context(), node.ServeConfig{Roles: roles, Poll: poll, Ready: func() {
				c.notef("patra: serving %s\n", strings.Join(words, ", "))
			}})
			if err == nil {
				c.notef("patra: stopped\n")
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&workers, "workers", 4, "slices worked on at once")
	f.DurationVar(&poll, "poll", 10*time.Second, "how often schedules and plans are looked at")
	return cmd
}

// serveLogger tells at least what was planned, finished and failed: nobody
// watches.
func (c *cli) serveLogger() *slog.Logger {
	level := slog.LevelInfo
	if c.debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level}))
}
