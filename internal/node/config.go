package node

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/infra/bus"
	"github.com/papertrace/patra/internal/infra/notify"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/infra/telemetry"
)

// Config is all that a node is built from.
type Config struct {
	// DB is the address of the store.
	DB string
	// Packs is a folder of further source packs; one of the same code replaces
	// the shipped one.
	Packs string
	// LeavePacks: packs are not applied by themselves where their source is asked for.
	LeavePacks bool
	// Contact and Tool identify this instance to upstreams.
	Contact, Tool string
	// Version of the binary.
	Version string
	Workers int
	// Weights are how many times as many slices of a source are taken as of another in its turn.
	Weights map[string]int
	// LeaseTTL is how long a task stays with a worker that says nothing.
	LeaseTTL time.Duration
	Poll     time.Duration
	// Database is how slow the database may be before it is spared; 0: as usual.
	Database harvest.DatabaseLimits
	// RegistryCache is for how long a description is not looked at again; 0: as usual.
	RegistryCache time.Duration
	// Instances is how many nodes ask the same upstreams; 0: not known, and
	// nothing is asked while the rate gate cannot be reached (R40).
	Instances int
	Logger    *slog.Logger
	// Archive is the directory that old rows are moved to; empty: they stay.
	Archive string
	// KeepTrail and KeepVersions are how long what was done, and what was replaced, stays.
	KeepTrail, KeepVersions time.Duration
	// ReadOnly opens the store for reading only.
	ReadOnly bool
	// Alerts is where alerts are sent to.
	Alerts notify.Settings
	// Events are the targets that are told of every revision of a record, and KeepEvents
	// how long it is remembered what they all got.
	Events     bus.Settings
	KeepEvents time.Duration
	// Traces is where spans are sent to.
	Traces telemetry.Collector
	// Instance tells people which program this is and what it was told.
	Instance control.Instance

	// redact knows the secrets in use; everything logged passes it.
	redact *telemetry.Redactor
}

func (c Config) withDefaults() Config {
	c.DB = cmp.Or(c.DB, DefaultDB())
	c.Tool = cmp.Or(c.Tool, "patra")
	c.Workers = cmp.Or(c.Workers, 4)
	c.LeaseTTL = cmp.Or(c.LeaseTTL, time.Minute)
	c.Poll = cmp.Or(c.Poll, 500*time.Millisecond)
	c.KeepEvents = cmp.Or(c.KeepEvents, 24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.redact == nil {
		c.redact = new(telemetry.Redactor)
		c.Logger = slog.New(telemetry.Redacting(c.Logger.Handler(), c.redact))
	}
	return c
}

// DefaultRegistryCache is for how long a description is not looked at again unless told.
const DefaultRegistryCache = registry.DefaultCache

// DefaultDB is the embedded store in the user's data directory.
func DefaultDB() string { return sqlstore.DefaultDSN() }

// AlertsFromEnvironment reads where alerts are sent to.
func AlertsFromEnvironment() notify.Settings { return notify.FromEnvironment(os.Getenv) }

// EventsFrom reads where events go: from a flag, or from the environment.
func EventsFrom(flag string) bus.Settings { return bus.FromEnvironment(flag, os.Getenv) }

// TracesFromEnvironment reads where spans are sent to.
func TracesFromEnvironment() telemetry.Collector { return telemetry.FromEnvironment(os.Getenv) }

// ArchiveBeside is the directory for archives of a store that is a file.
func ArchiveBeside(db string) string { return archive.Beside(cmp.Or(db, DefaultDB())) }

// Grants are the statements that let a user of a server do what a role does.
func Grants(role, db, user string) ([]string, error) { return sqlstore.Grants(role, db, user) }
