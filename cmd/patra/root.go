package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// cli is what the subcommands share.
type cli struct {
	printer
	db      string
	packs   string
	contact string
	lease   time.Duration
	// registryCache is for how long a description is not looked at again.
	registryCache time.Duration
	// database is how slow the database may be before it is spared.
	database harvest.DatabaseLimits
	// instances is how many processes share the database.
	instances int
	// leavesPacks: packs are not applied by themselves.
	leavesPacks bool
	verbose     bool
	debug       bool
	progress    string
	logFormat   string
	// command is what was called, without its flags.
	command string
	// source is the one that the command names, else the word SOURCE for what it says to do next.
	source string
	keep   keepFlags
	events string // who is told of revisions; may hold secrets
	// json: a program reads the answer. It is --json of a command, and then whether the
	// form is one for programs.
	json bool
	form form
	// fields are those of the answer that are wanted; none for all.
	fields []string
	// nextPageOf is the command line for the next page of a list.
	nextPageOf func(next string) string
	// quiet: only names are wanted. watching: the answer is wanted again and again.
	quiet        bool
	watching     bool
	settingsFile string // of --config
	// from says who gave each shared setting: a flag, a variable, or a line of a file.
	from map[string]string
	// asking: a question stands on the terminal, and nothing is to be written over it.
	asking atomic.Bool
}

// shared are the settings of every command, and one of those that serve: a flag, and the
// variable of the environment that is read where it is not given.
var shared = []struct{ flag, env string }{
	{"db", "PATRA_DB"},
	{"sources", "PATRA_SOURCES"},
	{"contact", "PATRA_CONTACT"},
	{"lease", "PATRA_LEASE"},
	{"registry-cache", "PATRA_REGISTRY_CACHE"},
	{"apply-packs", "PATRA_APPLY_PACKS"},
	{"db-wait", "PATRA_DB_WAIT"},
	{"db-slow", "PATRA_DB_SLOW"},
	{"instances", "PATRA_INSTANCES"},
	{"log-format", "PATRA_LOG_FORMAT"},
	{"archive", "PATRA_ARCHIVE"},
	{"keep-trail", "PATRA_KEEP_TRAIL"},
	{"keep-versions", "PATRA_KEEP_VERSIONS"},
	{"keep-events", "PATRA_KEEP_EVENTS"},
	{"events", "PATRA_EVENTS"},
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	return runOn(ctx, screenOf(out), args, out, errOut)
}

// runOn is run with the screen that the output is shown on.
func runOn(ctx context.Context, s screen, args []string, out, errOut io.Writer) int {
	w := &output{w: out}
	c := &cli{printer: printer{out: w, err: errOut, screen: s}, source: "SOURCE"}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(input{os.Stdin, ctx})
	root.SetOut(w)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if e, ok := errors.AsType[*usageError](err); ok && e.cmd == "" {
		e.cmd = cmd.CommandPath()
	}
	if werr := w.failed(); werr != nil && err == nil {
		err = fmt.Errorf("write the output: %w", werr)
	}
	return c.fail(ctx, err)
}

