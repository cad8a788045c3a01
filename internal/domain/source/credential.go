package source

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Kinds of authorisation.
const (
	AuthNone   = "NONE"
	AuthAPIKey = "API_KEY" // the value as it is, under a name
	AuthBearer = "BEARER"  // Authorization: Bearer value
	AuthBasic  = "BASIC"   // Authorization: Basic base64(value); the value is user:password
	AuthOAuth2 = "OAUTH2"  // a token for client credentials; the value is id:secret
	AuthLogin  = "LOGIN"   // a token got by a login of the source's own kind
	AuthCustom = "CUSTOM"  // a named hook signs the request
)

// Places of a credential in a request.
const (
	InHeader = "HEADER"
	InQuery  = "QUERY"
	InBody   = "BODY" // of a form
)

// CodeAuthRefused is the fault of a credential that was refused. A source whose
// refusals do not come as a 401 says so with a fault rule of this code: its
// auth signature (R42).
const CodeAuthRefused = "auth_refused"

// AuthConfig is the auth dimension: how a request says who is asking. It holds
// no secret and no key's name, only the pool keys are taken from (R47).
type AuthConfig struct {
	Type   string `yaml:"type" dict:"auth_type" doc:"kind of credential"`
	In     string `yaml:"in" dict:"inbound_location" doc:"where the credential is put"`
	Name   string `yaml:"name" doc:"header or parameter that carries the credential"`
	Prefix string `yaml:"prefix" doc:"put before the value, such as \"Bearer \""`
	// Pool is the source whose credentials are used; its own if not given.
	Pool string `yaml:"pool" doc:"source whose credentials are used; default: this one"`
	// Open: the source may be asked without a credential, except at the
	// endpoints that are restricted.
	Open       bool     `yaml:"open" doc:"the source may be asked without a credential"`
	Restricted []string `yaml:"restricted" doc:"endpoints that may not, although the source is open"`
	// RateLimit is what the provider allows with a credential, in place of
	// the source's own. All keys of a pool share it (R37).
	RateLimit *RateLimitConfig `yaml:"rateLimit" doc:"what the provider allows with a credential, all keys together"`
	// PageSize in place of the source\'s own where a credential is there (P18).
	PageSize int               `yaml:"pageSize" doc:"items per page for those who have a credential, in place of pagination.pageSize"`
	Token    *TokenConfig      `yaml:"token" doc:"how a token is got; of OAUTH2 and LOGIN"`
	Hook     string            `yaml:"hook" doc:"name of the compiled-in hook that signs; of CUSTOM"`
	Options  map[string]string `yaml:"options" doc:"what the hook is told besides the secret"`
}

// TokenConfig says how a token is got for a credential. Tokens live in the
// process alone and are got anew when they are refused or about to expire.
type TokenConfig struct {
	URL string `yaml:"url" json:"url" doc:"where: a path under the base URL, or an https address"`
	// Body and Fields are what is sent. OAUTH2 sends grant_type and scope by itself.
	Body   string            `yaml:"body" json:"body" dict:"token_body" doc:"how: FORM or JSON; default FORM"`
	Fields map[string]string `yaml:"fields" json:"fields,omitempty" doc:"what is sent; ${secret}, ${secret.user} and ${secret.password} stand for the credential and its parts before and after the colon"`
	Client string            `yaml:"client" json:"client,omitempty" dict:"inbound_location" doc:"where OAUTH2 puts the client: HEADER (default) or BODY"`
	Scope  string            `yaml:"scope" json:"scope,omitempty" doc:"scope asked for; of OAUTH2"`
	Path   string            `yaml:"path" json:"path" doc:"where the token is in the reply, default access_token"`
	Expiry string            `yaml:"expiry" json:"expiry,omitempty" doc:"where its life in seconds is, default expires_in"`
	Life   Duration          `yaml:"life" json:"life" doc:"its life if the reply does not say, default 30m"`
}

