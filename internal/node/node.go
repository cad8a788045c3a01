// Package node puts the parts together: from a Config to a running patra. It is
// the only place that knows which implementation serves which port.
package node

import (
	"context"
	"net/http"

	"github.com/papertrace/patra/deploy"
	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/line"
	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/app/reparse"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/infra/bus"
	"github.com/papertrace/patra/internal/infra/decode"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/metrics"
	"github.com/papertrace/patra/internal/infra/notify"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/infra/telemetry"
	"github.com/papertrace/patra/internal/infra/upstream"
	"github.com/papertrace/patra/internal/infra/vault"
	"github.com/papertrace/patra/sources"
)

// Node is one patra, put together and open.
type Node struct {
	// Control is what an operator may see and do.
	Control *control.Control
	Store   *sqlstore.Store
	// Registry is nil in a node assembled from other contracts.
	Registry  *registry.Registry
	Keys      *keyring.Ring
	Planner   *planner.Planner
	schedules scheduler.Sources // nil where contracts know of none
	quiet     *scheduler.Quiet
	up        *upstream.Client
	answers   *reparse.Reader // to the questions of tasks
	book      *metrics.Book
	spans     telemetry.Spans
	alerts    *alert.Watch
	events    *bus.Bus
	pause     *role.Pause
	cfg       Config
}

// Open builds a node. The caller closes it.
func Open(ctx context.Context, cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	shelf := Shelf(cfg)
	packs, err := shelf.OpenFor(cfg.ReadOnly, cfg.Logger)
	if err != nil {
		return nil, err
	}
	store, err := sqlstore.Open(ctx, cfg.DB, sqlstore.Options{Logger: cfg.Logger, ReadOnly: cfg.ReadOnly, Workers: cfg.Workers, Limits: cfg.Database})
	if err != nil {
		return nil, err
	}
	known := registry.New(store, packs, shelf.Instance, CheckSpec, cfg.Logger).CacheFor(cfg.RegistryCache).ApplyPacks(!cfg.LeavePacks)
	return Assemble(cfg, store, known, nil), nil
}

// Connect opens the database without a look at its schema. The caller closes it.
func Connect(ctx context.Context, cfg Config) (*sqlstore.Store, error) {
	cfg = cfg.withDefaults()
	return sqlstore.Connect(ctx, cfg.DB, sqlstore.Options{Logger: cfg.Logger, ReadOnly: cfg.ReadOnly})
}

// Integrity checks the file of the database, where it is one, before anything else
// is read from it.
func Integrity(ctx context.Context, cfg Config) ([]control.Finding, error) {
	cfg = cfg.withDefaults()
	return sqlstore.Integrity(ctx, cfg.DB, sqlstore.Options{Logger: cfg.Logger})
}

