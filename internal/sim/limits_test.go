package sim

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func limited(t *testing.T, cfg Config) *Sim {
	t.Helper()
	cfg.Now = day0
	cfg.Records = 50
	cfg.Sources = []string{PubMed, Crossref, Generic}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLimitsAreStrict(t *testing.T) {
	for _, c := range []struct {
		name  string
		path  string
		pairs []string
		limit int
	}{
		{"pubmed without key", "/pubmed/esearch.fcgi", []string{"db", "pubmed", "term", "all[sb]"}, 3},
		{"pubmed with key", "/pubmed/einfo.fcgi", []string{"api_key", "sim-key-1"}, 10},
		{"crossref public list", "/crossref/works", []string{"rows", "1"}, 1},
		{"crossref polite list", "/crossref/works", []string{"rows", "1", "mailto", "a@b.c"}, 3},
		{"crossref public single", "/crossref/works/10.1/x", nil, 5},
		{"crossref polite single", "/crossref/works/10.1/x", []string{"mailto", "a@b.c"}, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := limited(t, Config{})
				for n := range c.limit {
					if a := get(s, c.path, c.pairs...); a.Code == 429 {
						t.Fatalf("request %d of %d was refused", n+1, c.limit)
					}
				}
				a := get(s, c.path, c.pairs...)
				if a.Code != 429 || a.Header().Get("Retry-After") != "" {
					t.Errorf("request above the limit: %d %v", a.Code, a.Header())
				}
				if body := a.Body.String(); strings.HasPrefix(c.path, "/crossref") && body != "" ||
					strings.HasPrefix(c.path, "/pubmed") && !strings.Contains(body, `"error":"API rate limit exceeded"`) {
					t.Errorf("body %q", body)
				}
				time.Sleep(time.Second - time.Nanosecond)
				if a := get(s, c.path, c.pairs...); a.Code != 429 {
					t.Errorf("just within the window: %d", a.Code)
				}
				time.Sleep(time.Nanosecond)
				if a := get(s, c.path, c.pairs...); a.Code == 429 {
					t.Errorf("a second later: %d", a.Code)
				}
				source, _, _ := strings.Cut(c.path[1:], "/")
				if st := s.Stats().Sources[source]; st.Breaches.Rate != 2 || st.MaxInWindow != c.limit+2 {
					t.Errorf("stats: %v", s.Stats())
				}
			})
		})
	}
}

func TestLimitHeaders(t *testing.T) {
	s := limited(t, Config{})
	h := get(s, "/crossref/works", "rows", "0", "mailto", "a@b.c").Header()
	if h.Get("x-rate-limit-limit") != "3" || h.Get("x-rate-limit-interval") != "1s" || h.Get("x-concurrency-limit") != "3" || h.Get("x-api-pool") != "polite-array" {
		t.Errorf("crossref: %v", h)
	}
	h = get(s, "/pubmed/einfo.fcgi").Header()
	if h.Get("X-RateLimit-Limit") != "3" || h.Get("X-RateLimit-Remaining") != "2" {
		t.Errorf("pubmed: %v", h)
	}
	if want := "Sat, 01 Jun 2024 12:00:00 GMT"; h.Get("Date") != want {
		t.Errorf("Date %s, want %s", h.Get("Date"), want)
	}
	s.Advance(36 * time.Hour)
	if want := "Mon, 03 Jun 2024 00:00:00 GMT"; get(s, "/_sim/clock").Header().Get("Date") != want || get(s, "/generic/items").Header().Get("Date") != want {
		t.Error("Date does not follow the clock")
	}
}

func TestCallersHaveTheirOwnAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limited(t, Config{})
		for _, addr := range []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1"} {
			r := httptest.NewRequest("GET", "/pubmed/einfo.fcgi", nil)
			r.RemoteAddr = addr
			if a := do(s, r); a.Code != 200 {
				t.Errorf("%s: %d", addr, a.Code)
			}
		}
	})
}

func TestConcurrencyIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limited(t, Config{Latency: 100 * time.Millisecond})
		var wg sync.WaitGroup
		codes := make([]int, 2)
		for k := range codes {
			wg.Go(func() { codes[k] = get(s, "/crossref/works/10.1/x").Code })
		}
		wg.Wait()
		if codes[0]+codes[1] != 404+429 {
			t.Errorf("two at once in a pool of one: %v", codes)
		}
		if st := s.Stats().Sources[Crossref]; st.Breaches.Concurrency != 1 || st.Breaches.Rate != 0 {
			t.Errorf("stats: %v", s.Stats())
		}
		if a := get(s, "/crossref/works/10.1/x"); a.Code != 404 {
			t.Errorf("afterwards: %d", a.Code)
		}
	})
}

func TestConfiguredRateReplacesTheSourcesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			rps   float64
			count int // admitted at once
			wait  time.Duration
		}{{2, 2, time.Second}, {0.5, 1, 2 * time.Second}, {-1, 100, 0}} {
			s := limited(t, Config{LimitRPS: c.rps})
			for n := range c.count {
				if a := get(s, "/crossref/works", "rows", "0"); a.Code != 200 {
					t.Fatalf("%v a second: request %d got %d", c.rps, n+1, a.Code)
				}
			}
			if c.wait == 0 {
				continue
			}
			if a := get(s, "/crossref/works", "rows", "0"); a.Code != 429 {
				t.Errorf("%v a second: %d above it", c.rps, a.Code)
			}
			time.Sleep(c.wait)
			if a := get(s, "/crossref/works", "rows", "0"); a.Code != 200 {
				t.Errorf("%v a second: %d after %v", c.rps, a.Code, c.wait)
			}
		}
	})
}
