package patratest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// Pack is a shipped pack, or one from text, whose spec a test may bend.
type Pack struct {
	pack  *sourcefile.Pack
	hash  func() string // computed once: it prints the whole pack
	Tweak func(*source.Spec)
}

// ShippedPack reads a pack that ships with patra.
func ShippedPack(t testing.TB, code string, tweak func(*source.Spec)) *Pack {
	t.Helper()
	b, err := sources.FS.ReadFile(code + ".yaml")
	if err != nil {
		t.Fatalf("pack %s: %v", code, err)
	}
	return TextPack(t, code+".yaml", b, tweak)
}

// TextPack reads a pack from text.
func TextPack(t testing.TB, name string, b []byte, tweak func(*source.Spec)) *Pack {
	t.Helper()
	p, err := sourcefile.Parse(name, b)
	if err != nil {
		t.Fatalf("pack %s: %v", name, err)
	}
	return &Pack{pack: p, hash: sync.OnceValue(p.Hash), Tweak: tweak}
}

// Compile implements registry.Pack.
func (p *Pack) Compile(t source.Trigger) (*source.Spec, []source.Warning, error) {
	s, w, err := p.pack.Compile(t)
	if err == nil && p.Tweak != nil {
		p.Tweak(s)
	}
	return s, w, err
}

// Hash implements registry.Pack.
func (p *Pack) Hash() string { return p.hash() }

// Fast takes a source's brakes off: no rate limit, hardly any backoff. The
// oracle must be built with LimitRPS < 0 for it.
func Fast(s *source.Spec) {
	s.Rate.QPS = 0
	s.Rate.Limit = 0
	s.Rate.Concurrency = 0
	s.Rate.LimitHeaders = nil
	if s.Auth != nil {
		s.Auth.Rate = nil // with a key as without
	}
	s.Retry.Base, s.Retry.Max = source.Duration(time.Millisecond), source.Duration(20*time.Millisecond)
}

// Rig is a node over the oracle.
type Rig struct {
	Sim  *sim.Sim
	Node *node.Node
	Base string
	// Keys: the oracle is sent the credentials of the sources it stands in for.
	Keys bool
	t    testing.TB
}

// RigConfig says what a rig is made of.
type RigConfig struct {
	Sim sim.Config
	// Oracle, if given, is used instead of a new one.
	Oracle *sim.Sim
	DSN    string
	// Packs by source code; default: the shipped ones, made [Fast].
	Packs map[string]registry.Pack
	Node  node.Config
	// Nameless: no contact is given, which some upstreams allow less.
	Nameless bool
	Hook     func(string) error
	// Bend, if given, changes what the oracle answers to a path. It does not work
	// over a socket.
	Bend func(path string, body []byte) []byte
	// Socket serves the oracle over a real socket; otherwise requests go to it
	// directly, also inside a synctest bubble.
	Socket bool
}

// NewRig builds a rig; everything is closed when the test ends.
func NewRig(t testing.TB, c RigConfig) *Rig {
	t.Helper()
	r := &Rig{Sim: c.Oracle, t: t, Base: "http://oracle"}
	if r.Sim == nil {
		s, err := sim.New(c.Sim)
		if err != nil {
			t.Fatalf("oracle: %v", err)
		}
		r.Sim = s
	}
	var transport http.RoundTripper = Direct{Handler: bent{r.Sim, c.Bend}}
	if c.Socket {
		srv := httptest.NewServer(r.Sim)
		t.Cleanup(srv.Close)
		r.Base, transport = srv.URL, nil
	}
	if c.Packs == nil {
		c.Packs = map[string]registry.Pack{}
		for _, code := range []string{sim.PubMed, sim.Crossref, sim.EuropePMC} {
			c.Packs[code] = ShippedPack(t, code, Fast)
		}
	}
	if c.Node.Logger == nil {
		c.Node.Logger = Logger(t)
	}
	store := Open(t, c.DSN, sqlstore.Options{Logger: c.Node.Logger, Hook: c.Hook})
	vars := map[string]string{"contact": "test@example.org", "tool": "patra-test"}
	if c.Nameless {
		delete(vars, "contact")
	}
	r.Node = node.Assemble(c.Node, store, registry.NewStatic(c.Packs, vars), transport)
	return r
}

