package upstream

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func signed(hook string, options map[string]string) *source.Spec {
	return authSpec(source.Auth{Type: source.AuthCustom, Hook: hook, Options: options})
}

// TestHook_HMACOverTheWire: a server that checks signatures lets a request
// through, each page and each repetition signed for itself, and the kept request
// knows nothing of it (R48).
func TestHook_HMACOverTheWire(t *testing.T) {
	const secret = "c4nary-signing-key"
	var stamps []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stamps = append(stamps, r.Header.Get("X-Timestamp"))
		mac := hmac.New(sha256.New, []byte(secret))
		io.WriteString(mac, r.Method+"\n"+r.URL.EscapedPath()+"\n"+r.URL.Query().Encode()+"\n"+r.Header.Get("X-Timestamp"))
		if r.Header.Get("X-Signature") != hex.EncodeToString(mac.Sum(nil)) {
			w.WriteHeader(401)
			return
		}
		if len(stamps) == 1 {
			w.WriteHeader(503)
			return
		}
		io.WriteString(w, goodReply)
	}))
	defer srv.Close()
	client := newClient(Config{Credentials: &pool{keys: []string{secret}}}, new(free), jsonDecoder{})
	defer client.Close()
	call := source.Call{Purpose: source.ForSearch, BaseURL: source.WithCredentials(srv.URL + "/a b")}
	spec := signed("hmac-sha256", nil)
	a, err := client.Ask(t.Context(), spec, call)
	if err != nil || len(stamps) != 2 {
		t.Fatalf("%v after %d requests", err, len(stamps))
	}
	spec.Auth = nil
	b, err := client.Ask(t.Context(), spec, call)
	if err == nil {
		t.Error("an unsigned request went through")
	}
	if a.Request != b.Request || a.RequestSHA256 != b.RequestSHA256 {
		t.Errorf("signed %s %s, unsigned %s %s", a.Request, a.RequestSHA256, b.Request, b.RequestSHA256)
	}
}

func TestHook_HMACOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := play(status(200, goodReply))
		spec := signed("hmac-sha256", map[string]string{
			"header": "authorization", "prefix": "HMAC ", "encoding": "base64", "timestamp": "X-Date", "cover": "timestamp, body,method", "id": "X-Key-Id",
		})
		spec.Search.Form = map[string]string{"a": "1"}
		if _, err := keyed(n, new(free), &pool{keys: []string{"me:the-signing-key"}}).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
			t.Fatal(err)
		}
		body, stamp := sha256.Sum256([]byte("a=1")), fmt.Sprint(time.Now().Unix())
		mac := hmac.New(sha256.New, []byte("the-signing-key"))
		fmt.Fprintf(mac, "%s\n%x\nPOST", stamp, body)
		h := n.asked[0].Header
		if h.Get("Authorization") != "HMAC "+base64.StdEncoding.EncodeToString(mac.Sum(nil)) || h.Get("X-Date") != stamp || h.Get("X-Key-Id") != "me" {
			t.Errorf("sent %v", h)
		}
	})
}

