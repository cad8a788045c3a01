package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/infra/httpapi"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
)

// rig is a door over a node of its own.
type rig struct {
	*testing.T
	node   *node.Node
	door   *httpapi.Door
	config httpapi.Config
}

func newRig(t *testing.T, change func(*httpapi.Config)) *rig {
	t.Helper()
	dsn := patratest.SQLite.DSN(t)
	n, err := node.Open(t.Context(), node.Config{DB: dsn, Contact: "test@example.org", Logger: patratest.Logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{T: t, node: n}
	r.config = httpapi.Config{
		Control: n.Control, Board: new(role.Board), Local: true, Logger: patratest.Logger(t),
		Redact: func(s string) string { return strings.ReplaceAll(s, canary, "***") },
		Build:  control.Build{Version: "test"},
	}
	if change != nil {
		change(&r.config)
	}
	r.open()
	return r
}

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
