package source

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
)

// SpecVersion is the newest snapshot form this build can run. An Executor that
// meets a greater one leaves the task for a newer Executor (R47). It is raised
// when a snapshot may say what an older build would pass over.
//
//	2: hash buckets, lifetime of tokens, further secrets, headers taken away, LOOKUP
//	3: replies that leave out only what is not there, namespaces, secrets in bodies
//	4: parameters that are sent once for each of several values
//	5: the words of packs; an older Executor would take what it knows by another word
//	   for not said, such as a closed bound
//	6: queries of which a part is decided here
//	7: lists that are read newest first, whatever the window is; windows of ids
//	8: pages after the date and the id of a record; authorities of a source's own; bounds of a
//	   plan's own
//	9: slices whose zone is hinted at, which only lists that are read newest first are read by
const SpecVersion = 9

// specBounds is the first version that has the parts told under 8.
const specBounds = 8

// specPlain is the version of snapshots that have nothing of the newest form, so that older builds
// can run them.
const specPlain = 7

// specOneWord is the first version whose keys have the words that packs have.
const specOneWord = 5

// Spec is the frozen description of one source for one plan: all that the
// Executor ever sees. Secrets are in it by reference only.
type Spec struct {
	Version    int            `json:"specVersion"`
	Source     string         `json:"source"`
	RecordType string         `json:"recordType"`
	Operation  string         `json:"operation"`
	HTTP       HTTP           `json:"http"`
	Auth       *Auth          `json:"auth,omitempty"` // nil: none
	Window     Window         `json:"window"`
	Paging     harvest.Paging `json:"pagination"`
	Search     Endpoint       `json:"search"`
	Count      *Endpoint      `json:"count,omitempty"`
	Detail     *Endpoint      `json:"detail,omitempty"`
	// Lookup is for single ids that Detail cannot be asked for.
	Lookup *Endpoint `json:"lookup,omitempty"`
	// Head tells the greatest id of a source that is harvested by ids that grow.
	Head     *Endpoint `json:"head,omitempty"`
	Batching Batching  `json:"batching"`
	// Cuts are none in the snapshots of older builds.
	Cuts  Cuts  `json:"cuts,omitzero"`
	Retry Retry `json:"retry"`
	Rate  Rate  `json:"rateLimit"`
	// Bound holds this plan below the rate, nil if nothing does.
	Bound   *PlanBound  `json:"bound,omitempty"`
	ID      Identity    `json:"identity"`
	Mapping Mapping     `json:"mapping"`
	Faults  []FaultRule `json:"faults,omitempty"`
	// Beside: the endpoint was named, and is not the one that is asked otherwise. What is
	// done through it has places of its own.
	Beside bool `json:"beside,omitzero"`
	// Query is what of the source is wanted; nil means everything.
	Query *Selection `json:"query,omitempty"`
	// Vars are the instance's own values (contact, tool) as bound at plan time.
	Vars map[string]string `json:"vars,omitempty"`
}

// CutLimits are the thresholds at which slices of the source are cut, the platform's where
// an older snapshot has none.
func (s *Spec) CutLimits() harvest.CutLimits {
	cuts := s.Cuts.filled(s.HTTP)
	return harvest.CutLimits{
		PagesSoft: cuts.PagesSoft, PagesHard: cuts.PagesHard, PageBytes: int64(cuts.PageBytes),
		Throttled: cuts.Throttled, ThrottledWithin: cuts.ThrottledWithin.D(),
		FailedPercent: cuts.FailedPercent, FailedOver: cuts.FailedOver,
		RetryAfterSum: cuts.RetryAfterSum.D(), WalkTime: cuts.WalkTime.D(),
		OverEstimate: cuts.OverEstimate, SlowPage: cuts.SlowPage.D(),
	}
}

// SliceBudget is what a slice of an operation may cost, and when its turn is: what the
// source says, and the platform's where it says nothing. Every slice has one.
func (s *Spec) SliceBudget(op harvest.Operation) harvest.BudgetSpec {
	platform := harvest.DefaultBudget(s.CutLimits(), s.Paging.Size)
	platform.Priority = cmp.Or(s.Window.Priority, op.Priority())
	return s.Window.Budget.Over(platform)
}

