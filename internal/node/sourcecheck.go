package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/tape"
	"github.com/papertrace/patra/internal/infra/upstream"
	"github.com/papertrace/patra/internal/infra/vault"
)

// SourceCheck is what a person wants checked.
type SourceCheck struct {
	Source    string
	Operation harvest.Operation
	Query     string
	BaseURL   string
	From, To  time.Time
	// At is the instant whose rows are checked; zero: now.
	At time.Time
	// File is a pack to be checked instead of what is in force.
	File    string
	Records int
	// Save is a folder to which what came over the wire is written, Offline
	// one from which it is read in place of the network.
	Save, Offline string
}

// CheckSource tries a source out. It stores nothing but what the rate gate
// remembers. The exchanges are free of secrets.
func (n *Node) CheckSource(ctx context.Context, req SourceCheck) (*sourcecheck.Report, []sourcecheck.Exchange, error) {
	var fixture *tape.Fixture
	if req.Offline != "" {
		var err error
		if fixture, err = tape.Load(req.Offline); err != nil {
			return nil, nil, err
		}
		if err := req.recall(fixture); err != nil {
			return nil, nil, err
		}
	}
	if req.Save != "" {
		if err := tape.Claim(req.Save); err != nil {
			return nil, nil, err
		}
	}
	s := &sourcecheck.Subject{
		Source: req.Source, Operation: req.Operation, Query: req.Query, BaseURL: req.BaseURL, From: req.From, To: req.To, Records: req.Records,
		Offline: fixture != nil,
	}
	if err := n.describe(ctx, s, req); err != nil {
		return nil, nil, err
	}
	if fixture != nil {
		s.Situation = fixture.Situation
	} else if err := n.situation(ctx, s); err != nil {
		return nil, nil, err
	}
	up, wire, err := n.wire(s, fixture)
	if err != nil {
		return nil, nil, err
	}
	defer up.Close()
	rep, err := sourcecheck.Run(ctx, s, up, wire)
	if err != nil {
		return nil, nil, err
	}
	exchanges := wire.Exchanges()
	if req.Save != "" {
		f := tape.Fixture{
			Source: s.Source, Operation: s.Operation, Query: s.Query, BaseURL: s.BaseURL, Records: s.Records,
			Asked: harvest.Window{From: s.From, To: s.To}, Situation: s.Situation,
		}
		if err := tape.Save(req.Save, f, exchanges); err != nil {
			return rep, exchanges, err
		}
	}
	return rep, exchanges, nil
}

// recall asks for what a fixture was made with.
func (r *SourceCheck) recall(f *tape.Fixture) error {
	if r.Source != "" && r.Source != f.Source {
		return fmt.Errorf("fixture %s is of %s, not of %s: %w", r.Offline, f.Source, r.Source, ErrOtherSource)
	}
	r.Source = f.Source
	r.Operation, r.Query, r.BaseURL, r.Records, r.From, r.To = f.Operation, f.Query, f.BaseURL, f.Records, f.Asked.From, f.Asked.To
	return nil
}

