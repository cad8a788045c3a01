package sim

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GenericAuth is what the generic source accepts where its style asks for
// credentials ([GenericStyle].Auth). Empty fields have the default named.
//
//   - POST /oauth/token, a form with grant_type=client_credentials and the client
//     in a Basic header or as client_id and client_secret, gives
//     {"access_token","token_type":"Bearer","expires_in"}.
//   - POST /login, an object {"key"} or {"username","password"}, gives {"token"}.
//   - A signature is the hex HMAC-SHA256 under Secret of METHOD "\n" path "\n" query
//     "\n" X-Timestamp: the path as sent, /generic included; the query's pairs as
//     sent, sorted by name and then by value, joined by "&".
type GenericAuth struct {
	Key          string        // X-API-Key, and of /login; sim-key
	InstToken    string        // X-Inst-Token; sim-inst-token
	ClientID     string        // sim-client
	ClientSecret string        // sim-client-secret
	Username     string        // sim-user
	Password     string        // sim-password
	Secret       string        // sim-hmac-secret
	TokenLife    time.Duration // of a token from its issue, in real time; 1 hour
}

func (a GenericAuth) withDefaults() GenericAuth {
	for field, value := range map[*string]string{
		&a.Key: "sim-key", &a.InstToken: "sim-inst-token", &a.ClientID: "sim-client", &a.ClientSecret: "sim-client-secret",
		&a.Username: "sim-user", &a.Password: "sim-password", &a.Secret: "sim-hmac-secret",
	} {
		*field = cmp.Or(*field, value)
	}
	a.TokenLife = cmp.Or(a.TokenLife, time.Hour)
	return a
}

// AuthStats counts what came of credentials.
type AuthStats struct {
	Accepted      int `json:"accepted"` // requests for data
	Refused       int `json:"refused"`
	Logins        int `json:"logins"` // tokens given out
	LoginsRefused int `json:"logins_refused"`
}

// tokens are the access tokens given out, and when each ends. An ended one is kept
// so that it can be told from one never given out.
type tokens map[string]time.Time

// ExpireTokens ends all access tokens given out so far, before their time.
func (s *Sim) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.upstreams[Generic].(*generic); ok {
		now := time.Now()
		for token := range g.tokens {
			g.tokens[token] = now
		}
	}
}

// issue makes a token; the kind keeps bearer tokens and those of a login apart.
func (g *generic) issue(kind string) string {
	c := g.sim.counters[Generic]
	c.Auth.Logins++
	d := roll(g.people.seed, 32, uint64(c.Auth.Logins))
	token := kind + "." + strconv.FormatUint(d.next(), 36) + "." + strconv.FormatUint(d.next(), 36)
	g.tokens[token] = time.Now().Add(g.sim.cfg.GenericAuth.TokenLife)
	return token
}

// admit counts and refuses what comes without the credentials asked for.
func (g *generic) admit(q *request, st GenericStyle) *reply {
	if st.Auth == "none" {
		return nil
	}
	c := g.sim.counters[Generic]
	rep := g.refusal(q, st)
	if rep != nil {
		c.Auth.Refused++
	} else {
		c.Auth.Accepted++
	}
	return rep
}

// refusal judges a request's credentials; nil if they will do.
func (g *generic) refusal(q *request, st GenericStyle) *reply {
	a, h := g.sim.cfg.GenericAuth, q.http.Header
	switch st.Auth {
	case "key", "key2":
		if cmp.Or(h.Get("X-API-Key"), q.get("api_key")) != a.Key {
			return problem(http.StatusUnauthorized, "API key missing or unknown")
		}
		if st.Auth == "key2" && cmp.Or(h.Get("X-Inst-Token"), q.get("insttoken")) != a.InstToken {
			return problem(http.StatusUnauthorized, "institution token missing or unknown")
		}
	case "bearer":
		if known, alive := g.check(q, "Bearer ", "bearer."); !known || !alive {
			rep := problem(http.StatusUnauthorized, "invalid_token")
			rep.set("WWW-Authenticate", `Bearer realm="generic", error="invalid_token"`)
			return rep
		}
	case "jwt":
		switch known, alive := g.check(q, "JWT ", "jwt."); {
		case !known:
			return problem(http.StatusUnauthorized, "token missing or unknown")
		case !alive:
			return problem(http.StatusForbidden, "token expired")
		}
	case "hmac":
		if h.Get("X-Timestamp") == "" || !hmac.Equal([]byte(signature(a.Secret, q.http)), []byte(lower(h.Get("X-Signature")))) {
			return problem(http.StatusUnauthorized, "signature missing or wrong")
		}
	}
	return nil
}

