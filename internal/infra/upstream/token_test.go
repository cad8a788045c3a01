package upstream

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// issuer is a source that wants tokens: POSTs get one, the rest must bring one.
type issuer struct {
	mu     sync.Mutex
	posts  []*http.Request
	bodies []string
	gets   []*http.Request
	// token answers the n-th POST, page the n-th other request, counted from 1.
	token func(n int, w http.ResponseWriter)
	page  func(n int, w http.ResponseWriter, r *http.Request)
}

func (s *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	var n int
	post := r.Method == http.MethodPost
	if post {
		s.posts, s.bodies = append(s.posts, r), append(s.bodies, string(body))
		n = len(s.posts)
	} else {
		s.gets = append(s.gets, r)
		n = len(s.gets)
	}
	s.mu.Unlock()
	switch {
	case post && s.token != nil:
		s.token(n, w)
	case post:
		fmt.Fprintf(w, `{"access_token":"the-token-of-the-test-%d","expires_in":3600}`, n)
	case s.page != nil:
		s.page(n, w, r)
	default:
		io.WriteString(w, goodReply)
	}
}

// RoundTrip lets it be asked without a network.
func (s *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

func oauth(t source.TokenConfig) *source.Spec {
	return tokenSpec(source.AuthOAuth2, "Bearer ", t)
}

func tokenSpec(kind, prefix string, t source.TokenConfig) *source.Spec {
	if t.URL == "" {
		t.URL = "/oauth/token"
	}
	if t.Path == "" {
		t.Path = "access_token"
	}
	if t.Expiry == "" {
		t.Expiry = "expires_in"
	}
	if t.Life == 0 {
		t.Life = source.Duration(30 * time.Minute)
	}
	s := authSpec(source.Auth{Type: kind, In: source.InHeader, Name: "Authorization", Prefix: prefix, Token: &t})
	s.Retry.Base, s.Retry.Max = source.Duration(time.Microsecond), source.Duration(time.Microsecond)
	return s
}

// TestToken_OAuth2 over the wire: one token for several pages, each request
// through the gate, the client in its place.
func TestToken_OAuth2(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("client-id:s3cret%2Fpart%3Ax"))
	for name, c := range map[string]struct {
		token source.TokenConfig
		auth  string
		form  url.Values
	}{
		"client in the header": {source.TokenConfig{}, basic, url.Values{"grant_type": {"client_credentials"}}},
		"scope and more": {
			source.TokenConfig{Scope: "read all", Fields: map[string]string{"audience": "https://x", "who": "<${secret.user}>"}},
			basic,
			url.Values{"grant_type": {"client_credentials"}, "scope": {"read all"}, "audience": {"https://x"}, "who": {"<client-id>"}},
		},
		"client in the body": {
			source.TokenConfig{Client: source.InBody},
			"",
			url.Values{"grant_type": {"client_credentials"}, "client_id": {"client-id"}, "client_secret": {"s3cret/part:x"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := new(issuer)
			srv := httptest.NewServer(s)
			defer srv.Close()
			g, p := new(free), &pool{keys: []string{"client-id:s3cret/part:x"}}
			client := newClient(Config{Version: "1", Credentials: p}, g, jsonDecoder{})
			defer client.Close()
			sent := 0
			for range 3 {
				a, err := client.Ask(t.Context(), oauth(c.token), source.Call{Purpose: source.ForSearch, BaseURL: source.WithCredentials(srv.URL + "/v2")})
				if err != nil {
					t.Fatal(err)
				}
				sent += a.Traffic.Sent
			}
			if len(s.posts) != 1 || len(s.gets) != 3 || g.acquired != 4 || sent != 4 || g.inside != 0 || len(g.told) != 4 {
				t.Errorf("%d tokens, %d pages, %d permits, %d counted", len(s.posts), len(s.gets), g.acquired, sent)
			}
			post := s.posts[0]
			form, _ := url.ParseQuery(s.bodies[0])
			if post.URL.Path != "/v2/oauth/token" || post.Header.Get("Authorization") != c.auth || form.Encode() != c.form.Encode() ||
				post.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || !strings.HasPrefix(post.UserAgent(), "patra/1") {
				t.Errorf("asked %s with %v and %s", post.URL, post.Header, s.bodies[0])
			}
			for _, r := range s.gets {
				if got := r.Header.Get("Authorization"); got != "Bearer the-token-of-the-test-1" {
					t.Errorf("page asked with %q", got)
				}
			}
			if got := strings.Join(p.told, " "); got != "k1 ACCEPTED k1 ACCEPTED k1 ACCEPTED" {
				t.Errorf("told %s", got)
			}
		})
	}
}

// TestToken_Login: P25, with what is sent, where the token is found and how it is put
// declared.
func TestToken_Login(t *testing.T) {
	for name, c := range map[string]struct {
		token  source.TokenConfig
		prefix string
		reply  string
		body   string
		auth   string
	}{
		"JSON, as Dimensions has it": {
			source.TokenConfig{URL: "/auth.json", Body: "JSON", Fields: map[string]string{"key": "${secret}"}, Path: "token"},
			"JWT ",
			`{"token":"the-token-of-the-test-1"}`, `{"key":"me@x.org:pa\"ss"}`, "JWT the-token-of-the-test-1",
		},
		"form with user and password": {
			source.TokenConfig{Fields: map[string]string{"u": "${secret.user}", "p": "${secret.password}"}, Path: "data.session.id"},
			"Token ",
			`{"data":{"session":{"id":"the-token-of-the-test-1"}}}`, `p=pa%22ss&u=me%40x.org`, "Token the-token-of-the-test-1",
		},
		"a number, and an end as text": {
			source.TokenConfig{Fields: map[string]string{"key": "${secret}"}, Path: "sid", Expiry: "ttl"},
			"",
			`{"sid":12345678901234567890,"ttl":"60"}`, `key=me%40x.org%3Apa%22ss`, "12345678901234567890",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &issuer{token: func(_ int, w http.ResponseWriter) { w.WriteHeader(201); io.WriteString(w, c.reply) }}
			srv := httptest.NewServer(s)
			defer srv.Close()
			client := newClient(Config{Credentials: &pool{keys: []string{`me@x.org:pa"ss`}}}, new(free), jsonDecoder{})
			defer client.Close()
			if _, err := client.Ask(t.Context(), tokenSpec(source.AuthLogin, c.prefix, c.token), source.Call{Purpose: source.ForSearch, BaseURL: source.WithCredentials(srv.URL)}); err != nil {
				t.Fatal(err)
			}
			if s.bodies[0] != c.body || s.gets[0].Header.Get("Authorization") != c.auth {
				t.Errorf("sent %s, then %q", s.bodies[0], s.gets[0].Header.Get("Authorization"))
			}
		})
	}
}