// TestHook_UnknownOnesAreFoundBeforehand, with a suggestion, and so are options.
func TestHook_UnknownOnesAreFoundBeforehand(t *testing.T) {
	for want, change := range map[string]func(*source.Spec){
		"": func(s *source.Spec) { s.Search.Hook = "jsonp" },
		"auth.hook: hmac-sha265 is not a hook of this build: did you mean hmac-sha256?":               func(s *source.Spec) { s.Auth.Hook = "hmac-sha265" },
		"auth.hook: jsonp is not a hook of this build: known are hmac-sha256":                         func(s *source.Spec) { s.Auth.Hook = "jsonp" },
		"endpoints.works.hook: json is not a hook of this build: did you mean jsonp?":                 func(s *source.Spec) { s.Search.Hook = "json" },
		"endpoints.fetch.hook: frobnicate is not a hook of this build: known are jsonp, strip-prefix": func(s *source.Spec) { s.Detail.Hook = "frobnicate" },
		"auth.options: heder is not an option of hmac-sha256: did you mean header?":                   func(s *source.Spec) { s.Auth.Options = map[string]string{"heder": "X"} },
		`auth.options: header: "Host" is not a header that can be set`:                                func(s *source.Spec) { s.Auth.Options = map[string]string{"header": "Host"} },
		"auth.options: cover: bodi is not a part of a request: did you mean body?":                    func(s *source.Spec) { s.Auth.Options = map[string]string{"cover": "path,bodi"} },
		"auth.options: encoding: rot13 is neither hex nor base64":                                     func(s *source.Spec) { s.Auth.Options = map[string]string{"encoding": "rot13"} },
		"auth.options: prefix: holds a control character":                                             func(s *source.Spec) { s.Auth.Options = map[string]string{"prefix": "a\nb"} },
	} {
		spec := signed("hmac-sha256", nil)
		change(spec)
		got := ""
		if bad := Check(spec); len(bad) > 0 {
			got = bad[0].Path + ": " + bad[0].Text
		}
		if got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

// signFunc is a hook for a test.
type signFunc func(*Signing) error

func (signFunc) Check(map[string]string) error { return nil }
func (f signFunc) Sign(r *Signing) error       { return f(r) }

// TestHook_FailuresStopTheSource: a hook that breaks down is L4, sends nothing
// and tells nothing; the process lives.
func TestHook_FailuresStopTheSource(t *testing.T) {
	const secret = "c4nary-signing-key"
	for name, f := range map[string]signFunc{
		"panics":                  func(r *Signing) error { panic("with " + r.Secret.Reveal()) },
		"panics with a part":      func(r *Signing) error { panic(r.Secret.Reveal()[:6]) }, // too short for a redactor
		"panics with an error":    func(r *Signing) error { panic(fmt.Errorf("with %s", r.Secret.Reveal())) },
		"out of range":            func(r *Signing) error { return errors.New(r.Body[7:]) },
		"nil map":                 func(r *Signing) error { r.Options["x"] = "y"; return nil },
		"refuses":                 func(r *Signing) error { return errors.New("cannot sign with " + r.Secret.Reveal()) },
		"sends it elsewhere":      func(r *Signing) error { r.URL.Host = "evil.example"; return nil },
		"sends it in plain":       func(r *Signing) error { r.URL.Scheme = "http"; return nil },
		"takes the address away":  func(r *Signing) error { r.URL = nil; return nil },
		"takes the headers away":  func(r *Signing) error { r.Header = nil; return nil },
		"is not there any longer": nil,
	} {
		t.Run(name, func(t *testing.T) {
			n := play(status(200, goodReply))
			g := new(free)
			p := &pool{keys: []string{secret}}
			var logs bytes.Buffer
			c := newClient(Config{
				Transport: n, Credentials: p, Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}, g, jsonDecoder{})
			c.hooks = hooks{signers: map[string]Signer{}}
			if f != nil {
				c.hooks.signers["odd"] = f
			}
			spec := signed("odd", nil)
			spec.Paging.Stateful = true
			a, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: harvest.Position{Token: "in the middle"}})
			if f := mustFault(t, err); f.Code != "hook_failed" || f.Level != harvest.Fatal || f.Reaction != harvest.GiveUp {
				t.Errorf("%+v", f)
			}
			if len(n.asked) != 0 || a.Traffic.Sent != 0 || g.inside != 0 || len(p.told) != 0 {
				t.Errorf("%d requests left, %d counted, %v", len(n.asked), a.Traffic.Sent, p.told)
			}
			var said strings.Builder
			said.WriteString(fmt.Sprintf("%v %+v %#v %+v %s", err, err, err, a, logs.String()))
			for e := range tree(err) {
				said.WriteString(fmt.Sprintf(" %v %#v", e, e))
			}
			if strings.Contains(said.String(), "c4nary") {
				t.Errorf("the key is in %s", said.String())
			}
		})
	}
}

