package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// spite is an upstream that answers every request in one hostile way, and shows
// in its answers all that it was sent, whole and in parts.
type spite struct {
	reply  string
	oracle http.Handler
	mu     sync.Mutex
	asked  map[string]int  // data and token
	seen   map[string]bool // texts that were sent and must not come out
}

// The hostile replies.
var spites = []string{"reflects it whole", "reflects its parts", "400", "401", "500", "junk", "junk for a token", "token 500", "connection refused"}

// show takes note of a secret that came and returns it in every form.
func (s *spite) show(texts ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, t := range texts {
		if len(t) >= credential.MinPart {
			s.seen[t] = true
			out = append(out, forms(t))
		}
	}
	return strings.Join(out, " ")
}

// sent finds the secrets of a request: the key, the second one, a signature.
func sent(w authWay, r *http.Request) (out []string) {
	if w.find != nil {
		out = append(out, w.find(r))
	}
	if w.also != nil {
		out = append(out, w.also(r))
	}
	return append(out, r.Header.Get("X-Signature"))
}

// parts are the secrets, and those that are some behind a name and a colon.
func (w authWay) parts(secrets []string) (out []string) {
	for _, s := range secrets {
		if _, part, is := strings.Cut(s, ":"); is && (w.client || strings.Contains(w.auth, "BASIC")) {
			out = append(out, part)
		}
		out = append(out, s)
	}
	return out
}

// roundTrip answers, or refuses the connection with an error that shows the URL.
func (s *spite) roundTrip(w authWay, r *http.Request) (*http.Response, error) {
	isToken := strings.HasSuffix(r.URL.Path, "/token") || strings.HasSuffix(r.URL.Path, "/login")
	s.mu.Lock()
	s.asked[map[bool]string{true: "token", false: "data"}[isToken]]++
	s.mu.Unlock()
	if s.reply == "connection refused" && !isToken {
		body, _ := io.ReadAll(r.Body)
		s.show(sent(w, r)...)
		return nil, fmt.Errorf("dial %s with %v and %s: %w", r.URL, r.Header, body, syscall.ECONNREFUSED)
	}
	return patratest.Direct{Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if isToken {
			s.token(out, r)
			return
		}
		s.page(w, out, r)
	})}.RoundTrip(r)
}

func (s *spite) token(w http.ResponseWriter, r *http.Request) {
	_, key, basic := r.BasicAuth()
	key, _ = url.QueryUnescape(key)
	if !basic {
		var asked struct{ Key string }
		if r.Header.Get("Content-Type") == "application/json" {
			_ = json.NewDecoder(r.Body).Decode(&asked)
		}
		key = asked.Key
		if key == "" {
			key = r.PostFormValue("client_secret")
		}
	}
	all := s.show(key)
	sum := sha256.Sum256([]byte(key))
	token := fmt.Sprintf("t0ken/%x==", sum[:12])
	w.Header().Set("X-Echo", all)
	switch s.reply {
	case "junk for a token":
		fmt.Fprintf(w, `{"access_token": [%q], "token": {"junk": %q}, `, token, all)
	case "token 500":
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, all)
	default:
		s.show(token)
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": token, "token": token, "for": all})
	}
}

