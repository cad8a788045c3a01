package httpapi_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/httpapi"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/infra/telemetry"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// rig is a door over a node of its own.
type rig struct {
	*testing.T
	node   *node.Node
	oracle *sim.Sim
	door   *httpapi.Door
	config httpapi.Config
}

// genericPack describes the oracle's generic source.
const genericPack = `source: generic
name: Generic
baseUrl: %s/generic
recordType: item
identity: TEXT
http: {allowHttp: true, allowPrivate: true}
rateLimit: {limit: 1000, window: 1s, qps: 900, burst: 1}
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, baseline: 70d, step: 10d, minStep: 1h, target: 30}
pagination: {type: TOKEN, pageSize: 50, total: ROUGH, end: NO_TOKEN}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", style: token, size: "${page.size}", token: "${page.token}"}
    response: {items: items, total: total, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v, nextToken: next_token, signals: {error: error}}
mapping: {fields: {title: title, url: id}, volatile: [updated, v, reads]}
`

// newRig makes a door over a node that knows the shipped sources and the oracle's
// generic one, of which nothing was asked yet.
func newRig(t *testing.T, change func(*httpapi.Config)) *rig {
	t.Helper()
	return newRigAt(t, patratest.SQLite.DSN(t), change)
}

func newRigAt(t *testing.T, dsn string, change func(*httpapi.Config)) *rig {
	t.Helper()
	oracle, err := sim.New(sim.Config{Sources: []string{sim.Generic}, Records: 60, Seed: 3, LimitRPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(oracle)
	t.Cleanup(upstream.Close)
	packs := t.TempDir()
	if err := os.WriteFile(filepath.Join(packs, "generic.yaml"), fmt.Appendf(nil, genericPack, upstream.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	patratest.Open(t, dsn, sqlstore.Options{}) // from a copy, which is quicker than to migrate
	n, err := node.Open(t.Context(), node.Config{DB: dsn, Packs: packs, Contact: "test@example.org", Logger: patratest.Logger(t), Traces: nowhere()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{T: t, node: n, oracle: oracle}
	r.config = httpapi.Config{
		Control: n.Control, Board: new(role.Board), Local: true, Logger: patratest.Logger(t),
		Redact: func(s string) string { return strings.ReplaceAll(s, canary, "***") },
		Build:  control.Build{Version: "test"}, Metrics: n.Metrics,
	}
	if change != nil {
		change(&r.config)
	}
	r.open()
	return r
}

// nowhere has spans sent to a collector that takes them and keeps none.
func nowhere() telemetry.Collector {
	taken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/x-protobuf") })
	return telemetry.Collector{URL: "http://collector.test/v1/traces", Transport: patratest.Direct{Handler: taken}}
}

// harvest fills the store: a plan that is done, its records, and one slice of a
// backfill that was given up and so is a gap. It returns that slice.
func (r *rig) harvest() harvest.SliceID {
	r.Helper()
	ctl := r.node.Control
	if _, err := ctl.Harvest(r.Context(), control.HarvestRequest{Source: "generic"}); err != nil {
		r.Fatal(err)
	}
	to := time.Now().Add(-80 * 24 * time.Hour).Truncate(24 * time.Hour)
	by := control.By{Actor: "test", Reason: "to have a gap"}
	p, err := ctl.CreatePlan(r.Context(), harvest.Trigger{
		Provenance: "generic", Operation: harvest.Backfill, Activity: "old", Kind: harvest.TriggerManual, From: to.Add(-20 * 24 * time.Hour), To: to,
	}, by)
	if err != nil {
		r.Fatal(err)
	}
	list, err := ctl.Slices(r.Context(), control.SliceQuery{Plan: p.Plan, Page: control.Page{Limit: 10}})
	if err != nil || len(list.Slices) < 2 {
		r.Fatalf("slices %+v: %v", list, err)
	}
	gap := list.Slices[0].ID
	if _, err := ctl.Cancel(r.Context(), control.CancelScope{Slice: gap}, by); err != nil {
		r.Fatal(err)
	}
	return gap
}

// raw is the database behind the store.
func (r *rig) raw() *sql.DB { return patratest.Raw(r.T, r.node.Store.DSN()) }

// canary is a secret that must never come out.
const canary = "c4nary-s3cret-0123456789"

// open makes the door anew, as the configuration says.
func (r *rig) open() {
	r.Helper()
	var err error
	r.door, err = httpapi.New(r.config)
	if err != nil {
		r.Fatal(err)
	}
}

// token makes a token of a role.
func (r *rig) token(role control.Access) string {
	r.Helper()
	made, err := r.node.Control.NewToken(r.Context(), control.TokenOrder{By: control.By{Actor: "test"}, Name: "of-" + string(role), Role: role})
	if err != nil {
		r.Fatal(err)
	}
	return made.Secret
}

// ask is a request as a program on this machine sends it.
func ask(method, path, body string) *http.Request {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Host = "127.0.0.1:8080"
	req.RemoteAddr = "127.0.0.1:40000"
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func with(req *http.Request, token string) *http.Request {
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

func (r *rig) send(req *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	r.door.ServeHTTP(rec, req)
	return rec
}

// object is an answer as JSON.
func object(t *testing.T, rec *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		t.Fatalf("%d %q: %v", rec.Code, rec.Body, err)
	}
	return v
}

// refused fails unless an answer is a problem of a status and code.
func (r *rig) refused(rec *httptest.ResponseRecorder, status int, code string) {
	r.Helper()
	if rec.Code != status || rec.Header().Get("Content-Type") != "application/problem+json" {
		r.Fatalf("%d %s: %s", rec.Code, rec.Header().Get("Content-Type"), rec.Body)
	}
	if v := object(r.T, rec); v["code"] != code || v["type"] != "urn:patra:error:"+code || v["title"] == "" || v["status"] != float64(status) {
		r.Errorf("problem %v", v)
	}
}
