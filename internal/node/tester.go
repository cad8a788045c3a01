package node

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/tape"
	"github.com/papertrace/patra/internal/infra/upstream"
)

// tester is what checks of sources need of the outside.
type tester struct {
	cfg   Config
	keys  *keyring.Ring
	store gate.StateStore
}

// Load implements control.Tester.
func (t *tester) Load(dir string) (*sourcecheck.Fixture, error) { return tape.Load(dir) }

// Claim implements control.Tester.
func (t *tester) Claim(dir string) error { return tape.Claim(dir) }

// Save implements control.Tester.
func (t *tester) Save(dir string, f sourcecheck.Fixture, all []sourcecheck.Exchange) error {
	return tape.Save(dir, f, all)
}

// Learn implements control.Tester.
func (t *tester) Learn(s source.Secret) { t.cfg.redact.Learn(s) }

// CheckSpec implements control.Tester.
func (t *tester) CheckSpec(spec *source.Spec) source.Violations { return CheckSpec(spec) }

// checkUp is an upstream client for one check.
type checkUp struct {
	*upstream.Client
	shapes *shapes
	// bare, on a fixture, is the spec that needs neither key nor permit.
	bare *source.Spec
}

// Ask implements sourcecheck.Upstream: where a reply had another shape, the
// error says at which path.
func (u *checkUp) Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error) {
	if u.bare != nil {
		s = u.bare
	}
	u.shapes.take()
	ans, err := u.Client.Ask(ctx, s, c)
	if shape := u.shapes.take(); err != nil && shape != nil {
		err = fmt.Errorf("%w: %w", err, shape)
	}
	return ans, err
}

// Wire implements control.Tester.
func (t *tester) Wire(s *sourcecheck.Subject, f *sourcecheck.Fixture) (control.CheckClient, sourcecheck.Wire) {
	mask := tape.Mask{Live: t.cfg.redact, Also: new(source.Redactor)}
	mask.Also.Learn(source.NewSecret(t.cfg.Contact))
	if s.Spec != nil && s.Spec.Auth != nil {
		for _, p := range s.Spec.Auth.Places() {
			mask.Names = append(mask.Names, p.Name)
		}
	}
	cfg := upstream.Config{Version: t.cfg.Version, Logger: t.cfg.Logger, Redactor: t.cfg.redact}
	look := &shapes{decoders: &decoders{}}
	if f == nil && s.Spec == nil {
		f = new(sourcecheck.Fixture) // nothing will be asked
	}
	if f != nil {
		player := tape.NewPlayer(f, mask)
		cfg.Transport = player
		u := &checkUp{Client: upstream.New(cfg, gate.New(gate.Config{}, nil), look), shapes: look}
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
	return &checkUp{Client: upstream.New(cfg, gate.New(gate.Config{Instances: t.cfg.Instances}, t.store), look), shapes: look}, rec
}

// shapes are decoders that remember the path at which a reply was wrong.
type shapes struct {
	*decoders
	mu   sync.Mutex
	last *sourcecheck.Shape // guarded by mu
}

// For implements upstream.Decoders.
func (s *shapes) For(spec *source.Spec, p source.Purpose) (upstream.Decoder, error) {
	d, err := s.decoders.For(spec, p)
	if err != nil {
		return nil, err
	}
	return &shaped{d, s}, nil
}

func (s *shapes) take() *sourcecheck.Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last
	s.last = nil
	return last
}

type shaped struct {
	upstream.Decoder
	into *shapes
}

// Page implements upstream.Decoder.
func (d *shaped) PageContext(ctx context.Context, body []byte) (*harvest.Page, error) {
	p, err := d.Decoder.PageContext(ctx, body)
	if e, ok := errors.AsType[*decode.ShapeError](err); ok && e.Schema() {
		d.into.mu.Lock()
		d.into.last = &sourcecheck.Shape{Path: e.Path, Detail: e.Detail}
		d.into.mu.Unlock()
	}
	return p, err
}
