package upstream

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/telemetry"
)

// TestR80_AReplyIsSearchedForItsOwnSecrets: a source whose token is a text of
// another's records changes its own replies at most.
func TestR80_AReplyIsSearchedForItsOwnSecrets(t *testing.T) {
	const poison, doi = `10.1038/s41586-026-`, "10.1038/s41586-026-00001-1"
	page := func(_ int, w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"items":[%q]}`, doi) }
	up := &issuer{page: page, token: func(_ int, w http.ResponseWriter) { fmt.Fprintf(w, `{"access_token":%q}`, poison) }}
	shared := new(telemetry.Redactor)
	client := newClient(Config{Transport: up, Redactor: shared, Credentials: &pool{keys: []string{"client-one:secret-of-one"}}}, new(free), jsonDecoder{})
	call := source.Call{Purpose: source.ForSearch}
	own, err := client.Ask(t.Context(), oauth(source.TokenConfig{}), call)
	if err != nil || own.Page.Items[0].ID != "***00001-1" {
		t.Errorf("the reply to the token itself: %v, %v", own.Page, err)
	}
	if shared.Text(doi) == doi {
		t.Error("messages do not know the token")
	}
	for name, spec := range map[string]*source.Spec{
		"another source with a key":       authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"}),
		"another source, asked without":   testSpec(),
		"another with a password":         authSpec(source.Auth{Type: source.AuthBasic, In: source.InHeader, Name: "Authorization"}),
		"another that signs its requests": authSpec(source.Auth{Type: source.AuthCustom, Hook: "hmac-sha256"}),
	} {
		a, err := client.Ask(t.Context(), spec, call)
		if err != nil || len(a.Page.Items) != 1 || a.Page.Items[0].ID != doi {
			t.Errorf("%s: %+v, %v", name, a.Page, err)
		}
	}
}

// TestR80_EveryPartIsASecret: what a reply shows of a credential by itself, the
// password without its user or a signature, is taken out; the user is not.
func TestR80_EveryPartIsASecret(t *testing.T) {
	for name, c := range map[string]struct {
		auth source.Auth
		key  string
		part func(r *http.Request) []string // what the upstream shows
		kept string
	}{
		"the password of BASIC": {
			source.Auth{Type: source.AuthBasic, In: source.InHeader, Name: "Authorization"},
			"someone:passw0rd",
			func(r *http.Request) []string { user, pw, _ := r.BasicAuth(); return []string{pw, user} }, "someone",
		},
		"the key of a signature, and the signature": {
			source.Auth{Type: source.AuthCustom, Hook: "hmac-sha256", Options: map[string]string{"id": "X-Id"}},
			"someone:signing-key-0123",
			func(r *http.Request) []string {
				return []string{"signing-key-0123", r.Header.Get("X-Signature"), r.Header.Get("X-Id")}
			}, "someone",
		},
		"each of two secrets": {
			source.Auth{Type: source.AuthBearer, In: source.InHeader, Name: "Authorization", Also: []source.AuthPlace{{In: source.InHeader, Name: "X-Inst"}}},
			"the-first-secret-0\nthe-second-secret-0",
			func(r *http.Request) []string {
				return []string{"the-first-secret-0", r.Header.Get("X-Inst"), "someone"}
			}, "someone",
		},
	} {
		up := &issuer{page: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", strings.Join(c.part(r), " "))
			io.WriteString(w, `{"items":["`+strings.Join(c.part(r), `","`)+`"]}`)
		}}
		client := newClient(Config{Transport: up, Credentials: &pool{keys: []string{c.key}}}, new(free), jsonDecoder{})
		a, err := client.Ask(t.Context(), authSpec(c.auth), source.Call{Purpose: source.ForSearch})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, it := range a.Page.Items {
			got = append(got, it.ID)
		}
		want := slices.Repeat([]string{"***"}, len(got)-1)
		if !slices.Equal(got, append(want, c.kept)) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestR80_TokensThatAreRefused: a token that could stand in records by chance, or
// become part of the mask, is none.
func TestR80_TokensThatAreRefused(t *testing.T) {
	for token, want := range map[string]string{
		"10.1038/": "shorter than 16 bytes", `\"title\":`: "shorter than 16 bytes", "x***yzzzzzzzzzzzzzzz": "holds ***", "***": "shorter than 16 bytes",
	} {
		up := &issuer{token: func(_ int, w http.ResponseWriter) { io.WriteString(w, `{"access_token":"`+token+`"}`) }}
		client := newClient(Config{Transport: up, Credentials: &pool{keys: []string{"client-one:secret-of-one"}}}, new(free), jsonDecoder{})
		_, err := client.Ask(t.Context(), oauth(source.TokenConfig{}), source.Call{Purpose: source.ForSearch})
		if err == nil || !strings.Contains(err.Error(), want) || len(up.gets) != 0 {
			t.Errorf("%s: %d requests, %v", token, len(up.gets), err)
		}
	}
}

// TestR48_CredentialsNeedARedactor: a client that would hand back its own secrets
// cannot be made.
func TestR48_CredentialsNeedARedactor(t *testing.T) {
	for name, cfg := range map[string]Config{
		"none":            {Credentials: new(pool)},
		"none of its own": {Credentials: new(pool), Redactor: new(telemetry.Redactor)},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a client was made", name)
				}
			}()
			New(cfg, new(free), jsonDecoder{})
		}()
	}
	New(Config{}, new(free), jsonDecoder{}).Close() // there is nothing to hide
}