// output remembers that something could not be written.
type output struct {
	w   io.Writer
	mu  sync.Mutex
	err error // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "patra",
		Short: "Harvest scholarly and medical literature, every record, once",
		Long: "patra harvests PubMed, Crossref and other literature sources: nothing lost, nothing twice,\n" +
			"no upstream over-asked, and every batch explainable months later.\n\n" +
			"Begin with `patra demo`; it needs no network and no database.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate(versionLine())
	// A flag's default is printed by --help; what the environment holds may be
	// a password.
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(c.settings(cmd), c.settleForm()); err != nil {
			return &usageError{err: err}
		}
		c.command = strings.Join(append([]string{cmd.CommandPath()}, args...), " ")
		c.nextPageOf = func(next string) string { return again(cmd, next) }
		use := strings.NewReplacer("[", "", "]", "", "CODE", "SOURCE").Replace(cmd.Use)
		if strings.HasPrefix(use, cmd.Name()+" SOURCE") && len(args) > 0 {
			c.source = args[0]
		}
		return nil
	}
	root.Args = noVerb
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd: cmd.CommandPath(), err: err} })
	f := root.PersistentFlags()
	f.StringVar(&c.db, "db", "", "database, sqlite:PATH or mysql://user:password@host:port/database (PATRA_DB)")
	f.StringVar(&c.settingsFile, "config", "", "file of settings, NAME=value in lines (PATRA_CONFIG, default patra.env of this folder if it is there)")
	f.StringVar(&c.packs, "sources", "", "folder of further source packs (PATRA_SOURCES)")
	f.StringVar(&c.contact, "contact", "", "e-mail told to upstreams, as they ask for (PATRA_CONTACT)")
	f.DurationVar(&c.lease, "lease", 0, "how long a silent worker keeps its task (PATRA_LEASE, default 1m)")
	f.DurationVar(&c.registryCache, "registry-cache", 0, "how long a description of a source that was read is not looked at again (PATRA_REGISTRY_CACHE, default 2s)")
	f.DurationVar(&c.database.Wait, "db-wait", 0, "how long a write may wait for its turn, in the mean, before the database is spared (PATRA_DB_WAIT, default 200ms)")
	f.DurationVar(&c.database.Write, "db-slow", 0, "how long a write may take, in the mean, before the database is spared (PATRA_DB_SLOW, default 3s)")
	f.IntVar(&c.instances, "instances", 0, "patra processes that share this database; lets each ask a share if the rate gate is lost (PATRA_INSTANCES)")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "log what happens to stderr")
	f.BoolVar(&c.debug, "debug", false, "log every step to stderr")
	f.StringVar(&c.logFormat, "log-format", "text", "how log lines are written: text or json (PATRA_LOG_FORMAT)")
	c.keep.add(f)
	f.StringVar(&c.events, "events", "", "who is told of every revision of a record: file:PATH, stdout:, nats://..., kafka://... or webhook+https://... (PATRA_EVENTS)")
	c.form = asTable
	f.VarP((*formFlag)(&c.form), "output", "o", "how the answer is printed: "+listed(forms))
	f.StringSliceVar(&c.fields, "fields", nil, "with -o json, jsonl, yaml or csv: only these fields, such as id,status")
	f.StringVar(&c.progress, "progress", "auto", "progress on stderr: auto, bar, plain or none")
	root.AddCommand(c.demoCmd(), c.initCmd(), c.upCmd(), c.harvestCmd(), c.backfillCmd(), c.refreshCmd(), c.serveCmd(), c.statusCmd(), c.doctorCmd(), c.scheduleCmd(), c.searchCmd(), c.exportCmd(), c.verifyCmd(), c.explainCmd(), c.coverageCmd(), c.queryCmd(), c.reconcileCmd(), c.planCmd(), c.cursorCmd(), c.simCmd(), c.dbCmd(), c.versionCmd(), c.sourceCmd(), c.auditCmd(), c.errorCmd(), c.quarantineCmd(), c.recordCmd(), c.alertCmd(), c.credentialCmd(), c.tokenCmd())
	root.AddCommand(c.blackboxCmd(), c.replayCmd(), c.deployCmd(), c.workCmd(), c.reportCmd(), c.outboxCmd())
	root.AddCommand(c.queueCmd(), c.taskCmd(), c.runsCmd(), c.batchCmd(), c.rateCmd())
	for _, sub := range root.Commands() {
		if sub.Args == nil && sub.HasParent() && !sub.HasSubCommands() {
			sub.Args = noArgs
		}
	}
	groupCommands(root)
	giveExamples(root)
	c.addReadFlags(root)
	c.completions(root)
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misuse(cmd, "%s takes no arguments, got %q", cmd.CommandPath(), args)
	}
	return nil
}