// TestToken_RenewedBeforeItEnds, by a tenth of its life or a minute.
func TestToken_RenewedBeforeItEnds(t *testing.T) {
	for _, c := range []struct {
		reply string
		life  time.Duration // as used
	}{
		{`{"access_token":"the-token-of-the-test","expires_in":600}`, 540 * time.Second},
		{`{"access_token":"the-token-of-the-test","expires_in":7200}`, 7140 * time.Second},
		{`{"access_token":"the-token-of-the-test","expires_in":"20"}`, 18 * time.Second},
		{`{"access_token":"the-token-of-the-test","expires_in":1e300}`, 30*24*time.Hour - time.Minute},
		{`{"access_token":"the-token-of-the-test","expires_in":0}`, 29 * time.Minute},
		{`{"access_token":"the-token-of-the-test","expires_in":null}`, 29 * time.Minute},
		{`{"access_token":"the-token-of-the-test"}`, 29 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &issuer{token: func(_ int, w http.ResponseWriter) { io.WriteString(w, c.reply) }}
			client := newClient(Config{Transport: s, Credentials: &pool{keys: []string{"client-id:client-secret"}}}, new(free), jsonDecoder{})
			ask := func() int {
				if _, err := client.Ask(t.Context(), oauth(source.TokenConfig{}), source.Call{Purpose: source.ForSearch}); err != nil {
					t.Fatal(err)
				}
				return len(s.posts)
			}
			ask()
			time.Sleep(c.life - time.Second)
			before := ask()
			time.Sleep(time.Second)
			if after := ask(); before != 1 || after != 2 {
				t.Errorf("%s: %d tokens just before, %d after %v", c.reply, before, after, c.life)
			}
		})
	}
}

