package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// lair is a host that wants keys that are not for it. It counts what it is asked
// and keeps all that it is sent.
type lair struct {
	*httptest.Server
	mu   sync.Mutex
	asks int
	sent strings.Builder
}

func newLair(t *testing.T, next http.Handler) *lair {
	l := new(lair)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.asks++
		fmt.Fprintln(&l.sent, r.URL, r.Header)
		l.mu.Unlock()
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// forget begins to count anew.
func (l *lair) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks = 0
	l.sent.Reset()
}

// got is how often the lair was asked, and whether it was sent a text.
func (l *lair) got(text string) (asks int, sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asks, strings.Contains(l.sent.String(), text)
}

// TestR81_ThiefPacks: packs that claim another source's key, its name, its token
// or its rate limit are told of by lint and apply and refused at the first
// harvest, with no request at all.
func TestR81_ThiefPacks(t *testing.T) {
	const sealed = "NCBI-SEALED-KEY-0042"
	t.Setenv("PATRA_KEY", sealingKey(1))
	t.Setenv("MY_TEST_CLIENT", "client-of-mine:client-secret-0042")
	o, err := sim.New(sim.Config{Sources: []string{"generic"}, Records: 40, Seed: 4, LimitRPS: -1, Now: time.Now().Add(-time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	l := newLair(t, o)
	shipped, _ := sources.FS.ReadFile("pubmed.yaml")
	open := "http: {baseUrl: " + l.URL + "/generic, allowHttp: true, allowPrivate: true}\n"
	honest := strings.Replace(mini, "rateLimit: {", "rateLimit: {key: minis-own, ", 1) + "auth: {type: OAUTH2, token: {url: https://id.mini.example.org/token}}\n"
	for _, c := range []struct {
		name, pack, source string
		lint, harvest      []string
	}{
		{
			"another's pool", strings.Replace(mini, "source: mini", "source: thief", 1) + open + "auth: {type: API_KEY, in: HEADER, name: X-Loot, pool: pubmed}\n", "thief",
			[]string{"plain http", "within this machine or network", "uses the credentials of pubmed"},
			[]string{"patra credential allow pubmed --pool-for thief"},
		},
		{
			"another's pool, with a way around", strings.Replace(mini, "source: mini", "source: thief", 1) + open + "auth: {type: API_KEY, in: HEADER, name: X-Loot, pool: pubmed, open: true}\n", "thief",
			[]string{"uses the credentials of pubmed"},
			[]string{"patra credential allow pubmed --pool-for thief"},
		},
		{
			"another's name", strings.NewReplacer("baseUrl: https://eutils.ncbi.nlm.nih.gov/entrez/eutils", "baseUrl: "+l.URL+"/pubmed", "http:\n", "http:\n  allowHttp: true\n  allowPrivate: true\n").Replace(string(shipped)), "pubmed",
			[]string{"plain http", "within this machine or network"},
			[]string{"it was set for https://eutils.ncbi.nlm.nih.gov", "patra credential allow pubmed --origin " + l.URL},
		},
		{
			"another token URL", strings.Replace(honest, "https://id.mini.example.org", l.URL, 1) + "http: {allowHttp: true, allowPrivate: true}\n", "mini",
			[]string{"plain http"},
			[]string{"patra credential allow mini --origin " + l.URL},
		},
		{
			"another's rate limit", strings.NewReplacer("source: mini", "source: thief", "rateLimit: {", "rateLimit: {key: pubmed, ").Replace(mini) + open, "thief",
			[]string{"counts its requests under pubmed"},
			[]string{"patra credential allow pubmed --rate-for thief"},
		},
		{
			"the rate limit of a source nobody has used", strings.NewReplacer("source: mini", "source: thief", "rateLimit: {", "rateLimit: {key: openalex, ").Replace(mini) + open, "thief",
			[]string{"counts its requests under openalex"},
			[]string{"patra credential allow openalex --rate-for thief"},
		},
		{
			"the rate limit that another has named", strings.NewReplacer("source: mini", "source: thief", "rateLimit: {", "rateLimit: {key: minis-own, ").Replace(mini) + open, "thief",
			[]string{"counts its requests under minis-own"},
			[]string{"patra credential allow mini --rate-for thief"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l.forget()
			db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
			for _, args := range [][]string{
				{"credential", "set", "pubmed", "main", "--stdin"},
				{"source", "apply", write(t, "mini.yaml", honest), "--reason", "x"},
				{"credential", "set", "mini", "main", "--env", "MY_TEST_CLIENT"},
			} {
				if code, _, e := patraIn(t, sealed, append(args, "--db", db)...); code != 0 {
					t.Fatal(e)
				}
			}
			dir := t.TempDir()
			pack := filepath.Join(dir, "thief.yaml")
			if err := os.WriteFile(pack, []byte(c.pack), 0o600); err != nil {
				t.Fatal(err)
			}
			say := func(how, text string, want []string) {
				t.Helper()
				for _, w := range want {
					if !strings.Contains(text, w) {
						t.Errorf("%s does not say %q:\n%s", how, w, text)
					}
				}
			}
			code, out, e := patra(t, "source", "lint", pack)
			if say("lint", out+e, c.lint); code != 0 {
				t.Errorf("lint: exit %d", code)
			}
			for _, args := range [][]string{{"harvest", c.source}, {"plan", "create", c.source}, {"harvest", c.source, "--from", "2026-01-01"}} {
				code, out, e = patra(t, append(args, "--db", db, "--sources", dir)...)
				if say(args[0], out+e, c.harvest); code == 0 {
					t.Errorf("%v succeeded:\n%s%s", args, out, e)
				}
				_, next, _ := strings.Cut(e, "\nnext: ")
				if want := c.harvest[len(c.harvest)-1]; !strings.Contains(next, want) || strings.Contains(next, "credential set") {
					t.Errorf("%v: next: %s, want %s", args, next, want)
				}
			}
			if _, out, e := patra(t, "source", "check", c.source, "--db", db, "--sources", dir); strings.Contains(out+e, sealed) {
				t.Errorf("check shows it: %s%s", out, e)
			}
			_, out, e = patra(t, "source", "apply", pack, "--db", db, "--reason", "x")
			say("apply", out+e, c.lint)
			code, out, e = patra(t, "harvest", c.source, "--db", db)
			if code == 0 {
				t.Errorf("once applied it is harvested:\n%s%s", out, e)
			}
			for _, secret := range []string{sealed, "client-secret-0042"} {
				if asks, sent := l.got(secret); asks != 0 || sent {
					t.Errorf("%d requests, with the key: %v", asks, sent)
				}
			}
		})
	}
	// Somebody who may has allowed it: now it is sent, and there.
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	pack := write(t, "thief.yaml", strings.Replace(mini, "source: mini", "source: twin", 1)+open+"auth: {type: API_KEY, in: HEADER, name: X-Loot, pool: pubmed}\n")
	for _, args := range [][]string{
		{"credential", "set", "pubmed", "main", "--stdin"},
		{"source", "apply", pack, "--reason", "x"},
		{"credential", "allow", "pubmed", "--pool-for", "twin", "--reason", "ours"},
		{"harvest", "twin"},
	} {
		if code, out, e := patraIn(t, sealed, append(args, "--db", db)...); code != 0 {
			t.Fatalf("%v: %s%s", args, out, e)
		}
	}
	if _, sent := l.got(sealed); !sent {
		t.Error("the key is not sent where it is allowed")
	}
	if _, out, _ := patra(t, "audit", "list", "--db", db); !strings.Contains(out, "CREDENTIAL_ALLOW") || !strings.Contains(out, "ours") {
		t.Errorf("audit: %s", out)
	}
}

// TestR81_AStandInIsSentNoCredentials: --base-url alone is asked without a key.
func TestR81_AStandInIsSentNoCredentials(t *testing.T) {
	t.Setenv("PATRA_KEY", sealingKey(1))
	o, err := sim.New(sim.Config{Records: 40, Seed: 4, LimitRPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	l := newLair(t, o)
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	step := func(want int, args ...string) string {
		t.Helper()
		code, out, e := patraIn(t, canary, append(args, "--db", db)...)
		if code != want {
			t.Fatalf("%v: exit %d\n%s%s", args, code, out, e)
		}
		return out + e
	}
	step(0, "credential", "set", "pubmed", "main", "--stdin")
	at := []string{"pubmed", "--base-url", l.URL + "/pubmed"}
	for _, args := range [][]string{{"harvest"}, {"plan", "create"}, {"refresh", "--older-than", "1s"}, {"source", "check"}, {"backfill", "--from", "2026-01-01", "--to", "2026-01-03"}} {
		step(0, append(args, at...)...)
	}
	asks, sent := l.got(strings.ReplaceAll(canary, "/", "%2F"))
	if asks == 0 || sent {
		t.Errorf("%d requests, with the key: %v", asks, sent)
	}
	if out := step(exitUsage, "harvest", "pubmed", "--with-credentials"); !strings.Contains(out, "goes with --base-url") {
		t.Errorf("without an address: %s", out)
	}
	step(0, append([]string{"backfill", "--from", "2026-01-01", "--to", "2026-01-03", "--activity", "again", "--with-credentials"}, at...)...)
	if _, sent := l.got(strings.ReplaceAll(canary, "/", "%2F")); !sent {
		t.Error("with credentials it is sent none")
	}
}
