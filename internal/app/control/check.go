package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// CheckRequest is what a person wants checked.
type CheckRequest struct {
	Source    string
	Operation harvest.Operation
	// Endpoint is the one that is tried out, empty for the usual one.
	Endpoint string
	Query    string
	BaseURL  string
	// Spoken, if it is given, is in place of From and To.
	From, To time.Time
	Spoken   Spoken
	// At is the instant whose rows are checked; zero: now.
	At time.Time
	// File is a pack to be checked instead of what is in force.
	File string
	// Text is the text of a pack to be checked instead.
	Text    string
	Records int
	// Save is a folder to which what came over the wire is written, Offline
	// one from which it is read in place of the network.
	Save, Offline string
}

// Tester is what a check needs of the outside: somebody to ask, and folders in which
// checks are kept. What it shows is free of secrets.
type Tester interface {
	// Load reads a check that was kept in a folder.
	Load(dir string) (*sourcecheck.Fixture, error)
	// Claim makes a folder ready to be kept in; one that is not empty is
	// [fs.ErrExist].
	Claim(dir string) error
	Save(dir string, f sourcecheck.Fixture, exchanges []sourcecheck.Exchange) error
	// Wire returns whom to ask about a subject, and what watches that: the source
	// itself through the rate gate, or what was kept of it.
	Wire(s *sourcecheck.Subject, kept *sourcecheck.Fixture) (sourcecheck.Client, sourcecheck.Wire)
	// Learn keeps a secret out of everything that is shown.
	Learn(s credential.Secret)
	// CheckSpec finds what only the parts that use a contract can see.
	CheckSpec(spec *source.Spec) source.Violations
}

// ErrOtherSource: a pack or fixture is not of the source that was named.
var ErrOtherSource = problem.New("another source was named", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "patra source check --help",
})

// CheckSource tries a source out. It stores nothing but what the rate gate
// remembers. The exchanges are free of secrets.
func (c *Control) CheckSource(ctx context.Context, req CheckRequest) (*sourcecheck.Report, []sourcecheck.Exchange, error) {
	var kept *sourcecheck.Fixture
	if req.Offline != "" {
		var err error
		kept, err = c.tester.Load(req.Offline)
		if err != nil {
			return nil, nil, err
		}
		if err := req.recall(kept); err != nil {
			return nil, nil, err
		}
	}
	if req.Save != "" {
		if err := c.tester.Claim(req.Save); err != nil {
			return nil, nil, err
		}
	}
	s := &sourcecheck.Subject{
		Source: req.Source, Operation: req.Operation, Endpoint: req.Endpoint, Query: req.Query, BaseURL: req.BaseURL, From: req.From, To: req.To, Records: req.Records,
		Offline: kept != nil,
	}
	if err := c.describe(ctx, s, req); err != nil {
		return nil, nil, err
	}
	if err := c.settleSubject(ctx, s, req.Spoken); err != nil {
		return nil, nil, err
	}
	if kept != nil {
		s.Situation = kept.Situation
	} else if err := c.situation(ctx, s); err != nil {
		return nil, nil, err
	}
	up, wire := c.tester.Wire(s, kept)
	defer up.Close()
	rep, err := sourcecheck.Run(ctx, s, up, wire)
	if err != nil {
		return nil, nil, err
	}
	exchanges := wire.Exchanges()
	if req.Save != "" {
		err = c.tester.Save(req.Save, sourcecheck.Fixture{
			Source: s.Source, Operation: s.Operation, Query: s.Query, BaseURL: s.BaseURL, Records: s.Records,
			Asked: harvest.Window{From: s.From, To: s.To}, Situation: s.Situation,
		}, exchanges)
	}
	return rep, exchanges, err
}

