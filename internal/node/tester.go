package node

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/sourcecases"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/tape"
	"github.com/papertrace/patra/internal/infra/telemetry"
	"github.com/papertrace/patra/internal/infra/upstream"
)

// tester is what checks of sources need of the outside.
type tester struct {
	tape.Fixtures
	*telemetry.Redactor
	cfg   Config
	keys  *keyring.Ring
	store gate.StateStore
}

// CheckSpec implements control.Tester.
func (t *tester) CheckSpec(spec *source.Spec) source.Violations { return CheckSpec(spec) }

// Wire implements control.Tester. Without a spec nothing will be asked.
func (t *tester) Wire(s *sourcecheck.Subject, saved *sourcecheck.Fixture) (sourcecheck.Client, sourcecheck.Wire) {
	// Whom patra asks for is no secret, yet not to be shown.
	contact := telemetry.NewRedactor(credential.NewSecret(t.cfg.Contact))
	mask := tape.MaskFor(s.Spec, t.cfg.redact, contact)
	asker := new(sourcecheck.Asker)
	cache := &decode.Cache{Drifted: asker.Drifted}
	cfg := upstream.Config{Version: t.cfg.Version, Logger: t.cfg.Logger, Redactor: t.cfg.redact, Knowing: upstream.RedactorsFrom(telemetry.NewRedactor)}
	if saved != nil || s.Spec == nil {
		player := tape.NewPlayer(saved, mask)
		cfg.Transport = player
		asker.Client = upstream.New(cfg, gate.New(gate.Config{}, nil), upstream.DecodersFrom(cache.Of))
		asker.Instead = s.OfflineSpec()
		return asker, player
	}
	recorder := tape.NewRecorder(mask)
	cfg.Wrap = recorder.Over
	cfg.Credentials = &sourcecheck.OneKey{Keys: t.keys, Subject: s}
	asker.Client = upstream.New(cfg, gate.New(gate.Config{Instances: t.cfg.Instances}, t.store), upstream.DecodersFrom(cache.Of))
	return asker, recorder
}

// TestPacks tries packs on the cases beside them. It needs neither a database nor a
// network.
func TestPacks(ctx context.Context, names []string) (control.TestedPacks, error) {
	bench := control.CaseBench{Read: Shelf(Config{}).WithCases, Answering: func(r sourcecases.Reply) sourcecases.Upstream {
		return upstream.New(upstream.Config{Transport: tape.Canned(r)}, gate.New(gate.Config{}, nil), upstream.DecodersFrom(new(decode.Cache).Of))
	}}
	return bench.Test(ctx, names)
}