// Assemble builds a node from an open store and contracts. transport, if
// given, replaces the network.
func Assemble(cfg Config, store *sqlstore.Store, contracts keyring.Contracts, transport http.RoundTripper) *Node {
	cfg = cfg.withDefaults()
	safe := vault.New(nil)
	keys := keyring.New(store, safe, cfg.redact.Learn, keyring.OriginsOf(contracts), cfg.Logger)
	schedules, _ := contracts.(scheduler.Sources)
	quiet := scheduler.NewQuiet(schedules, store, cfg.Logger)
	seen := new(control.Watches)
	book := metrics.New(store)
	store.Observe(book)
	permits := gate.New(gate.Config{
		Instances: cfg.Instances, Logger: cfg.Logger,
		Observe: func(s gate.Standing) { book.Rated(s.Key, s.Standing, s.Lowered) },
	}, store)
	spans := telemetry.OpenSpans(cfg.Traces, cfg.Version, cfg.redact, cfg.Logger)
	decoding := new(decode.Cache)
	up := upstream.New(upstream.Config{
		Version: cfg.Version, Logger: cfg.Logger, Transport: transport,
		Credentials: keys, Redactor: cfg.redact, Knowing: upstream.RedactorsFrom(telemetry.NewRedactor), Resting: quiet.RestOf,
		Observe: func(t upstream.Try) { seen.Tried(control.Try(t)) }, Known: store.HoldsAny,
		Exchanged: func(e upstream.Exchange) { book.Requested(metrics.Request(e)) }, Repeats: book.Repeated,
		Outages: store, Trace: spans,
	}, permits, upstream.DecodersFrom(decoding.Of))
	led, _ := contracts.(*registry.Registry)
	keyed := keys.Keyed(contracts)
	asks := line.New(up, store)
	asks.Observe = book.Fault
	n := &Node{
		Store: store, Registry: led, Keys: keys, Planner: planner.New(keyed, store, asks, cfg.Logger),
		schedules: schedules, quiet: quiet, up: up, answers: reparse.New(up, store, decoding), book: book, spans: spans, cfg: cfg,
	}
	n.pause = &role.Pause{Strained: store.Strained, Began: book.PlannerPaused, Log: cfg.Logger}
	n.Planner.Observe = book.Triggered
	n.Planner.Strained = store.Strained
	n.Planner.LagRaised = book.LagRaised
	n.Planner.Trace = spans
	sender := notify.New(notify.Config{Transport: transport, Learn: cfg.redact.Learn, Version: cfg.Version}, cfg.Alerts)
	n.events = bus.New(bus.Config{Transport: transport, Learn: cfg.redact.Learn, Version: cfg.Version}, cfg.Events)
	operator := control.Parts{
		Store: store, Contracts: keyed, Planner: n.Planner, Line: asks, Executor: n.Executor, Quiet: quiet, Schedules: schedules, Watches: seen,
		Allowed: up.Allowed, Redact: cfg.redact.Text, Alerts: sender, Keys: keys, Vault: safe, Packs: Shelf(cfg),
		Tester:   &tester{Redactor: cfg.redact, cfg: cfg, keys: keys, store: store},
		Requests: n.answers, Items: decoding, Instance: cfg.Instance, Archive: archive.At(cfg.Archive),
		Events: n.events, KeepEvents: cfg.KeepEvents, Relay: n.Relay,
	}
	operator.Keeper = retention.New(retention.Config{Trail: cfg.KeepTrail, Versions: cfg.KeepVersions}, store, operator.Archive, cfg.Logger)
	if led != nil {
		operator.Sources = led
		operator.Registry = led
	}
	n.Control = control.New(operator)
	n.alerts = alert.New(alert.Config{Redact: cfg.redact.Text, Observe: book.AlertSent}, n.Control.AlertFacts, store, sender, cfg.Logger)
	return n
}

// Close releases what the node holds.
func (n *Node) Close() error {
	n.up.Close()
	n.spans.Flush()
	return n.Store.Close()
}

// Metrics is what the node counts, in the text format of Prometheus.
func (n *Node) Metrics(ctx context.Context) ([]byte, error) { return n.book.Text(ctx) }

// Executor returns an executor over the node's parts.
func (n *Node) Executor(c executor.Config) *executor.Executor {
	c.Owner = executor.ThisProcess()
	c.Gone = executor.HasEnded
	c.Workers = n.cfg.Workers
	c.Weights = n.cfg.Weights
	c.Database = n.cfg.Database
	c.LeaseTTL = n.cfg.LeaseTTL
	c.Poll = n.cfg.Poll
	c.Resting = n.quiet.Resting
	c.Trace = n.spans
	c.Observe = executor.TellAll(n.book.Happened, c.Observe)
	return executor.New(c, n.Store, n.answers, n.cfg.Logger)
}

// Relay returns a relay over the node's parts.
func (n *Node) Relay() *relay.Relay {
	return relay.New(relay.Config{
		Owner: executor.ThisProcess(), Gone: executor.HasEnded, TTL: n.cfg.LeaseTTL, Poll: n.cfg.Poll,
		Redact:  func(text string) string { return control.MaskMail(n.cfg.redact.Text(text)) },
		Observe: n.book.EventsSent,
	}, n.Store, n.events.Targets(), n.cfg.Logger)
}

// Shelf are the packs that an instance knows, those that come with patra first.
func Shelf(cfg Config) *sourcefile.Shelf {
	cfg = cfg.withDefaults()
	return &sourcefile.Shelf{
		Shipped: sources.FS, Dir: cfg.Packs, Instance: map[string]string{"contact": cfg.Contact, "tool": cfg.Tool}, Deep: CheckSpec,
	}
}

// SetCollector is for the beginning of a program. Whoever started the process and has said
// how its memory is to be collected is not overruled.
func SetCollector() { upstream.SetCollector() }

// Deployment is the file by which another program runs patra, such as "systemd", or watches it, such as "grafana".
func Deployment(name string) ([]byte, error) {
	if file := deploy.File(name); file != nil {
		return file, nil
	}
	return metrics.Monitoring(name)
}

// PackSchema is the JSON Schema of packs.
func PackSchema() []byte { return sourcefile.Schema() }

// CheckSpec finds what only the parts that use a spec can see: templates that
// do not render, paths that cannot be followed.
func CheckSpec(spec *source.Spec) source.Violations {
	return append(upstream.Check(spec), decode.Check(spec)...)
}