// Auth is an [AuthConfig] made ready.
type Auth struct {
	Type       string   `json:"type"`
	In         string   `json:"in"`
	Name       string   `json:"name"`
	Prefix     string   `json:"prefix,omitempty"`
	Pool       string   `json:"pool"`
	Open       bool     `json:"open,omitzero"`
	Restricted []string `json:"restricted,omitempty"`
	Rate       *Rate    `json:"rateLimit,omitempty"`
	// PageSize for plans made with a credential at hand, 0 for the source's own.
	PageSize int `json:"pageSize,omitzero"`
	// Token is how OAUTH2 and LOGIN get the value that is sent.
	Token *TokenConfig `json:"token,omitempty"`
	// Hook signs the request of CUSTOM.
	Hook    string            `json:"hook,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// Anonymous reports whether an endpoint may be asked without a credential.
func (s *Spec) Anonymous(p Purpose) bool {
	a := s.Auth
	if a == nil {
		return true
	}
	e := s.Endpoint(p)
	return a.Open && e != nil && !slices.Contains(a.Restricted, e.Name)
}

func (a *AuthConfig) canonical() *AuthConfig {
	if a == nil {
		return nil
	}
	c := *a
	canonical(DictAuth, &c.Type)
	canonical(DictInbound, &c.In)
	c.Pool = strings.ToLower(strings.TrimSpace(a.Pool))
	switch c.Type {
	case AuthBearer, AuthBasic:
		c.In, c.Name = cmp.Or(c.In, InHeader), cmp.Or(c.Name, "Authorization")
	case AuthOAuth2, AuthLogin:
		c.In, c.Name = cmp.Or(c.In, InHeader), cmp.Or(c.Name, "Authorization")
		if c.Prefix == "" && c.Name == "Authorization" {
			c.Prefix = "Bearer "
		}
	}
	c.RateLimit = a.RateLimit.canonical()
	if a.Token != nil {
		t := *a.Token
		canonical(DictTokenBody, &t.Body)
		canonical(DictInbound, &t.Client)
		c.Token = &t
	}
	return &c
}

// neverAuth are headers that a credential cannot be.
var neverAuth = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Range", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "User-Agent", "X-Ingest-Correlation-Id",
}

// auth checks how the source is authorised against what its endpoints send.
func (c *compiler) auth() {
	const path = "auth"
	cfg := c.def.Auth
	if cfg == nil {
		return
	}
	if !coded(c, path+".type", DictAuth, cfg.Type) {
		return
	}
	if cfg.Type == AuthNone {
		if !reflect.DeepEqual(*cfg, AuthConfig{Type: AuthNone, Open: cfg.Open}) {
			c.fail(path, "type NONE has no other keys")
		}
		return
	}
	a := &Auth{
		Type: cfg.Type, In: cfg.In, Name: cfg.Name, Prefix: cfg.Prefix, Pool: cmp.Or(cfg.Pool, c.def.Source),
		Open: cfg.Open, Restricted: slices.Clone(cfg.Restricted), PageSize: cfg.PageSize,
	}
	if a.PageSize < 0 {
		c.fail(path+".pageSize", "%d is below 1", a.PageSize)
	}
	c.token(path+".token", cfg, a)
	c.signing(path, cfg, a)
	if a.Type != AuthCustom {
		oneOf(c, path+".in", a.In, InHeader, InQuery, InBody)
	}
	if a.Type == AuthBearer || a.Type == AuthBasic {
		if a.In != InHeader {
			c.fail(path+".in", "a %s goes into a HEADER", a.Type)
		}
		if a.Prefix != "" {
			c.fail(path+".prefix", "a %s has a prefix of its own", a.Type)
		}
	}
	if strings.ContainsFunc(a.Prefix, control) {
		c.fail(path+".prefix", "holds a control character")
	}
	if !codePattern.MatchString(a.Pool) {
		c.fail(path+".pool", "%q is not the code of a source", a.Pool)
	}
	if a.Type != AuthCustom {
		c.authName(path+".name", a)
	}
	var names []string
	for _, e := range c.def.Endpoints {
		names = append(names, e.Name)
		if a.In == InBody && len(e.Form) == 0 {
			c.fail(path+".in", "endpoint %s has no form that a credential could go into", e.Name)
		}
	}
	for i, r := range a.Restricted {
		if !slices.Contains(names, r) {
			c.fail(fmt.Sprintf("%s.restricted[%d]", path, i), "%s is not an endpoint%s", r, Suggest(r, names))
		}
	}
	if len(a.Restricted) > 0 && !a.Open {
		c.fail(path+".restricted", "without open: true every endpoint is restricted")
	}
	if cfg.RateLimit != nil {
		r := c.rateLimit(path+".rateLimit", cfg.RateLimit)
		a.Rate = &r
		if len(r.LimitHeaders) == 0 {
			r.LimitHeaders = c.spec.Rate.LimitHeaders
		}
	}
	c.spec.Auth = a
}

// token checks how a token is got.
func (c *compiler) token(path string, cfg *AuthConfig, a *Auth) {
	if wants := a.Type == AuthOAuth2 || a.Type == AuthLogin; wants != (cfg.Token != nil) {
		if wants {
			c.fail(path, "is required: where %s gets its token", a.Type)
		} else {
			c.fail(path, "belongs to OAUTH2 and LOGIN, not to %s", a.Type)
		}
		return
	}
	if cfg.Token == nil {
		return
	}
	t := *cfg.Token
	t.Fields = maps.Clone(t.Fields)
	t.Body, t.Path, t.Life = cmp.Or(t.Body, "FORM"), cmp.Or(t.Path, "access_token"), cmp.Or(t.Life, Duration(30*time.Minute))
	t.Expiry = cmp.Or(t.Expiry, "expires_in")
	coded(c, path+".body", DictTokenBody, t.Body)
	if u, err := url.Parse(t.URL); err != nil || t.URL == "" || u.User != nil || u.Fragment != "" ||
		(u.Host == "" && !strings.HasPrefix(u.Path, "/")) || (u.Host != "" && u.Scheme != "https" && (c.def.HTTP == nil || !c.def.HTTP.AllowHTTP)) {
		c.fail(path+".url", "%q is neither a path such as /oauth/token nor an https address", t.URL)
	}
	if a.Type == AuthOAuth2 {
		t.Client = cmp.Or(t.Client, InHeader)
		oneOf(c, path+".client", t.Client, InHeader, InBody)
		if t.Body != "FORM" {
			c.fail(path+".body", "OAUTH2 sends a FORM")
		}
	} else {
		if len(t.Fields) == 0 {
			c.fail(path+".fields", "is required: what a login sends, such as key: ${secret}")
		}
		if t.Client != "" || t.Scope != "" {
			c.fail(path, "client and scope belong to OAUTH2")
		}
	}
	if t.Life <= 0 {
		c.fail(path+".life", "%s is no life", t.Life.D())
	}
	for _, k := range keysOf(t.Fields) {
		rest := strings.NewReplacer("${secret}", "", "${secret.user}", "", "${secret.password}", "").Replace(t.Fields[k])
		if strings.Contains(rest, "${") {
			c.fail(join(path+".fields", k), "knows ${secret}, ${secret.user} and ${secret.password} only")
		}
	}
	a.Token = &t
}

// signing checks what belongs to a hook. Whether the hook is there is known
// where requests are made.
func (c *compiler) signing(path string, cfg *AuthConfig, a *Auth) {
	a.Hook, a.Options = cfg.Hook, maps.Clone(cfg.Options)
	switch {
	case a.Type != AuthCustom && (cfg.Hook != "" || len(cfg.Options) > 0):
		c.fail(path+".hook", "belongs to CUSTOM, not to %s", a.Type)
	case a.Type == AuthCustom && cfg.Hook == "":
		c.fail(path+".hook", "is required: the name of the hook that signs")
	case a.Type == AuthCustom && (cfg.In != "" || cfg.Name != "" || cfg.Prefix != ""):
		c.fail(path, "in, name and prefix are the hook's own affair; give it options")
	}
}

// authName holds the credential's name against what is sent beside it.
func (c *compiler) authName(path string, a *Auth) {
	if a.Name == "" {
		c.fail(path, "is required: the header or parameter that carries the credential")
		return
	}
	taken := func(where string, m map[string]string) {
		for _, k := range keysOf(m) {
			if strings.EqualFold(k, a.Name) {
				c.fail(path, "%s is already sent as %s", a.Name, join(where, k))
			}
		}
	}
	if a.In == InHeader {
		switch {
		case !headerName.MatchString(a.Name):
			c.fail(path, "%q is not a header name", a.Name)
		case slices.Contains(neverAuth, textproto.CanonicalMIMEHeaderKey(a.Name)):
			c.fail(path, "%s cannot carry a credential", a.Name)
		}
		if c.def.HTTP != nil {
			taken("http.headers", c.def.HTTP.Headers)
		}
	} else if strings.ContainsFunc(a.Name, control) {
		c.fail(path, "holds a control character")
	}
	for _, e := range c.def.Endpoints {
		at := join("endpoints", e.Name)
		switch a.In {
		case InHeader:
			taken(at+".headers", e.Headers)
		case InQuery:
			taken(at+".query", e.Query)
		case InBody:
			taken(at+".form", e.Form)
		}
	}
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// SecretKind is where a secret is kept.
type SecretKind string

// The kinds of secrets.
const (
	SecretEnv    SecretKind = "ENV"    // in an environment variable
	SecretFile   SecretKind = "FILE"   // in a file
	SecretSealed SecretKind = "SEALED" // encrypted, in the store
)

// SecretRef is where a secret is, and nothing of the secret itself.
type SecretRef struct {
	Kind SecretKind `json:"kind"`
	// Ref is the variable's name or the file's path.
	Ref string `json:"ref,omitempty"`
	// Sealed is the encrypted value. MAC tells two of them apart without
	// telling what they are; it needs the sealing key to be made.
	Sealed []byte `json:"-"`
	MAC    string `json:"mac,omitempty"`
}

// States of a credential.
const (
	CredentialActive   = "ACTIVE"
	CredentialDisabled = "DISABLED"
)

// Credential is one key of a source's pool, in force in [From, To).
type Credential struct {
	ID   int64  `json:"id"`
	Pool string `json:"source"`
	Name string `json:"name"`
	// Endpoint it is bound to; empty: all of them.
	Endpoint string            `json:"endpoint,omitempty"`
	Scope    Scope             `json:"scope"`
	Task     harvest.Operation `json:"task,omitempty"` // of TASK only
	Secret   SecretRef         `json:"secret"`
	// Preferred keys are used before others of the same standing.
	Preferred bool `json:"preferred"`
	// Weight is its share among keys that are used in turn.
	Weight int       `json:"weight"`
	Status string    `json:"status"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to,omitzero"`
	// Supersedes is the row this one was put in place of.
	Supersedes int64 `json:"supersedes,omitzero"`
	// Refused counts refusals in a row; until RefusedUntil the key rests.
	Refused      int       `json:"refused,omitzero"`
	RefusedUntil time.Time `json:"refused_until,omitzero"`
}