// TestToken_OneAtATime: who comes while it is under way waits for it; a leader that
// leaves is replaced.
func TestToken_OneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &issuer{token: func(n int, w http.ResponseWriter) {
			time.Sleep(5 * time.Second)
			fmt.Fprintf(w, `{"access_token":"the-token-of-the-test-%d"}`, n)
		}}
		client := newClient(Config{Transport: slow{s}, Credentials: &pool{keys: []string{"client-id:client-secret"}}}, new(free), jsonDecoder{})
		leader, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := client.Ask(leader, oauth(source.TokenConfig{}), source.Call{Purpose: source.ForSearch})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the leader: %v", err)
			}
		})
		synctest.Wait()
		for range 20 {
			wg.Go(func() {
				if _, err := client.Ask(t.Context(), oauth(source.TokenConfig{}), source.Call{Purpose: source.ForSearch}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		leave()
		wg.Wait()
		if len(s.posts) != 2 || len(s.gets) != 20 {
			t.Errorf("%d tokens for %d pages", len(s.posts), len(s.gets))
		}
	})
}

// slow answers, or is left.
type slow struct{ *issuer }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	type result struct {
		res *http.Response
		err error
	}
	done := make(chan result, 1)
	go func() {
		res, err := s.issuer.RoundTrip(r)
		done <- result{res, err}
	}()
	select {
	case got := <-done:
		return got.res, got.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// TestR42_RefusedTokens: a new token once, then the key is refused and the next
// one's turn; then L4.
func TestR42_RefusedTokens(t *testing.T) {
	fine := func(n int, w http.ResponseWriter) { fmt.Fprintf(w, `{"access_token":"the-token-of-the-test-%d"}`, n) }
	const no = 401
	// answers by number; the last for ever
	tokens := func(codes ...int) func(int, http.ResponseWriter) {
		return func(n int, w http.ResponseWriter) {
			code := codes[min(n, len(codes))-1]
			if code == 429 {
				w.Header().Set("Retry-After", "5")
			}
			w.WriteHeader(code)
			if code == 200 {
				fine(n, w)
			}
		}
	}
	pages := func(codes ...int) func(int, http.ResponseWriter, *http.Request) {
		return func(n int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(codes[min(n, len(codes))-1])
			io.WriteString(w, goodReply)
		}
	}
	for name, c := range map[string]struct {
		token func(int, http.ResponseWriter)
		page  func(int, http.ResponseWriter, *http.Request)
		log   string // T: a token asked for; p1: a page with token 1
		told  string
		fault string
		level harvest.Level
		least time.Duration
	}{
		"ended early":                {fine, pages(no, 200), "T p1 T p2", "k1 ACCEPTED", "", "", 0},
		"refused by the pack's rule": {fine, pages(403, 200), "T p1 T p2", "k1 ACCEPTED", "", "", 0},
		"the key is not good":        {fine, pages(no, no, 200), "T p1 T p2 T p3", "k1 REFUSED k2 ACCEPTED", "", "", 0},
		"no key is":                  {fine, pages(no), "T p1 T p2 T p3 T p4", "k1 REFUSED k2 REFUSED", string(harvest.CodeAuthRefused), harvest.Fatal, 0},
		"no token for the first":     {tokens(401, 200), pages(200), "T T p2", "k1 REFUSED k2 ACCEPTED", "", "", 0},
		"bad request":                {tokens(400, 200), pages(200), "T T p2", "k1 REFUSED k2 ACCEPTED", "", "", 0},
		"forbidden":                  {tokens(403), pages(200), "T T", "k1 REFUSED k2 REFUSED", string(harvest.CodeAuthRefused), harvest.Fatal, 0},
		"unwell, then well":          {tokens(503, 500, 200), pages(200), "T T T p3", "k1 ACCEPTED", "", "", 0},
		"throttled":                  {tokens(429, 200), pages(200), "T T p2", "k1 ACCEPTED", "", "", 5 * time.Second},
		"unwell for ever":            {tokens(502), pages(200), "T T T T", "", "http_502", harvest.Transient, 0},
		"not there":                  {tokens(404), pages(200), "T", "", "http_404", harvest.Fatal, 0},
		"moved":                      {tokens(302), pages(200), "T T", "", "unexpected_redirect", harvest.Fatal, 0},
		"no token in the reply": {
			func(_ int, w http.ResponseWriter) { io.WriteString(w, `{"access_token":null}`) }, pages(200), "T T", "", "token_missing", harvest.Fatal, 0,
		},
		"not JSON": {
			func(n int, w http.ResponseWriter) {
				if n == 1 {
					io.WriteString(w, "<html>")
				} else {
					fine(n, w)
				}
			}, pages(200), "T T p2", "k1 ACCEPTED", "", "", 0,
		},
		"a token that would break out": {
			func(_ int, w http.ResponseWriter) {
				io.WriteString(w, `{"access_token":"the-token-of-the-test\r\nX: y"}`)
			}, pages(200), "T T", "", "token_missing", harvest.Fatal, 0,
		},
		"a reply without end": {
			func(_ int, w http.ResponseWriter) { w.Write(bytes.Repeat([]byte(" "), maxTokenReply+1)) }, pages(200), "T", "", "reply_too_large", harvest.Fatal, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log []string
				s := &issuer{
					token: func(n int, w http.ResponseWriter) { log = append(log, "T"); c.token(n, w) },
					page: func(n int, w http.ResponseWriter, r *http.Request) {
						_, no, _ := strings.Cut(r.Header.Get("Authorization"), "the-token-of-the-test-")
						log = append(log, "p"+no)
						c.page(n, w, r)
					},
				}
				g, p := new(free), &pool{keys: []string{"client-one:secret-one", "client-two:secret-two"}}
				client := newClient(Config{Transport: s, Credentials: p, Rand: steady}, g, jsonDecoder{})
				spec := oauth(source.TokenConfig{})
				spec.Faults = []source.FaultRule{{Status: []int{403}, Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: string(harvest.CodeAuthRefused)}}
				start := time.Now()
				a, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
				if got := strings.Join(log, " "); got != c.log {
					t.Errorf("asked %s, want %s", got, c.log)
				}
				if got := strings.Join(p.told, " "); got != c.told {
					t.Errorf("told %s, want %s", got, c.told)
				}
				if g.acquired != len(log) || a.Traffic.Sent != len(log) || g.inside != 0 {
					t.Errorf("%d permits and %d counted for %d requests", g.acquired, a.Traffic.Sent, len(log))
				}
				if time.Since(start) < c.least {
					t.Errorf("done after %v", time.Since(start))
				}
				switch {
				case c.fault == "" && err != nil:
					t.Error(err)
				case c.fault != "":
					if f := mustFault(t, err); string(f.Code) != c.fault || f.Level != c.level {
						t.Errorf("fault %+v: %v", f, err)
					}
				}
			})
		})
	}
}

