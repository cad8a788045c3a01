package console_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	URL    string // of the console
}

// newHouse opens a patra of which nothing was asked yet.
func newHouse(t *testing.T, change func(*httpapi.Config)) *house {
	t.Helper()
	oracle, err := sim.New(sim.Config{Sources: []string{"pubmed", "crossref"}, Records: 300, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	upstreams := httptest.NewServer(oracle)
	t.Cleanup(upstreams.Close)
	log := slog.New(slog.DiscardHandler)
	n, err := node.Open(t.Context(), node.Config{DB: patratest.SQLite.DSN(t), Contact: "tests@example.org", Logger: log, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	same := func(s string) string { return s }
	pages, err := console.New(console.Config{Control: n.Control, Board: new(role.Board), Build: control.Build{Version: "test"}, Redact: same, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	c := httpapi.Config{Control: n.Control, Board: new(role.Board), Build: control.Build{Version: "test"}, Local: true, Redact: same, Pages: pages, Logger: log}
	if change != nil {
		change(&c)
	}
	door, err := httpapi.New(c)
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(door)
	t.Cleanup(served.Close)
	return &house{T: t, node: n, oracle: oracle, base: upstreams.URL, URL: served.URL}
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
	defer answer.Body.Close()
	var b strings.Builder
	buf := make([]byte, 1<<16)
	for {
		n, err := answer.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	return answer.StatusCode, b.String()
}