// InForce reports whether the credential holds at an instant.
func (c Credential) InForce(at time.Time) bool {
	return c.Status == CredentialActive && !c.From.After(at) && (c.To.IsZero() || c.To.After(at))
}

// Resting reports whether the credential was refused of late.
func (c Credential) Resting(at time.Time) bool { return c.RefusedUntil.After(at) }

// Aim is what a credential is wanted for.
type Aim struct {
	Endpoint string
	Task     harvest.Operation
}

// fits reports whether a credential may be used for an aim at all.
func (c Credential) fits(a Aim) bool {
	return (c.Endpoint == "" || c.Endpoint == a.Endpoint) && (c.Scope == ScopeSource || c.Task == a.Task)
}

// Serves reports whether a credential is there for an aim, resting or not.
func (c Credential) Serves(a Aim, at time.Time) bool { return c.fits(a) && c.InForce(at) }

// standing orders credentials that differ in kind: bound to the endpoint before
// global, TASK before SOURCE, preferred before others (R45).
func (c Credential) standing() int {
	n := 0
	if c.Endpoint == "" {
		n += 4
	}
	if c.Scope == ScopeSource {
		n += 2
	}
	if !c.Preferred {
		n++
	}
	return n
}

// Candidates lists the credentials for an aim that are in force and not
// resting, best first: by standing, then the newest start, then the highest id
// (M1.4, R45).
func Candidates(all []Credential, aim Aim, at time.Time) []Credential {
	var out []Credential
	for _, c := range all {
		if c.Serves(aim, at) && !c.Resting(at) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Credential) int {
		return cmp.Or(cmp.Compare(a.standing(), b.standing()), b.From.Compare(a.From), cmp.Compare(b.ID, a.ID))
	})
	return out
}

