package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
)

// Everybody: who comes is not asked.
const everybody control.Access = ""

// rolesOfRoutes is what each route needs. A route without a row here fails the test:
// whoever adds one has decided who may come.
var rolesOfRoutes = map[string]control.Access{
	"GET /healthz":             everybody,
	"GET /readyz":              everybody,
	"GET /version":             everybody,
	"GET /api/v1/openapi.json": everybody,
	"GET /metrics":             control.Viewer,

	"GET /api/v1/status":                 control.Viewer,
	"GET /api/v1/doctor":                 control.Operator,
	"GET /api/v1/queries/explain":        control.Viewer,
	"GET /api/v1/queue":                  control.Viewer,
	"GET /api/v1/errors/top":             control.Viewer,
	"GET /api/v1/tasks":                  control.Viewer,
	"GET /api/v1/tasks/{id}":             control.Viewer,
	"GET /api/v1/tasks/{id}/why":         control.Viewer,
	"GET /api/v1/runs":                   control.Viewer,
	"GET /api/v1/runs/{id}":              control.Viewer,
	"GET /api/v1/runs/{id}/why":          control.Viewer,
	"GET /api/v1/runs/{id}/batches/{no}": control.Viewer,
	"GET /api/v1/rates":                  control.Viewer,
	"GET /api/v1/sources/{code}/lower":   control.Operator,
	"POST /api/v1/sources/{code}/lower":  control.Operator,
	"GET /api/v1/changes":                control.Viewer,

	"GET /api/v1/outbox":                        control.Viewer,
	"GET /api/v1/outbox/messages/{id}":          control.Viewer,
	"GET /api/v1/outbox/messages/{id}/retry":    control.Operator,
	"POST /api/v1/outbox/messages/{id}/retry":   control.Operator,
	"GET /api/v1/outbox/retry":                  control.Operator,
	"POST /api/v1/outbox/retry":                 control.Operator,
	"GET /api/v1/outbox/targets":                control.Viewer,
	"GET /api/v1/outbox/targets/{name}/add":     control.Admin,
	"POST /api/v1/outbox/targets/{name}/add":    control.Admin,
	"GET /api/v1/outbox/targets/{name}/remove":  control.Admin,
	"POST /api/v1/outbox/targets/{name}/remove": control.Admin,

	"GET /api/v1/alerts":              control.Viewer,
	"GET /api/v1/alerts/{id}":         control.Viewer,
	"GET /api/v1/alerts/{id}/ack":     control.Operator,
	"POST /api/v1/alerts/{id}/ack":    control.Operator,
	"GET /api/v1/alerts/{id}/snooze":  control.Operator,
	"POST /api/v1/alerts/{id}/snooze": control.Operator,
	"POST /api/v1/alerts/test":        control.Operator,

	"GET /api/v1/errors/{id}/ack":                control.Operator,
	"POST /api/v1/errors/{id}/ack":               control.Operator,
	"GET /api/v1/errors/{id}/mute":               control.Operator,
	"POST /api/v1/errors/{id}/mute":              control.Operator,
	"GET /api/v1/errors/{id}/resolve":            control.Operator,
	"POST /api/v1/errors/{id}/resolve":           control.Operator,
	"GET /api/v1/quarantine/{id}/discard":        control.Operator,
	"POST /api/v1/quarantine/{id}/discard":       control.Operator,
	"POST /api/v1/quarantine/refetch/preview":    control.Operator,
	"POST /api/v1/quarantine/refetch":            control.Operator,
	"POST /api/v1/quarantine/reparse/preview":    control.Operator,
	"POST /api/v1/quarantine/reparse":            control.Operator,
	"POST /api/v1/blackbox/{run}/{batch}/export": control.Operator,
	"POST /api/v1/replays":                       control.Operator,
	"GET /api/v1/errors":                         control.Viewer,
	"GET /api/v1/errors/{id}":                    control.Viewer,
	"GET /api/v1/quarantine":                     control.Viewer,
	"GET /api/v1/quarantine/{id}":                control.Viewer,
	"GET /api/v1/records":                        control.Viewer,
	"GET /api/v1/works":                          control.Viewer,
	"GET /api/v1/works/{id}":                     control.Viewer,
	"GET /api/v1/works/suggestions":              control.Viewer,
	"GET /api/v1/works/identifiers":              control.Viewer,
	"POST /api/v1/works/join/preview":            control.Operator,
	"POST /api/v1/works/join":                    control.Operator,
	"POST /api/v1/works/split/preview":           control.Operator,
	"POST /api/v1/works/split":                   control.Operator,
	"GET /api/v1/works/decisions/{id}/revoke":    control.Operator,
	"POST /api/v1/works/decisions/{id}/revoke":   control.Operator,
	"GET /api/v1/records/{code}/{id}":            control.Viewer,
	"GET /api/v1/records/{code}/{id}/history":    control.Viewer,
	"GET /api/v1/blackbox/{run}/{batch}":         control.Viewer,
	"GET /api/v1/archives":                       control.Viewer,
	"GET /api/v1/archives/rows":                  control.Viewer,
	"GET /api/v1/database":                       control.Viewer,
	"GET /api/v1/audit":                          control.Viewer,

	"GET /api/v1/sources":                  control.Viewer,
	"GET /api/v1/sources/{code}":           control.Viewer,
	"GET /api/v1/sources/{code}/contract":  control.Viewer,
	"GET /api/v1/sources/{code}/diff":      control.Viewer,
	"GET /api/v1/sources/{code}/history":   control.Viewer,
	"GET /api/v1/sources/{code}/gaps":      control.Viewer,
	"GET /api/v1/sources/{code}/coverage":  control.Viewer,
	"GET /api/v1/sources/{code}/requests":  control.Viewer,
	"GET /api/v1/sources/{code}/pause":     control.Operator,
	"POST /api/v1/sources/{code}/pause":    control.Operator,
	"GET /api/v1/sources/{code}/resume":    control.Operator,
	"POST /api/v1/sources/{code}/resume":   control.Operator,
	"GET /api/v1/sources/{code}/retry":     control.Operator,
	"POST /api/v1/sources/{code}/retry":    control.Operator,
	"GET /api/v1/sources/{code}/rollback":  control.Admin,
	"POST /api/v1/sources/{code}/rollback": control.Admin,
	"POST /api/v1/packs/validate":          control.Operator,
	"POST /api/v1/packs/preview":           control.Admin,
	"POST /api/v1/packs":                   control.Admin,

	"GET /api/v1/plans":               control.Viewer,
	"GET /api/v1/plans/{id}":          control.Viewer,
	"GET /api/v1/plans/{id}/slices":   control.Viewer,
	"GET /api/v1/plans/{id}/matrix":   control.Viewer,
	"GET /api/v1/plans/{id}/spec":     control.Viewer,
	"GET /api/v1/plans/{id}/lineage":  control.Viewer,
	"POST /api/v1/plans":              control.Operator,
	"POST /api/v1/plans/preview":      control.Operator,
	"GET /api/v1/plans/{id}/cancel":   control.Admin,
	"POST /api/v1/plans/{id}/cancel":  control.Admin,
	"POST /api/v1/refreshes":          control.Operator,
	"POST /api/v1/refreshes/preview":  control.Operator,
	"POST /api/v1/triggers":           control.Operator,
	"GET /api/v1/slices/{id}":         control.Viewer,
	"GET /api/v1/slices/{id}/cancel":  control.Operator,
	"POST /api/v1/slices/{id}/cancel": control.Operator,
	"GET /api/v1/slices/{id}/accept":  control.Operator,
	"POST /api/v1/slices/{id}/accept": control.Operator,

	"GET /api/v1/cursors":            control.Viewer,
	"GET /api/v1/cursors/timeline":   control.Viewer,
	"GET /api/v1/coverage":           control.Viewer,
	"GET /api/v1/cursors/{id}":       control.Viewer,
	"GET /api/v1/cursors/{id}/skip":  control.Operator,
	"POST /api/v1/cursors/{id}/skip": control.Operator,

	"GET /api/v1/searches":                 control.Viewer,
	"GET /api/v1/searches/{name}":          control.Viewer,
	"GET /api/v1/searches/{name}/report":   control.Viewer,
	"POST /api/v1/searches":                control.Operator,
	"POST /api/v1/searches/preview":        control.Operator,
	"GET /api/v1/searches/{name}/remove":   control.Operator,
	"POST /api/v1/searches/{name}/remove":  control.Operator,
	"GET /api/v1/schedules":                control.Viewer,
	"GET /api/v1/schedules/{name}":         control.Viewer,
	"POST /api/v1/schedules":               control.Operator,
	"POST /api/v1/schedules/preview":       control.Operator,
	"GET /api/v1/schedules/{name}/pause":   control.Operator,
	"POST /api/v1/schedules/{name}/pause":  control.Operator,
	"GET /api/v1/schedules/{name}/resume":  control.Operator,
	"POST /api/v1/schedules/{name}/resume": control.Operator,
	"GET /api/v1/schedules/{name}/remove":  control.Operator,
	"POST /api/v1/schedules/{name}/remove": control.Operator,

	"GET /api/v1/credentials":                        control.Admin,
	"POST /api/v1/credentials":                       control.Admin,
	"POST /api/v1/credentials/preview":               control.Admin,
	"GET /api/v1/credentials/{code}/{name}/disable":  control.Admin,
	"POST /api/v1/credentials/{code}/{name}/disable": control.Admin,
	"GET /api/v1/tokens":                             control.Admin,
	"GET /api/v1/tokens/{name}/revoke":               control.Admin,
	"POST /api/v1/tokens/{name}/revoke":              control.Admin,
}

