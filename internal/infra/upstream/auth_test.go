package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// pool hands out keys in order and remembers what it was told.
type pool struct {
	keys []string
	open bool
	mu   sync.Mutex
	told []string // guarded by mu
}

func (p *pool) Pick(_ context.Context, spec *source.Spec, _ source.Purpose, _ []string, tried []int64) (credential.Key, bool, error) {
	for i, k := range p.keys {
		if id := int64(i + 1); !slices.Contains(tried, id) {
			return credential.Key{Credential: credential.Credential{ID: id, Name: fmt.Sprintf("k%d", id)}, Secret: credential.NewSecret(k)}, true, nil
		}
	}
	if p.open {
		return credential.Key{}, false, nil
	}
	return credential.Key{}, false, fmt.Errorf("all of %s refused: %w", spec.Source, harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeAuthRefused})
}

func (p *pool) Report(_ context.Context, k credential.Key, o credential.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, k.Credential.Name+" "+string(o))
}

func authSpec(a source.Auth) *source.Spec {
	s := testSpec()
	a.Pool = "src"
	s.Auth = &a
	return s
}

func keyed(n *network, g Gate, p Credentials) *Client {
	return newClient(Config{Version: "1.2.3", Transport: n, Rand: steady, Credentials: p}, g, jsonDecoder{})
}

const goodReply = `{"items":["1"]}`

// TestAuth_EveryPlace: where the key goes, and that nothing else of the request
// or its digest knows of it.
func TestAuth_EveryPlace(t *testing.T) {
	const secret = "k&y/with=odd chars"
	esc := url.QueryEscape(secret)
	bare := play(status(200, goodReply))
	plain, err := client(bare, &free{}).Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		auth  source.Auth
		query string // added
		head  [2]string
	}{
		"query":   {source.Auth{Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key"}, "api_key=" + esc, [2]string{}},
		"header":  {source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Token", Prefix: "Bearer "}, "", [2]string{"X-Token", "Bearer " + secret}},
		"bearer":  {source.Auth{Type: source.AuthBearer, In: source.InHeader, Name: "Authorization"}, "", [2]string{"Authorization", "Bearer " + secret}},
		"basic":   {source.Auth{Type: source.AuthBasic, In: source.InHeader, Name: "Authorization"}, "", [2]string{"Authorization", "Basic ayZ5L3dpdGg9b2RkIGNoYXJz"}},
		"nothing": {source.Auth{}, "", [2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			n := play(status(200, goodReply))
			spec := authSpec(c.auth)
			if name == "nothing" {
				spec.Auth = nil
			}
			a, err := keyed(n, &free{}, &pool{keys: []string{secret}}).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			if err != nil {
				t.Fatal(err)
			}
			want := bare.asked[0].URL.RawQuery
			if c.query != "" {
				want = appendPair(want, c.query)
			}
			if got := n.asked[0].URL.RawQuery; got != want {
				t.Errorf("query %s, want %s", got, want)
			}
			h := n.asked[0].Header.Clone()
			if c.head[0] != "" && h.Get(c.head[0]) != c.head[1] {
				t.Errorf("header %s: %q", c.head[0], h.Get(c.head[0]))
			}
			h.Del(c.head[0])
			if fmt.Sprint(h) != fmt.Sprint(bare.asked[0].Header) {
				t.Errorf("other headers changed: %v", h)
			}
			if a.Request != plain.Request || a.RequestSHA256 != plain.RequestSHA256 {
				t.Errorf("request %s %s, without a key %s %s", a.Request, a.RequestSHA256, plain.Request, plain.RequestSHA256)
			}
		})
	}
}

func TestAuth_BodyOfAForm(t *testing.T) {
	n := play(status(200, goodReply))
	spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InBody, Name: "key"})
	spec.Search.Method, spec.Search.Form = "POST", map[string]string{"a": "1"}
	if _, err := keyed(n, &free{}, &pool{keys: []string{"secret-key"}}).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
		t.Fatal(err)
	}
	if n.bodies[0] != "a=1&key=secret-key" || n.asked[0].ContentLength != int64(len(n.bodies[0])) {
		t.Errorf("body %q, length %d", n.bodies[0], n.asked[0].ContentLength)
	}
}