// TestHook_RepliesAreRewritten before they are decoded; digests are of what came.
func TestHook_RepliesAreRewritten(t *testing.T) {
	for name, c := range map[string]struct {
		hook  string
		reply string
		code  harvest.Code
	}{
		"jsonp":                     {"jsonp", `callback({"items":["1"]});`, ""},
		"jsonp as frameworks do":    {"jsonp", "/**/ typeof jq.cb1 === 'function' && jq.cb1({\"items\":[\"1\"]}) ;\n", ""},
		"jsonp that is none":        {"jsonp", `{"items":["1"]}`, ""},
		"jsonp that was cut off":    {"jsonp", `callback({"items":["1"`, "bad_reply"},
		"jsonp, and nothing in it":  {"jsonp", `cb()`, "bad_reply"},
		"jsonp, a page for people":  {"jsonp", `<html>f(x)</html>`, "unexpected_html"},
		"guard":                     {"strip-prefix", ")]}',\n{\"items\":[\"1\"]}", ""},
		"guard without comma":       {"strip-prefix", ")]}'\n{\"items\":[\"1\"]}", ""},
		"loop":                      {"strip-prefix", `for(;;);{"items":["1"]}`, ""},
		"no guard":                  {"strip-prefix", `{"items":["1"]}`, ""},
		"guard of something else":   {"strip-prefix", `)]}',`, "bad_reply"},
		"panics":                    {"panics", goodReply, "hook_failed"},
		"panics out of range":       {"range", `x`, "hook_failed"},
		"grows":                     {"grows", goodReply, "reply_too_large"},
		"says the reply is broken":  {"refuses", goodReply, "bad_reply"},
		"no hook of this name":      {"gone", goodReply, "hook_failed"},
		"an error inside is seen":   {"jsonp", `cb({"items":[],"error":"odd"})`, "error_in_reply"},
		"a rule sees it as it came": {"jsonp", `cb({"busy":1})`, "busy"},
		"jsonp by an odd name":      {"jsonp", `_x.y[0]({"items":["1"]})`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := play(status(200, c.reply))
			cl := client(n, new(free))
			cl.hooks.rewriters = map[string]Rewriter{
				"jsonp": unwrapJSONP, "strip-prefix": stripPrefix,
				"panics":  func([]byte) ([]byte, error) { panic("oh") },
				"range":   func(b []byte) ([]byte, error) { return b[9:], nil },
				"grows":   func(b []byte) ([]byte, error) { return bytes.Repeat(b, 100), nil },
				"refuses": func([]byte) ([]byte, error) { return nil, errors.New("no") },
			}
			spec := testSpec()
			spec.Search.Hook, spec.HTTP.MaxBody = c.hook, 1000
			spec.Retry = source.Retry{Attempts: 2, Base: source.Duration(time.Microsecond), Max: source.Duration(time.Microsecond)}
			spec.Faults = []source.FaultRule{{Body: `^cb\(\{"busy`, Level: harvest.Transient, Reaction: harvest.Retry, Code: "busy"}}
			a, err := cl.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			if c.code != "" {
				f := mustFault(t, err)
				if f.Code != c.code || c.code == "hook_failed" && (f.Level != harvest.Fatal || f.Reaction != harvest.GiveUp) {
					t.Errorf("%+v: %v", f, err)
				}
				return
			}
			if err != nil || len(a.Page.Items) != 1 || a.Page.Items[0].ID != "1" {
				t.Fatalf("%v %+v", err, a.Page)
			}
			if sum := sha256.Sum256([]byte(c.reply)); a.ReplySHA256 != hex.EncodeToString(sum[:]) {
				t.Error("the digest is not of the reply as it came")
			}
		})
	}
}