// TestEveryRouteForEveryRole calls every route without a token, and with each role,
// as it is served and read-only: who may gets an answer, who may not a refusal that
// says why.
func TestEveryRouteForEveryRole(t *testing.T) {
	r := newRig(t, nil)
	doc := r.document()
	tokens := map[control.Access]string{}
	for _, role := range []control.Access{control.Viewer, control.Operator, control.Admin} {
		tokens[role] = r.token(role)
	}
	named := 0
	for _, readOnly := range []bool{false, true} {
		r.config.ReadOnly = readOnly
		r.open()
		for _, op := range doc.operations() {
			name := op.method + " " + op.path
			needs, is := rolesOfRoutes[name]
			if !is {
				t.Errorf("%s has no row that says who may come", name)
				continue
			}
			named++
			call := func(token string) (int, string) {
				body := ""
				if op.method == http.MethodPost {
					body = "{}" // reaches the route, and asks for nothing
				}
				rec := r.send(with(ask(op.method, inPath(op.path, "crossref", "1", "nobody"), body), token))
				doc.holds(op, "as somebody", rec)
				code := ""
				if rec.Header().Get("Content-Type") == "application/problem+json" {
					code, _ = object(t, rec)["code"].(string)
				}
				return rec.Code, code
			}
			status, code := call("")
			if needs == everybody {
				if status == 401 || status == 403 {
					t.Errorf("%s asks who comes: %d", name, status)
				}
				continue
			}
			if status != 401 || code != "token" {
				t.Errorf("%s without a token: %d %s", name, status, code)
			}
			for role, token := range tokens {
				status, code := call(token)
				switch may := role.Covers(needs); {
				case !may:
					if status != 403 || code != "role" {
						t.Errorf("%s as %s: %d %s", name, role, status, code)
					}
				case readOnly && op.method != http.MethodGet:
					if status != 403 || code != "read_only" {
						t.Errorf("%s as %s, read-only: %d %s", name, role, status, code)
					}
				case status == 401 || status == 403 || status >= 500:
					t.Errorf("%s as %s: %d %s", name, role, status, code)
				}
			}
		}
	}
	if named != 2*len(rolesOfRoutes) {
		t.Errorf("%d of the routes named here are there", named/2)
	}
}