// TestR48_KeysInABody: where the template says, escaped as the body wants it, and
// of all that is kept of the request nothing knows of it.
func TestR48_KeysInABody(t *testing.T) {
	const secret, second = "k&y/\"with\"\\odd <chars>", "another one"
	for name, c := range map[string]struct{ kind, body, want, without string }{
		"JSON":    {"application/json", `{"q":"${page.size}","key":"${secret.key}","i":${secret.inst}}`, `{"q":"20","key":"Key k\u0026y/\"with\"\\odd \u003cchars\u003e","i":"another one"}`, `{"q":"20","key":"","i":""}`},
		"twice":   {"application/vnd.api+json", `[${secret.key},${ secret.key },${secret.inst}]`, `["Key k\u0026y/\"with\"\\odd \u003cchars\u003e","Key k\u0026y/\"with\"\\odd \u003cchars\u003e","another one"]`, `["","",""]`},
		"text":    {"text/plain", "${secret.key} ${secret.inst}: ${page.size}", "Key " + secret + " another one: 20", " : 20"},
		"a form":  {formType, "a=1&k=${secret.key}&i=${secret.inst}", "a=1&k=Key+k%26y%2F%22with%22%5Codd+%3Cchars%3E&i=another+one", "a=1&k=&i="},
		"XML":     {"application/xml", "<k>${secret.key}</k>${secret.inst}", "<k>Key k&amp;y/&#34;with&#34;\\odd &lt;chars&gt;</k>another one", "<k></k>"},
		"escaped": {"text/plain", "$${secret.key} ${secret.key} ${secret.inst}", "${secret.key} Key " + secret + " another one", "${secret.key}  "},
	} {
		t.Run(name, func(t *testing.T) {
			spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InBody, Name: "key", Prefix: "Key ", Open: true, Also: []source.AuthPlace{{In: source.InBody, Name: "inst"}}})
			spec.Search.Method = "POST"
			spec.Search.Body = c.body
			spec.Search.ContentType = c.kind
			spec.Search.Query = nil
			spec.Paging.Size = 20
			if bad := Check(spec); len(bad) > 0 {
				t.Fatal(bad)
			}
			var digests []string
			for keys, want := range map[string]string{secret + "\n" + second: c.want, "": c.without} {
				n, p := play(status(200, goodReply)), &pool{open: true}
				if keys != "" {
					p.keys = []string{keys}
				}
				a, err := keyed(n, &free{}, p).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
				if err != nil {
					t.Fatal(err)
				}
				if n.bodies[0] != want || n.asked[0].ContentLength != int64(len(want)) {
					t.Errorf("sent %q, want %q", n.bodies[0], want)
				}
				digests = append(digests, a.RequestSHA256)
			}
			if digests[0] != digests[1] {
				t.Error("the digest knows of the key")
			}
		})
	}
	for _, body := range []string{"${secret.key + 'x'}", "${secret}", "${secret.a-b}", "a\x00key\x00"} {
		if _, err := source.ParseBody(body); err == nil {
			t.Errorf("%q is a template", body)
		}
	}
	if _, err := source.ParseTemplate("${secret.key}"); err == nil {
		t.Error("a secret can stand outside of a body")
	}
}

// TestR48_NoValueIsABlank: what comes from elsewhere is never taken for the place
// of a secret.
func TestR48_NoValueIsABlank(t *testing.T) {
	for _, kind := range []string{"application/json", "text/plain", formType, "text/xml"} {
		spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InBody, Name: "key"})
		spec.Search.Method = "POST"
		spec.Search.Body = `"${page.token}" "${secret.key}"`
		spec.Search.ContentType = kind
		n := play(status(200, goodReply))
		_, err := keyed(n, &free{}, &pool{keys: []string{"secret-key"}}).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: harvest.Position{Token: blank("key"), Pages: 1}})
		if err == nil && strings.Count(n.bodies[0], "secret-key") != 1 {
			t.Errorf("%s: sent %q", kind, n.bodies[0])
		}
	}
}

