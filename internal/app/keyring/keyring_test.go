package keyring_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/infra/vault"
	"github.com/papertrace/patra/internal/patratest"
)

const home = "https://demo.example"

type rig struct {
	*keyring.Ring
	t     *testing.T
	store *sqlstore.Store
	env   map[string]string
	spec  *source.Spec
	where map[string][]string // origins by source
	log   bytes.Buffer
}

func newRig(t *testing.T, e patratest.Engine) *rig {
	t.Helper()
	r := &rig{t: t, store: patratest.Open(t, e.DSN(t), sqlstore.Options{}), env: map[string]string{}, where: map[string][]string{"demo": {home}}}
	_, err := r.store.ChangeSource(t.Context(), source.Provenance{Code: "demo", Origin: "API"}, source.Audit{Actor: "test", Action: "SOURCE_APPLY", Object: "source/demo"},
		func(source.Contents) ([]source.Change, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	v := vault.New(func(k string) (string, bool) { s, ok := r.env[k]; return s, ok })
	where := func(_ context.Context, code string) ([]string, error) {
		if o, ok := r.where[code]; ok {
			return o, nil
		}
		return nil, harvest.ErrNotFound
	}
	r.Ring = keyring.New(r.store, v, func(credential.Secret) {}, where, slog.New(slog.NewTextHandler(&r.log, nil)))
	r.spec = &source.Spec{
		Source: "demo", HTTP: source.HTTP{BaseURL: home + "/v1"}, Rate: source.Rate{Key: "demo"}, Operation: string(harvest.Harvest), Search: source.Endpoint{Name: "works"}, Count: &source.Endpoint{Name: "count"},
		Auth: &source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key", Pool: "demo"},
	}
	return r
}

// put writes a row as it is, with a secret that tells its name.
func (r *rig) put(c credential.Credential) int64 {
	r.t.Helper()
	r.env["KEY_"+c.Name] = "the-very-secret-of-" + c.Name
	c.Pool, c.Secret = "demo", credential.SecretRef{Kind: credential.SecretEnv, Ref: "KEY_" + c.Name}
	c.Weight, c.Origins = max(1, c.Weight), []string{home}
	if c.Scope == "" {
		c.Scope = source.ScopeSource
	}
	if c.Status == "" {
		c.Status = credential.Active
	}
	err := r.store.ChangeCredentials(r.t.Context(), "demo", source.Audit{Actor: "test", Action: "CREDENTIAL_SET", Object: "credential/demo"},
		func([]credential.Credential, time.Time) ([]credential.Change, error) {
			return []credential.Change{{Add: &c}}, nil
		})
	if err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

// walk refuses key after key and returns the names in the order they came.
func (r *rig) walk(p source.Purpose) (names string, code string) {
	r.t.Helper()
	var tried []int64
	for {
		k, ok, err := r.Pick(r.t.Context(), r.spec, p, []string{home}, tried)
		if err != nil {
			f, _ := harvest.FaultOf(err)
			return strings.TrimSpace(names), string(f.Code)
		}
		if !ok {
			return strings.TrimSpace(names), "anonymous"
		}
		if k.Secret.Reveal() != "the-very-secret-of-"+k.Credential.Name {
			r.t.Fatalf("credential %s has another's secret", k.Credential.Name)
		}
		names += " " + k.Credential.Name
		tried = append(tried, k.Credential.ID)
	}
}

// TestM1_SelectionChain is the truth table: endpoint before global, TASK
// before SOURCE, in force, active, not resting, preferred, newest, id; and R45:
// preferred never beats TASK, and the order is explicit.
func TestM1_SelectionChain(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		now, err := patratest.Open(t, e.DSN(t), sqlstore.Options{}).Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		past := now.Add(-48 * time.Hour)
		recent := now.Add(-time.Hour)
		future := now.Add(time.Hour)
		r := newRig(t, e)
		// From the last to the first, so that ids tell nothing.
		r.put(credential.Credential{Name: "ended", Endpoint: "works", From: past, To: recent})
		r.put(credential.Credential{Name: "future", Endpoint: "works", From: future})
		r.put(credential.Credential{Name: "disabled", Endpoint: "works", From: past, Status: credential.Disabled})
		r.put(credential.Credential{Name: "other-task", Endpoint: "works", Scope: source.ScopeTask, Task: harvest.Update, From: past})
		r.put(credential.Credential{Name: "other-endpoint", Endpoint: "count", From: past})
		r.put(credential.Credential{Name: "global-old", From: past})
		r.put(credential.Credential{Name: "global-preferred", From: past, Preferred: true})
		r.put(credential.Credential{Name: "global-task", Scope: source.ScopeTask, Task: harvest.Harvest, From: past})
		r.put(credential.Credential{Name: "bound-old-1", Endpoint: "works", From: past})
		r.put(credential.Credential{Name: "bound-preferred", Endpoint: "works", From: past, Preferred: true})
		r.put(credential.Credential{Name: "bound-task", Endpoint: "works", Scope: source.ScopeTask, Task: harvest.Harvest, From: past, To: future})
		got, code := r.walk(source.ForSearch)
		if want := "bound-task bound-preferred bound-old-1 global-task global-preferred global-old"; got != want || code != string(harvest.CodeAuthRefused) {
			t.Errorf("search: %s, then %s\nwant    %s", got, code, want)
		}
		if got, _ := r.walk(source.ForCount); got != "other-endpoint global-task global-preferred global-old" {
			t.Errorf("count: %s", got)
		}
		r.spec.Operation = string(harvest.Update)
		if got, _ := r.walk(source.ForSearch); got != "other-task bound-preferred bound-old-1 global-preferred global-old" {
			t.Errorf("update: %s", got)
		}
		r.spec.Auth.Open = true
		if _, code := r.walk(source.ForSearch); code != "anonymous" {
			t.Errorf("an open endpoint ends %s", code)
		}
		r.spec.Auth.Restricted = []string{"works"}
		if _, code := r.walk(source.ForSearch); code != string(harvest.CodeAuthRefused) {
			t.Errorf("a restricted one ends %s", code)
		}
	})
}

// TestM1_Health: a refused key rests, the next takes over, others learn of it;
// an accepted one is whole again; equals take turns.
func TestM1_Health(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		r := newRig(t, e)
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		r.put(credential.Credential{Name: "a", From: from})
		r.put(credential.Credential{Name: "b", From: from, Weight: 3})
		seen := map[string]int{}
		var a credential.Key
		for range 40 {
			k, _, err := r.Pick(t.Context(), r.spec, source.ForSearch, []string{home}, nil)
			if err != nil {
				t.Fatal(err)
			}
			seen[k.Credential.Name]++
			if k.Credential.Name == "a" {
				a = k
			}
			r.Report(t.Context(), k, credential.Accepted) // nothing new: nothing written
		}
		if seen["a"] != 10 || seen["b"] != 30 {
			t.Errorf("turns: %v", seen)
		}
		r.Report(t.Context(), a, credential.Refused)
		r.Report(t.Context(), a, credential.Refused) // read before the first: counts once
		if got, _ := r.walk(source.ForSearch); got != "b" {
			t.Errorf("after a refusal: %s", got)
		}
		all, _, err := r.List(t.Context(), "demo")
		if err != nil || all[0].Refused != 1 || all[0].RefusedUntil.IsZero() {
			t.Errorf("health: %+v, %v", all[0], err)
		}
		lines, err := r.store.Audits(t.Context(), "", 10)
		if err != nil || lines[0].Action != "CREDENTIAL_REFUSED" || lines[1].Action != "CREDENTIAL_SET" {
			t.Errorf("audit: %+v, %v", lines, err)
		}
		a.Credential.Refused = 1
		r.Report(t.Context(), a, credential.Accepted)
		if got, _ := r.walk(source.ForSearch); len(strings.Fields(got)) != 2 {
			t.Errorf("after it was accepted: %s", got)
		}
	})
}

