package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/infra/console"
	"github.com/papertrace/patra/internal/infra/httpapi"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// house is a patra with a console, over a store of its own.
type house struct {
	*testing.T
	node   *node.Node
	oracle *sim.Sim
	base   string // of the oracle
	dsn    string // of the store
	URL    string // of the console
	stop   func() // ends the server of the console at once
}

// newHouse opens a patra of which nothing was asked yet.
func newHouse(t *testing.T, change func(*httpapi.Config)) *house {
	t.Helper()
	return newHouseWith(t, nil, change)
}

// newHouseAt opens one whose pages stand below a path.
func newHouseAt(t *testing.T, base string, change func(*httpapi.Config)) *house {
	t.Helper()
	return newHouseWith(t, func(c *console.Config) { c.Base = base }, change)
}

// newHouseWith is newHouse with a console that is told more.
func newHouseWith(t *testing.T, tell func(*console.Config), change func(*httpapi.Config)) *house {
	t.Helper()
	oracle, err := sim.New(sim.Config{Sources: []string{"pubmed", "crossref"}, Records: 300, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	upstreams := httptest.NewServer(oracle)
	t.Cleanup(upstreams.Close)
	log := slog.New(slog.DiscardHandler)
	dsn := patratest.SQLite.DSN(t)
	n, err := node.Open(t.Context(), node.Config{DB: dsn, Contact: "tests@example.org", Logger: log, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	same := func(s string) string { return s }
	shown := console.Config{Control: n.Control, Board: new(role.Board), Build: control.Build{Version: "test"}, Redact: same, Logger: log}
	if tell != nil {
		tell(&shown)
	}
	pages, err := console.New(shown)
	if err != nil {
		t.Fatal(err)
	}
	c := httpapi.Config{Control: n.Control, Board: new(role.Board), Build: control.Build{Version: "test"}, Local: true, Redact: same, Pages: pages, Base: shown.Base, Logger: log}
	if change != nil {
		change(&c)
	}
	door, err := httpapi.New(c)
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(door)
	stop := sync.OnceFunc(func() {
		served.Listener.Close()
		served.CloseClientConnections()
		served.Close()
	})
	t.Cleanup(stop)
	return &house{T: t, node: n, oracle: oracle, base: upstreams.URL, dsn: dsn, URL: served.URL, stop: stop}
}

// harvest reads a source of the oracle.
func (h *house) harvest(code string) {
	h.Helper()
	if _, err := h.node.Control.Harvest(context.Background(), control.HarvestRequest{Source: code, BaseURL: h.base + "/" + code, Watch: new(control.Watch)}); err != nil {
		h.Fatal(err)
	}
}

// get asks for a page as a browser without script would.
func (h *house) get(path string) (int, string) {
	h.Helper()
	answer, err := http.Get(h.URL + path)
	if err != nil {
		h.Fatal(err)
	}
	return answer.StatusCode, readAll(answer.Body)
}

// readAll reads a body to its end and closes it.
func readAll(body io.ReadCloser) string {
	defer body.Close()
	b, _ := io.ReadAll(body) // what came is looked at
	return string(b)
}

// furnish gives a house what people make in it: a schedule, a search that was run, and works.
func (h *house) furnish() {
	h.Helper()
	ctx := context.Background()
	by := control.By{Actor: "ada", Reason: "fresh every morning"}
	if _, err := h.node.Control.SetSchedule(ctx, control.ScheduleOrder{By: by, Name: "nightly", Source: "pubmed", Cron: "@daily"}); err != nil {
		h.Fatal(err)
	}
	sources := []string{"pubmed", "crossref"}
	if _, err := h.node.Control.SaveSearch(ctx, control.SearchOrder{By: by, Name: "insulin", Query: "ti:insulin", Sources: sources}); err != nil {
		h.Fatal(err)
	}
	hosts := map[string]string{"pubmed": h.base + "/pubmed", "crossref": h.base + "/crossref"}
	if _, err := h.node.Control.RunSearch(ctx, control.SearchRunRequest{By: by, Name: "insulin", BaseURL: hosts}); err != nil {
		h.Fatal(err)
	}
	if err := h.node.Control.LinkWorks(ctx); err != nil {
		h.Fatal(err)
	}
}

// hostile is what an upstream sends that wants to be more than text.
const hostile = `"><script>window.hacked=1</script><img src=x onerror="window.hacked=1">{{.}}`

const hostilePack = `source: hostile
name: 'Hostile <script>window.hacked=1</script>'
baseUrl: %s
recordType: item
identity: TEXT
http: {allowHttp: true, allowPrivate: true}
rateLimit: {limit: 1000, window: 1s, qps: 900, burst: 1}
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, baseline: 70d, step: 100d, minStep: 1h, target: 30}
pagination: {type: TOKEN, pageSize: 50, total: EXACT, end: NO_TOKEN}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: "${page.size}", token: "${page.token}"}
    response: {items: items, total: total, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v, nextToken: next_token, signals: {error: error}}
mapping: {fields: {title: title, url: id}, volatile: [updated, v, reads]}
`

// hostilePages are pages that show what the hostile source sent.
var hostilePages = []string{
	"/?hostile", "/sources?hostile", "/plans?source=hostile",
	"/records?source=hostile", "/records/hostile/plain", "/records/hostile/" + url.PathEscape(hostile), "/records/hostile/plain/history",
	"/errors?source=hostile", "/errors/1", "/quarantine?source=hostile", "/quarantine/1",
	"/plans/3", "/plans/3/slices", "/tasks?source=hostile", "/runs?source=hostile", "/runs/3", "/runs/3/batches/1",
}

// harvestHostile reads a source of which every text is an attack on the browser, and one
// item cannot be stored.
func (h *house) harvestHostile() {
	h.Helper()
	updated := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
	answer, err := json.Marshal(map[string]any{"total": 3, "items": []map[string]any{
		{"id": hostile, "updated": updated, "v": 1, "title": hostile},
		{"id": "plain", "updated": updated, "v": 1, "title": hostile},
		{"id": "broken", "updated": hostile, "v": hostile, "title": hostile},
	}})
	if err != nil {
		h.Fatal(err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(answer)
	}))
	h.Cleanup(upstream.Close)
	file := filepath.Join(h.TempDir(), "hostile.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, hostilePack, upstream.URL), 0o600); err != nil {
		h.Fatal(err)
	}
	if _, err := h.node.Control.ApplyPack(h.Context(), file, control.SourceOrder{By: control.By{Actor: "test", Reason: hostile}}); err != nil {
		h.Fatal(err)
	}
	r, err := h.node.Control.Harvest(h.Context(), control.HarvestRequest{Source: "hostile", BaseURL: upstream.URL, Watch: new(control.Watch)})
	if err != nil {
		h.Fatal(err)
	}
	h.Logf("hostile: %+v", r.Records)
}