// TestR22_TokensAreBesideTheWalk: that no token is to be had uses no page up, so
// the walk is not begun again for it.
func TestR22_TokensAreBesideTheWalk(t *testing.T) {
	s := &issuer{token: func(_ int, w http.ResponseWriter) { w.WriteHeader(500) }}
	client := newClient(Config{Transport: s, Credentials: &pool{keys: []string{"client-one:secret-one"}}}, new(free), jsonDecoder{})
	spec := oauth(source.TokenConfig{})
	spec.Paging.Stateful = true
	a, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: harvest.Position{Token: "in the middle"}})
	if f := mustFault(t, err); f.Reaction != harvest.Retry || f.Lost || a.Asked || len(s.posts) != 4 || len(s.gets) != 0 {
		t.Errorf("%+v after %d requests", f, len(s.posts))
	}
}

// TestR47_AChangedSecretGetsItsOwnToken, at once.
func TestR47_AChangedSecretGetsItsOwnToken(t *testing.T) {
	s, p := new(issuer), &pool{keys: []string{"client-one:secret-old"}}
	client := newClient(Config{Transport: s, Credentials: p}, new(free), jsonDecoder{})
	var sent []string
	for _, k := range []string{"client-one:secret-old", "client-one:secret-new", "client-one:secret-old"} {
		p.keys[0] = k
		if _, err := client.Ask(t.Context(), oauth(source.TokenConfig{}), source.Call{Purpose: source.ForSearch}); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, s.gets[len(s.gets)-1].Header.Get("Authorization"))
	}
	if want := []string{"Bearer the-token-of-the-test-1", "Bearer the-token-of-the-test-2", "Bearer the-token-of-the-test-1"}; !slices.Equal(sent, want) {
		t.Errorf("sent %v", sent)
	}
}