// Turn lets candidates of the same standing take turns by weight: the one whose
// turn it is comes first, the others stay in order behind it, to fall back on.
func Turn(candidates []Credential, turn uint64) []Credential {
	if len(candidates) == 0 {
		return nil
	}
	peers, total := 0, uint64(0)
	for peers < len(candidates) && candidates[peers].standing() == candidates[0].standing() {
		total += uint64(max(1, candidates[peers].Weight))
		peers++
	}
	at := turn % total
	first := 0
	for ; first < peers-1; first++ {
		w := uint64(max(1, candidates[first].Weight))
		if at < w {
			break
		}
		at -= w
	}
	out := make([]Credential, 0, len(candidates))
	out = append(out, candidates[first])
	out = append(out, candidates[:first]...)
	return append(out, candidates[first+1:]...)
}

// Rests after a refusal: the breaker of a key. Whoever has mended the key sets
// it anew, which ends the rest.
const (
	firstRest = 5 * time.Minute
	maxRest   = 24 * time.Hour
)

// Rest is how long a key rests after so many refusals in a row; afterwards it
// is tried once more.
func Rest(refused int) time.Duration {
	d := firstRest
	for i := 1; i < refused && d < maxRest; i++ {
		d *= 2
	}
	return min(d, maxRest)
}

