package node_test

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/line"
	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/app/steward"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/infra/upstream"
	"github.com/papertrace/patra/internal/infra/vault"
)

// Which implementation serves which port. The wiring proves most of it; this says it
// in one place.
var (
	_ executor.Store      = (*sqlstore.Store)(nil)
	_ planner.Store       = (*sqlstore.Store)(nil)
	_ gate.StateStore     = (*sqlstore.Store)(nil)
	_ executor.Upstream   = (*upstream.Client)(nil)
	_ planner.Upstream    = (*line.Line)(nil)
	_ line.Store          = (*sqlstore.Store)(nil)
	_ line.Upstream       = (*upstream.Client)(nil)
	_ planner.Registry    = (*keyring.Keyed)(nil)
	_ keyring.Contracts   = (*registry.Registry)(nil)
	_ registry.Store      = (*sqlstore.Store)(nil)
	_ scheduler.Store     = (*sqlstore.Store)(nil)
	_ scheduler.Sources   = (*registry.Registry)(nil)
	_ keyring.Store       = (*sqlstore.Store)(nil)
	_ keyring.Vault       = (*vault.Vault)(nil)
	_ control.Store       = (*sqlstore.Store)(nil)
	_ control.SchemaStore = (*sqlstore.Store)(nil)
	_ control.Sources     = (*registry.Registry)(nil)
	_ control.Contracts   = (*keyring.Keyed)(nil)
	_ control.Planner     = (*planner.Planner)(nil)
	_ reconcile.Upstream  = (*line.Line)(nil)
	_ steward.Store       = (*sqlstore.Store)(nil)
	_ steward.DueStore    = (*sqlstore.Store)(nil)
	_ retention.Store     = (*sqlstore.Store)(nil)
	_ retention.Files     = (*archive.Dir)(nil)

	_ upstream.Credentials = (*keyring.Ring)(nil)
)