// Backoff is how long is waited before a request is repeated.
func (r Retry) Backoff() pace.Backoff {
	return pace.Backoff{Base: r.Base.D(), Max: r.Max.D(), Factor: r.Factor, Jitter: float64(r.Jitter) / 100}
}

// Breaker is when nothing more is asked for a while.
func (r Retry) Breaker() harvest.BreakerLimits {
	return harvest.BreakerLimits{After: r.BreakAfter, Rest: r.BreakRest.D(), Most: r.BreakMost.D()}
}

// LagBounds are between what the safety lag is tuned.
func (w Window) LagBounds() harvest.LagBounds {
	return harvest.LagBounds{Least: w.LagLeast.D(), Most: w.LagMost.D()}
}

// Allowed is what the provider allows requests, with a key or without.
func (s *Spec) Allowed(keyed bool) Rate {
	if keyed && s.Auth != nil && s.Auth.Rate != nil {
		return *s.Auth.Rate
	}
	return s.Rate
}

// ByID reports whether the source is harvested by ids that grow, and not by time.
func (s *Spec) ByID() bool {
	return s.Window.Strategy == harvest.StrategyID
}

// TwoPhase reports whether search yields ids whose details are asked for.
func (s *Spec) TwoPhase() bool { return s.Detail != nil }

// Items returns the endpoint whose replies hold records.
func (s *Spec) Items() *Endpoint {
	if s.Detail != nil {
		return s.Detail
	}
	return &s.Search
}

// Maps reports whether the replies of an endpoint of s hold records.
func (s *Spec) Maps(e *Endpoint) bool { return e != nil && (e == s.Items() || e == s.Lookup) }

// Fingerprint is the hash of the canonical form of the snapshot (I10).
func (s *Spec) Fingerprint() (string, error) {
	b, err := s.Canonical()
	if err != nil {
		return "", err
	}
	return FingerprintBytes(b), nil
}

// FingerprintBytes hashes a canonical snapshot.
func FingerprintBytes(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// Canonical is the stored form: encoding/json sorts map keys and keeps the
// order of the struct, so equal specs give equal bytes.
func (s *Spec) Canonical() ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("marshal spec of %s: %w", s.Source, err)
	}
	return b, nil
}

// ParseSpec reads a stored snapshot of any version.
func ParseSpec(b []byte) (*Spec, error) {
	b, err := inTodaysWords(b)
	if err != nil {
		return nil, fmt.Errorf("stored spec: %w", err)
	}
	s := new(Spec)
	err = json.Unmarshal(b, s)
	if err != nil {
		return nil, fmt.Errorf("stored spec: %w", err)
	}
	s.nameUsages()
	return s, nil
}

// Window is how a source understands time.
type Window struct {
	// Key is the watermark key: the date the source filters and harvests by.
	Key       string            `json:"key"`
	Precision harvest.Precision `json:"precision"`
	Zone      string            `json:"zone"`
	// Bound is whether the upper bound sent includes itself (R12); empty where a
	// source has no date, and then none is sent.
	Bound     Bound    `json:"bound,omitempty"`
	SafetyLag Duration `json:"safetyLag"`
	// LagLeast and LagMost are 0 where the safety lag is tuned between the platform's bounds.
	LagLeast Duration `json:"lagLeast,omitzero"`
	LagMost  Duration `json:"lagMost,omitzero"`
	Align    Duration `json:"align"`
	Step     Duration `json:"step"`
	MinStep  Duration `json:"minStep"`
	Overlap  Duration `json:"overlap,omitzero"`
	Baseline Duration `json:"baseline"`
	// Beginning is the day on which the first harvest of a query begins, empty for
	// one before all that there is.
	Beginning string `json:"beginning,omitzero"`
	// UpdatedAt says where an item's update time is: PATH, WINDOW or NONE (R57).
	UpdatedAt UpdatedAt `json:"updatedAt"`
	// Target is the wanted number of records per slice.
	Target int64 `json:"target,omitzero"`
	// PerDay is how many records a day are reckoned with where nothing tells, 0
	// for not knowing.
	PerDay int64 `json:"perDay,omitzero"`
	// Strategy by which a window is cut, TIME if empty.
	Strategy harvest.StrategyCode `json:"strategy,omitempty"`
	// Split is the second dimension, for windows that cannot be cut further.
	Split *harvest.Split `json:"split,omitempty"`
	// Budget of a slice, nil for no bound.
	Budget *harvest.BudgetSpec `json:"budget,omitempty"`
	// Priority of the tasks, 0 for that of the operation.
	Priority int `json:"priority,omitzero"`
	// MaxOpen slices of the source and operation stop the planning, 0 for no bound.
	MaxOpen int `json:"maxOpen,omitzero"`
	// Pages per slice, of the strategy PAGE.
	Pages int64 `json:"pages,omitzero"`
}