// describe finds the description and compiles it for every operation.
func (n *Node) describe(ctx context.Context, s *sourcecheck.Subject, req SourceCheck) error {
	if req.File != "" {
		return n.describeFile(ctx, s, req.File)
	}
	con, err := n.Store.LoadSource(ctx, s.Source)
	missing := errors.Is(err, harvest.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	packs, err := loadPacks(n.cfg.Packs)
	if err != nil {
		return err
	}
	file, known := packs[s.Source]
	switch {
	case missing && !known:
		codes, err := n.Registry.Codes(ctx)
		return errors.Join(&registry.UnknownSourceError{Code: s.Source, Known: codes}, err)
	case missing:
		s.Origin = "the " + strings.ToLower(file.Origin) + " pack, which the first harvest will apply"
		con = rowsOf(file.Definition)
	case known && file.Origin == registry.File && con.Provenance.OriginHash != file.Hash && req.At.IsZero():
		s.Origin = "the pack in " + n.cfg.Packs + ", changed since and applied by the next harvest"
		con = rowsOf(file.Definition)
	default:
		at := con.ReadAt
		if !req.At.IsZero() {
			at = req.At
		}
		con.ReadAt = at
		if len(con.InForce(at)) == 0 {
			return fmt.Errorf("source %s at %s: no row was in force: %w", s.Source, control.Time(at), harvest.ErrNotFound)
		}
		s.Origin = fmt.Sprintf("the %d rows in force at %s", len(con.InForce(at)), control.Time(at.Truncate(time.Second)))
		if known && file.Origin == registry.Shipped && con.Provenance.Origin == registry.Shipped && con.Provenance.OriginHash != file.Hash {
			diff := sourcefile.Diff(con.Pack(at), file.Definition)
			s.Remarks = append(s.Remarks, sourcecheck.Remark{
				Text: fmt.Sprintf("the pack shipped with this patra differs from the rows in force in %d places", len(diff)),
				Fix:  "patra source apply " + s.Source + " --dry-run, look, then apply it",
			})
		}
	}
	n.compile(s, con, nil)
	return nil
}

func (n *Node) describeFile(ctx context.Context, s *sourcecheck.Subject, name string) error {
	b, err := sourcefile.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read source pack: %w", err)
	}
	p, err := sourcefile.Parse(name, b)
	if p == nil {
		return err
	}
	code := p.Definition.Source
	if s.Source != "" && code != "" && s.Source != code {
		return fmt.Errorf("pack %s describes %s, not %s: %w", name, code, s.Source, ErrOtherSource)
	}
	if code != "" {
		s.Source = code
	}
	s.Origin = "the pack " + name
	if _, err := p.Check(n.vars(), CheckSpec); err != nil {
		c := sourcecheck.Compiled{Operation: s.Operation}
		for _, err := range split(err) {
			c.Problems = append(c.Problems, strings.Split(err.Error(), "\n")...)
		}
		s.Compiled = []sourcecheck.Compiled{c}
		return nil
	}
	switch con, err := n.Store.LoadSource(ctx, code); {
	case errors.Is(err, harvest.ErrNotFound):
		s.Remarks = append(s.Remarks, sourcecheck.Remark{Text: "not applied yet: nothing of " + code + " is in force"})
	case err != nil:
		return err
	default:
		diff := sourcefile.Diff(con.Pack(con.ReadAt), p.Definition)
		text := "says what is in force"
		if len(diff) > 0 {
			text = fmt.Sprintf("differs from what is in force in %d places; `patra source diff %s` lists them", len(diff), name)
		}
		s.Remarks = append(s.Remarks, sourcecheck.Remark{Text: text})
	}
	n.compile(s, rowsOf(p.Definition), p)
	return nil
}

// ErrOtherSource: a pack or fixture is not of the source that was named.
var ErrOtherSource = errors.New("another source was named")

func (n *Node) vars() map[string]string {
	return map[string]string{"contact": n.cfg.Contact, "tool": n.cfg.Tool}
}

// rowsOf are the rows a definition asks for, as if they were in force.
func rowsOf(d source.Definition) source.Contents {
	at := time.Unix(0, 0).UTC()
	c := source.Contents{Provenance: d.Provenance(), Rows: d.Rows(at), ReadAt: at}
	for i := range c.Rows {
		c.Rows[i].ID = int64(i + 1)
	}
	return c
}

// compile compiles what is in force for every operation, the one to be checked
// with its query. p, if given, knows where things stand in the file.
func (n *Node) compile(s *sourcecheck.Subject, con source.Contents, p *sourcefile.Pack) {
	for _, op := range source.Operations {
		c := sourcecheck.Compiled{Operation: op}
		def, _ := con.At(op, con.ReadAt)
		if op == harvest.Harvest && def.Window != nil && def.Window.UpdatedAt == "NONE" && op != s.Operation {
			c.Not = "not for a source without a date of change"
			s.Compiled = append(s.Compiled, c)
			continue
		}
		t := source.Trigger{Operation: op, Vars: n.vars()}
		if op == s.Operation {
			t.Query = s.Query
		}
		spec, warnings, err := source.Compile(def, t)
		bad, known := errors.AsType[source.Violations](err)
		if err == nil {
			bad = CheckSpec(spec)
		} else if !known {
			bad = source.Violations{{Path: "query", Text: err.Error()}}
		}
		for _, v := range bad {
			text := v.String()
			if p != nil {
				text = p.Place(source.Violations{v}).Error()
			}
			c.Problems = append(c.Problems, strings.Split(text, "\n")...)
		}
		for _, w := range warnings {
			c.Warnings = append(c.Warnings, w.String())
		}
		if op == s.Operation && len(bad) == 0 {
			s.Spec = spec
		}
		s.Compiled = append(s.Compiled, c)
	}
}