// TestR49_TokenAddresses: where a token is asked for, and where not.
func TestR49_TokenAddresses(t *testing.T) {
	s := new(issuer)
	srv := httptest.NewServer(s)
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	for name, c := range map[string]struct {
		url        string
		base       string // of the call
		http, priv bool
		code       string
	}{
		"a path, base of the call":            {"/oauth/token", srv.URL, false, false, ""},
		"plain http, not allowed":             {"http://" + host + "/t", srv.URL, false, false, "bad_spec"},
		"plain http, allowed, test base":      {"http://" + host + "/t", srv.URL, true, false, ""},
		"loopback, no test base":              {"http://" + host + "/t", "", true, false, "address_refused"},
		"loopback, no test base, but allowed": {"http://" + host + "/t", "", true, true, ""},
		"a path that climbs":                  {"/a/%2e%2e/%2e%2e/t", srv.URL, false, false, "bad_spec"},
		"a user in it":                        {"http://me:pw@" + host + "/t", srv.URL, true, true, "bad_spec"},
		"no URL":                              {"http://[", srv.URL, true, true, "bad_spec"},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(Config{Credentials: &pool{keys: []string{"client-one:secret-one"}}}, new(free), jsonDecoder{})
			defer client.Close()
			spec := oauth(source.TokenConfig{URL: c.url})
			spec.HTTP.BaseURL = srv.URL
			spec.HTTP.AllowHTTP = c.http
			spec.HTTP.AllowPrivate = c.priv
			before := len(s.posts)
			_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: source.WithCredentials(c.base)})
			if c.code == "" {
				if err != nil || len(s.posts) != before+1 {
					t.Errorf("%v, %d tokens asked for", err, len(s.posts)-before)
				}
				return
			}
			if f := mustFault(t, err); string(f.Code) != c.code || len(s.posts) != before {
				t.Errorf("%+v, %d tokens asked for", f, len(s.posts)-before)
			}
		})
	}
}