// TestR42_RefusedKeys: the next one at once, through the gate; then without, if
// that is allowed; else L4.
func TestR42_RefusedKeys(t *testing.T) {
	header := source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"}
	rule := source.FaultRule{Status: []int{403}, Body: "bad key", Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: string(harvest.CodeAuthRefused)}
	for name, c := range map[string]struct {
		replies []func(*http.Request) (*http.Response, error)
		open    bool
		sent    string
		told    string
		fault   harvest.Code
	}{
		"first is good":            {list(status(200, goodReply)), false, "key-one-1", "k1 ACCEPTED", ""},
		"second is good":           {list(status(401, ""), status(200, goodReply)), false, "key-one-1 key-two-2", "k1 REFUSED k2 ACCEPTED", ""},
		"both refused":             {list(status(401, "")), false, "key-one-1 key-two-2", "k1 REFUSED k2 REFUSED", harvest.CodeAuthRefused},
		"both refused, open":       {list(status(401, ""), status(401, ""), status(200, goodReply)), true, "key-one-1 key-two-2 -", "k1 REFUSED k2 REFUSED", ""},
		"open, and refused":        {list(status(401, "")), true, "key-one-1 key-two-2 -", "k1 REFUSED k2 REFUSED", harvest.CodeAuthRefused},
		"403 with the signature":   {list(status(403, "bad key"), status(200, goodReply)), false, "key-one-1 key-two-2", "k1 REFUSED k2 ACCEPTED", ""},
		"403 without":              {list(status(403, "not today")), false, "key-one-1", "", "http_403"},
		"a fault is not a refusal": {list(status(503, ""), status(200, goodReply)), false, "key-one-1 key-one-1", "k1 ACCEPTED", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := play(c.replies...)
			g := &free{}
			p := &pool{keys: []string{"key-one-1", "key-two-2"}, open: c.open}
			spec := authSpec(header)
			spec.Faults = []source.FaultRule{rule}
			spec.Retry.Base, spec.Retry.Max = source.Duration(time.Microsecond), source.Duration(time.Microsecond)
			a, err := keyed(n, g, p).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			var sent []string
			for _, r := range n.asked {
				sent = append(sent, cmpOr(r.Header.Get("X-Key"), "-"))
			}
			if got := strings.Join(sent, " "); got != c.sent {
				t.Errorf("sent %s, want %s", got, c.sent)
			}
			if got := strings.Join(p.told, " "); got != c.told {
				t.Errorf("told %s, want %s", got, c.told)
			}
			if g.acquired != len(sent) || a.Traffic.Sent != len(sent) {
				t.Errorf("%d permits and %d counted for %d requests", g.acquired, a.Traffic.Sent, len(sent))
			}
			if c.fault == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			f := mustFault(t, err)
			if f.Code != c.fault || c.fault == harvest.CodeAuthRefused && f.Level != harvest.Fatal {
				t.Errorf("fault %+v", f)
			}
		})
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// TestR42_RestrictedNeverGoesWithout: no keyring, or a connection everybody can
// read: nothing leaves.
func TestR42_RestrictedNeverGoesWithout(t *testing.T) {
	for name, c := range map[string]struct {
		creds Credentials
		base  string
		open  bool
		code  harvest.Code // empty: one request leaves
		key   bool
	}{
		"no keyring":                  {nil, "", false, "no_credential", false},
		"no keyring, open":            {nil, "", true, "", false},
		"plain http":                  {&pool{keys: []string{"secret-key"}}, "http://mirror.example", false, "auth_in_plain", false},
		"plain http, open":            {&pool{keys: []string{"secret-key"}}, "http://mirror.example", true, "", false},
		"plain http to this machine":  {&pool{keys: []string{"secret-key"}}, "http://127.0.0.1:99", false, "", true},
		"plain http to this machine6": {&pool{keys: []string{"secret-key"}}, "http://[::1]:99", false, "", true},
		"https elsewhere":             {&pool{keys: []string{"secret-key"}}, "https://mirror.example", false, "", true},
	} {
		n := play(status(200, goodReply))
		spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key", Open: c.open})
		_, err := keyed(n, &free{}, c.creds).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: source.WithCredentials(c.base)})
		switch {
		case c.code != "" && (err == nil || mustFault(t, err).Code != c.code || len(n.asked) != 0):
			t.Errorf("%s: %v, %d requests", name, err, len(n.asked))
		case c.code == "" && (err != nil || len(n.asked) != 1 || (n.asked[0].Header.Get("X-Key") != "") != c.key):
			t.Errorf("%s: %v, %d requests", name, err, len(n.asked))
		}
	}
}

// rates remembers which rate each request asked for.
type rates struct {
	free
	asked []string
}

