package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// Limits of a token and the reply it comes in.
const (
	maxTokenReply = 1 << 20
	maxToken      = 16 << 10
	maxTokens     = 256
)

// tryWithKey makes a try with what the source accepts for the key: its secret as it
// is, or a token got for it (OAUTH2, LOGIN). A token that is refused may only
// have ended early, so it is got anew, once; if that one is refused too, the key
// is.
func (c *Client) tryWithKey(ctx context.Context, a *attempt) *trouble {
	if a.key == nil {
		return c.try(ctx, a)
	}
	parts := a.key.Secret.Parts()
	a.secret, a.also = parts[0], parts[1:]
	if a.spec.Auth.Token == nil {
		return c.try(ctx, a)
	}
	id, err := tokenOf(a)
	if err != nil {
		return &trouble{Fault: badToken(harvest.CodeBadSpec), cause: scrub(err, a.secrets), unsent: true}
	}
	for renewed := false; ; renewed = true {
		token, t := c.tokens.get(ctx, id, func() (credential.Secret, time.Duration, *trouble) { return c.obtain(ctx, a) })
		if t != nil {
			return t
		}
		a.secrets.add(token)
		a.secret = token
		t = c.try(ctx, a)
		if t == nil || t.Code != harvest.CodeAuthRefused {
			return t
		}
		c.tokens.drop(id, token)
		if renewed {
			return t
		}
		c.cfg.Logger.DebugContext(ctx, "token refused", "source", a.spec.Source, "credential", a.key.Credential.Name, "status", t.Status)
		a.answer.Traffic.Retried++
	}
}

// badToken is a fault of getting tokens that only a person can mend.
func badToken(code harvest.Code) harvest.Fault {
	return harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: code}
}

// tokenID tells tokens apart: by credential, its value, and how and where the
// token is got.
type tokenID struct {
	credential int64
	how        [sha256.Size]byte
}

func tokenOf(a *attempt) (tokenID, error) {
	u, _, err := tokenURL(a.spec, a.call)
	if err != nil {
		return tokenID{}, err
	}
	how, err := json.Marshal([]any{a.spec.Auth.Type, a.spec.Auth.Token, u.String(), a.key.Secret.Reveal()})
	if err != nil {
		return tokenID{}, errors.New("token: it cannot be told from others")
	}
	return tokenID{a.key.Credential.ID, sha256.Sum256(how)}, nil
}

// tokens are those in use, in memory only. One is got at a time for each
// credential; whoever else wants it waits.
type tokens struct {
	mu    sync.Mutex
	known map[tokenID]*grant // guarded by mu
}

// grant is a token, and the request for the next one if it is under way. Its
// fields are guarded by the mutex of tokens.
type grant struct {
	token  credential.Secret
	until  time.Time
	flight *flight
}

// flight is a request for a token. Its result is there once done is closed.
type flight struct {
	done  chan struct{}
	token credential.Secret
	t     *trouble
}

// get returns a token that lives, obtaining it if need be.
func (s *tokens) get(
	ctx context.Context, id tokenID, obtain func() (credential.Secret, time.Duration, *trouble),
) (credential.Secret, *trouble) {
	for {
		s.mu.Lock()
		g := s.grant(id)
		if time.Now().Before(g.until) {
			defer s.mu.Unlock()
			return g.token, nil
		}
		f := g.flight
		if f == nil {
			f = &flight{done: make(chan struct{})}
			g.flight = f
			s.mu.Unlock()
			s.fetchToken(g, f, obtain)
			return f.token, f.t
		}
		s.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return credential.Secret{}, &trouble{Fault: cancelled(), cause: context.Cause(ctx), unsent: true}
		}
		if f.t == nil || f.t.Code != cancelled().Code { // else another left, not we
			return f.token, f.t
		}
	}
}

// grant finds or makes the entry of id. The caller holds mu.
func (s *tokens) grant(id tokenID) *grant {
	if g := s.known[id]; g != nil {
		return g
	}
	if len(s.known) >= maxTokens { // keys come and go
		now := time.Now()
		maps.DeleteFunc(s.known, func(_ tokenID, g *grant) bool { return g.flight == nil && !now.Before(g.until) })
	}
	for other, g := range s.known {
		if len(s.known) < maxTokens {
			break
		}
		if g.flight == nil {
			delete(s.known, other)
		}
	}
	if s.known == nil {
		s.known = map[tokenID]*grant{}
	}
	g := new(grant)
	s.known[id] = g
	return g
}

