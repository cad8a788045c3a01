package styletest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// hmacKey is what requests are signed with.
const hmacKey = "sim-hmac-secret-0123"

// goodKey is the only API key there is. It is long enough to be one.
const goodKey = "sim-key-0123456789"

// auths are the ways to say who is asking (P16, P22, P25; R42).
var auths = []row{
	authRow("API_KEY in a header", "key", "auth: {type: API_KEY, in: HEADER, name: X-API-Key}", goodKey),
	authRow("API_KEY in the query", "key", "auth: {type: API_KEY, in: QUERY, name: api_key}", goodKey),
	{
		name:   "API_KEY in the body",
		oracle: sim.GenericStyle{Paging: "offset", Body: "form", End: "total", Auth: "key"},
		pack:   "auth: {type: API_KEY, in: BODY, name: api_key}\n",
		keys:   []string{goodKey},
		search: `method: POST
query:
form: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: "${page.size}", offset: "${page.offset}"}
`,
		count: "none",
	},
	with(authRow("R42 two keys, the first withdrawn", "key", "auth: {type: API_KEY, in: HEADER, name: X-API-Key}", "withdrawn-key-012345", goodKey), func(w *row) {
		w.claim = func(t *testing.T, r *run) {
			a := r.Sim.Stats().Sources[code].Auth
			if a.Refused == 0 || a.Refused > 2 {
				t.Errorf("the withdrawn key was tried %d times, want once and then no more: %+v\n%s", a.Refused, a, r.asked())
			}
		}
	}),
	with(authRow("BEARER", "bearer", "auth: {type: BEARER}"), func(w *row) { w.paste = true }),
	authRow("OAUTH2, the client in a header", "bearer", "auth: {type: OAUTH2, token: {url: /oauth/token}}", "sim-client:sim-client-secret"),
	authRow("OAUTH2, the client in the body", "bearer", "auth: {type: OAUTH2, token: {url: /oauth/token, client: BODY}}", "sim-client:sim-client-secret"),
	with(authRow("R42 OAUTH2, a token that ends early", "bearer", "auth: {type: OAUTH2, token: {url: /oauth/token}}", "sim-client:sim-client-secret"), endsEarly),
	with(authRow("LOGIN with a key", "jwt", "auth: "+loginByKey), func(w *row) { w.keys = []string{goodKey} }),
	with(authRow("LOGIN with user and password", "jwt", `auth:
  type: LOGIN
  prefix: "JWT "
  token: {url: /login, body: JSON, fields: {username: "${secret.user}", password: "${secret.password}"}, path: token}`), func(w *row) {
		w.keys = []string{"sim-user:sim-password"}
	}),
	with(authRow("R42 LOGIN, 403 declared as the end of the token", "jwt", "auth: "+loginByKey+`faults:
  - {code: auth_refused, status: 403, body: 'token expired', level: L4}
`), func(w *row) {
		w.keys = []string{goodKey}
		endsEarly(w)
	}),
	authRow("CUSTOM, hmac-sha256", "hmac", "auth: {type: CUSTOM, hook: hmac-sha256}", hmacKey),
}

const loginByKey = `
  type: LOGIN
  prefix: "JWT "
  token: {url: /login, body: JSON, fields: {key: "${secret}"}, path: token, life: 1h}
`

func authRow(name, kind, auth string, keys ...string) row {
	return row{
		name: name, oracle: sim.GenericStyle{Paging: "token", Auth: kind}, pack: byToken + auth + "\n", keys: keys,
		query: sendToken, response: nextToken, under: []sim.Fault{sim.HTTP500, sim.ServedLost},
	}
}

func with(w row, f func(*row)) row {
	f(&w)
	return w
}

// endsEarly ends all tokens in the middle of the walk, and wants one new one.
func endsEarly(w *row) {
	w.again = func(int) int { return 1 } // the login
	w.prepare = func(r *run) {
		var pages atomic.Int64
		r.Sim.SetOnRequest(func(q *http.Request) {
			if isPage(q) && pages.Add(1) == 3 {
				r.Sim.ExpireTokens()
			}
		})
	}
	w.claim = func(t *testing.T, r *run) {
		if a := r.Sim.Stats().Sources[code].Auth; a.Refused != 1 || a.Logins != 2 {
			t.Errorf("want one refusal and one new token: %+v\n%s", a, r.asked())
		}
	}
}

// pasted is a token as a person gets it and gives it to patra.
func (r *run) pasted() string {
	r.t.Helper()
	q := httptest.NewRequest("POST", "/generic/oauth/token", strings.NewReader(url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"sim-client"}, "client_secret": {"sim-client-secret"},
	}.Encode()))
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	rec := httptest.NewRecorder()
	r.Sim.ServeHTTP(rec, q)
	var got struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || got.Token == "" {
		r.t.Fatalf("no token: %v %s", err, rec.Body)
	}
	return got.Token
}