func (g *rates) Acquire(ctx context.Context, r source.Rate, cost int, d time.Duration) (context.Context, func(bool), pace.Pass, error) {
	g.asked = append(g.asked, fmt.Sprintf("%s %v", r.Key, r.QPS))
	return g.free.Acquire(ctx, r, cost, d)
}

func (g *rates) Report(ctx context.Context, r source.Rate, o pace.Outcome) bool {
	g.asked = append(g.asked, fmt.Sprintf("report %v", r.QPS))
	return g.free.Report(ctx, r, o)
}

// TestR37_AKeyHasARateOfItsOwn, in the same bucket; without the key the
// source's own holds again.
func TestR37_AKeyHasARateOfItsOwn(t *testing.T) {
	g := new(rates)
	spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key", Open: true, Rate: &source.Rate{Key: "src", QPS: 8}})
	spec.Rate = source.Rate{Key: "src", QPS: 2}
	n := play(status(401, ""), status(200, goodReply))
	if _, err := keyed(n, g, &pool{keys: []string{"secret-key"}, open: true}).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(g.asked, ", "); got != "src 8, report 8, src 2, report 2" {
		t.Errorf("gate: %s", got)
	}
}

// TestR48_EchoedKeysAreGone: whatever an upstream writes back of a key, in
// whatever place, nobody sees it.
func TestR48_EchoedKeysAreGone(t *testing.T) {
	const secret = `c4nary-"quoted"/+&key`
	esc := url.QueryEscape(secret)
	spec := func() *source.Spec {
		return authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key"})
	}
	for name, reply := range map[string]func(*http.Request) (*http.Response, error){
		"400 that repeats it":     status(400, `{"error":"API key invalid","api-key":"c4nary-\"quoted\"\/+&key"}`),
		"html with the URL":       status(200, `<html>no page at /works?api_key=`+esc+`</html>`),
		"no JSON":                 status(200, `oops `+secret),
		"a signal":                status(200, `{"items":[],"error":"key `+strings.ReplaceAll(secret, `"`, `\"`)+` is not known"}`),
		"an error with its URL":   broken(&url.Error{Op: "Get", URL: "https://h/?api_key=" + esc, Err: errors.New("dial: " + secret)}),
		"an error without":        broken(fmt.Errorf("read %q: %w", secret, errors.New(esc))),
		"an error of another kin": broken(fmt.Errorf("bad header %s", "Yzr1YXJ5"+secret)),
	} {
		t.Run(name, func(t *testing.T) {
			s := spec()
			s.Retry.Attempts = 1
			s.Search.Response.Signals = map[string]string{"error": "error"}
			a, err := keyed(play(reply), &free{}, &pool{keys: []string{secret}}).Ask(t.Context(), s, source.Call{Purpose: source.ForSearch})
			var said strings.Builder
			fmt.Fprintf(&said, "%v %+v %#v %v", err, err, err, a)
			for e := range tree(err) {
				fmt.Fprintf(&said, " %v %#v", e, e)
			}
			text := said.String()
			for _, f := range []string{secret, esc, `\"quoted\"`, "c4nary"} {
				if strings.Contains(text, f) {
					t.Errorf("%q in %s", f, text)
				}
			}
		})
	}
}

// TestAuth_FurtherSecrets: each goes to its own place, whatever the first one
// is, and is part of neither the digest nor what is kept of the request.
func TestAuth_FurtherSecrets(t *testing.T) {
	also := []source.AuthPlace{{In: source.InHeader, Name: "X-Inst", Prefix: "I "}, {In: source.InQuery, Name: "inst"}}
	plain, err := client(play(status(200, goodReply)), &free{}).Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch})
	if err != nil {
		t.Fatal(err)
	}
	for name, auth := range map[string]source.Auth{
		"key":       {Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"},
		"basic":     {Type: source.AuthBasic, In: source.InHeader, Name: "Authorization"},
		"signature": {Type: source.AuthCustom, Hook: "hmac-sha256"},
	} {
		n := play(status(200, goodReply))
		auth.Also = also
		a, err := keyed(n, &free{}, &pool{keys: []string{"first-c4nary\nsecond-c4nary\nthird-c4nary"}}).Ask(t.Context(), authSpec(auth), source.Call{Purpose: source.ForSearch})
		if err != nil {
			t.Fatal(err)
		}
		r := n.asked[0]
		if r.Header.Get("X-Inst") != "I second-c4nary" || r.URL.Query().Get("inst") != "third-c4nary" || strings.Contains(fmt.Sprint(r.Header), "third") {
			t.Errorf("%s: %v %s", name, r.Header, r.URL)
		}
		if name == "key" && r.Header.Get("X-Key") != "first-c4nary" {
			t.Errorf("%s: %v", name, r.Header)
		}
		if a.Request != plain.Request || a.RequestSHA256 != plain.RequestSHA256 {
			t.Errorf("%s: request %s %s, without a key %s %s", name, a.Request, a.RequestSHA256, plain.Request, plain.RequestSHA256)
		}
	}
}