// settleSubject turns the words of the window that is asked for into instants, as the
// source that is checked counts days.
func (c *Control) settleSubject(ctx context.Context, s *sourcecheck.Subject, spoken Spoken) error {
	if spoken == (Spoken{}) {
		return nil
	}
	var cal harvest.Calendar
	if s.Spec != nil {
		var err error
		cal, err = s.Spec.Window.Calendar()
		if err != nil {
			return err
		}
	}
	from, to, notes, err := c.settleSpan(ctx, spoken, cal)
	s.From = from
	s.To = to
	for _, n := range notes {
		s.Remarks = append(s.Remarks, sourcecheck.Remark{Text: n})
	}
	return err
}

// recall asks for what a kept check was made with.
func (r *CheckRequest) recall(f *sourcecheck.Fixture) error {
	if r.Source != "" && r.Source != f.Source {
		return fmt.Errorf("fixture %s is of %s, not of %s: %w", r.Offline, f.Source, r.Source, ErrOtherSource)
	}
	r.Source = f.Source
	r.Operation = f.Operation
	r.Query = f.Query
	r.BaseURL = f.BaseURL
	r.Records = f.Records
	r.From = f.Asked.From
	r.To = f.Asked.To
	return nil
}

// describe finds the description and compiles it for every operation.
func (c *Control) describe(ctx context.Context, s *sourcecheck.Subject, req CheckRequest) error {
	switch {
	case req.File != "":
		p, err := c.packs.Read(req.File)
		return c.describePack(ctx, s, req.File, p, err)
	case req.Text != "":
		p, _, err := c.packs.Parse(packSent, req.Text)
		return c.describePack(ctx, s, packSent, p, err)
	}
	con, err := c.store.LoadSource(ctx, s.Source)
	missing := errors.Is(err, harvest.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	packs, err := c.packs.Load()
	if err != nil {
		return err
	}
	file, known := packs[s.Source]
	switch {
	case missing && !known:
		codes, err := c.registry.Codes(ctx)
		return errors.Join(&registry.UnknownSourceError{Code: s.Source, Known: codes}, err)
	case missing:
		s.Origin = "the " + strings.ToLower(file.Origin) + " pack, which the first harvest will apply"
		con = rowsOf(file.Definition)
	case known && file.Origin == registry.File && con.Provenance.OriginHash != file.Hash && req.At.IsZero():
		s.Origin = "the pack in " + c.packs.Folder() + ", changed since and applied by the next harvest"
		con = rowsOf(file.Definition)
	default:
		if !req.At.IsZero() {
			con.ReadAt = req.At
		}
		con = con.Filled(file.Definition)
		rows := len(con.InForce(con.ReadAt))
		if rows == 0 {
			return fmt.Errorf("source %s at %s: no row was in force: %w", s.Source, Time(con.ReadAt), harvest.ErrNotFound)
		}
		s.Origin = fmt.Sprintf("the %d rows in force at %s", rows, Time(con.ReadAt.Truncate(time.Second)))
		if known && file.Origin == registry.Shipped && con.Provenance.Origin == registry.Shipped && con.Provenance.OriginHash != file.Hash {
			diff := c.packs.Diff(con.Pack(con.ReadAt), file.Definition)
			s.Remarks = append(s.Remarks, sourcecheck.Remark{
				Text: fmt.Sprintf("the pack shipped with this patra differs from the rows in force in %d places", len(diff)),
				Fix:  "patra source apply " + s.Source + " --dry-run, look, then apply it",
			})
		}
	}
	c.compile(s, con, nil)
	return nil
}

// describePack takes the description from a pack that was read, with what was wrong with
// it.
func (c *Control) describePack(ctx context.Context, s *sourcecheck.Subject, name string, p Pack, err error) error {
	bad, mistaken := errors.AsType[Mistaken](err)
	if err != nil && !mistaken {
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
	if mistaken {
		s.Compiled = []sourcecheck.Compiled{{Operation: s.Operation, Problems: strings.Split(bad.Error(), "\n")}}
		return nil
	}
	con, err := c.store.LoadSource(ctx, code)
	switch {
	case errors.Is(err, harvest.ErrNotFound):
		s.Remarks = append(s.Remarks, sourcecheck.Remark{Text: "not applied yet: nothing of " + code + " is in force"})
	case err != nil:
		return err
	default:
		text := "says what is in force"
		if diff := c.packs.Diff(con.Pack(con.ReadAt), p.Definition); len(diff) > 0 {
			text = fmt.Sprintf("differs from what is in force in %d places; `patra source diff %s` lists them", len(diff), name)
		}
		s.Remarks = append(s.Remarks, sourcecheck.Remark{Text: text})
	}
	c.compile(s, rowsOf(p.Definition), p.Place)
	return nil
}

// rowsOf are the rows a definition asks for, as if they were in force.
func rowsOf(d source.Definition) source.Contents {
	at := time.Unix(0, 0).UTC()
	out := source.Contents{Provenance: d.Provenance(), Rows: d.Rows(at), ReadAt: at}
	for i := range out.Rows {
		out.Rows[i].ID = int64(i + 1)
	}
	return out
}

// compile compiles what is in force for every operation, the one to be checked
// with its query. place, if given, knows where things stand in the file.
func (c *Control) compile(s *sourcecheck.Subject, con source.Contents, place func(source.Violations) error) {
	for _, op := range source.Operations {
		out := sourcecheck.Compiled{Operation: op}
		def, _ := con.At(op, con.ReadAt)
		if op == harvest.Harvest && def.Window != nil && def.Window.UpdatedAt == source.UpdatedNever && op != s.Operation {
			out.Not = "not for a source without a date of change"
			s.Compiled = append(s.Compiled, out)
			continue
		}
		if op != harvest.Update && def.OnlyByIDs() && op != s.Operation {
			out.Not = "not for a source that is read by ids only"
			s.Compiled = append(s.Compiled, out)
			continue
		}
		t := source.Trigger{Operation: op, Vars: c.packs.Vars()}
		if op == s.Operation {
			t.Query = s.Query
			t.Endpoint = s.Endpoint
		}
		spec, warnings, err := source.Compile(def, t)
		bad, known := errors.AsType[source.Violations](err)
		if err == nil {
			bad = c.tester.CheckSpec(spec)
		} else if !known {
			bad = source.Violations{{Path: "query", Text: err.Error()}}
		}
		for _, v := range bad {
			text := v.String()
			if place != nil {
				text = place(source.Violations{v}).Error()
			}
			out.Problems = append(out.Problems, strings.Split(text, "\n")...)
		}
		for _, w := range warnings {
			out.Warnings = append(out.Warnings, w.String())
		}
		if op == s.Operation && len(bad) == 0 {
			s.Spec = spec
		}
		s.Compiled = append(s.Compiled, out)
	}
}

// situation reads what the check depends on besides: clock, state, credentials.
func (c *Control) situation(ctx context.Context, s *sourcecheck.Subject) error {
	now, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	st, err := c.store.SourceState(ctx, s.Source)
	if err != nil {
		return err
	}
	s.Now = now
	s.Skew = st.Skew
	s.SkewSeen = st.Seen
	if st.Held() {
		s.Held = (&harvest.HeldError{Source: s.Source, State: st}).Error()
	}
	if r, is := c.quiet.Rest(ctx, s.Source, s.Operation); is {
		s.QuietUntil = r.Until
	}
	switch {
	case s.Spec == nil:
		return nil
	case s.Spec.Auth == nil:
		_, err := c.keys.Check(ctx, s.Spec)
		return err
	}
	base, lent := source.SplitBase(s.BaseURL)
	s.Withheld = base != "" && !lent
	if err := c.readKeys(ctx, s); err != nil {
		return err
	}
	return c.missingKey(ctx, s)
}

// readKeys lists the credentials that the check could use, those at rest last.
func (c *Control) readKeys(ctx context.Context, s *sourcecheck.Subject) error {
	all, at, err := c.keys.List(ctx, s.Spec.Auth.Pool)
	if err != nil {
		return err
	}
	aim := credential.Aim{Endpoint: s.Spec.Search.Name, Task: s.Operation}
	best := credential.Candidates(all, aim, at)
	for _, cred := range all {
		if cred.Serves(aim, at) && cred.Resting(at) {
			best = append(best, cred)
		}
	}
	for _, cred := range best {
		k := sourcecheck.Key{Name: cred.Name, Where: strings.TrimSpace(strings.ToLower(string(cred.Secret.Kind)) + " " + cred.Secret.Ref), Ends: cred.To}
		if cred.Resting(at) {
			k.RestingUntil = cred.RefusedUntil
		}
		secret, err := c.vault.Resolve(cred)
		if err == nil {
			c.tester.Learn(secret)
			err = secret.Fits(s.Spec.Auth)
		}
		if err != nil {
			k.Unreadable = err.Error()
		}
		s.Keys = append(s.Keys, k)
	}
	return nil
}

// missingKey finds what a credential that is needed lacks.
func (c *Control) missingKey(ctx context.Context, s *sourcecheck.Subject) error {
	_, err := c.keys.Check(ctx, s.Spec)
	for _, err := range problem.Each(err) {
		bad, known := errors.AsType[source.Violations](err)
		if !known {
			return err
		}
		for _, v := range bad {
			s.NoKey = append(s.NoKey, v.Text)
		}
	}
	if len(s.NoKey) > 0 || s.Spec.Anonymous(source.ForSearch) {
		return nil
	}
	switch {
	case s.Withheld:
		s.NoKey = append(s.NoKey, "the source needs a credential, and the host of --base-url is sent none")
	case !slices.ContainsFunc(s.Keys, sourcecheck.Key.Usable):
		s.NoKey = append(s.NoKey, "a credential is needed and none can be used now")
	}
	return nil
}

// StillStoppedError says that a source was not resumed since its check failed.
type StillStoppedError struct {
	Source string
	Report *sourcecheck.Report
}

func (e *StillStoppedError) Error() string {
	return fmt.Sprintf("%s stays stopped: its check failed at %s", e.Source, e.Report.FailedGroup())
}

// Problem implements problem.Error. It lists what failed, with its fix.
func (e *StillStoppedError) Problem() problem.Problem {
	var lines []string
	for _, g := range e.Report.Groups {
		for _, k := range g.Checks {
			if k.Status != sourcecheck.Failed {
				continue
			}
			lines = append(lines, k.Text)
			if k.Fix != "" {
				lines = append(lines, "fix: "+k.Fix)
			}
		}
	}
	return problem.Problem{
		Code: "check_failed", Kind: problem.Upstream, Title: e.Error(), Detail: joinLines(lines),
		Next: fmt.Sprintf("mend it and run the same command again; `patra source check %s --show http` shows what was sent and came, "+
			"and patra source resume %s --force --reason TEXT resumes it as it is", e.Source, e.Source),
	}
}

// mustPass checks a source, or one endpoint of it, before it is asked again, and says how
// many requests that took. One that cannot be harvested is checked as it is backfilled. An
// endpoint that nothing is searched by is checked with the source.
func (c *Control) mustPass(ctx context.Context, at harvest.EndpointOf, base string) (int, error) {
	what := at.Provenance
	endpoint := at.Endpoint
	if endpoint != "" {
		what = at.String()
		_, err := c.contracts.Through(c.leaveNoTrace(ctx), at.Provenance, harvest.Backfill, endpoint, "")
		if _, unknown := errors.AsType[*source.EndpointError](err); unknown {
			endpoint = ""
		}
	}
	var rep *sourcecheck.Report
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill} {
		var err error
		rep, _, err = c.CheckSource(ctx, CheckRequest{Source: at.Provenance, Operation: op, Endpoint: endpoint, BaseURL: base})
		if err != nil {
			return 0, err
		}
		if rep.FailedGroup() != sourcecheck.Config {
			break
		}
	}
	if rep.FailedGroup() != "" {
		return 0, &StillStoppedError{what, rep}
	}
	return rep.Requests.Sent, nil
}
