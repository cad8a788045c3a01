package upstream

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR49_AHomeWithoutAPort: the address of most sources has no port, so that a
// hostile name can be the source's own with something behind it. Next pages and
// redirects that lead to one reach nobody.
func TestR49_AHomeWithoutAPort(t *testing.T) {
	const host = "api.example.org"
	var to atomic.Pointer[string]
	p := newTrap(t, func(w http.ResponseWriter, _ *http.Request) {
		if at := to.Load(); at != nil {
			w.Header().Set("Location", *at)
			w.WriteHeader(http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, goodReply)
	})
	tr := newTransport(true)
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == host+":80" {
			return dial(ctx, network, p.home.Listener.Addr().String())
		}
		return dial(ctx, network, p.evil.Listener.Addr().String())
	}
	c := newClient(Config{Transport: tr, Credentials: &pool{keys: []string{lure}}, Rand: steady}, new(free), jsonDecoder{})
	t.Cleanup(c.Close)
	spec := func() *source.Spec {
		s := authSpec(auths["key in header"])
		s.HTTP = source.HTTP{BaseURL: "http://" + host + "/v1", AllowHTTP: true, Redirects: &source.RedirectConfig{Max: 3}}
		s.Paging.Type = harvest.PageURL
		s.Retry = source.Retry{Attempts: 2, Base: source.Duration(time.Microsecond), Max: source.Duration(time.Microsecond)}
		return s
	}
	hostile := []string{
		host + ".evil.org", host + "@evil.org", host + ":80@evil.org", host + "evil.org", host + "-evil.org", "evil.org/" + host, "evil.org#" + host, "evil.org?" + host,
		host + "%2eevil.org", host + "%00.evil.org", host + "\\.evil.org", host + ":8080", host + ":443", host + ".", host + "..", "www." + host, "x@" + host, host + "%40evil.org",
		strings.Replace(host, ".", "。", 1), strings.Replace(host, "e", "е", 1) /* Cyrillic */, strings.ToUpper(host) + ".evil.org", "[" + host + "]", host + "&@evil.org", host + ";evil.org",
	}
	for _, scheme := range []string{"http://", "https://", "//"} {
		for _, name := range hostile {
			next := scheme + name + "/v1/works"
			to.Store(nil)
			before, _, _ := p.seen()
			_, err := c.Ask(t.Context(), spec(), source.Call{Purpose: source.ForSearch, Position: harvest.Position{URL: next}})
			if err == nil {
				t.Errorf("next page %q was followed", next)
			} else if f := mustFault(t, err); f.Code != "hostile_url" {
				t.Errorf("next page %q: %+v", next, f)
			}
			if after, caught, _ := p.seen(); len(after) != len(before) || len(caught) != 0 {
				t.Fatalf("next page %q: %d requests at home, elsewhere %q", next, len(after)-len(before), caught)
			}

			to.Store(&next)
			_, err = c.Ask(t.Context(), spec(), source.Call{Purpose: source.ForSearch})
			if err == nil {
				t.Errorf("redirect to %q was followed", next)
			}
			if after, caught, _ := p.seen(); len(caught) != 0 || slices.ContainsFunc(after, func(path string) bool { return path != "/v1/works" }) {
				t.Fatalf("redirect to %q: at home %q, elsewhere %q", next, after, caught)
			}
		}
	}
	// The trap works: what is the source's own is followed, with its port or without.
	to.Store(nil)
	for _, next := range []string{"http://" + host + "/v1/works?page=2", "http://" + host + ":80/v1/works?page=2", "HTTP://API.example.org/v1/works?page=2"} {
		if _, err := c.Ask(t.Context(), spec(), source.Call{Purpose: source.ForSearch, Position: harvest.Position{URL: next}}); err != nil {
			t.Errorf("%q: %v", next, err)
		}
	}
	strange := spec()
	strange.HTTP.BaseURL = "http://" + host + ".evil.org/v1"
	_, _ = c.Ask(t.Context(), strange, source.Call{Purpose: source.ForSearch})
	if _, caught, _ := p.seen(); len(caught) == 0 {
		t.Error("the trap catches nothing")
	}
}