// check looks up the token of an Authorization header.
func (g *generic) check(q *request, scheme, kind string) (known, alive bool) {
	token, ok := strings.CutPrefix(q.http.Header.Get("Authorization"), scheme)
	if !ok || !strings.HasPrefix(token, kind) {
		return false, false
	}
	until, known := g.tokens[token]
	return known, time.Now().Before(until)
}

// signature is what X-Signature must be; see [GenericAuth].
func signature(secret string, r *http.Request) string {
	var pairs []string
	if r.URL.RawQuery != "" {
		pairs = strings.Split(r.URL.RawQuery, "&")
	}
	slices.SortFunc(pairs, func(a, b string) int {
		nameA, valueA, _ := strings.Cut(a, "=")
		nameB, valueB, _ := strings.Cut(b, "=")
		plainA, _ := url.QueryUnescape(nameA)
		plainB, _ := url.QueryUnescape(nameB)
		return cmp.Or(strings.Compare(plainA, plainB), strings.Compare(valueA, valueB))
	})
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(r.Method + "\n" + r.URL.EscapedPath() + "\n" + strings.Join(pairs, "&") + "\n" + r.Header.Get("X-Timestamp")))
	return hex.EncodeToString(mac.Sum(nil))
}

// grant answers /oauth/token.
func (g *generic) grant(q *request) *reply {
	if q.http.Method != http.MethodPost {
		return problem(http.StatusMethodNotAllowed, "use POST")
	}
	a, form := g.sim.cfg.GenericAuth, q.http.PostForm
	if form.Get("grant_type") != "client_credentials" {
		return g.noLogin(http.StatusBadRequest, "unsupported_grant_type")
	}
	id, secret, basic := q.http.BasicAuth()
	if !basic {
		id, secret = form.Get("client_id"), form.Get("client_secret")
	}
	if id != a.ClientID || secret != a.ClientSecret {
		rep := g.noLogin(http.StatusUnauthorized, "invalid_client")
		rep.set("WWW-Authenticate", `Basic realm="generic"`)
		return rep
	}
	rep := &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"access_token":` + quoted(g.issue("bearer")) +
		`,"token_type":"Bearer","expires_in":` + strconv.Itoa(int(a.TokenLife/time.Second)) + "}")}
	rep.set("Cache-Control", "no-store")
	return rep
}

// login answers /login.
func (g *generic) login(q *request) *reply {
	if q.http.Method != http.MethodPost {
		return problem(http.StatusMethodNotAllowed, "use POST")
	}
	var in struct{ Key, Username, Password string }
	if err := json.Unmarshal(q.body, &in); err != nil || q.mediaType() != jsonType {
		return g.noLogin(http.StatusBadRequest, "the body must be a JSON object")
	}
	a := g.sim.cfg.GenericAuth
	if in.Key != a.Key && (in.Username != a.Username || in.Password != a.Password) {
		return g.noLogin(http.StatusUnauthorized, "invalid credentials")
	}
	return &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"token":` + quoted(g.issue("jwt")) + "}")}
}

func (g *generic) noLogin(status int, message string) *reply {
	g.sim.counters[Generic].Auth.LoginsRefused++
	return problem(status, message)
}