// situation reads what the check depends on besides: clock, state, credentials.
func (n *Node) situation(ctx context.Context, s *sourcecheck.Subject) error {
	now, err := n.Store.Now(ctx)
	if err != nil {
		return err
	}
	st, err := n.Store.SourceState(ctx, s.Source)
	if err != nil {
		return err
	}
	s.Now, s.Skew, s.SkewSeen = now, st.Skew, st.Seen
	if st.Paused || st.Stopped {
		s.Held = (&harvest.HeldError{Source: s.Source, State: st}).Error()
	}
	if r, is := n.quiet.Rest(ctx, s.Source, s.Operation); is {
		s.QuietUntil = r.Until
	}
	if s.Spec == nil {
		return nil
	}
	if s.Spec.Auth == nil {
		_, err := n.Keys.Check(ctx, s.Spec)
		return err
	}
	base, lent := source.SplitBase(s.BaseURL)
	s.Withheld = base != "" && !lent
	all, at, err := n.Keys.List(ctx, s.Spec.Auth.Pool)
	if err != nil {
		return err
	}
	aim := source.Aim{Endpoint: s.Spec.Search.Name, Task: s.Operation}
	best := source.Candidates(all, aim, at)
	for _, c := range all { // those at rest come last
		if c.Serves(aim, at) && c.Resting(at) {
			best = append(best, c)
		}
	}
	safe := vault.New(nil)
	for _, c := range best {
		k := sourcecheck.Key{Name: c.Name, Where: strings.TrimSpace(strings.ToLower(string(c.Secret.Kind)) + " " + c.Secret.Ref), Ends: c.To}
		if c.Resting(at) {
			k.RestingUntil = c.RefusedUntil
		}
		secret, err := safe.Resolve(c)
		if err == nil {
			n.cfg.redact.Learn(secret)
			err = s.Spec.Auth.Fits(secret)
		}
		if err != nil {
			k.Unreadable = err.Error()
		}
		s.Keys = append(s.Keys, k)
	}
	_, err = n.Keys.Check(ctx, s.Spec)
	for _, err := range split(err) {
		bad, known := errors.AsType[source.Violations](err)
		if !known {
			return err
		}
		for _, v := range bad {
			s.NoKey = append(s.NoKey, v.Text)
		}
	}
	if len(s.NoKey) == 0 && s.Withheld && !s.Spec.Anonymous(source.ForSearch) {
		s.NoKey = append(s.NoKey, "the source needs a credential, and the host of --base-url is sent none")
	}
	if len(s.NoKey) == 0 && !s.Spec.Anonymous(source.ForSearch) && !slices.ContainsFunc(s.Keys, sourcecheck.Key.Usable) {
		s.NoKey = append(s.NoKey, "a credential is needed and none can be used now")
	}
	return nil
}

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

// wire builds the client of a check and what watches it: on the network through
// the gate, or on a fixture.
func (n *Node) wire(s *sourcecheck.Subject, f *tape.Fixture) (*checkUp, sourcecheck.Wire, error) {
	mask := tape.Mask{Live: n.cfg.redact, Also: new(source.Redactor)}
	mask.Also.Learn(source.NewSecret(n.cfg.Contact))
	if s.Spec != nil && s.Spec.Auth != nil {
		for _, p := range s.Spec.Auth.Places() {
			mask.Names = append(mask.Names, p.Name)
		}
	}
	cfg := upstream.Config{Version: n.cfg.Version, Logger: n.cfg.Logger, Redactor: n.cfg.redact}
	look := &shapes{decoders: &decoders{}}
	if f == nil && s.Spec == nil {
		f = new(tape.Fixture) // nothing will be asked
	}
	if f != nil {
		player := tape.NewPlayer(f, mask)
		cfg.Transport = player
		u := &checkUp{Client: upstream.New(cfg, gate.New(gate.Config{}, nil), look), shapes: look}
		if s.Spec != nil {
			bare := *s.Spec
			bare.Auth, bare.Rate, bare.Retry.Attempts = nil, source.Rate{Key: s.Source}, 1
			u.bare = &bare
		}
		return u, player, nil
	}
	rec := tape.NewRecorder(mask)
	cfg.Wrap, cfg.Credentials = rec.Over, &oneKey{Credentials: n.Keys, subject: s}
	return &checkUp{Client: upstream.New(cfg, gate.New(gate.Config{Instances: n.cfg.Instances}, n.Store), look), shapes: look}, rec, nil
}

// oneKey hands out keys and notes which. One that was refused is not replaced by
// the next, nor is its health noted: a check looks and does not touch.
type oneKey struct {
	upstream.Credentials
	subject *sourcecheck.Subject
}

// Pick implements upstream.Credentials.
func (o *oneKey) Pick(ctx context.Context, spec *source.Spec, p source.Purpose, to []string, tried []int64) (source.Key, bool, error) {
	if len(tried) > 0 {
		f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: source.CodeAuthRefused}
		return source.Key{}, false, fmt.Errorf("credential %s: %w", o.subject.Refused, f)
	}
	k, ok, err := o.Credentials.Pick(ctx, spec, p, to, nil)
	if ok {
		o.subject.Used = k.Credential.Name
	}
	return k, ok, err
}

// Report implements upstream.Credentials.
func (o *oneKey) Report(_ context.Context, k source.Key, out source.KeyOutcome) {
	if out == source.KeyRefused {
		o.subject.Refused = k.Credential.Name
	}
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

// split takes joined errors apart.
func split(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // as errors.Join made it
		return many.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
