package source

import (
	"cmp"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
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
	InBody   = "BODY" // a field of a form, or where ${secret.NAME} stands in a body
)

// Auth is the auth dimension: how a request says who is asking. It holds no
// secret and no key's name, only the pool keys are taken from (R47).
type Auth struct {
	Type   string `yaml:"type" json:"type" dict:"auth_type" doc:"kind of credential"`
	In     string `yaml:"in" json:"in" dict:"inbound_location" doc:"where the credential is put"`
	Name   string `yaml:"name" json:"name" doc:"header, parameter or place in a body that carries the credential"`
	Prefix string `yaml:"prefix" json:"prefix,omitempty" doc:"put before the value, such as \"Bearer \""`
	// Pool is the source whose credentials are used; its own if not given.
	Pool string `yaml:"pool" json:"pool" doc:"source whose credentials are used; default: this one"`
	// Open: the source may be asked without a credential, except at the
	// endpoints that are restricted.
	Open       bool     `yaml:"open" json:"open,omitzero" doc:"the source may be asked without a credential"`
	Restricted []string `yaml:"restricted" json:"restricted,omitempty" doc:"endpoints that may not, although the source is open"`
	// Rate is what the provider allows with a credential, in place of the
	// source's own. All keys of a pool share it unless its scope is PER_KEY (R37).
	Rate *Rate `yaml:"rateLimit" json:"rateLimit,omitempty" doc:"what the provider allows with a credential; all keys together unless its scope is PER_KEY"`
	// PageSize in place of the source's own for plans made with a credential at hand (P18).
	PageSize int `yaml:"pageSize" json:"pageSize,omitzero" doc:"items per page for those who have a credential, in place of pagination.pageSize"`
	// Token is how OAUTH2 and LOGIN get the value that is sent.
	Token *TokenConfig `yaml:"token" json:"token,omitempty" doc:"how a token is got; of OAUTH2 and LOGIN"`
	// Hook signs the request of CUSTOM.
	Hook    string            `yaml:"hook" json:"hook,omitempty" doc:"name of the compiled-in hook that signs; of CUSTOM"`
	Options map[string]string `yaml:"options" json:"options,omitempty" doc:"what the hook is told besides the secret"`
	// Also are the places of the further secrets of a credential, in their order.
	Also []AuthPlace `yaml:"also" json:"also,omitempty" doc:"where further secrets go that are sent beside the first, such as an institution's token; a credential then holds one a line, in this order"`
}