// TestR53_CrossSitePostIsRefused: a page of another site cannot change anything, by
// whatever its browser tells of it, and neither can a form.
func TestR53_CrossSitePostIsRefused(t *testing.T) {
	r := newRig(t, nil)
	post := func(headers map[string]string) *http.Request {
		req := ask("POST", "/api/v1/sources/crossref/pause", `{"reason":"x"}`)
		for k, v := range headers {
			req.Header.Set(k, v)
		}
		return req
	}
	for _, headers := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"},
		{"Sec-Fetch-Site": "same-site"},
		{"Origin": "https://evil.example"},
		{"Origin": "null"},
		{"Origin": "http://127.0.0.1:9999"},
	} {
		r.refused(r.send(post(headers)), 403, "cross_origin")
	}
	r.refused(r.send(post(map[string]string{"Content-Type": "text/plain"})), 415, "usage")
	if row, err := r.node.Control.Source(t.Context(), "crossref"); err != nil || row.State != control.SourceReady {
		t.Fatalf("%+v: %v", row, err)
	}
	for _, headers := range []map[string]string{nil, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://127.0.0.1:8080"}} {
		if rec := r.send(post(headers)); rec.Code != 200 {
			t.Errorf("%v: %d %s", headers, rec.Code, rec.Body)
		}
	}
}

// TestARoleIsNamed: what is refused says which role is wanted.
func TestARoleIsNamed(t *testing.T) {
	r := newRig(t, nil)
	rec := r.send(with(ask("POST", "/api/v1/sources/crossref/pause", `{"reason":"x"}`), r.token(control.Viewer)))
	r.refused(rec, 403, "role")
	if title := object(t, rec)["title"].(string); !strings.Contains(title, "operator") || !strings.Contains(title, "token/of-viewer") {
		t.Errorf("%q", title)
	}
}
