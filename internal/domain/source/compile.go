package source

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Trigger is what a compile is made for, besides the definition.
type Trigger struct {
	Operation harvest.Operation
	// Endpoint is the one that the operation goes through, empty for the default.
	Endpoint string
	// Query is what of the source is wanted, in the text form; empty: everything.
	Query string
	// Vars are the instance's own values: contact, tool.
	Vars map[string]string
}

// Violation is one thing wrong with a definition.
type Violation struct {
	// Path is where it is, e.g. endpoints.esearch.query.term.
	Path string
	Text string
	// Allow is the command by which the owner gives what is missing, empty if
	// something else is wrong.
	Allow string
	// Instead is the command for what can be asked of a source that lists nothing, empty if
	// something else is wrong.
	Instead string
}

func (v Violation) String() string { return v.Path + ": " + v.Text }

// Violations are all that is wrong with a definition.
type Violations []Violation

func (v Violations) Error() string {
	lines := make([]string, len(v))
	for i := range v {
		lines[i] = v[i].String()
	}
	return strings.Join(lines, "\n")
}

// ListsNothing reports whether all that is wrong is that records were to be listed of a source
// that answers for single ones alone: its description has no mistake then.
func (v Violations) ListsNothing() bool {
	return len(v) > 0 && !slices.ContainsFunc(v, func(one Violation) bool { return one.Instead == "" })
}

// Problem implements problem.Error.
func (v Violations) Problem() problem.Problem {
	p := problem.Problem{Code: "contract_invalid", Kind: problem.Usage, Detail: v.Error()}
	only := func(path string) bool {
		return !slices.ContainsFunc(v, func(one Violation) bool { return one.Path != path })
	}
	switch {
	case !slices.ContainsFunc(v, func(one Violation) bool { return one.Allow == "" }):
		p.Code = "not_allowed"
		p.Title = "the source may not have what it asks for"
		p.Next = "if you want that: " + v[0].Allow + "; nothing was changed"
	case v.ListsNothing():
		p = problem.Problem{Code: "lists_nothing", Kind: problem.Usage, Detail: v.Error()}
		p.Title = "the source gives no list of its records: they are read by their ids"
		p.Next = v[0].Instead + "; nothing was changed"
	case only("--query"):
		p.Code = "bad_query"
		p.Title = "the query cannot be asked"
		p.Next = "mend --query where it is marked; `patra source show CODE` lists what the source can be asked for; nothing was changed"
	case only("auth"):
		p.Code = string(harvest.CodeNoCredential)
		p.Title = "the source is not asked without a credential"
		p.Next = "patra credential set SOURCE NAME --env VARIABLE --reason TEXT; nothing was changed"
	default:
		p.Title = "the description has " + mistakes(len(v))
		p.Next = "`patra source history CODE` shows the rows, `patra source lint FILE` checks a pack; nothing was changed"
	}
	return p
}

func mistakes(n int) string {
	if n == 1 {
		return "1 mistake"
	}
	return fmt.Sprintf("%d mistakes", n)
}

// Warning is a choice the platform made because the definition left it open.
type Warning Violation

func (w Warning) String() string { return Violation(w).String() }

// Platform defaults (M4, M14, C7, R50).
const (
	defaultConnectTimeout = 10 * time.Second
	defaultReadTimeout    = 30 * time.Second
	defaultTotalTimeout   = 60 * time.Second
	maxTimeout            = 120 * time.Second
	defaultMaxBody        = 32 << 20
	maxMaxBody            = 1 << 30

	defaultAttempts  = 5
	defaultRetryBase = 100 * time.Millisecond
	defaultRetryMax  = 30 * time.Second
	maxBreakAfter    = 100
	maxAttempts      = 20

	defaultQPS = 1.0

	defaultSafetyLag = 10 * time.Minute
	defaultStep      = 24 * time.Hour
	defaultBaseline  = 30 * 24 * time.Hour
	// Nothing that is harvested by its date was changed before.
	defaultBeginning = "1900-01-01"
	// Slices of a source and operation that may be open at a time.
	defaultMaxOpen = 10_000

	maxPriority = 1000

	// A walk on a token is planned to at most this many pages (R23).
	maxTokenPages = 50
	// A walk on links ends here if nothing else ends it, and one on tokens of a
	// source that cannot count.
	maxLinkPages = 1000
	// A walk without a bound of its own aims at this many pages.
	defaultTargetPages = 20
)

