package executor_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// deceiver stands between node and oracle, counts every request and ends the run
// if there are far too many. answer, if it returns a reply, is heard instead of
// the oracle; bend changes what the oracle says, counts and pages alike.
type deceiver struct {
	next   http.RoundTripper
	answer func(n int, r *http.Request) *http.Response
	bend   func(n int, body string) string
	give   context.CancelFunc

	mu sync.Mutex
	n  int
}

func (s *deceiver) wrap(next http.RoundTripper) http.RoundTripper {
	s.next = next
	return s
}

func (s *deceiver) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	if n > 1500 {
		s.give()
	}
	if s.answer != nil {
		if resp := s.answer(n, r); resp != nil {
			return resp, nil
		}
	}
	resp, err := s.next.RoundTrip(r)
	if err != nil || s.bend == nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	text := s.bend(n, string(body))
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	resp.Header.Del("Content-Length")
	return resp, err
}

var totalField = regexp.MustCompile(`"total":(\d+)`)

// inflate adds to every total of a reply.
func inflate(body string, more int) string {
	return totalField.ReplaceAllStringFunc(body, func(m string) string {
		n, _ := strconv.Atoi(totalField.FindStringSubmatch(m)[1])
		return fmt.Sprintf(`"total":%d`, n+more)
	})
}

// endless is a reply that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func (endless) Close() error { return nil }

func isCount(r *http.Request) bool { return r.URL.Query().Get("only") == "count" }

// TestR82_CutsEnd: whatever a source says to have every slice cut again, and cut
// again, ends after fewer than 200 requests, as a gap that names the cause or as a
// source that is stopped.
func TestR82_CutsEnd(t *testing.T) {
	t.Parallel()
	large := func(length int64) func(int, *http.Request) *http.Response {
		return func(_ int, r *http.Request) *http.Response {
			if isCount(r) {
				return nil
			}
			resp := status(r, http.StatusOK, "")
			resp.Body, resp.ContentLength = endless{}, length
			if length > 0 {
				resp.Header.Set("Content-Length", strconv.FormatInt(length, 10))
			}
			return resp
		}
	}
	circle := func(n int, r *http.Request) *http.Response {
		if isCount(r) {
			return nil
		}
		item := `{"id":"g-1","updated":"1999-12-20T00:00:00Z","v":1,"title":"one"}`
		return status(r, http.StatusOK, fmt.Sprintf(`{"items":[%s],"total":60,"next_token":"t%d"}`, item, n))
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		manner string
		answer func(int, *http.Request) *http.Response
		bend   func(int, string) string
		causes string
		counts bool // only where the source counts, and so an estimate is known
	}{
		{"endless replies", "token", large(-1), nil, "reply_too_large", false},
		{"replies of 3 GB", "token", large(3 << 30), nil, "reply_too_large", false},
		{"a wall everywhere", "token", func(_ int, r *http.Request) *http.Response {
			if isCount(r) {
				return nil
			}
			return status(r, http.StatusRequestEntityTooLarge, "{}")
		}, nil, "cut_here schema_drift", true},
		{"totals 25 too high", "offset-total", nil, func(_ int, b string) string { return inflate(b, 25) }, "total_not_reached empty_page schema_drift", false},
		{"totals 25 too high, by tokens", "token-const", nil, func(_ int, b string) string { return inflate(b, 25) }, "total_not_reached empty_page schema_drift", false},
		{"totals that flap", "page-1", nil, func(n int, b string) string { return inflate(b, 25*(n%2)) }, "total_not_reached empty_page schema_drift", false},
		{"totals by the dice", "offset-total", nil, func(_ int, b string) string { return inflate(b, dice.IntN(100)) }, "total_not_reached empty_page schema_drift", true},
		{"one record on every page", "token", circle, nil, "page_repeats schema_drift", false},
	} {
		for _, blind := range []bool{false, true} {
			if blind && c.counts {
				continue
			}
			t.Run(fmt.Sprintf("%s/blind=%v", c.name, blind), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ctx, give := context.WithCancel(t.Context())
					defer give()
					m := manners[c.manner]
					m.target, m.blind = 500, blind
					s := &deceiver{answer: c.answer, bend: c.bend, give: give}
					b := newBench(t, m, setup{
						sim: sim.Config{Records: 60}, wrap: s.wrap,
						tweak: func(spec *source.Spec) {
							forced(spec)
							spec.HTTP.MaxBody = 64 << 10
							spec.Window.MinStep = source.Duration(time.Second)
						},
					})
					rep, err := b.Node.Control.Harvest(ctx, control.HarvestRequest{Source: "generic", BaseURL: b.Base + "/generic"})
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%d requests, slices %+v, stopped %v", s.n, rep.Slices, rep.State.Stopped)
					if s.n >= 200 {
						t.Errorf("%d requests", s.n)
					}
					for _, g := range rep.Gaps {
						if cause, _, _ := strings.Cut(g.Reason, ":"); !slices.Contains(strings.Fields(c.causes), cause) {
							t.Errorf("a gap for %s", g.Reason)
						}
					}
					if len(rep.Gaps) == 0 && rep.Slices.Done < 2 {
						t.Error("neither a gap nor what was asked for")
					}
					patratest.MustVerify(t, b.Node.Store)
				})
			})
		}
	}
}

// TestR82_DeepCutsGoOn: where smaller windows have smaller replies slices are cut
// as deep as it takes, whether their records are spread over the window or all of
// them lie in its last day.
func TestR82_DeepCutsGoOn(t *testing.T) {
	t.Parallel()
	for name, span := range map[string]time.Duration{"spread": 29 * 24 * time.Hour, "in one day": 20 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := manners["time"]
				m.blind = true
				s := &deceiver{give: func() {}}
				announce := func(next http.RoundTripper) http.RoundTripper {
					return announcer{s.wrap(next)}
				}
				b := newBench(t, m, setup{sim: sim.Config{Records: 400, Span: span}, wrap: announce, tweak: func(spec *source.Spec) {
					spec.HTTP.MaxBody = 8 << 10
					spec.Window.MinStep = source.Duration(time.Minute)
				}})
				rep := b.exact()
				deepest := b.ask(`SELECT MAX(LENGTH(slice_spec)) FROM ing_plan_slice WHERE slice_spec LIKE '%"cut"%'`)
				t.Logf("%d requests, slices %+v", s.n, rep.Slices)
				if deepest == 0 || rep.Slices.Resliced < 8 || rep.Slices.Failed > 0 {
					t.Errorf("slices %+v", rep.Slices)
				}
				if n := b.ask(`SELECT COUNT(*) FROM ing_breaker`); n != 0 {
					t.Errorf("%d breakers left", n)
				}
			})
		})
	}
}

// announcer says how long replies are.
type announcer struct{ next http.RoundTripper }

func (a announcer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return resp, err
}