// Begins is the instant before which the source has nothing.
func (w Window) Begins(c harvest.Calendar) time.Time {
	t, err := time.ParseInLocation(time.DateOnly, cmp.Or(w.Beginning, defaultBeginning), c.Zone)
	if err != nil { // a compiled window has a day
		panic(fmt.Sprintf("source: beginning: %v", err))
	}
	return harvest.Instant(t)
}

// Closed reports whether the upper bound sent includes itself.
func (w Window) Closed() bool { return w.Bound == BoundClosed }

// Calendar of the window.
func (w Window) Calendar() (harvest.Calendar, error) {
	z, err := time.LoadLocation(w.Zone)
	if err != nil {
		return harvest.Calendar{}, fmt.Errorf("zone %q: %w", w.Zone, err)
	}
	return harvest.Calendar{Precision: w.Precision, Zone: z}, nil
}

// Sized reports whether the endpoint asks for pages of a size.
func (e *Endpoint) Sized() bool {
	parts := []map[string]string{e.Query, e.Form, e.Headers.Texts(), {"path": e.Path, "body": e.Body}}
	if n := e.Next; n != nil {
		parts = append(parts, n.Query, n.Form, map[string]string{"body": n.Body})
	}
	for _, values := range parts {
		for _, v := range values {
			if strings.Contains(v, "page.size") {
				return true
			}
		}
	}
	return false
}

// Takes returns a test of whether the endpoint can be asked for an id.
func (e *Endpoint) Takes() func(id string) bool {
	if e == nil || e.IDPattern == "" {
		return func(string) bool { return true }
	}
	re, err := wholeID(e.IDPattern)
	return func(id string) bool { return err == nil && re.MatchString(id) }
}

func wholeID(pattern string) (*regexp.Regexp, error) { return regexp.Compile(`^(?s:` + pattern + `)$`) }

// Formats of a reply.
const (
	FormatJSON = "JSON"
	FormatXML  = "XML"
)

// Identity is the canonical form of ids (R29), written as its code.
type Identity struct {
	// Form is TEXT, DOI or NUMBER.
	Form string
}

// MarshalText writes the code.
func (i Identity) MarshalText() ([]byte, error) { return []byte(i.Form), nil }

// UnmarshalText reads the code.
func (i *Identity) UnmarshalText(b []byte) error {
	i.Form = string(b)
	return nil
}

// Pick is one way to get a value: the first that yields one wins.
type Pick struct {
	Path string `json:"path,omitempty"`
	// All are the paths of parts that are put together with Sep between; a
	// part that is missing makes the whole missing (P14).
	All []string `json:"all,omitempty"`
	Sep string   `json:"sep,omitempty"`
	// Parts puts a date together.
	Parts *DateParts `json:"parts,omitempty"`
	// Format of an instant: RFC3339, EPOCH_S, EPOCH_MS, a Go layout, or YEAR
	// for the first year in a free text.
	Format string `json:"format,omitempty"`
	// Clean names transforms applied in order; one that takes an argument has
	// it behind a colon, such as regex:^(.*)v[0-9]+$.
	Clean []string `json:"clean,omitempty"`
}

// DateParts is a date spread over several places, or an array of numbers.
type DateParts struct {
	List  string `json:"list,omitempty"` // path of an array [y, m, d]
	Year  string `json:"year,omitempty"`
	Month string `json:"month,omitempty"`
	Day   string `json:"day,omitempty"`
}

// Kinds of a field.
const (
	FieldText    = "TEXT"    // one string
	FieldNumber  = "NUMBER"  // one number
	FieldBool    = "BOOL"    // true or false
	FieldList    = "LIST"    // array of strings, each once
	FieldObjects = "OBJECTS" // array of objects
	FieldMap     = "MAP"     // object of strings
)