func (s *spite) page(way authWay, w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") == "application/json" {
		var said map[string]string
		_ = json.NewDecoder(r.Body).Decode(&said)
		r.PostForm = url.Values{}
		for k, v := range said {
			r.PostForm.Set(k, v)
		}
		r.Form = r.PostForm
	}
	_ = r.ParseForm()
	secrets := sent(way, r)
	all := s.show(secrets...)
	if s.reply == "reflects its parts" {
		all = s.show(way.parts(secrets)...)
	}
	w.Header().Set("X-Echo", all)
	quoted, _ := json.Marshal(all)
	switch s.reply {
	case "400", "401", "500":
		w.WriteHeader(map[string]int{"400": 400, "401": 401, "500": 500}[s.reply])
		fmt.Fprintf(w, `{"error":%s,"request":%q}`, quoted, r.Header)
	case "junk":
		fmt.Fprintf(w, `{"items":[%s, %s`, quoted, all)
	default:
		rec := httptest.NewRecorder()
		s.oracle.ServeHTTP(rec, r)
		maps.Copy(w.Header(), rec.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(bytes.ReplaceAll(rec.Body.Bytes(), []byte(`"author":"`), append([]byte(`"author":`), bytes.TrimSuffix(quoted, []byte(`"`))...)))
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestR80_EveryAuthAgainstEveryHostileReply harvests with each way of saying who
// asks from an upstream that answers in each hostile way, and looks for all that
// was ever sent, and its parts, in the database, its WAL, the log, errors, audit
// and export.
func TestR80_EveryAuthAgainstEveryHostileReply(t *testing.T) {
	t.Parallel()
	cases := 0
	shown := 0
	stored := 0
	for i, name := range slices.Sorted(maps.Keys(authWays)) {
		way := authWays[name]
		for k, reply := range spites {
			if strings.Contains(reply, "token") && !strings.Contains(way.auth, "token:") {
				continue // it gets none
			}
			cases++
			t.Run(name+"/"+reply, func(t *testing.T) {
				dsn := patratest.SQLite.SpareDSN(t)
				db := strings.TrimPrefix(dsn, "sqlite:")
				secret := fmt.Sprintf("can4ry%d/A+=&\"é:<pw>passw0rd-0123", i)
				if way.client {
					secret = "client:" + secret
				}
				if way.also != nil {
					secret += fmt.Sprintf("\ninst can4ry%d/Y+=&\"é:<pw>", i)
				}
				synctest.Test(t, func(t *testing.T) {
					up := &spite{reply: reply, asked: map[string]int{}, seen: map[string]bool{}}
					var err error
					up.oracle, err = sim.New(sim.Config{Sources: []string{sim.Generic}, Records: 12, Seed: uint64(k + 1), LimitRPS: -1, Now: time.Now().Add(-time.Hour)})
					if err != nil {
						t.Fatal(err)
					}
					var log bytes.Buffer
					logger := slog.New(slog.NewJSONHandler(&syncWriter{w: &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
					store := patratest.Open(t, dsn, sqlstore.Options{Logger: logger})
					pack := patratest.TextPack(t, "generic.yaml", []byte(guarded(way.auth, way.body)), patratest.Fast)
					n := node.Assemble(node.Config{Workers: 1, Poll: 10 * time.Second, Logger: logger}, store, registry.NewStatic(map[string]registry.Pack{"generic": pack}, nil),
						roundTrip(func(r *http.Request) (*http.Response, error) { return up.roundTrip(way, r) }))
					describe(t, store, "generic")
					setKey(t, n, "generic", "main", credential.NewSecret(secret), credential.SecretRef{})

					var said strings.Builder
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
					defer cancel()
					rep, err := n.Control.Harvest(ctx, control.HarvestRequest{Source: "generic", BaseURL: source.WithCredentials("http://127.0.0.1/generic")})
					fmt.Fprintf(&said, "%v %+v %#v %+v\n", err, err, err, rep)
					stored += tellAll(t, store, &said)

					secrets := slices.Sorted(maps.Keys(up.seen))
					secrets = append(secrets, way.parts(strings.Split(secret, "\n"))...)
					shown += len(up.seen)
					if up.asked["data"]+up.asked["token"] == 0 || len(up.seen) == 0 && way.body == "" {
						t.Errorf("nothing was sent: %v", up.asked)
					}
					lookFor(t, "what was said", []byte(said.String()), secrets)
					lookFor(t, "the log", log.Bytes(), secrets)
					lookInFiles(t, db, secrets)
				})
			})
		}
	}
	t.Logf("%d cases, %d secrets and parts shown, %d records", cases, shown, stored)
	if stored < 100 || shown < cases {
		t.Errorf("too little to look at: %d cases, %d shown, %d stored", cases, shown, stored)
	}
}

// describe puts a source into the store, so that it can have credentials.
func describe(t *testing.T, store *sqlstore.Store, code string) {
	t.Helper()
	if _, err := store.ChangeSource(t.Context(), source.Provenance{Code: code, Origin: registry.File}, source.Audit{Actor: "test", Action: "SOURCE_APPLY", Object: "source/" + code},
		func(source.Contents) ([]source.Change, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
}

// TestR80_TokensThatPoison: a source whose token endpoint answers texts of another
// source's records, the mask, nested forms, or ever new tokens, harvested before
// and beside the other by the same process: the other's export is byte for byte
// what it is alone, its key is found nowhere, and everything ends.
func TestR80_TokensThatPoison(t *testing.T) {
	t.Parallel()
	const key = "plus-canary-of-crossref=="
	dir := t.TempDir()
	// harvest returns crossref's export; token is what the other's endpoint
	// answers, body what its pages are.
	harvest := func(t *testing.T, name string, token func(n int) string, body string) (export []byte, granted int) {
		db := filepath.Join(dir, name+".db")
		synctest.Test(t, func(t *testing.T) {
			oracle, err := sim.New(sim.Config{Records: 60, Seed: 5, LimitRPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			sentKey := 0
			transport := patratest.Direct{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case strings.HasSuffix(r.URL.Path, "/token"):
					granted++
					_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token(granted), "expires_in": 1})
				case strings.HasPrefix(r.URL.Path, "/poison"):
					fmt.Fprint(w, body)
				default:
					if r.Header.Get("Crossref-Plus-API-Token") == "Bearer "+key {
						sentKey++
					}
					// What it is sent it shows: this must go, and nothing else.
					rec := httptest.NewRecorder()
					oracle.ServeHTTP(rec, r)
					maps.Copy(w.Header(), rec.Header())
					w.Header().Set("X-Echo", r.Header.Get("Crossref-Plus-API-Token"))
					w.WriteHeader(rec.Code)
					_, _ = w.Write(rec.Body.Bytes())
				}
			})}
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&syncWriter{w: &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
			store := patratest.Open(t, "sqlite:"+db, sqlstore.Options{})
			packs := map[string]registry.Pack{
				"crossref": patratest.ShippedPack(t, "crossref", patratest.Fast),
				"poison":   patratest.TextPack(t, "poison.yaml", []byte(strings.Replace(guarded("{type: OAUTH2, token: {url: /token}}", ""), "source: generic", "source: poison", 1)), patratest.Fast),
			}
			n := node.Assemble(node.Config{Workers: 2, Poll: time.Second, Logger: logger}, store, registry.NewStatic(packs, map[string]string{"contact": "a@example.org"}), transport)
			for code, secret := range map[string]string{"crossref": key, "poison": "client:c4nary-of-the-poisoner"} {
				describe(t, store, code)
				setKey(t, n, code, "main", credential.NewSecret(secret), credential.SecretRef{})
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			run := func(ctx context.Context, code string) error {
				_, err := n.Control.Harvest(ctx, control.HarvestRequest{Source: code, BaseURL: source.WithCredentials("http://127.0.0.1/" + code)})
				return err
			}
			if token != nil {
				first, end := context.WithTimeout(ctx, time.Minute)
				_ = run(first, "poison")
				end()
			}
			beside, end := context.WithCancel(ctx)
			var wg sync.WaitGroup
			if token != nil {
				wg.Go(func() { _ = run(beside, "poison") })
			}
			if err := run(ctx, "crossref"); err != nil {
				t.Errorf("crossref: %v", err)
			}
			end()
			wg.Wait()
			if ctx.Err() != nil {
				t.Error("it did not come to an end")
			}
			var out bytes.Buffer
			if err := store.Export(t.Context(), control.ExportQuery{Sources: []string{"crossref"}, Raw: true}, func(e *control.Exported) error {
				_, err := fmt.Fprintf(&out, "%s %s %s %s %s\n", e.ID, e.UpdatedAt, e.RawSHA256, e.Fields, e.Raw)
				return err
			}); err != nil {
				t.Error(err)
			}
			export = out.Bytes()
			mu.Lock()
			defer mu.Unlock()
			if sentKey == 0 {
				t.Error("crossref was asked without its key")
			}
			for where, b := range map[string][]byte{"the log": log.Bytes(), "the export": export} {
				lookFor(t, where, b, []string{key, "c4nary-of-the-poisoner"})
			}
			lookInFiles(t, db, []string{key, "c4nary-of-the-poisoner"})
		})
		return export, granted
	}
	alone, _ := harvest(t, "alone", nil, "")
	line, _, _ := bytes.Cut(alone, []byte("\n"))
	if len(line) < 200 {
		t.Fatalf("the export is %d bytes", len(alone))
	}
	doi := string(line[:min(len(line), bytes.IndexByte(line, ' '))])
	always := func(s string) func(int) string { return func(int) string { return s } }
	const nested = "x**yzzzzzzzzzzzzz"
	for name, c := range map[string]struct {
		token func(int) string
		body  string
	}{
		"a part of a DOI, short":  {always(doi[:8]), `{"items":[]}`},
		"a whole DOI":             {always((doi + doi)[:max(16, len(doi))]), `{"items":[]}`},
		"a field name":            {always(`"title":["`), `{"items":[]}`},
		"field names, long":       {always(`","container-title":["`), `{"items":[]}`},
		"a text of every record":  {always(string(line[len(line)-40 : len(line)-16])), `{"items":[]}`},
		"the mask":                {always("***"), `{"items":[]}`},
		"the mask in a long one":  {always("x***yzzzzzzzzzzzzz"), strings.Repeat("x", 60000) + "x***yzzzz" + strings.Repeat("yzzzz", 60000)},
		"one within another":      {always(nested), strings.Repeat("x", 200000) + nested + strings.Repeat("yzzzzzzzzzzzzz", 200000)},
		"ever new, to be evicted": {func(n int) string { return fmt.Sprintf("a-token-to-push-others-out-%06d", n) }, `{"items":[],"next_token":"more"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, granted := harvest(t, strings.ReplaceAll(name, " ", "-"), c.token, c.body)
			if granted == 0 {
				t.Error("no token was asked for")
			}
			if !bytes.Equal(got, alone) {
				for i := range got {
					if i >= len(alone) || got[i] != alone[i] {
						t.Fatalf("the export differs at byte %d:\n%.200s\nalone:\n%.200s", i, got[max(0, i-50):], alone[min(len(alone), max(0, i-50)):])
					}
				}
				t.Errorf("the export has %d bytes, alone %d", len(got), len(alone))
			}
		})
	}
}
