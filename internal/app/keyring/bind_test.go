package keyring_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/vault"
	"github.com/papertrace/patra/internal/patratest"
)

// withheld is what comes of picking where no credential may be sent.
const withheld = string(harvest.CodeWithheld)

// picks says what came of picking a key for a spec that sends it to origins.
func (r *rig) picks(spec *source.Spec, to ...string) string {
	r.t.Helper()
	k, ok, err := r.Pick(r.t.Context(), spec, source.ForSearch, to, nil)
	if err != nil {
		f, _ := harvest.FaultOf(err)
		return string(f.Code)
	}
	if !ok {
		return "without"
	}
	return k.Credential.Name
}

// allow gives or takes back a permission and returns how many rows that took.
func (r *rig) allow(withdraw bool, pool string, grants ...credential.Grant) int {
	r.t.Helper()
	how := keyring.Order{Audit: source.Audit{Actor: "test", Reason: "because"}}
	done, err := r.Allow(r.t.Context(), keyring.Permission{Pool: pool, Grants: grants, Withdraw: withdraw}, how)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(done)
}

// other is a source beside demo, in the store too.
func (r *rig) other(code, origin string) *source.Spec {
	r.t.Helper()
	if _, err := r.store.ChangeSource(r.t.Context(), source.Provenance{Code: code, Origin: "API"}, source.Audit{Actor: "test", Action: "SOURCE_APPLY", Object: "source/" + code},
		func(source.Contents) ([]source.Change, error) { return nil, nil }); err != nil {
		r.t.Fatal(err)
	}
	r.where[code] = []string{origin}
	auth := *r.spec.Auth
	return &source.Spec{
		Source: code, Operation: string(harvest.Harvest), HTTP: source.HTTP{BaseURL: origin + "/v1"}, Rate: source.Rate{Key: code},
		Search: source.Endpoint{Name: "works"}, Auth: &auth,
	}
}

// TestR81_ACredentialIsBoundToItsOrigins: set for one place it is sent to no
// other until somebody allows it, and that can be taken back.
func TestR81_ACredentialIsBoundToItsOrigins(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		r := newRig(t, e)
		r.env[vault.EnvKey] = key(1)
		const token, mirror = "https://id.demo.example", "https://mirror.example:8443"
		r.where["demo"] = []string{home, token}
		how := keyring.Order{Audit: source.Audit{Actor: "test"}}
		offer := keyring.Offer{Credential: credential.Credential{Pool: "demo", Name: "main", Scope: source.ScopeSource}, Secret: credential.NewSecret("the-first-secret")}
		if done, err := r.Set(t.Context(), offer, how); err != nil || strings.Join(done[0].Add.Origins, " ") != home+" "+token {
			t.Fatalf("set: %+v, %v", done, err)
		}
		for to, want := range map[string]string{
			home: "main", token: "main", home + " " + token: "main",
			mirror: withheld, home + " " + mirror: withheld, "http://demo.example": withheld,
			"https://demo.example:444": withheld, "https://demo.example.evil.example": withheld,
		} {
			if got := r.picks(r.spec, strings.Fields(to)...); got != want {
				t.Errorf("sent to %s: %s, want %s", to, got, want)
			}
		}
		// What the source becomes later does not move the binding, nor does another secret.
		r.where["demo"] = []string{mirror}
		offer.Secret = credential.NewSecret("the-second-secret")
		if _, err := r.Rotate(t.Context(), offer, how); err != nil || r.picks(r.spec, mirror) != withheld || r.picks(r.spec, home) != "main" {
			t.Errorf("after a rotation: %v", err)
		}
		moved := *r.spec
		moved.HTTP.BaseURL = mirror + "/v1"
		if _, err := r.Check(t.Context(), &moved); err == nil || !strings.Contains(err.Error(), "patra credential allow demo --origin "+mirror) || !strings.Contains(err.Error(), "it was set for "+home) {
			t.Errorf("check: %v", err)
		}
		moved.Auth = new(source.Auth)
		*moved.Auth = *r.spec.Auth
		moved.Auth.Open = true
		if got := r.picks(&moved, mirror); got != "without" {
			t.Errorf("an open source in the middle of a plan: %s", got)
		}
		grant := credential.Grant{Kind: credential.GrantOrigin, Value: mirror}
		if n := r.allow(false, "demo", grant); n != 1 || r.picks(r.spec, mirror) != "main" {
			t.Errorf("%d changes, then %s", n, r.picks(r.spec, mirror))
		}
		if n := r.allow(false, "demo", grant); n != 0 {
			t.Errorf("allowed twice: %d changes", n)
		}
		if n := r.allow(true, "demo", grant); n != 1 || r.picks(r.spec, mirror) != withheld {
			t.Errorf("%d changes, then %s", n, r.picks(r.spec, mirror))
		}
		lines, err := r.store.Audits(t.Context(), "", 3)
		if err != nil || lines[0].Action != "CREDENTIAL_WITHDRAW" || lines[1].Action != "CREDENTIAL_ALLOW" || lines[1].Reason != "because" || !strings.Contains(lines[1].After, mirror) {
			t.Errorf("audit: %+v, %v", lines, err)
		}
		// Set anew it is for where the source is now.
		if _, err := r.Set(t.Context(), offer, how); err != nil || r.picks(r.spec, mirror) != "main" || r.picks(r.spec, home) != withheld {
			t.Errorf("set anew: %v", err)
		}
	})
}