// Field is one output field of the standard publication record.
type Field struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// From: TEXT, NUMBER and BOOL take the first pick that yields; LIST takes all.
	From []Pick `json:"from,omitempty"`
	// Count makes a NUMBER of how many values there are at these paths
	// together; none is no number.
	Count []string `json:"count,omitempty"`
	// Join makes one TEXT of all matches of the first pick that yields, put
	// together with this separator; Label is the path, relative to a match, of
	// a heading put before it as "LABEL: ".
	Join  string `json:"join,omitempty"`
	Label string `json:"label,omitempty"`
	// Each is the repeated element of OBJECTS, the first of these paths that
	// yields any; Fields are relative to it.
	Each   []string `json:"each,omitempty"`
	Fields []Field  `json:"fields,omitempty"`
	// Split makes an object of each part of the text that Each finds, cut where this stands
	// in it; $ is the part in Fields.
	Split string `json:"split,omitempty"`
	// Entries of MAP: key -> pick.
	Entries []Entry `json:"entries,omitempty"`
	// Allowed are the values that a TEXT, or each value of a LIST, may have, and Pattern is
	// what the whole of it must match. An item with another goes to quarantine.
	Allowed []string `json:"allowed,omitempty"`
	Pattern string   `json:"pattern,omitempty"`
}

// Matcher is what the whole of a value must match, nil if that was not said.
func (f Field) Matcher() (*regexp.Regexp, error) {
	if f.Pattern == "" {
		return nil, nil
	}
	if _, err := regexp.Compile(f.Pattern); err != nil { // as it was written
		return nil, err
	}
	return regexp.Compile("^(?:" + f.Pattern + ")$")
}

// Entry is one key of a MAP field.
type Entry struct {
	Key  string `json:"key"`
	From []Pick `json:"from"`
}

// Mapping turns items into standard records.
type Mapping struct {
	Fields []Field `json:"fields"`
	// Volatile paths change while nothing a reader cares about does (R62).
	Volatile []string `json:"volatile,omitempty"`
	// Retracted are places whose presence marks the item as retracted.
	Retracted []Presence `json:"retracted,omitempty"`
	// Required fields; an item without one goes to quarantine.
	Required []string `json:"required,omitempty"`
}

// Presence is a path and, if given, the values that count.
type Presence struct {
	Path string   `json:"path"`
	In   []string `json:"in,omitempty"`
	// Self: what counts is the item's own id.
	Self bool `json:"self,omitzero"`
}

// Version names the mapping: records made by another one differ (R30).
func (m Mapping) Version() string {
	b, err := json.Marshal(m)
	if err != nil { // strings only
		panic(fmt.Sprintf("marshal mapping: %v", err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// What limits are counted for (C16).
const (
	RateGlobal      = "GLOBAL"
	RatePerKey      = "PER_KEY"
	RatePerEndpoint = "PER_ENDPOINT"
)

// For is the rate with the bucket that a request to an endpoint is counted in,
// which goes with a credential of that name, or without.
func (r Rate) For(endpoint, credential string) Rate {
	switch {
	case r.Scope == RatePerKey && credential != "":
		r.Key += "#" + credential
	case r.Scope == RatePerEndpoint && endpoint != "":
		r.Key += "/" + endpoint
	}
	return r
}

// FaultRule says what a reply means when the status alone would mislead (R61).
// All conditions given must hold.
type FaultRule struct {
	Status   []int            `json:"status,omitempty"`
	Body     string           `json:"body,omitempty"`   // regexp on the first 4 KiB
	Signal   string           `json:"signal,omitempty"` // name in Response.Signals
	Match    string           `json:"match,omitempty"`  // regexp on the signal's text
	Endpoint string           `json:"endpoint,omitempty"`
	Level    harvest.Level    `json:"level" dict:"fault_level" doc:"how bad it is"`
	Reaction harvest.Reaction `json:"reaction" dict:"reaction" doc:"what it asks for; default: RETRY for L1, else STOP"`
	Code     string           `json:"code" doc:"a stable word, such as token_expired"`
}

// Duration is a time.Duration written as text, e.g. "10s".
type Duration time.Duration

// D is the plain duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MarshalText writes Go's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads Go's form, whole days ("30d") or ISO 8601 ("PT10M", "P1D").
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	*d = Duration(v)
	return err
}
