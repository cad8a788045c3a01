package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (c *cli) serveCmd() *cobra.Command {
	var workers int
	var weights map[string]int
	var poll time.Duration
	var door doorFlags
	var applyPacks bool
	cmd := &cobra.Command{
		Use:               "serve [all|scheduler|planner|executor|relay|console ...]",
		ValidArgsFunction: completeRoles,
		Short:             "Work by itself: begin what schedules say is due, and do it",
		Long: "Serve runs until it is stopped. Roles run together or apart, each in any number, over one database:\n" +
			"the scheduler triggers what the schedules of the sources say is due, the planner goes on with plans that\n" +
			"stopped early because enough was open, the executor works on the tasks of all sources, the relay tells the targets of\n" +
			"--events of every revision of a record. Without a role: all.\n\n" +
			"With --listen the API is served as well (OpenAPI 3.1 at /api/v1/openapi.json), and by the role console the pages of the\n" +
			"console at /. On 127.0.0.1 they need no token until there is one (patra token new); on any other address they begin\n" +
			"only if there is. The role console named without --listen listens on 127.0.0.1:8080.\n\n" +
			"Sources are asked as their descriptions in force say: packs are applied by `patra source apply` and by commands that are\n" +
			"given by hand, here only with --apply-packs. A pack that has changed meanwhile is told of in the log.\n\n" +
			"Schedules are set by `patra schedule set`, or suggested by source packs. SIGTERM and Ctrl-C stop taking work, finish\n" +
			"or release what is in hand, and end within 10 s; told a second time, patra ends at once, which loses nothing either.",
		Example: "  patra serve\n  patra serve scheduler planner --db mysql://...\n  patra serve executor --workers 16 --weight pubmed=3 --db mysql://...\n  patra serve --listen 127.0.0.1:8080\n  patra serve console --read-only",
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
			if err := checkWorkers(cmd, workers); err != nil {
				return err
			}
			if poll < 100*time.Millisecond || poll > time.Hour {
				return misuse(cmd, "--poll %s: use 100ms to 1h", poll)
			}
			c.leavesPacks = !applyPacks
			cfg := c.config()
			cfg.Workers = workers
			cfg.Weights = weights
			// A console that lets nobody change anything needs no more of a server than a replica has.
			cfg.ReadOnly = door.readOnly && slices.Equal(args, []string{"console"}) && strings.HasPrefix(cfg.DB, "mysql:")
			cfg.Logger = c.serveLogger()
			n, err := node.Open(cmd.Context(), cfg)
			if err != nil && cmd.Context().Err() != nil { // stopped before it had begun
				c.notef("patra: stopped\n")
				return nil
			}
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // everything is committed
			if err := checkWeights(cmd, n.Control, weights); err != nil {
				return err
			}
			if door.listen == "" && slices.Contains(args, "console") {
				door.listen = "127.0.0.1:8080"
			}
			api, err := door.open(cmd, n)
			if err != nil {
				return err
			}
			words := make([]string, len(roles))
			for i, r := range roles {
				words[i] = string(r)
			}
			return c.stay(cmd.Context(), n, node.ServeConfig{Roles: roles, Poll: poll, API: api}, func() {
				c.notef("patra: serving %s\n", strings.Join(words, ", "))
				if api != nil {
					c.notef("patra: listening on http://%s\n", api.Listener.Addr())
				}
				if slices.Contains(words, "scheduler") {
					c.noteSchedules(cmd.Context(), n.Control)
				}
			})
		},
	}
	f := cmd.Flags()
	addWorkers(f, &workers)
	f.StringToIntVar(&weights, "weight", nil, "`SOURCE=N`: of this source N times as many slices are taken in its turn as of another")
	f.BoolVar(&applyPacks, "apply-packs", false, "apply packs by themselves: of a source that was never applied, and of the folder of --sources if one has changed (PATRA_APPLY_PACKS)")
	f.DurationVar(&poll, "poll", 10*time.Second, "how often schedules and plans are looked at")
	door.add(f)
	return cmd
}