// settings checks what every command may be told, and takes from the environment
// what the command line does not say.
func (c *cli) settings(cmd *cobra.Command) error {
	if !slices.Contains([]string{"auto", "bar", "plain", "none"}, c.progress) {
		return fmt.Errorf("--progress %q is not known: use auto, bar, plain or none", c.progress)
	}
	c.from = map[string]string{}
	file, err := readSettings(cmp.Or(c.settingsFile, os.Getenv("PATRA_CONFIG")))
	if err != nil {
		return err
	}
	database, err := databaseFromFile()
	if err != nil {
		return err
	}
	for _, v := range shared {
		text := os.Getenv(v.env)
		origin := v.env
		if v.env == "PATRA_DB" && database != "" {
			text = database
			origin = databaseFile
		}
		if text == "" {
			text = file[v.env].value
			origin = file[v.env].at
		}
		flag := cmd.Flags().Lookup(v.flag)
		if flag != nil { // a command may have one of its own by that name
			flag = cmp.Or(cmd.Root().PersistentFlags().Lookup(v.flag), flag)
		}
		switch {
		case flag == nil: // of a command that reads no flags
		case flag.Changed && flag.Value.String() != "":
			c.from[v.flag] = "--" + v.flag
		case text != "":
			c.from[v.flag] = origin
			if err := flag.Value.Set(text); err != nil {
				return fmt.Errorf("%s: %w", origin, err)
			}
		}
	}
	switch {
	case c.logFormat != "text" && c.logFormat != "json":
		return fmt.Errorf("--log-format %q is not known: use text or json", c.logFormat)
	case c.lease != 0 && (c.lease < time.Second || c.lease > 24*time.Hour):
		return fmt.Errorf("--lease %s: use 1s to 24h", c.lease)
	case c.registryCache != 0 && (c.registryCache < 100*time.Millisecond || c.registryCache > time.Minute):
		return fmt.Errorf("--registry-cache %s: use 100ms to 1m", c.registryCache)
	case c.database.Wait != 0 && (c.database.Wait < time.Millisecond || c.database.Wait > time.Minute):
		return fmt.Errorf("--db-wait %s: use 1ms to 1m", c.database.Wait)
	case c.database.Write != 0 && (c.database.Write < 10*time.Millisecond || c.database.Write > 10*time.Minute):
		return fmt.Errorf("--db-slow %s: use 10ms to 10m", c.database.Write)
	case c.instances < 0:
		return fmt.Errorf("--instances %d: use 1 or more, or 0 for not known", c.instances)
	}
	return c.keep.into(new(node.Config))
}

// limitFlag adds --limit, which is 50 unless told, and at least 1.
func limitFlag(cmd *cobra.Command, n *int, usage string) {
	*n = 50
	cmd.Flags().Var((*limit)(n), "limit", usage)
}

type limit int

func (l *limit) String() string { return strconv.Itoa(int(*l)) }

func (l *limit) Type() string { return "int" }

func (l *limit) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1_000_000 {
		return errors.New("use 1 to 1000000")
	}
	*l = limit(n)
	return nil
}

func (c *cli) logger() *slog.Logger {
	level := slog.LevelWarn
	switch {
	case c.debug:
		level = slog.LevelDebug
	case c.verbose:
		level = slog.LevelInfo
	}
	return c.logAt(level)
}

// logAt is the log on stderr, in the form that was asked for.
func (c *cli) logAt(level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(c.err, o))
	}
	return slog.New(slog.NewTextHandler(c.err, o))
}

func (c *cli) config() node.Config {
	cfg := node.Config{
		DB: c.db, Packs: c.packs, Contact: c.contact, Version: version(), LeaseTTL: c.lease, RegistryCache: c.registryCache, LeavePacks: c.leavesPacks, Database: c.database,
		Instances: c.instances, Logger: c.logger(),
		Alerts:   node.AlertsFromEnvironment(),
		Events:   node.EventsFrom(c.events),
		Traces:   node.TracesFromEnvironment(),
		Instance: c.instance(),
	}
	if err := c.keep.into(&cfg); err != nil { // they were looked at before the command began
		c.logger().Error("nothing is archived", "err", err)
	}
	return cfg
}

// reading lets f see what there is, over a store that is opened for reading; with --watch
// again and again.
func (c *cli) reading(ctx context.Context, f func(*control.Control) error) error {
	return c.withReader(ctx, func(_ context.Context, n *node.Node) error {
		if c.watching {
			return c.lookAgain(ctx, func() error { return f(n.Control) })
		}
		return f(n.Control)
	})
}

// changing lets f change what there is.
func (c *cli) changing(ctx context.Context, f func(*control.Control) error) error {
	return c.withNode(ctx, func(_ context.Context, n *node.Node) error { return f(n.Control) })
}

// withNode opens a node that may write, uses it and closes it.
func (c *cli) withNode(ctx context.Context, use func(context.Context, *node.Node) error) error {
	return useNode(ctx, c.config(), use)
}

// withReader opens a node that only reads, uses it and closes it.
func (c *cli) withReader(ctx context.Context, use func(context.Context, *node.Node) error) error {
	cfg := c.config()
	cfg.ReadOnly = true
	return useNode(ctx, cfg, use)
}

// useNode opens a node, uses it and closes it. Whatever was done is committed by
// then, so that an error of closing would say nothing about it.
func useNode(ctx context.Context, cfg node.Config, use func(context.Context, *node.Node) error) error {
	n, err := node.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.Close() //nolint:errcheck // see above
	return use(ctx, n)
}
