package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// cli is what the subcommands share.
type cli struct {
	out, err io.Writer
	db       string
	packs    string
	contact  string
	lease    time.Duration
	// instances is how many processes share the database.
	instances int
	verbose   bool
	debug     bool
	progress  string
	// json is set by the subcommand that prints one object.
	json bool
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	c := &cli{out: out, err: errOut}
	root := c.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	return c.fail(ctx, err)
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "patra",
		Short: "Harvest scholarly and medical literature, every record, once",
		Long: "patra harvests PubMed, Crossref and other literature sources: nothing lost, nothing twice,\n" +
			"no upstream over-asked, and every batch explainable months later.\n\n" +
			"Begin with `patra demo`; it needs no network and no database.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	// A flag's default is printed by --help; what the environment holds may be
	// a password.
	root.PersistentPreRun = func(*cobra.Command, []string) {
		c.db = cmp.Or(c.db, os.Getenv("PATRA_DB"))
		c.packs = cmp.Or(c.packs, os.Getenv("PATRA_SOURCES"))
		c.contact = cmp.Or(c.contact, os.Getenv("PATRA_CONTACT"))
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd: cmd.CommandPath(), err: err} })
	f := root.PersistentFlags()
	f.StringVar(&c.db, "db", "", "database, sqlite:PATH or mysql://user:password@host:port/database (PATRA_DB)")
	f.StringVar(&c.packs, "sources", "", "folder of further source packs (PATRA_SOURCES)")
	f.StringVar(&c.contact, "contact", "", "e-mail told to upstreams, as they ask for (PATRA_CONTACT)")
	f.DurationVar(&c.lease, "lease", envDuration("PATRA_LEASE"), "how long a silent worker keeps its task (PATRA_LEASE, default 1m)")
	f.IntVar(&c.instances, "instances", envInt("PATRA_INSTANCES"), "patra processes that share this database; lets each ask a share if the rate gate is lost (PATRA_INSTANCES)")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "log what happens to stderr")
	f.BoolVar(&c.debug, "debug", false, "log every step to stderr")
	f.StringVar(&c.progress, "progress", "auto", "progress on stderr: auto, bar, plain or none")
	root.AddCommand(c.demoCmd(), c.harvestCmd(), c.backfillCmd(), c.refreshCmd(), c.serveCmd(), c.exportCmd(), c.verifyCmd(), c.coverageCmd(), c.reconcileCmd(), c.planCmd(), c.cursorCmd(), c.simCmd(), c.dbCmd(), c.versionCmd(), c.sourceCmd(), c.auditCmd(), c.credentialCmd())
	for _, sub := range root.Commands() {
		if sub.Args == nil && sub.HasParent() && !sub.HasSubCommands() {
			sub.Args = noArgs
		}
	}
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args)}
	}
	return nil
}

func envDuration(name string) time.Duration {
	d, err := time.ParseDuration(os.Getenv(name))
	if err != nil {
		return 0
	}
	return d
}

// envInt is a number of the environment, 0 if there is none.
func envInt(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (c *cli) logger() *slog.Logger {
	level := slog.LevelWarn
	switch {
	case c.debug:
		level = slog.LevelDebug
	case c.verbose:
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level}))
}

func (c *cli) config() node.Config {
	return node.Config{
		DB: c.db, Packs: c.packs, Contact: c.contact, Version: version(), LeaseTTL: c.lease, Instances: c.instances, Logger: c.logger(),
	}
}

// open builds a node that writes.
func (c *cli) open(ctx context.Context, workers int) (*node.Node, error) {
	cfg := c.config()
	cfg.Workers = workers
	return node.Open(ctx, cfg)
}

// openRead builds a node that only reads.
func (c *cli) openRead(ctx context.Context) (*node.Node, error) {
	cfg := c.config()
	cfg.ReadOnly = true
	return node.Open(ctx, cfg)
}

func (c *cli) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

func (c *cli) notef(format string, args ...any) { fmt.Fprintf(c.err, format, args...) }
