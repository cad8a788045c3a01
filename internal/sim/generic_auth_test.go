package sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// visit asks for items with headers given in pairs.
func visit(s http.Handler, target string, headers ...string) answer {
	r := httptest.NewRequest("GET", target, nil)
	for k := 0; k < len(headers); k += 2 {
		r.Header.Set(headers[k], headers[k+1])
	}
	return do(s, r)
}

func signIn(t *testing.T, s http.Handler, body string) string {
	t.Helper()
	a := ask{path: "/generic/login", kind: "application/json", body: body}.do(s)
	var out struct{ Token string }
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil || a.Code != 200 {
		t.Fatalf("login: %d %s", a.Code, a.Body)
	}
	return out.Token
}

func TestGenericKeys(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, GenericAuth: GenericAuth{Key: "k1"}})
	for _, c := range []struct {
		query   string
		headers []string
		code    int
	}{
		{"auth=key", nil, 401},
		{"auth=key", []string{"X-API-Key", "k2"}, 401},
		{"auth=key", []string{"X-API-Key", "k1"}, 200},
		{"auth=key&api_key=k1", nil, 200},
		{"auth=key2", []string{"X-API-Key", "k1"}, 401},
		{"auth=key2", []string{"X-Inst-Token", "sim-inst-token"}, 401},
		{"auth=key2", []string{"X-API-Key", "k1", "X-Inst-Token", "sim-inst-token"}, 200},
		{"auth=key2&api_key=k1&insttoken=sim-inst-token", nil, 200},
	} {
		if a := visit(s, "/generic/items?"+c.query, c.headers...); a.Code != c.code {
			t.Errorf("%s %v: %d, want %d", c.query, c.headers, a.Code, c.code)
		}
	}
	if st := s.Stats().Sources[Generic].Auth; st != (AuthStats{Accepted: 4, Refused: 4}) {
		t.Errorf("stats: %+v", st)
	}
	for _, path := range []string{"/items/g-00000001", "/batch", "/history", "/oai", "/items/2024-05-01/2024-05-02/0"} {
		if a := visit(s, "/generic"+path+"?auth=key&ids=g-00000001&verb=Identify"); a.Code != 401 {
			t.Errorf("%s without a key: %d", path, a.Code)
		}
	}
	s.Script(Script{Fault: TotalWrong})
	visit(s, "/generic/items?auth=key")
	if s.Scripted() != 1 {
		t.Error("a refused request has used up a fault of the list")
	}
}

func TestGenericOAuth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Sources: []string{Generic}, GenericAuth: GenericAuth{TokenLife: 10 * time.Minute}})
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {"sim-client"}, "client_secret": {"sim-client-secret"}}
		var grant struct {
			AccessToken string `json:"access_token"`
			TokenType   string `json:"token_type"`
			ExpiresIn   int    `json:"expires_in"`
		}
		a := post(s, "/generic/oauth/token", form)
		if err := json.Unmarshal(a.Body.Bytes(), &grant); err != nil || a.Code != 200 || grant.TokenType != "Bearer" || grant.ExpiresIn != 600 {
			t.Fatalf("%d %s", a.Code, a.Body)
		}
		items := func(token string) int {
			return visit(s, "/generic/items?auth=bearer", "Authorization", "Bearer "+token).Code
		}
		if code := items(grant.AccessToken); code != 200 {
			t.Errorf("fresh: %d", code)
		}
		time.Sleep(10*time.Minute - time.Nanosecond)
		if code := items(grant.AccessToken); code != 200 {
			t.Errorf("in time: %d", code)
		}
		time.Sleep(time.Nanosecond)
		a = visit(s, "/generic/items?auth=bearer", "Authorization", "Bearer "+grant.AccessToken)
		if a.Code != 401 || !strings.Contains(a.Header().Get("WWW-Authenticate"), "invalid_token") {
			t.Errorf("expired: %d %v", a.Code, a.Header())
		}

		r := httptest.NewRequest("POST", "/generic/oauth/token", strings.NewReader("grant_type=client_credentials"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth("sim-client", "sim-client-secret")
		first := grant.AccessToken
		if a := do(s, r); json.Unmarshal(a.Body.Bytes(), &grant) != nil || grant.AccessToken == first || items(grant.AccessToken) != 200 {
			t.Errorf("basic: %d %s", a.Code, a.Body)
		}
		s.ExpireTokens()
		if code := items(grant.AccessToken); code != 401 {
			t.Errorf("expired by hand: %d", code)
		}
		if code := items(signIn(t, s, `{"key":"sim-key"}`)); code != 401 {
			t.Errorf("a login's token as bearer: %d", code)
		}
		form.Set("client_secret", "wrong")
		if a := post(s, "/generic/oauth/token", form); a.Code != 401 || !strings.Contains(a.Body.String(), "invalid_client") {
			t.Errorf("wrong secret: %d %s", a.Code, a.Body)
		}
		form.Set("grant_type", "password")
		if a := post(s, "/generic/oauth/token", form); a.Code != 400 || !strings.Contains(a.Body.String(), "unsupported_grant_type") {
			t.Errorf("wrong grant: %d %s", a.Code, a.Body)
		}
		if a := get(s, "/generic/oauth/token", "grant_type", "client_credentials", "client_id", "sim-client", "client_secret", "sim-client-secret"); a.Code != 405 {
			t.Errorf("GET: %d", a.Code)
		}
		if st := s.Stats().Sources[Generic].Auth; st != (AuthStats{Accepted: 3, Refused: 3, Logins: 3, LoginsRefused: 2}) {
			t.Errorf("stats: %+v", st)
		}
	})
}

func TestGenericLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Sources: []string{Generic}})
		items := func(header string) int {
			return visit(s, "/generic/items?auth=jwt", "Authorization", header).Code
		}
		token := signIn(t, s, `{"username":"sim-user","password":"sim-password"}`)
		if code := items("JWT " + token); code != 200 {
			t.Errorf("fresh: %d", code)
		}
		for header, want := range map[string]int{"": 401, "Bearer " + token: 401, "JWT nonsense": 401, "JWT jwt.made.up": 401} {
			if code := items(header); code != want {
				t.Errorf("%q: %d, want %d", header, code, want)
			}
		}
		time.Sleep(time.Hour)
		if code := items("JWT " + token); code != 403 {
			t.Errorf("expired: %d", code)
		}
		for body, want := range map[string]int{`{"key":"x"}`: 401, `{"username":"sim-user"}`: 401, `{`: 400, `{}`: 401} {
			if a := (ask{path: "/generic/login", kind: "application/json", body: body}).do(s); a.Code != want {
				t.Errorf("login %s: %d, want %d", body, a.Code, want)
			}
		}
		for _, r := range s.Requests() {
			if r.Params.Has("password") {
				t.Errorf("a password among the parameters of %s", r.Path)
			}
		}
	})
}

func TestGenericSignatures(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, GenericAuth: GenericAuth{Secret: "s3"}})
	sign := func(text string) string {
		mac := hmac.New(sha256.New, []byte("s3"))
		mac.Write([]byte(text))
		return hex.EncodeToString(mac.Sum(nil))
	}
	good := sign("GET\n/generic/items\nauth=hmac&page%5Bcursor%5D=&size=3\n1717243200")
	target := "/generic/items?size=3&page%5Bcursor%5D=&auth=hmac"
	for _, c := range []struct {
		target  string
		headers []string
		code    int
	}{
		{target, []string{"X-Timestamp", "1717243200", "X-Signature", good}, 200},
		{target, []string{"X-Timestamp", "1717243201", "X-Signature", good}, 401},
		{target, []string{"X-Signature", good}, 401},
		{target, []string{"X-Timestamp", "1717243200"}, 401},
		{"/generic/items?size=4&page%5Bcursor%5D=&auth=hmac", []string{"X-Timestamp", "1717243200", "X-Signature", good}, 401},
		{"/generic/batch?auth=hmac", []string{"X-Timestamp", "t", "X-Signature", sign("GET\n/generic/batch\nauth=hmac\nt")}, 200},
	} {
		if a := visit(s, c.target, c.headers...); a.Code != c.code {
			t.Errorf("%s %v: %d, want %d", c.target, c.headers, a.Code, c.code)
		}
	}
	if st := s.Stats().Sources[Generic].Auth; st.Accepted != 2 || st.Refused != 4 {
		t.Errorf("stats: %+v", st)
	}
}