// TestR48_TokensLeaveNoTrace: neither the token nor the secret part of the
// credential is in what is returned or logged, whatever becomes of the requests.
func TestR48_TokensLeaveNoTrace(t *testing.T) {
	const id, pw, token = "a-client", `c4nary/"secret+part`, "c4nary-t0ken-0123=="
	basic := base64.StdEncoding.EncodeToString([]byte(id + ":" + url.QueryEscape(pw)))
	echo := id + " " + pw + " " + url.QueryEscape(pw) + " " + token + " " + basic
	for name, s := range map[string]*issuer{
		"good":                 {page: func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, goodReply) }},
		"token refused":        {token: func(_ int, w http.ResponseWriter) { w.WriteHeader(401); io.WriteString(w, echo) }},
		"token endpoint down":  {token: func(_ int, w http.ResponseWriter) { w.WriteHeader(503); io.WriteString(w, echo) }},
		"token reply broken":   {token: func(_ int, w http.ResponseWriter) { io.WriteString(w, `{"access_token":"`+token) }},
		"token elsewhere":      {token: func(_ int, w http.ResponseWriter) { io.WriteString(w, `{"token":"`+token+`"}`) }},
		"token with a break":   {token: func(_ int, w http.ResponseWriter) { io.WriteString(w, `{"access_token":"`+token+`\n"}`) }},
		"token hung up on":     {token: func(int, http.ResponseWriter) { panic(http.ErrAbortHandler) }},
		"page refuses it":      {page: func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); io.WriteString(w, echo) }},
		"page repeats it":      {page: func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400); io.WriteString(w, echo) }},
		"page is broken by it": {page: func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"items":["`+echo) }},
		"page has it all": {page: func(_ int, w http.ResponseWriter, _ *http.Request) {
			b, _ := json.Marshal(map[string][]string{"items": {token, id, pw, url.QueryEscape(pw), base64.StdEncoding.EncodeToString([]byte(id + ":" + url.QueryEscape(pw)))}})
			w.Write(b)
		}},
		"page hung up on": {page: func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"a redirect with it": {page: func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/x?access_token="+url.QueryEscape(token))
			w.WriteHeader(302)
		}},
	} {
		for _, in := range []string{source.InHeader, source.InQuery} {
			t.Run(name+" "+in, func(t *testing.T) {
				s := &issuer{token: s.token, page: s.page}
				if s.token == nil {
					s.token = func(_ int, w http.ResponseWriter) { io.WriteString(w, `{"access_token":"`+token+`"}`) }
				}
				srv := httptest.NewServer(s)
				srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
				defer srv.Close()
				var logs bytes.Buffer
				client := newClient(Config{
					Credentials: &pool{keys: []string{id + ":" + pw}},
					Logger:      slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true})),
				}, new(free), jsonDecoder{})
				defer client.Close()
				spec := oauth(source.TokenConfig{})
				spec.Auth.In = in
				if in == source.InQuery {
					spec.Auth.Name, spec.Auth.Prefix = "access_token", ""
				}
				a, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: source.WithCredentials(srv.URL)})
				if (err != nil) == (name == "good" || name == "page has it all") {
					t.Errorf("got %v", err)
				}
				var said strings.Builder
				fmt.Fprintf(&said, "%v %+v %#v %+v %s", err, err, err, a, logs.String())
				if a.Page != nil {
					fmt.Fprintf(&said, " %+v", *a.Page)
				}
				for e := range tree(err) {
					fmt.Fprintf(&said, " %v %#v", e, e)
				}
				fmt.Fprintf(&said, " %v %+v %#v", client.tokens.known, client.tokens.known, client.tokens.known)
				for _, bad := range []string{"c4nary", url.QueryEscape(pw), basic[len(basic)/2:]} {
					if strings.Contains(said.String(), bad) {
						t.Errorf("%q in %s", bad, said.String())
					}
				}
				if logs.Len() == 0 {
					t.Error("nothing was logged: the test sees nothing")
				}
			})
		}
	}
}

// TestToken_KeptAreBounded: those of keys that are gone go too.
func TestToken_KeptAreBounded(t *testing.T) {
	var s tokens
	for i := range 3 * maxTokens {
		_, trouble := s.get(t.Context(), tokenID{credential: int64(i)}, func() (credential.Secret, time.Duration, *trouble) {
			return credential.NewSecret("the-token-of-the-test"), time.Hour, nil
		})
		if trouble != nil {
			t.Fatal(trouble)
		}
	}
	if len(s.known) > maxTokens {
		t.Errorf("%d are kept", len(s.known))
	}
}
