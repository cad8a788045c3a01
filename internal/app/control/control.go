package control

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/app/reparse"
	"github.com/papertrace/patra/internal/app/replay"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/source"
)

// Parts are what a [Control] is made of.
type Parts struct {
	Store Store
	// Sources knows which sources there are; nil if that is not known, and then
	// every name is taken for one.
	Sources   Sources
	Contracts Contracts
	Planner   Planner
	// Line asks a source outside of a task.
	Line reconcile.Upstream
	// Requests makes requests without sending them, and Items takes items apart that
	// were kept: both as they are when pages are fetched.
	Requests replay.Requests
	Items    replay.Items
	// Allowed is what the provider allows a call, as it would be made now.
	Allowed func(context.Context, *source.Spec, source.Call) source.Rate
	// Executor makes one that works as the node's do.
	Executor func(executor.Config) *executor.Executor
	Quiet    QuietHours
	// Schedules knows what packs suggest to do by itself; nil if none does.
	Schedules scheduler.Sources
	// Watches are told by the upstream how requests fare.
	Watches *Watches
	// Redact takes secrets in use out of texts; nil if none are known.
	Redact func(string) string

	// Alerts sends messages; nil: to nobody.
	Alerts alert.Sender
	// Events are the targets that are told of revisions of records; nil: none. KeepEvents
	// is how long it is remembered what they all got.
	Events     EventTargets
	KeepEvents time.Duration
	// Relay makes one that sends to them.
	Relay func() *relay.Relay
	// Archive is where old rows are moved to, and Keeper moves them; nil: nowhere.
	Archive retention.Files
	Keeper  *retention.Keeper

	// Registry and Packs, Keys and Vault are for looking after sources and their
	// credentials, Tester for trying sources out. Without them none of that can be
	// done.
	Registry *registry.Registry
	Packs    Packs
	Keys     *keyring.Ring
	Vault    Vault
	Tester   Tester

	// Instance is which program this is.
	Instance Instance
}

// Control is what an operator may see and do.
type Control struct {
	store     Store
	sources   Sources
	contracts Contracts
	planner   Planner
	line      reconcile.Upstream
	allowed   func(context.Context, *source.Spec, source.Call) source.Rate
	executor  func(executor.Config) *executor.Executor
	quiet     QuietHours
	schedules scheduler.Sources
	watches   *Watches
	alerts    alert.Sender
	events    EventTargets
	redact    func(string) string
	items     reparse.Items
	player    *replay.Player
	files     retention.Files
	keeper    *retention.Keeper

	registry *registry.Registry
	packs    Packs
	keys     *keyring.Ring
	vault    Vault
	tester   Tester
	instance Instance

	keepEvents time.Duration
	relay      func() *relay.Relay
}

// New makes a Control.
func New(p Parts) *Control {
	if p.Alerts == nil {
		p.Alerts = noAlerts{}
	}
	if p.Events == nil {
		p.Events = noEvents{}
	}
	return &Control{
		store: p.Store, sources: p.Sources, contracts: p.Contracts, planner: p.Planner, line: p.Line,
		allowed: p.Allowed, executor: p.Executor, quiet: p.Quiet, schedules: p.Schedules, watches: p.Watches, alerts: p.Alerts, redact: p.Redact,
		player: newPlayer(p), items: p.Items, files: p.Archive, keeper: p.Keeper,
		registry: p.Registry, packs: p.Packs, keys: p.Keys, vault: p.Vault, tester: p.Tester,
		instance: p.Instance, events: p.Events, keepEvents: p.KeepEvents, relay: p.Relay,
	}
}

// By is who decides on something, and why: what the audit remembers of it.
type By struct {
	Actor  string
	Reason string
	// Token is that of the preview this follows: what was shown is done, or nothing.
	// Empty: as things are now.
	Token string
}

// line is the line of the audit about what was decided.
func (b By) line(action, object string) source.Audit {
	_, preview, _ := strings.Cut(b.Token, ".")
	return source.Audit{Actor: b.Actor, Reason: b.Reason, Action: action, Object: object, Preview: preview}
}

// known refuses a source that is nowhere described. An empty name stands for all of
// them.
func (c *Control) known(ctx context.Context, code string) error {
	if code == "" || c.sources == nil {
		return nil
	}
	codes, err := c.sources.Codes(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(codes, code) {
		return &registry.UnknownSourceError{Code: code, Known: codes}
	}
	return nil
}