func TestPick_UnreadableFallsToTheNext(t *testing.T) {
	r := newRig(t, patratest.SQLite)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r.put(credential.Credential{Name: "gone", From: from, Preferred: true})
	r.put(credential.Credential{Name: "there", From: from})
	delete(r.env, "KEY_gone")
	for range 3 {
		if got, _ := r.walk(source.ForSearch); got != "there" {
			t.Errorf("picked %s", got)
		}
	}
	if n := strings.Count(r.log.String(), "credential left out"); n != 1 {
		t.Errorf("told %d times:\n%s", n, r.log.String())
	}
	delete(r.env, "KEY_there")
	if _, code := r.walk(source.ForSearch); code != "credential_unreadable" {
		t.Errorf("nothing readable: %s", code)
	}
	if _, _, err := r.Pick(t.Context(), &source.Spec{Auth: &source.Auth{Pool: "nobody"}, Search: source.Endpoint{Name: "works"}}, source.ForSearch, nil, nil); err == nil {
		t.Error("a pool that is not there gave a key")
	} else if f, _ := harvest.FaultOf(err); f.Code != "no_credential" || f.Level != harvest.Fatal {
		t.Errorf("no pool: %v", err)
	}
}

// TestPick_AsManySecretsAsAreSent: a credential with fewer, or more, is left out
// like one that cannot be read.
func TestPick_AsManySecretsAsAreSent(t *testing.T) {
	r := newRig(t, patratest.SQLite)
	for _, name := range []string{"one", "two"} {
		r.put(credential.Credential{Name: name, From: time.Now().Add(-time.Hour)})
	}
	r.env["KEY_two"] = "the-very-secret-of-two\nthe-second-of-two"
	r.spec.Auth.Also = []source.AuthPlace{{In: source.InHeader, Name: "X-Inst"}}
	for _, want := range []string{"two", "one"} {
		for range 2 { // each has its turn
			k, ok, err := r.Pick(t.Context(), r.spec, source.ForSearch, []string{home}, nil)
			if !ok || k.Credential.Name != want {
				t.Errorf("picked %q (%v), want the one with %d secrets", k.Credential.Name, err, 1+len(r.spec.Auth.Also))
			}
		}
		r.spec.Auth.Also = nil
	}
	if !strings.Contains(r.log.String(), "has 1 lines") {
		t.Errorf("nothing was said: %s", r.log.String())
	}
}

