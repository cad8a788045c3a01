package node_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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

// authWay is a way in which a key is sent: the pack's words for it, and where a
// server finds it.
type authWay struct {
	auth   string
	body   string // parameters go as a form, or as JSON
	client bool   // the key is what stands behind an id and a colon
	// find is where a server finds it; nil where it only finds a signature.
	find func(*http.Request) string
	// also is where it finds the second of two secrets.
	also func(*http.Request) string
}

// authWays are all of them.
var authWays = map[string]authWay{
	"key in header": {
		auth: "{type: API_KEY, in: HEADER, name: X-Api-Key, prefix: \"Key \", open: true}",
		find: func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("X-Api-Key"), "Key ") },
	},
	"key in query": {auth: "{type: API_KEY, in: QUERY, name: api_key, open: true}", find: func(r *http.Request) string { return r.URL.Query().Get("api_key") }},
	"key in body":  {auth: "{type: API_KEY, in: BODY, name: api_key, open: true}", body: "form", find: func(r *http.Request) string { return r.PostForm.Get("api_key") }},
	"key in a JSON body": {
		auth: "{type: API_KEY, in: BODY, name: api_key, prefix: \"Key \", open: true, also: [{in: BODY, name: inst}]}", body: "json",
		find: func(r *http.Request) string { return strings.TrimPrefix(r.PostForm.Get("api_key"), "Key ") },
		also: func(r *http.Request) string { return r.PostForm.Get("inst") },
	},
	"oauth2":                 {auth: "{type: OAUTH2, open: true, token: {url: /token, scope: all}}", client: true, find: bearer},
	"oauth2, client in form": {auth: "{type: OAUTH2, open: true, token: {url: /token, client: BODY}}", client: true, find: bearer},
	"bearer":                 {auth: "{type: BEARER, open: true}", find: bearer},
	"basic": {auth: "{type: BASIC, open: true}", find: func(r *http.Request) string {
		b, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Authorization"), "Basic "))
		return string(b)
	}},
	"login": {
		auth: "{type: LOGIN, open: true, prefix: \"JWT \", token: {url: /login, body: JSON, fields: {key: \"${secret}\"}, path: token}}",
		find: func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Authorization"), "JWT ") },
	},
	"signature": {auth: "{type: CUSTOM, hook: hmac-sha256, open: true}"},
	"two in headers": {
		auth: "{type: BEARER, open: true, also: [{in: HEADER, name: X-Inst, prefix: \"Inst \"}]}", find: bearer,
		also: func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("X-Inst"), "Inst ") },
	},
	"two in queries": {
		auth: "{type: API_KEY, in: QUERY, name: api_key, open: true, also: [{in: QUERY, name: inst}]}",
		find: func(r *http.Request) string { return r.URL.Query().Get("api_key") }, also: func(r *http.Request) string { return r.URL.Query().Get("inst") },
	},
	"two, one of them a login": {
		auth: "{type: LOGIN, open: true, token: {url: /login, body: JSON, fields: {key: \"${secret}\"}, path: token}, also: [{in: QUERY, name: inst}]}",
		find: bearer, also: func(r *http.Request) string { return r.URL.Query().Get("inst") },
	},
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// signedBy tells by which of the secrets it shares a request was signed.
func signedBy(secrets []string) func(*http.Request) string {
	return func(r *http.Request) string {
		for _, s := range secrets {
			mac := hmac.New(sha256.New, []byte(s))
			fmt.Fprintf(mac, "%s\n%s\n%s\n%s", r.Method, r.URL.EscapedPath(), r.URL.Query().Encode(), r.Header.Get("X-Timestamp"))
			if r.Header.Get("X-Signature") == hex.EncodeToString(mac.Sum(nil)) {
				return s
			}
		}
		return ""
	}
}