// AuthPlace is where a secret goes in a request.
type AuthPlace struct {
	In     string `yaml:"in" json:"in" dict:"inbound_location" doc:"where the secret is put"`
	Name   string `yaml:"name" json:"name" doc:"header or parameter that carries it"`
	Prefix string `yaml:"prefix" json:"prefix,omitempty" doc:"put before the value"`
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

// Places are where secrets go in a request; those of a hook only it knows.
func (a *Auth) Places() []AuthPlace {
	if a.Type == AuthCustom {
		return a.Also
	}
	return append([]AuthPlace{{In: a.In, Name: a.Name, Prefix: a.Prefix}}, a.Also...)
}

// TakesPair reports whether a credential is a name and a secret with a colon between.
func (a *Auth) TakesPair() bool {
	switch a.Type {
	case AuthBasic, AuthOAuth2:
		return true
	case AuthLogin:
		return a.Token != nil && slices.ContainsFunc(keysOf(a.Token.Fields), func(k string) bool { return strings.Contains(a.Token.Fields[k], "${secret.password}") })
	}
	return a.Type == AuthCustom && a.Options["id"] != ""
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

func (a *Auth) canonical() *Auth {
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
	c.Rate = a.Rate.canonical()
	c.Also = slices.Clone(a.Also)
	for i := range c.Also {
		canonical(DictInbound, &c.Also[i].In)
	}
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

// authRequired checks that there is a credential for endpoints that are never asked without.
func (c *compiler) authRequired(a *Auth) {
	if a != nil && a.Type != AuthNone {
		return
	}
	for _, e := range c.def.Endpoints {
		if e.AuthRequired {
			c.fail(join("endpoints", e.Name)+".authRequired", "needs auth: which credential there is, and where it goes")
		}
	}
}

// auth checks how the source is authorised against what its endpoints send.
func (c *compiler) auth() {
	const path = "auth"
	cfg := c.def.Auth
	c.authRequired(cfg)
	if cfg == nil {
		return
	}
	if !coded(c, path+".type", DictAuth, cfg.Type) {
		return
	}
	if cfg.Type == AuthNone {
		if !reflect.DeepEqual(*cfg, Auth{Type: AuthNone, Open: cfg.Open}) {
			c.fail(path, "type NONE has no other keys")
		}
		return
	}
	a := new(*cfg)
	a.Pool = cmp.Or(a.Pool, c.def.Source)
	a.Restricted = slices.Clone(a.Restricted)
	a.Options = maps.Clone(a.Options)
	a.Also = slices.Clone(a.Also)
	if a.PageSize < 0 {
		c.fail(path+".pageSize", "%d is below 1", a.PageSize)
	}
	a.Token = c.token(path+".token", cfg)
	c.signing(path, cfg)
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
	if !codePattern.MatchString(a.Pool) {
		c.fail(path+".pool", "%q is not the code of a source", a.Pool)
	}
	if a.Type != AuthCustom {
		c.authPlace(path, AuthPlace{a.In, a.Name, a.Prefix})
	}
	for i, p := range a.Also {
		at := fmt.Sprintf("%s.also[%d]", path, i)
		oneOf(c, at+".in", p.In, InHeader, InQuery, InBody)
		c.authPlace(at, p)
		before := a.Places()[:len(a.Places())-len(a.Also)+i]
		if slices.ContainsFunc(before, func(o AuthPlace) bool { return o.In == p.In && strings.EqualFold(o.Name, p.Name) }) {
			c.fail(at+".name", "%s carries another secret already", p.Name)
		}
	}
	var names []string
	for _, e := range c.def.Endpoints {
		names = append(names, e.Name)
		if e.AuthRequired && a.Open && !slices.Contains(a.Restricted, e.Name) {
			a.Restricted = append(a.Restricted, e.Name)
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
	if a.Rate != nil {
		r := c.rateLimit(path+".rateLimit", *a.Rate)
		a.Rate = &r
		if len(r.LimitHeaders) == 0 {
			r.LimitHeaders = c.spec.Rate.LimitHeaders
		}
	}
	c.spec.Auth = a
}

// token checks how a token is got, and fills in what was not said.
func (c *compiler) token(path string, a *Auth) *TokenConfig {
	if wants := a.Type == AuthOAuth2 || a.Type == AuthLogin; wants != (a.Token != nil) {
		if wants {
			c.fail(path, "is required: where %s gets its token", a.Type)
		} else {
			c.fail(path, "belongs to OAUTH2 and LOGIN, not to %s", a.Type)
		}
		return nil
	}
	if a.Token == nil {
		return nil
	}
	t := *a.Token
	t.Fields = maps.Clone(t.Fields)
	t.Body = cmp.Or(t.Body, "FORM")
	t.Path = cmp.Or(t.Path, "access_token")
	t.Life = cmp.Or(t.Life, Duration(30*time.Minute))
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
	return &t
}

// signing checks what belongs to a hook. Whether the hook is there is known
// where requests are made.
func (c *compiler) signing(path string, a *Auth) {
	switch {
	case a.Type != AuthCustom && (a.Hook != "" || len(a.Options) > 0):
		c.fail(path+".hook", "belongs to CUSTOM, not to %s", a.Type)
	case a.Type == AuthCustom && a.Hook == "":
		c.fail(path+".hook", "is required: the name of the hook that signs")
	case a.Type == AuthCustom && (a.In != "" || a.Name != "" || a.Prefix != ""):
		c.fail(path, "in, name and prefix are the hook's own affair; give it options")
	}
}

// secrets checks those that the template of a body has places for.
func (c *compiler) secrets(path, body string) {
	t, err := ParseBody(body)
	if err != nil {
		return // said
	}
	for _, name := range t.Blanks() {
		a := c.def.Auth
		if a == nil || !slices.ContainsFunc(append([]AuthPlace{{In: a.In, Name: a.Name}}, a.Also...), func(p AuthPlace) bool { return p.In == InBody && p.Name == name }) {
			c.fail(path, "no credential of auth is in: BODY with the name %s", name)
		}
	}
}

// authPlace checks where a secret goes.
func (c *compiler) authPlace(path string, a AuthPlace) {
	if strings.ContainsFunc(a.Prefix, control) {
		c.fail(path+".prefix", "holds a control character")
	}
	for _, e := range c.def.Endpoints {
		if a.In != InBody || len(e.Form) > 0 {
			continue
		}
		if e.Body == "" {
			c.fail(path+".in", "endpoint %s has no form and no body that a credential could go into", e.Name)
			continue
		}
		next := ""
		if e.Next != nil {
			next = e.Next.Body
		}
		for _, body := range []string{e.Body, cmp.Or(next, e.Body)} {
			t, err := ParseBody(body)
			if err == nil && !slices.Contains(t.Blanks(), a.Name) {
				c.fail(path+".in", "the body of endpoint %s has no ${secret.%s}, where the credential goes", e.Name, a.Name)
				break
			}
		}
	}
	c.authName(path+".name", a)
}

// authName holds the credential's name against what is sent beside it.
func (c *compiler) authName(path string, a AuthPlace) {
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
			taken("http.headers", c.def.HTTP.Headers.Texts())
		}
	} else if strings.ContainsFunc(a.Name, control) {
		c.fail(path, "holds a control character")
	}
	for _, e := range c.def.Endpoints {
		at := join("endpoints", e.Name)
		switch a.In {
		case InHeader:
			taken(at+".headers", e.Headers.Texts())
			for _, k := range keysOf(e.Headers) {
				if e.Headers[k] == nil && strings.EqualFold(k, a.Name) {
					c.fail(path, "%s is taken away by %s; a credential is sent to every endpoint", a.Name, join(at+".headers", k))
				}
			}
		case InQuery:
			taken(at+".query", e.Query)
		case InBody:
			taken(at+".form", e.Form)
		}
	}
}

func control(r rune) bool { return r < ' ' || r == 0x7f }