// fetchToken obtains a token and tells those who wait for it. A token is not used to its
// very end: a tenth of its life, at most a minute, is left.
func (s *tokens) fetchToken(g *grant, f *flight, obtain func() (credential.Secret, time.Duration, *trouble)) {
	asked, life := time.Now(), time.Duration(0)
	f.t = &trouble{Fault: cancelled()} // should it panic
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		g.flight = nil
		if f.t == nil {
			g.token, g.until = f.token, asked.Add(life-min(time.Minute, life/10))
		}
		close(f.done)
	}()
	f.token, life, f.t = obtain()
}

// drop gives up a token that was refused, unless another has taken its place.
func (s *tokens) drop(id tokenID, token credential.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.known[id]; g != nil && g.token.Equal(token) {
		g.until = time.Time{}
	}
}

// obtain asks for a token: a request like any other, by its own address,
// through the gate and within the limits. Nothing of the reply but the token
// and its life leaves here.
func (c *Client) obtain(ctx context.Context, a *attempt) (token credential.Secret, life time.Duration, t *trouble) {
	defer func() {
		if t != nil {
			t.beside = true
			t.Lost = false
		}
	}()
	m, err := c.tokenMessage(a)
	if err != nil {
		// With this key nothing can be asked; another may do.
		c.cfg.Logger.WarnContext(ctx, "credential cannot be used",
			"source", a.spec.Source, "credential", a.key.Credential.Name, "err", scrub(err, a.secrets))
		return token, 0, &trouble{Fault: badToken(harvest.CodeAuthRefused), cause: scrub(err, a.secrets)}
	}
	sending, release, err := c.passGate(ctx, a, 0)
	if err != nil {
		return token, 0, gateRefusal(ctx, err)
	}
	b := &attempt{compiledSpec: a.compiledSpec, message: m, call: a.call, answer: a.answer, secrets: a.secrets}
	got, err := c.exchange(sending, b, m.request(), m.body, maxTokenReply)
	release(got.status != 0 || !unconnected(err))
	b.count(got)
	switch {
	case err != nil:
		t = b.explainLoss(ctx, got, err)
		if t.Level == harvest.Rejected { // not this request, but every one
			t.Level, t.Reaction = harvest.Fatal, harvest.GiveUp
		}
	default:
		t = b.refusal(got)
		if t == nil {
			token, life, err = readToken(got.body, a.spec.Auth.Token)
			if err != nil {
				f := harvest.Fault{
					Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeTokenMissing,
					Status: got.status, Once: true,
				}
				t = &trouble{Fault: f, cause: err}
			}
		}
	}
	c.report(ctx, a, got, t)
	if t != nil {
		a.answer.Status = 0 // of the page there is none
		return credential.Secret{}, 0, t
	}
	a.secrets.add(token)
	c.cfg.Logger.DebugContext(ctx, "token obtained", "source", a.spec.Source, "credential", a.key.Credential.Name, "life", life)
	return token, life, nil
}

// refusal is what a reply without a token means: the key is not accepted, it
// will pass, or somebody has to look; nil for one that may have a token.
func (a *attempt) refusal(got received) *trouble {
	switch {
	case got.status/100 == 2:
		return nil
	case got.status == http.StatusBadRequest, got.status == http.StatusUnauthorized, got.status == http.StatusForbidden:
		f := badToken(harvest.CodeAuthRefused)
		f.Status = got.status
		return &trouble{Fault: f, cause: errors.New("no token is given for the credential")}
	}
	at, err := http.ParseTime(got.header.Get("Date"))
	if err != nil {
		at = time.Now()
	}
	r := source.Reply{Status: got.status, Type: got.header.Get("Content-Type")}
	r.RetryAfter, _ = pace.ParseRetryAfter(got.header.Get("Retry-After"), at)
	v, _ := a.rules.Default(r)
	if v.Level == harvest.Rejected {
		v.Level = harvest.Fatal
	}
	return &trouble{Fault: v, cause: errors.New("no token was given")}
}