// checkWeights checks --weight.
func checkWeights(cmd *cobra.Command, ctl *control.Control, weights map[string]int) error {
	for code, weight := range weights {
		if weight < 1 || weight > 100 {
			return misuse(cmd, "--weight %s=%d: use 1 to 100", code, weight)
		}
		if _, err := ctl.Source(cmd.Context(), code); err != nil {
			return err
		}
	}
	return nil
}

// stay serves until it is stopped, and says what is said when everything runs.
func (c *cli) stay(ctx context.Context, n *node.Node, s node.ServeConfig, say func()) error {
	s.Ready = func() {
		notifySystemd("READY=1")
		say()
	}
	err := n.Serve(ctx, s)
	notifySystemd("STOPPING=1")
	if err == nil {
		c.notef("patra: stopped\n")
	}
	return err
}

// doorFlags say whether and how the API is served.
type doorFlags struct {
	listen   string
	hosts    []string
	readOnly bool
	base     string
}

func (d *doorFlags) add(f *pflag.FlagSet) {
	f.StringVar(&d.listen, "listen", "", "serve the API at this address, such as 127.0.0.1:8080 (default: nowhere)")
	f.StringArrayVar(&d.hosts, "allow-host", nil, "a name by which the API may be called, beside localhost and its address; again for another")
	f.StringVar(&d.base, "base-path", "", "the path below which a proxy shows the pages and the API, such as /patra")
	f.BoolVar(&d.readOnly, "read-only", false, "let nobody change anything through the API")
}

// open begins to listen, nil if that was not asked for.
func (d *doorFlags) open(cmd *cobra.Command, n *node.Node) (*node.API, error) {
	if d.listen == "" {
		if d.readOnly || len(d.hosts) > 0 || d.base != "" {
			return nil, misuse(cmd, "--read-only, --allow-host and --base-path are about the API: say where with --listen")
		}
		return nil, nil
	}
	if _, _, err := net.SplitHostPort(d.listen); err != nil {
		return nil, misuse(cmd, "--listen %q is not an address with a port, such as 127.0.0.1:8080", d.listen)
	}
	if d.base != "" && !isPath(d.base) {
		return nil, misuse(cmd, "--base-path %q is not a path such as /patra", d.base)
	}
	l, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", d.listen)
	if err != nil {
		return nil, err
	}
	api := &node.API{Listener: l, Hosts: d.hosts, ReadOnly: d.readOnly, Base: d.base, Build: build()}
	if err := api.Check(cmd.Context(), n.Control); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return api, nil
}

// isPath reports whether a text is a path of plain steps.
func isPath(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Path == s && path.Clean(s) == strings.TrimSuffix(s, "/") && strings.HasPrefix(s, "/") && s != "/"
}

// noteSchedules says how much is scheduled, and how to begin where nothing is.
func (c *cli) noteSchedules(ctx context.Context, ctl *control.Control) {
	list, err := ctl.Schedules(ctx, "")
	if err != nil || list.Unread != "" {
		return // the scheduler tells what it cannot read
	}
	enabled := 0
	for _, s := range list.Schedules {
		if s.Enabled {
			enabled++
		}
	}
	switch {
	case enabled > 0:
		c.notef("patra: %s in force; patra schedule list shows when each comes next\n", control.Count(enabled, "schedule"))
	case len(list.Schedules) > 0:
		c.notef("patra: all schedules are paused, so nothing will begin by itself\nnext: patra schedule list, then patra schedule resume NAME --reason TEXT\n")
	default:
		c.notef("patra: nothing is scheduled, so nothing will begin by itself; what is set meanwhile is taken up without a restart\nnext: %s\n", howToBegin)
	}
}

// serveLogger tells at least what was planned, finished and failed: nobody
// watches.
func (c *cli) serveLogger() *slog.Logger {
	level := slog.LevelInfo
	if c.debug {
		level = slog.LevelDebug
	}
	return c.logAt(level)
}
