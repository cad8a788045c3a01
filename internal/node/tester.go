package node

import (
	"context"
	"fmt"
	"sync/atomic"

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

// checkUp is an upstream client for one check.
type checkUp struct {
	*upstream.Client
	shape *atomic.Pointer[sourcecheck.Shape] // where the last reply was wrong
	// bare, on a fixture, is the spec that needs neither key nor permit.
	bare *source.Spec
}

// Ask implements sourcecheck.Upstream: where a reply had another shape, the
// error says at which path.
func (u *checkUp) Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error) {
	if u.bare != nil {
		s = u.bare
	}
	u.shape.Store(nil)
	ans, err := u.Client.Ask(ctx, s, c)
	if shape := u.shape.Load(); err != nil && shape != nil {
		err = fmt.Errorf("%w: %w", err, shape)
	}
	return ans, err
}

// Wire implements control.Tester.
func (t *tester) Wire(s *sourcecheck.Subject, f *sourcecheck.Fixture) (control.CheckClient, sourcecheck.Wire) {
	// Whom patra asks for is no secret, yet not to be shown.
	contact := telemetry.NewRedactor(credential.NewSecret(t.cfg.Contact))
	mask := tape.Mask{Redactors: []tape.Redactor{t.cfg.redact, contact}}
	if s.Spec != nil && s.Spec.Auth != nil {
		for _, p := range s.Spec.Auth.Places() {
			mask.Names = append(mask.Names, p.Name)
		}
	}
	cfg := upstream.Config{Version: t.cfg.Version, Logger: t.cfg.Logger, Redactor: t.cfg.redact, Knowing: knowing}
	u := &checkUp{shape: new(atomic.Pointer[sourcecheck.Shape])}
	look := &decoders{decode.Cache{Drifted: func(e *decode.ShapeError) {
		u.shape.Store(&sourcecheck.Shape{Path: e.Path, Detail: e.Detail})
	}}}
	if f == nil && s.Spec == nil {
		f = new(sourcecheck.Fixture) // nothing will be asked
	}
	if f != nil {
		player := tape.NewPlayer(f, mask)
		cfg.Transport = player
		u.Client = upstream.New(cfg, gate.New(gate.Config{}, nil), look)
		if s.Spec != nil {
			bare := *s.Spec
			bare.Auth = nil
			bare.Rate = source.Rate{Key: s.Source}
			bare.Retry.Attempts = 1
			u.bare = &bare
		}
		return u, player
	}
	rec := tape.NewRecorder(mask)
	cfg.Wrap = rec.Over
	cfg.Credentials = &sourcecheck.OneKey{Keys: t.keys, Subject: s}
	u.Client = upstream.New(cfg, gate.New(gate.Config{Instances: t.cfg.Instances}, t.store), look)
	return u, rec
}

// TestPacks tries packs on the cases beside them. It needs neither a database nor a
// network.
func TestPacks(ctx context.Context, names []string) (control.TestedPacks, error) {
	bench := control.CaseBench{Read: Shelf(Config{}).WithCases, Answering: func(r sourcecases.Reply) sourcecases.Upstream {
		return upstream.New(upstream.Config{Transport: tape.Canned(r)}, gate.New(gate.Config{}, nil), &decoders{})
	}}
	return bench.Test(ctx, names)
}