// Compile checks a definition whole and freezes it for one plan. The error is
// [Violations], every one of them; the warnings name each default taken.
func Compile(def Definition, t Trigger) (*Spec, []Warning, error) {
	c := &compiler{def: def.Canonical(), t: t, spec: &Spec{Version: specPlain}}
	c.provenance()
	c.http()
	c.rate()
	c.retry()
	c.cuts()
	if err := c.endpoints(); err != nil {
		return nil, c.warn, err
	}
	c.auth()
	c.paging()
	c.batching()
	c.window()
	c.ascending()
	c.newest()
	c.ids()
	c.keyset()
	c.offset()
	c.faults()
	c.mapping()
	c.vars()
	c.query()
	c.warn = append(c.spec.Exposed(), c.warn...)
	_, bad := CompileSchedule(c.def)
	c.bad = append(c.bad, bad...)
	if len(c.bad) > 0 {
		return nil, c.warn, c.bad
	}
	if c.spec.HTTP.TLS != nil || c.spec.Paging.Type == harvest.PageKeyset {
		c.spec.Version = specBounds
	}
	if c.spec.Paging.NewestFirst && c.spec.Window.Zone != "" && c.spec.Window.Zone != time.UTC.String() {
		c.spec.Version = SpecVersion
	}
	return c.spec, c.warn, nil
}

type compiler struct {
	def  Definition
	t    Trigger
	spec *Spec
	bad  Violations
	warn []Warning
	// cfg are the endpoints' own words by usage, and used the variables of
	// each endpoint's templates.
	cfg  map[Usage]Endpoint
	used map[Usage]readNames
	// parts are what each endpoint's templates are made of.
	parts map[Usage][]placedPart
}

func (c *compiler) fail(path, format string, args ...any) {
	c.bad = append(c.bad, Violation{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (c *compiler) note(path, format string, args ...any) {
	c.warn = append(c.warn, Warning{Path: path, Text: fmt.Sprintf(format, args...)})
}

// oneOf reports a code that is not among known.
func oneOf[S ~string](c *compiler, path string, code S, known ...S) bool {
	if slices.Contains(known, code) {
		return true
	}
	words := make([]string, len(known))
	for i := range known {
		words[i] = string(known[i])
	}
	if code == "" {
		c.fail(path, "is required: one of %s", strings.Join(words, ", "))
		return false
	}
	hint := ": known are " + strings.Join(words, ", ")
	if near := Suggest(string(code), words); strings.Contains(near, "did you mean") {
		hint += ";" + strings.TrimPrefix(near, ":")
	}
	c.fail(path, "%s is not known%s", code, hint)
	return false
}

// orDefault returns v, or the default with a warning.
func orDefault[T comparable](c *compiler, path string, v, def T) T {
	var zero T
	if v != zero {
		return v
	}
	c.note(path, "not given, taken as %v", def)
	return def
}

func (c *compiler) duration(path string, d Duration, def time.Duration) Duration {
	if d == 0 {
		c.note(path, "not given, taken as %s", def)
		return Duration(def)
	}
	return d
}

var codePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// IsCode reports whether a source could have this name.
func IsCode(name string) bool { return codePattern.MatchString(name) }

func (c *compiler) provenance() {
	d, s := c.def, c.spec
	s.Source = d.Source
	s.RecordType = d.RecordType
	s.Operation = string(c.t.Operation)
	if !codePattern.MatchString(d.Source) {
		c.fail("source", "%q is not a code: small letters, digits, - and _, beginning with a letter", d.Source)
	}
	if !codePattern.MatchString(d.RecordType) {
		c.fail("recordType", "%q is not a code: small letters, digits, - and _, beginning with a letter", d.RecordType)
	}
	if _, ok := harvest.ParseOperation(string(c.t.Operation)); !ok {
		coded(c, "operation", DictOperation, c.t.Operation)
	}
	s.ID.Form = orDefault(c, "identity", d.Identity, "TEXT")
	coded(c, "identity", DictIdentity, s.ID.Form)
}

// vars binds the instance's values, and notes those that templates miss.
func (c *compiler) vars() {
	for _, name := range instanceVars {
		if v := c.t.Vars[name]; v != "" {
			if c.spec.Vars == nil {
				c.spec.Vars = map[string]string{}
			}
			c.spec.Vars[name] = v
			continue
		}
		for _, e := range c.def.Endpoints {
			if c.used[e.Usage].uses("vars." + name) {
				c.note(join("endpoints", e.Name), "${vars.%s} is not set: a parameter that holds nothing else is left out", name)
				break
			}
		}
	}
}

// join adds a name to a path, in brackets where it would not read as one.
func join(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[] :") {
		return fmt.Sprintf("%s[%q]", path, name)
	}
	return path + "." + name
}