// TestR81_AnotherSourcesPool: naming a pool is not having it.
func TestR81_AnotherSourcesPool(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		r := newRig(t, e)
		r.put(credential.Credential{Name: "main", From: time.Now().Add(-time.Hour)})
		const lair = "http://127.0.0.1:9603"
		thief := r.other("thief", lair)
		for _, to := range []string{lair, home} {
			if got := r.picks(thief, to); got != withheld {
				t.Errorf("sent to %s: %s", to, got)
			}
		}
		if _, err := r.Check(t.Context(), thief); err == nil || !strings.Contains(err.Error(), "patra credential allow demo --pool-for thief") {
			t.Errorf("check: %v", err)
		}
		// Where it is when that is allowed, and nowhere else.
		if n := r.allow(false, "demo", credential.Grant{Kind: credential.GrantPool, Value: "thief"}); n != 2 {
			t.Errorf("%d changes", n)
		}
		if _, err := r.Check(t.Context(), thief); err != nil || r.picks(thief, lair) != "main" || r.picks(thief, "http://127.0.0.1:9604") != withheld {
			t.Errorf("allowed: %v", err)
		}
	})
}

// TestR81_AnotherSourcesRateLimit: a source cannot count itself under another's
// limit, by its name or by one that it uses, and so have it slowed down.
func TestR81_AnotherSourcesRateLimit(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		r := newRig(t, e)
		thief := r.other("thief", "https://thief.example")
		thief.Auth = nil
		check := func(key, want string) {
			t.Helper()
			thief.Rate.Key = key
			if _, err := r.Check(t.Context(), thief); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("under %s: %v, want %q", key, err, want)
			}
		}
		check("thief", "")
		check("nobodys", "")
		check("demo", "patra credential allow demo --rate-for thief")
		r.where["shipped"] = []string{"https://shipped.example"} // described, and not used yet
		check("shipped", "patra credential allow shipped --rate-for thief")
		if n := r.allow(false, "demo", credential.Grant{Kind: credential.GrantRate, Value: "thief"}); n != 1 {
			t.Errorf("%d changes", n)
		}
		check("demo", "")
		// demo counts under a name of its own, which nobody could know for its.
		named := source.Definition{RateLimit: &source.Rate{Key: "demos-own", Limit: 1, QPS: 1}}
		if _, err := r.store.ChangeSource(t.Context(), source.Provenance{Code: "demo", Origin: "API"}, source.Audit{Actor: "test", Action: "SOURCE_APPLY", Object: "source/demo"},
			func(c source.Contents) ([]source.Change, error) { return c.Changes(named, c.ReadAt, c.ReadAt), nil }); err != nil {
			t.Fatal(err)
		}
		r.allow(true, "demo", credential.Grant{Kind: credential.GrantRate, Value: "thief"})
		check("demos-own", "patra credential allow demo --rate-for thief")
		thief.Auth = &source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key", Pool: "thief", Open: true, Rate: &source.Rate{Key: "shipped"}}
		check("thief", "auth.rateLimit.key: counts its requests under shipped")
	})
}

// TestR81_OldCredentialsAreBoundAtFirstSight: one that was set before there were
// bindings is bound to where its source is when it is next wanted, once, with a
// line in the audit; not to where it is wanted.
func TestR81_OldCredentialsAreBoundAtFirstSight(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		r := newRig(t, e)
		r.env["KEY_old"] = "the-very-secret-of-old"
		old := credential.Credential{
			Pool: "demo", Name: "old", Scope: source.ScopeSource, Weight: 1, Status: credential.Active, From: time.Now().Add(-time.Hour),
			Secret: credential.SecretRef{Kind: credential.SecretEnv, Ref: "KEY_old"},
		}
		if err := r.store.ChangeCredentials(t.Context(), "demo", source.Audit{Actor: "test", Action: "CREDENTIAL_SET", Object: "credential/demo"},
			func([]credential.Credential, time.Time) ([]credential.Change, error) {
				return []credential.Change{{Add: &old}}, nil
			}); err != nil {
			t.Fatal(err)
		}
		if rows := r.rows(context.WithoutCancel(t.Context())); rows[0].Origins != nil {
			t.Fatalf("bound already: %+v", rows)
		}
		if got := r.picks(r.spec, "https://elsewhere.example"); got != withheld {
			t.Errorf("first sight elsewhere: %s", got)
		}
		if got := r.picks(r.spec, home); got != "old" {
			t.Errorf("at home: %s", got)
		}
		lines, err := r.store.Audits(t.Context(), "", 100)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, l := range lines {
			if l.Action == "CREDENTIAL_BIND" && strings.Contains(l.After, home) && l.Actor == "patra" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d lines of the binding in %+v", n, lines)
		}
	})
}