// TestChange_SetRotateResealDisable walks the life of a sealed credential.
func TestChange_SetRotateResealDisable(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		r := newRig(t, e)
		ctx := t.Context()
		how := keyring.Order{Audit: source.Audit{Actor: "test", Reason: "because"}}
		offer := func(secret string) keyring.Offer {
			return keyring.Offer{Credential: credential.Credential{Pool: "demo", Name: "main", Scope: source.ScopeSource, Preferred: true}, Secret: credential.NewSecret(secret)}
		}
		if _, err := r.Set(ctx, offer("the-first-secret"), how); !errors.Is(err, vault.ErrNoKey) {
			t.Fatalf("sealed without a key: %v", err)
		}
		r.env[vault.EnvKey] = key(1)
		dry := how
		dry.DryRun = true
		if ch, err := r.Set(ctx, offer("the-first-secret"), dry); err != nil || len(ch) != 1 || len(r.rows(ctx)) != 0 {
			t.Fatalf("dry run: %v %v", ch, err)
		}
		must := func(_ []credential.Change, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(r.Set(ctx, offer("the-first-secret"), how))
		r.mustPick("the-first-secret")
		if _, err := r.Rotate(ctx, keyring.Offer{Credential: credential.Credential{Pool: "demo", Name: "mian"}, Secret: credential.NewSecret("the-second-secret")}, how); err == nil || !strings.Contains(err.Error(), "known: main") {
			t.Errorf("rotate what is not there: %v", err)
		}
		must(r.Rotate(ctx, offer("the-second-secret"), how))
		r.mustPick("the-second-secret")
		rows := r.rows(ctx)
		if len(rows) != 2 || rows[0].To.IsZero() || !rows[1].To.IsZero() || rows[1].Supersedes != rows[0].ID || !rows[1].Preferred || !rows[0].To.Equal(rows[1].From) {
			t.Errorf("rows after rotation: %+v", rows)
		}
		// Another sealing key.
		r.env[vault.EnvKey], r.env[vault.EnvPrevious] = key(2), key(1)
		r.mustPick("the-second-secret")
		must(r.Reseal(ctx, "demo", how))
		delete(r.env, vault.EnvPrevious)
		r.mustPick("the-second-secret")
		if ch, err := r.Reseal(ctx, "demo", how); err != nil || len(ch) != 0 {
			t.Errorf("resealed twice: %v %v", ch, err)
		}
		must(r.Disable(ctx, "demo", "main", how))
		if _, code := r.walk(source.ForSearch); code != "no_credential" {
			t.Errorf("disabled: %s", code)
		}
		must(r.Rotate(ctx, offer("the-third-secret"), how))
		r.mustPick("the-third-secret")
		lines, err := r.store.Audits(ctx, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		var actions []string
		for _, l := range lines {
			if strings.Contains(l.After, "-secret") {
				t.Errorf("audit tells: %s", l.After)
			}
			if strings.HasPrefix(l.Action, "CREDENTIAL_") {
				actions = append(actions, l.Action)
			}
		}
		if got := strings.Join(actions, " "); got != "CREDENTIAL_ROTATE CREDENTIAL_DISABLE CREDENTIAL_RESEAL CREDENTIAL_ROTATE CREDENTIAL_SET" {
			t.Errorf("audit: %s", got)
		}
		if _, err := r.Check(ctx, r.spec); err != nil {
			t.Errorf("check: %v", err)
		}
		must(r.Disable(ctx, "demo", "main", how))
		if _, err := r.Check(ctx, r.spec); err == nil || !strings.Contains(err.Error(), "endpoint works needs a credential") || !strings.Contains(err.Error(), "endpoint count") {
			t.Errorf("check: %v", err)
		}
	})
}

func key(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }

func (r *rig) rows(ctx context.Context) []credential.Credential {
	r.t.Helper()
	all, _, err := r.List(ctx, "demo")
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func (r *rig) mustPick(secret string) {
	r.t.Helper()
	k, ok, err := r.Pick(r.t.Context(), r.spec, source.ForSearch, []string{home}, nil)
	if err != nil || !ok || k.Secret.Reveal() != secret {
		r.t.Fatalf("picked %v %v, not the secret wanted", ok, err)
	}
}