// guarded is the generic source as a pack, with a key.
func guarded(auth, body string) string {
	method := ""
	if body != "" {
		method = "    method: POST\n"
	}
	send := func(pairs ...string) string {
		if body == "json" {
			return "body: >-\n      {" + strings.Join(pairs, ", ") + `, "api_key": "${secret.api_key}", "inst": ${secret.inst}}`
		}
		return cmp.Or(body, "query") + ": {" + strings.Join(pairs, ", ") + "}"
	}
	details := `form: {ids: "${join(ids, ',')}"}`
	if body == "json" {
		details = send(`"ids": "${join(ids, ',')}"`)
	}
	const from, to = `"from": "${iso(window.from)}"`, `"to": "${iso(window.to)}"`
	return `source: generic
name: Generic
baseUrl: https://generic.example
zone: UTC
recordType: item
identity: TEXT
auth: ` + auth + `
retry: {maxAttempts: 3, base: 100ms, max: 2s}
rateLimit: {limit: 10, window: 1s, qps: 5, burst: 1}
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: PT10M, align: 1s, baseline: 30d, step: P30D, minStep: 1h, target: 100}
pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: [NO_TOKEN]}
batching: {idBatchSize: 10}
endpoints:
  items:
    usage: SEARCH
` + method + `    path: /items
    format: JSON
    ` + send(from, to, `"style": "token"`, `"size": "${page.size}"`, `"token": "${page.token}"`) + `
    response: {items: items, id: id, total: total, nextToken: next_token, signals: {error: error}}
  batch:
    usage: DETAIL
    method: POST
    path: /batch
    format: JSON
    ` + details + `
    response: {items: items, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v}
  count:
    usage: COUNT
` + method + `    path: /items
    format: JSON
    ` + send(from, to, `"style": "offset"`, `"size": "1"`) + `
    response: {root: total, total: total}
faults:
  - {code: token_expired, status: 410, level: L1, reaction: RESTART}
mapping:
  fields: {title: title, url: author}
  volatile: [updated, v, reads]
`
}

// gossip is an upstream that writes keys back wherever it can: into its
// records, its errors, its headers and the names of what it does not know.
type gossip struct {
	next http.Handler
	find func(*http.Request) string
	also func(*http.Request) string // nil: there is no second secret
	bad  string                     // the key it refuses
	mu   sync.Mutex
	with map[string]int // requests by key
	// tokens it has given out, by what they were given for.
	tokens map[string]string
}

// login gives a token for a key, and repeats it.
func (g *gossip) login(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Key string }
	_ = json.NewDecoder(r.Body).Decode(&asked)
	token := g.token(asked.Key)
	w.Header().Set("X-Echo", token)
	_ = json.NewEncoder(w).Encode(map[string]string{"token": token, "for": asked.Key})
}

// grant is the login of OAuth 2, for the secret of a client.
func (g *gossip) grant(w http.ResponseWriter, r *http.Request) {
	_, secret, basic := r.BasicAuth() // both escaped: RFC 6749, 2.3.1
	secret, _ = url.QueryUnescape(secret)
	if !basic {
		secret = r.PostFormValue("client_secret")
	}
	token := g.token(secret)
	w.Header().Set("X-Echo", token+" "+forms(secret))
	_ = json.NewEncoder(w).Encode(map[string]string{"access_token": token, "for": forms(secret)})
}

func (g *gossip) token(key string) string {
	sum := sha256.Sum256([]byte(key))
	token := fmt.Sprintf("t0ken/%x==", sum[:12])
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens[token] = key
	return token
}

// forms is a secret in the ways in which it may be said.
func forms(s string) string {
	quoted, _ := json.Marshal(s)
	return fmt.Sprintf("%s %s %s %s %x %s", s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)), s, quoted)
}

