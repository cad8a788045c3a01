package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/infra/httpapi"
)

// TestR53_ANameThatIsNotOursIsRefused: a page whose name was made to lead here sees
// nothing, though the request comes from this machine.
func TestR53_ANameThatIsNotOursIsRefused(t *testing.T) {
	r := newRig(t, nil)
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "localhost:8080": 200, "LOCALHOST.": 200, "[::1]:8080": 200, "[::1]": 200,
		"evil.example": 403, "evil.example:8080": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403, "": 403,
	} {
		req := ask("GET", "/api/v1/sources", "")
		req.Host = host
		rec := r.send(req)
		if rec.Code != want {
			t.Errorf("%q: %d %s", host, rec.Code, rec.Body)
		}
		if want != 200 {
			r.refused(rec, want, "host")
		}
	}
	// Probes come by whatever name, and see nothing of what is kept.
	req := ask("GET", "/healthz", "")
	req.Host = "pod-17"
	if rec := r.send(req); rec.Code != 200 {
		t.Errorf("probe: %d", rec.Code)
	}
}

// TestR53_ANameThatIsAllowedNeedsAToken: a proxy that calls the door by a name brings
// others than this machine's users.
func TestR53_ANameThatIsAllowedNeedsAToken(t *testing.T) {
	r := newRig(t, func(c *httpapi.Config) { c.Hosts = []string{"Patra.Example"} })
	req := ask("GET", "/api/v1/sources", "")
	req.Host = "patra.example:443"
	r.refused(r.send(req), 401, "token")
	r.refused(r.send(ask("GET", "/api/v1/sources", "")), 401, "token")
	token := r.token(control.Viewer)
	if rec := r.send(with(req, token)); rec.Code != 200 {
		t.Errorf("with a token: %d %s", rec.Code, rec.Body)
	}
}

// TestR53_LoopbackIsOpenUntilThereIsAToken, and any other address never is.
func TestR53_LoopbackIsOpenUntilThereIsAToken(t *testing.T) {
	r := newRig(t, nil)
	get := func() *http.Request { return ask("GET", "/api/v1/sources", "") }
	if rec := r.send(get()); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	made, err := r.node.Control.NewToken(t.Context(), control.TokenOrder{
		By: control.By{Actor: "test"}, Name: "short", Role: control.Viewer, Expire: time.Nanosecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	// A token that has expired opens nothing, neither by itself nor by being gone.
	r.refused(r.send(get()), 401, "token")
	r.refused(r.send(with(get(), made.Secret)), 401, "token")
	good := r.token(control.Viewer)
	if rec := r.send(with(get(), good)); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	for _, name := range []string{"short", "of-viewer"} {
		if _, err := r.node.Control.RevokeToken(t.Context(), name, control.By{Actor: "test", Reason: "over"}); err != nil {
			t.Fatal(err)
		}
	}
	r.refused(r.send(with(get(), good)), 401, "token")
	if rec := r.send(get()); rec.Code != 200 {
		t.Errorf("all tokens are revoked: %d", rec.Code)
	}
	r.config.Local = false
	r.open()
	r.refused(r.send(get()), 401, "token")
}

// TestLoginsAreLimited: of one address and of all together, for a minute; whoever has
// come with a good token goes on, and what is remembered is bounded.
func TestLoginsAreLimited(t *testing.T) {
	r := newRig(t, nil)
	good := r.token(control.Viewer)
	get := func(address, token string) *http.Request {
		req := with(ask("GET", "/api/v1/sources/crossref", ""), token)
		req.RemoteAddr = address + ":50000"
		return req
	}
	if rec := r.send(get("10.0.0.1", good)); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	for i := range 10 {
		r.refused(r.send(get("10.0.0.1", fmt.Sprintf("patra_wrong%d", i))), 401, "token")
	}
	rec := r.send(get("10.0.0.1", "patra_wrong"))
	r.refused(rec, 429, "too_many_refused")
	if rec.Header().Get("Retry-After") == "" {
		t.Error("it is not said for how long")
	}
	// Another address may try, and the one that was known before goes on.
	r.refused(r.send(get("10.0.0.2", "patra_wrong")), 401, "token")
	if rec := r.send(get("10.0.0.1", good)); rec.Code != 200 {
		t.Errorf("a known token is locked out: %d", rec.Code)
	}
	for i := range 89 {
		r.refused(r.send(get(fmt.Sprintf("10.1.%d.1", i), "patra_wrong")), 401, "token")
	}
	r.refused(r.send(get("10.9.9.9", "patra_wrong")), 429, "too_many_refused")
	// Not being a bearer token counts as well.
	req := get("10.9.9.8", "")
	req.Header.Set("Authorization", "Basic YWRtaW46YWRtaW4=")
	r.refused(r.send(req), 429, "too_many_refused")
}

// TestLoginsMayBeTriedAgain after a minute.
func TestLoginsMayBeTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := httpapi.NewLogins()
		for range 10 {
			l.Failed("a", "x")
		}
		wait, barred := l.Barred("a", "x")
		if !barred || wait > time.Minute {
			t.Fatalf("barred %v for %s", barred, wait)
		}
		time.Sleep(wait)
		if _, barred := l.Barred("a", "x"); barred {
			t.Error("barred for ever")
		}
	})
}

// TestLoginsRememberSoManyAddresses and no more: the one that was counted longest ago is
// forgotten, and waits only for as long as everybody does.
func TestLoginsRememberSoManyAddresses(t *testing.T) {
	const most = 1024
	synctest.Test(t, func(t *testing.T) {
		l := httpapi.NewLogins()
		l.Failed("first", "x") // everybody's minute begins
		time.Sleep(30 * time.Second)
		for range 10 {
			l.Failed("a", "x")
		}
		time.Sleep(time.Second)
		for i := range most {
			if wait, _ := l.Barred("a", "x"); wait != 59*time.Second {
				t.Fatalf("forgotten after %d others: barred for %s", i, wait)
			}
			l.Failed(fmt.Sprint("address", i), "x")
		}
		if wait, _ := l.Barred("a", "x"); wait != 29*time.Second {
			t.Errorf("remembered beside %d others: barred for %s", most, wait)
		}
	})
}

// TestAnswersCannotBeTakenForPages: nothing of an answer is run or framed by a
// browser, and hostile text stays a text in JSON.
func TestAnswersCannotBeTakenForPages(t *testing.T) {
	r := newRig(t, nil)
	for _, path := range []string{"/healthz", "/api/v1/sources", `/api/v1/sources/%3Cscript%3Ealert(1)%3C%2Fscript%3E`, "/nothing%22%3E%3Cscript%3E"} {
		rec := r.send(ask("GET", path, ""))
		h := rec.Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", path, h)
		}
		if strings.Contains(rec.Body.String(), "<") {
			t.Errorf("%s: %s", path, rec.Body)
		}
		object(t, rec)
	}
}