// TestR48_PositionsLoseTheKey: what a reply hands on for the next page is kept
// without the key, and the next page gets its own.
func TestR48_PositionsLoseTheKey(t *testing.T) {
	a := &source.Auth{In: source.InQuery, Name: "api_key"}
	for in, want := range map[string]string{
		"":                              "",
		"plain-token==":                 "plain-token==",
		"https://h/p?api_key=x":         "https://h/p",
		"https://h/p?a=1&API_KEY=x&b=2": "https://h/p?a=1&b=2",
		"https://h/p?a=1&api%5Fkey=x":   "https://h/p?a=1",
		"cursor=7&api_key=x":            "cursor=7",
		"https://h/p?a=%zz&api_key=x&token=y&b=&c": "https://h/p?a=%zz&token=y&b=&c",
	} {
		p := &harvest.Page{URL: in, Token: in, Held: map[string]string{"h": in}}
		removeKeys(a, p)
		if p.URL != want || p.Token != want || p.Held["h"] != want {
			t.Errorf("%q: %+v, want %q", in, p, want)
		}
	}
	two := &source.Auth{Type: source.AuthBearer, In: source.InHeader, Name: "Authorization", Also: []source.AuthPlace{{In: source.InQuery, Name: "inst"}, {In: source.InBody, Name: "more"}}}
	p := &harvest.Page{URL: "https://h/p?inst=x&a=1&more=y", Token: "inst=x&c=7"}
	if removeKeys(two, p); p.URL != "https://h/p?a=1" || p.Token != "c=7" {
		t.Errorf("%+v", p)
	}
	spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key"})
	n := play(status(200, goodReply))
	call := source.Call{Purpose: source.ForSearch, Position: harvest.Position{URL: "https://api.example.org/v1/works?page=2&api_key=old-secret"}}
	ans, err := keyed(n, &free{}, &pool{keys: []string{"new-secret"}}).Ask(t.Context(), spec, call)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.asked[0].URL.RawQuery; got != "page=2&api_key=new-secret" || strings.Contains(ans.Request, "secret") {
		t.Errorf("sent %s, kept %s", got, ans.Request)
	}
}

// echoDecoder makes an item, a link and a held value of the whole reply.
type echoDecoder struct{}

func (d echoDecoder) For(*source.Spec, source.Purpose) (Decoder, error) { return d, nil }

func (echoDecoder) PageContext(_ context.Context, b []byte) (*harvest.Page, error) {
	return &harvest.Page{URL: string(b), Held: map[string]string{"h": string(b)}, Items: []harvest.Item{{Raw: b}}}, nil
}

// TestR48_GoodRepliesAreCleanedToo: a page that repeats the key is kept without
// it, in its items as in what leads on from it.
func TestR48_GoodRepliesAreCleanedToo(t *testing.T) {
	const secret = "c4nary-key/+1"
	spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key"})
	for body, want := range map[string]string{
		"https://h/p?api_key=" + url.QueryEscape(secret) + "&page=2": "https://h/p?page=2",
		"https://h/p?api_key=of-somebody-else&page=2":                "https://h/p?page=2",
		"https://h/p?k=" + secret:                                    "https://h/p?k=***",
	} {
		c := newClient(Config{Transport: play(status(200, body)), Credentials: &pool{keys: []string{secret}}}, &free{}, echoDecoder{})
		a, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		if err != nil {
			t.Fatal(err)
		}
		if a.Page.URL != want || a.Page.Held["h"] != want || strings.Contains(string(a.Page.Items[0].Raw), "c4nary") {
			t.Errorf("%s: kept %+v %s", body, a.Page, a.Page.Items[0].Raw)
		}
	}
}