// BaseOf is the base URL of a source at the oracle.
func (r *Rig) BaseOf(code string) string {
	if base := r.Base + "/" + code; !r.Keys {
		return base
	}
	return source.WithCredentials(r.Base + "/" + code)
}

// Harvest harvests a source of the oracle.
func (r *Rig) Harvest(ctx context.Context, code string) (*control.Report, error) {
	return r.Node.Control.Harvest(ctx, control.HarvestRequest{Source: code, BaseURL: r.BaseOf(code)})
}

// MustHarvest is Harvest that fails the test on an error.
func (r *Rig) MustHarvest(code string) *control.Report {
	r.t.Helper()
	rep, err := r.Harvest(r.t.Context(), code)
	if err != nil {
		r.t.Fatalf("harvest %s: %v", code, err)
	}
	return rep
}

// MustBeExact fails the test unless the store holds what the oracle has of the
// source up to the watermark, and the integrity check is clean.
func (r *Rig) MustBeExact(code string, rep *control.Report) {
	r.t.Helper()
	if rep.Watermark == nil {
		r.t.Fatalf("%s has no watermark", code)
	}
	upTo := r.Sim.Now().Add(time.Second) // where the cursor goes by ids: all there is
	if !rep.Watermark.IsNumber() {
		upTo = rep.Watermark.Time()
	}
	MustEqual(r.t, r.Node.Store, r.Sim, code, upTo)
	MustVerify(r.t, r.Node.Store)
}

// MustEqual compares a store with the oracle's truth up to the watermark.
func MustEqual(t testing.TB, s *sqlstore.Store, o *sim.Sim, code string, watermark time.Time) {
	t.Helper()
	c, err := control.Compare(context.WithoutCancel(t.Context()), s, code, Truth(o, code), watermark)
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	for i, d := range c.Differences {
		if i == 10 {
			t.Errorf("... and %d more", len(c.Differences)-i)
			break
		}
		t.Errorf("%s %s: %s", code, d.ID, d.Detail)
	}
	if c.Records == 0 {
		t.Errorf("%s: nothing was compared", code)
	}
}

// Truth is the oracle's truth in the form the comparison takes.
func Truth(o *sim.Sim, code string) iter.Seq[control.Truth] {
	return func(yield func(control.Truth) bool) {
		for t := range o.Truth(code) {
			if !yield(control.Truth{ID: t.ID, UpdatedAt: t.UpdatedAt, RawSHA256: t.RawSHA256, Deleted: t.Deleted, Undated: t.Undated}) {
				return
			}
		}
	}
}

// bent is a handler whose answers pass a function, if there is one.
type bent struct {
	http.Handler
	bend func(path string, body []byte) []byte
}

// ServeHTTP implements http.Handler.
func (b bent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.bend == nil {
		b.Handler.ServeHTTP(w, r)
		return
	}
	rec := httptest.NewRecorder()
	b.Handler.ServeHTTP(rec, r)
	maps.Copy(w.Header(), rec.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Code)
	w.Write(b.bend(r.URL.Path, rec.Body.Bytes())) //nolint:errcheck // a recorder takes it
}

// Direct is a RoundTripper that calls a handler, without a network.
type Direct struct{ Handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (d Direct) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	aborted := false
	func() {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				aborted = true
			default:
				panic(p)
			}
		}()
		in := r.Clone(r.Context())
		in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:1"
		if in.Body == nil {
			in.Body = http.NoBody
		}
		d.Handler.ServeHTTP(rec, in)
	}()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if aborted && rec.Body.Len() == 0 {
		return nil, fmt.Errorf("connection reset: %w", io.ErrUnexpectedEOF)
	}
	resp = rec.Result()
	resp.Request = r
	if aborted {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(rec.Body.Bytes()), broken{}))
	}
	return resp, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// Logger writes to the test's log if PATRA_TEST_LOG is set.
func Logger(t testing.TB) *slog.Logger {
	if os.Getenv("PATRA_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