// Key is a credential with its secret, picked for one request.
type Key struct {
	Credential Credential
	Secret     Secret
}

// KeyOutcome is what an upstream made of a key.
type KeyOutcome string

// The outcomes.
const (
	KeyAccepted KeyOutcome = "ACCEPTED"
	KeyRefused  KeyOutcome = "REFUSED"
)

// CredentialChange is one thing done to a pool.
type CredentialChange struct {
	Add *Credential `json:"add,omitempty"`
	// Close ends a row now, Disable takes it out of use.
	Close   int64 `json:"close,omitempty"`
	Disable int64 `json:"disable,omitempty"`
	// Reseal replaces how a row's secret is kept, not the secret.
	Reseal int64      `json:"reseal,omitempty"`
	Secret *SecretRef `json:"secret,omitempty"`
}

var credentialName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// IsCredentialName reports whether s can be the name of a credential.
func IsCredentialName(s string) bool { return credentialName.MatchString(s) }

// CheckCredential checks a credential before it is written; all findings at once.
func CheckCredential(c Credential) error {
	var bad Violations
	fail := func(path, format string, args ...any) {
		bad = append(bad, Violation{Path: path, Text: fmt.Sprintf(format, args...)})
	}
	if !IsCredentialName(c.Name) {
		// It may be a secret in the wrong place: it is not repeated.
		fail("name", "is not a name: up to 64 letters, digits, dots, - and _")
	}
	if (c.Scope == ScopeTask) != (c.Task != "") || c.Scope != ScopeTask && c.Scope != ScopeSource {
		fail("scope", "a TASK credential names its operation, a SOURCE one none")
	}
	if c.Weight < 1 || c.Weight > 1000 {
		fail("weight", "%d is not within [1, 1000]", c.Weight)
	}
	switch c.Secret.Kind {
	case SecretEnv, SecretFile:
		if c.Secret.Ref == "" || strings.ContainsFunc(c.Secret.Ref, control) || len(c.Secret.Ref) > 255 {
			fail("secret", "a reference has 1 to 255 printable characters")
		}
	case SecretSealed:
		if len(c.Secret.Sealed) == 0 {
			fail("secret", "is empty")
		}
	default:
		fail("secret", "kind %q is not known", c.Secret.Kind)
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

// CheckSecret refuses a value that cannot be sent or could not be kept out of
// messages.
func CheckSecret(s Secret) error {
	v := s.Reveal()
	switch {
	case len(v) < MinSecret:
		return fmt.Errorf("the secret is shorter than %d characters", MinSecret)
	case len(v) > 8<<10:
		return errors.New("the secret is longer than 8 KiB")
	case strings.ContainsFunc(v, control):
		return errors.New("the secret holds a line break or another control character")
	}
	return nil
}