// tokenURL is where a token is got: under the base URL, wherever that is for
// this call, or at an address of its own, which no test base replaces. open says
// whether the address may be a private one.
func tokenURL(spec *source.Spec, call source.Call) (u *url.URL, open bool, err error) {
	at, err := parseURL(spec.Auth.Token.URL)
	if err != nil || at.Opaque != "" || at.User != nil || at.Fragment != "" || !plainPath(at.Path) {
		return nil, false, errors.New("token URL: neither a path nor an address")
	}
	if at.Host != "" {
		if at.Scheme != "https" && !(at.Scheme == "http" && spec.HTTP.AllowHTTP) {
			return nil, false, errors.New("token URL: not https, and the source does not allow it")
		}
		return at, spec.HTTP.AllowPrivate || call.BaseURL != "" && loopback(at.Hostname()), nil
	}
	base, err := baseURL(spec, call)
	if err != nil {
		return nil, false, err
	}
	path := strings.TrimRight(base.EscapedPath(), "/") + "/" + strings.TrimLeft(at.EscapedPath(), "/")
	full := *base
	full.Path, err = url.PathUnescape(path)
	if err != nil {
		return nil, false, errors.New("token URL: neither a path nor an address")
	}
	full.RawPath, full.RawQuery = path, at.RawQuery
	return &full, call.BaseURL != "" || spec.HTTP.AllowPrivate, nil
}

// tokenMessage is the request for a token. It is full of secrets, so no digest
// is taken of it and nobody sees it.
func (c *Client) tokenMessage(a *attempt) (*message, error) {
	auth := a.spec.Auth
	u, open, err := tokenURL(a.spec, a.call)
	if err != nil {
		return nil, err
	}
	m := &message{method: http.MethodPost, url: u, open: open, header: http.Header{
		"Accept": {accept[source.FormatJSON]}, "Accept-Encoding": {"gzip"}, "User-Agent": {c.agent(a.spec)},
	}}
	whole := a.key.Secret.Parts()[0].Reveal()
	user, password, two := strings.Cut(whole, ":")
	fields := make(map[string]string, len(auth.Token.Fields)+4)
	fill := strings.NewReplacer("${secret}", whole, "${secret.user}", user, "${secret.password}", password)
	for k, v := range auth.Token.Fields {
		fields[k] = fill.Replace(v)
	}
	if auth.Type == source.AuthOAuth2 {
		if !two {
			return nil, errors.New("the credential is not of the form id:secret")
		}
		fields["grant_type"] = "client_credentials"
		if auth.Token.Scope != "" {
			fields["scope"] = auth.Token.Scope
		}
		if auth.Token.Client == source.InBody {
			fields["client_id"], fields["client_secret"] = user, password
		} else { // escaped first: RFC 6749, 2.3.1
			client := url.QueryEscape(user) + ":" + url.QueryEscape(password)
			m.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(client)))
		}
	}
	if auth.Token.Body == tokenJSON {
		b, err := json.Marshal(fields)
		if err != nil {
			return nil, errors.New("the credential cannot be written as JSON")
		}
		m.body = string(b)
		m.header.Set("Content-Type", "application/json")
		return m, nil
	}
	form := url.Values{}
	for k, v := range fields {
		form.Set(k, v)
	}
	m.body = form.Encode()
	m.header.Set("Content-Type", formType)
	return m, nil
}

// tokenJSON is the way of [source.TokenConfig.Body] that is not a form.
const tokenJSON = "JSON"

// readToken finds the token and its life. What is wrong with a reply is said
// without a word of it.
func readToken(body []byte, cfg *source.TokenConfig) (token credential.Secret, life time.Duration, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var reply any
	if err := dec.Decode(&reply); err != nil {
		return token, 0, errors.New("the reply to the request for a token is not JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return token, 0, errors.New("the reply to the request for a token has more than a value")
	}
	text := valueAt(reply, cfg.Path)
	switch {
	case text == "":
		return token, 0, fmt.Errorf("the reply to the request for a token has none at %s", cfg.Path)
	case len(text) > maxToken:
		return token, 0, fmt.Errorf("the token is longer than %d bytes", maxToken)
	}
	token = credential.NewSecret(text)
	if err := credential.CheckToken(token); err != nil {
		return credential.Secret{}, 0, err
	}
	life = cfg.Life.D()
	if s, err := strconv.ParseFloat(valueAt(reply, cfg.Expiry), 64); err == nil && s > 0 {
		life = time.Duration(min(s, maxLife.Seconds()) * float64(time.Second))
	}
	return token, life, nil
}

// maxLife bounds what a reply may say of a token's life.
const maxLife = 30 * 24 * time.Hour

// valueAt is the text or number at a path of names with dots between.
func valueAt(v any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = object[name]
	}
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}