func (g *gossip) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/login") {
		g.login(w, r)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/token") {
		g.grant(w, r)
		return
	}
	if r.Header.Get("Content-Type") == "application/json" { // of which the oracle knows nothing
		var said map[string]string
		if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
			http.Error(w, err.Error(), http.StatusNotAcceptable)
			return
		}
		r.PostForm = url.Values{}
		for k, v := range said {
			r.PostForm.Set(k, v)
		}
		r.Form = r.PostForm
	}
	_ = r.ParseForm()
	key := g.find(r)
	g.mu.Lock()
	who := cmp.Or(g.tokens[key], key)
	g.with[who]++
	n := g.with[who]
	all, esc := forms(key), url.QueryEscape(key)
	if who != key { // what the token was given for
		all += " " + forms(who)
	}
	if g.also != nil {
		second := g.also(r)
		g.with[second]++
		all += " " + forms(second)
		esc += "&inst=" + url.QueryEscape(second)
	}
	g.mu.Unlock()
	for _, name := range []string{"X-Echo", "Date", "Retry-After", "Server", "Link", "X-Ratelimit-Limit"} {
		if name != "Retry-After" || n%3 == 0 {
			w.Header().Set(name, all)
		}
	}
	switch {
	case who == g.bad:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"who is %s","authorization":%q,"url":"/items?api_key=%s"}`, all, r.Header, esc)
		return
	case n%11 == 0:
		w.Header().Set("Location", "https://u:"+esc+"@evil.example/?api_key="+esc)
		w.WriteHeader(http.StatusFound)
		return
	case n%7 == 0:
		w.WriteHeader([]int{500, 403, 404, 429, 418}[n/7%5])
		fmt.Fprint(w, all)
		return
	case n%5 == 0:
		fmt.Fprintf(w, `{"error":%q}`, all)
		return
	}
	rec := httptest.NewRecorder()
	g.next.ServeHTTP(rec, r)
	for k, v := range rec.Header() {
		if k != "Date" && k != "Content-Length" {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(rec.Code)
	inside, _ := json.Marshal(all)
	said := bytes.ReplaceAll(rec.Body.Bytes(), []byte(`"author":"`), append([]byte(`"author":`), bytes.TrimSuffix(inside, []byte(`"`))...))
	_, _ = w.Write(said)
}

// TestR48_EveryAuthUnderEveryFault harvests with each way of sending a key from
// an upstream that repeats it, under every fault the oracle knows, and then
// looks for it in all that is kept or said. Without PATRA_SOAK=1 each way meets every sixth
// fault, and so each fault at least two ways.
func TestR48_EveryAuthUnderEveryFault(t *testing.T) {
	patratest.Long(t, "a matrix of cases without concurrency")
	ways := slices.Sorted(maps.Keys(authWays))
	faults := sim.AllFaults
	var cases, sent, refused, stored, boxes, searched atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d cases: the good keys were sent %d times, the bad ones %d; %d records, %d MiB of store",
			cases.Load(), sent.Load(), refused.Load(), stored.Load(), searched.Load()>>20)
		if sent.Load() < 200 || refused.Load() < 50 || stored.Load() < 100 || boxes.Load() < 100_000 {
			t.Errorf("too little to look at: %d sent, %d refused, %d stored, %d bytes of black boxes", sent.Load(), refused.Load(), stored.Load(), boxes.Load())
		}
	})
	for i, way := range ways {
		// One good, one bad; what has to be escaped somewhere is in both.
		canaries := []string{fmt.Sprintf("can4ry%d/A+=&\"é:<pw>passw0rd", i), fmt.Sprintf("badcan4ry%d \\B?%%#:'passw0rd'", i)}
		ref, sealed := fmt.Sprint("MY_TEST_CANARY", i), canaries[1]
		id := ""
		if authWays[way].client {
			id = "client:"
		}
		sealed = id + sealed
		t.Setenv(ref, id+canaries[0])
		var seconds []string
		if authWays[way].also != nil {
			seconds = []string{fmt.Sprintf("inst can4ry%d/Y+=&\"é:<pw>", i), fmt.Sprintf("badinst can4ry%d \\Z?%%#:'", i)}
			t.Setenv(ref+"_ALSO", seconds[0])
			ref, sealed = ref+","+ref+"_ALSO", sealed+"\n"+seconds[1]
		}
		for k, fault := range faults {
			if !patratest.Soak() && (i+k)%6 != 0 {
				continue
			}
			t.Run(way+"/"+string(fault), func(t *testing.T) {
				t.Parallel()
				cases.Add(1)
				servedBubble(t, func(t *testing.T) {
					w := authWays[way]
					oracle, err := sim.New(sim.Config{
						Sources: []string{sim.Generic}, Records: 40, Seed: uint64(k + 1), LimitRPS: -1, Now: time.Now().Add(-time.Hour), // Date will be of no use
						Faults: sim.Faults{Rates: map[sim.Fault]float64{fault: .3}, MaxInRow: 2, DelayMS: 1},
					})
					if err != nil {
						t.Fatal(err)
					}
					up := &gossip{next: oracle, find: w.find, also: w.also, bad: canaries[1], with: map[string]int{}, tokens: map[string]string{}}
					if up.find == nil {
						up.find = signedBy(canaries)
					}
					var log bytes.Buffer
					logger := slog.New(slog.NewJSONHandler(&syncWriter{w: &log}, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
					dsn := patratest.SQLite.SpareDSN(t)
					db := strings.TrimPrefix(dsn, "sqlite:")
					store := patratest.Open(t, dsn, sqlstore.Options{Logger: logger})
					pack := patratest.TextPack(t, "generic.yaml", []byte(guarded(w.auth, w.body)), patratest.Fast)
					spans := &collector{t: t}
					n := node.Assemble(node.Config{Workers: 2, Poll: 10 * time.Second, Logger: logger, Traces: spans.settings()}, store,
						registry.NewStatic(map[string]registry.Pack{"generic": pack}, nil), patratest.Direct{Handler: up})
					describe(t, store, "generic")
					setKey(t, n, "generic", "env", credential.Secret{}, credential.SecretRef{Kind: credential.SecretEnv, Ref: ref})
					setKey(t, n, "generic", "bad", credential.NewSecret(sealed), credential.SecretRef{})

					var said strings.Builder
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
					defer cancel()
					rep, err := n.Control.Harvest(ctx, control.HarvestRequest{Source: "generic", BaseURL: source.WithCredentials("http://127.0.0.1/generic")})
					fmt.Fprintf(&said, "%v %+v %#v %+v\n", err, err, err, rep)
					stored.Add(int64(tellAll(t, store, &said)))
					counted, err := n.Metrics(t.Context())
					if err != nil || !bytes.Contains(counted, []byte("patra_ingest_http_requests_total{")) {
						t.Errorf("metrics %v: %s", err, counted)
					}

					up.mu.Lock()
					sent.Add(int64(up.with[canaries[0]]))
					refused.Add(int64(up.with[canaries[1]]))
					if up.with[canaries[0]]+up.with[canaries[1]] == 0 {
						t.Errorf("no key was sent: %v", up.with)
					}
					if w.also != nil && up.with[seconds[0]]+up.with[seconds[1]] == 0 {
						t.Errorf("no second secret was sent: %v", up.with)
					}
					canaries := slices.Concat(canaries, seconds, slices.Collect(maps.Keys(up.tokens)))
					up.mu.Unlock()
					lookFor(t, "what was said", []byte(said.String()), canaries)
					lookFor(t, "the log", log.Bytes(), canaries)
					lookFor(t, "the metrics", counted, canaries)
					shown := allBoxes(t, n)
					boxes.Add(int64(len(shown)))
					lookFor(t, "the black boxes", shown, canaries)
					searched.Add(int64(lookInFiles(t, db, canaries)))
					spans.lookFor(n, canaries)
				})
			})
		}
	}
}

// allBoxes are the black boxes of all pages of a store, as they are shown and as they are
// taken out, and the reports of their replay. A source that was stopped at the first
// contact has none.
func allBoxes(t *testing.T, n *node.Node) []byte {
	t.Helper()
	var out bytes.Buffer
	write := func(v any, err error) {
		t.Helper()
		if err == nil {
			err = json.NewEncoder(&out).Encode(v)
		}
		if err != nil {
			t.Error(err)
		}
	}
	ctx := context.WithoutCancel(t.Context())
	var pages int
	if err := patratest.Raw(t, n.Store.DSN()).QueryRowContext(ctx, `SELECT COUNT(*) FROM ing_task_run_batch`).Scan(&pages); err != nil {
		t.Fatalf("count pages: %v", err)
	}
	for id := range pages {
		ref := fmt.Sprint(id + 1)
		shown, err := n.Control.BlackBox(ctx, ref, 50)
		write(shown, err)
		taken, _, err := n.Control.ExportBlackBox(ctx, control.BoxOrder{By: control.By{Actor: "t", Reason: "r"}, Batch: ref, Unmasked: true})
		write(taken, err)
		report, err := n.Control.ReplayBatch(ctx, ref, false)
		write(report, err)
	}
	return out.Bytes()
}

// TestR48_PanicsShowNoKey: a process that dies with a key in its hands, or in
// the value it dies of, does not tell.
func TestR48_PanicsShowNoKey(t *testing.T) {
	t.Parallel()
	const canary = "panic-can4ry/E+5=="
	if how := os.Getenv("PATRA_TEST_PANIC"); how != "" {
		dieOf(t, how)
		return
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"transport", "secret", "key", "pointer", "wrapped"} {
		cmd := exec.CommandContext(t.Context(), me, "-test.run=^TestR48_PanicsShowNoKey$")
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GOTRACEBACK=") }),
			"PATRA_TEST_PANIC="+how, "MY_TEST_CANARY="+canary, "GOTRACEBACK=all", "PATRA_KEY="+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)))
		out, err := cmd.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("panic: ")) || !bytes.Contains(out, []byte("goroutine ")) {
			t.Errorf("%s: did not die: %v\n%s", how, err, out)
		}
		lookFor(t, "the panic of "+how, out, []string{canary})
	}
}

// dieOf is the child.
func dieOf(t *testing.T, how string) {
	key := credential.Key{Credential: credential.Credential{Name: "env"}, Secret: credential.NewSecret(os.Getenv("MY_TEST_CANARY"))}
	switch how {
	case "secret":
		panic(key.Secret)
	case "key":
		panic(fmt.Sprintf("%v %+v %#v %s %q %x", key, key, key, key.Secret, key.Secret, key.Secret))
	case "pointer":
		panic(&key)
	case "wrapped":
		panic(fmt.Errorf("with %v: %w", key, os.ErrInvalid))
	}
	r := keyRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 20, Seed: 1, LimitRPS: -1}})
	setKey(t, r.Node, "pubmed", "env", credential.Secret{}, credential.SecretRef{Kind: credential.SecretEnv, Ref: "MY_TEST_CANARY"})
	r.Sim.SetOnRequest(func(q *http.Request) {
		if q.Form.Get("api_key") == os.Getenv("MY_TEST_CANARY") {
			panic("the transport is broken") // with the key in every frame above
		}
	})
	_, err := r.Harvest(t.Context(), "pubmed")
	t.Fatalf("lived: %v", err)
}
