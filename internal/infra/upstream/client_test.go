package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/telemetry"
)

// network plays replies in order, the last one for ever, and keeps what it was
// asked and when.
type network struct {
	mu      sync.Mutex
	replies []func(*http.Request) (*http.Response, error)
	asked   []*http.Request
	bodies  []string
	at      []time.Time
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	i := min(len(n.asked), len(n.replies)-1)
	b, _ := io.ReadAll(r.Body)
	n.asked = append(n.asked, r)
	n.bodies = append(n.bodies, string(b))
	n.at = append(n.at, time.Now())
	n.mu.Unlock()
	return n.replies[i](r)
}

func play(replies ...func(*http.Request) (*http.Response, error)) *network {
	return &network{replies: replies}
}

// status replies with a body; headers come in pairs.
func status(code int, body string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
	}
}

func broken(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// free is a gate that is always open and remembers what it was told.
type free struct {
	mu       sync.Mutex
	acquired int
	inside   int
	cost     int // of all permits
	unsent   int // permits given back
	told     []pace.Outcome
	refuse   error
}

func (g *free) Acquire(ctx context.Context, _ source.Rate, cost int, _ time.Duration) (context.Context, func(bool), pace.Pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse != nil {
		return nil, nil, pace.Pass{Waited: time.Second}, fmt.Errorf("permit: %w", g.refuse)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, nil, pace.Pass{}, err
	}
	g.acquired++
	g.inside++
	g.cost += cost
	return ctx, func(sent bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.inside--
		if !sent {
			g.unsent++
		}
	}, pace.Pass{Waited: time.Second}, nil
}

func (g *free) Report(_ context.Context, _ source.Rate, o pace.Outcome) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = append(g.told, o)
	return false
}

func (g *free) Estimate(context.Context, source.Rate, int, time.Duration) (pace.Advice, error) {
	return pace.Advice{}, nil
}

// jsonDecoder wants {"items":[...]}; "error" is a signal.
type jsonDecoder struct{}

func (d jsonDecoder) For(*source.Spec, source.Purpose) (Decoder, error) { return d, nil }

type shape struct {
	msg             string
	schema, refused bool
}

func (e shape) Error() string { return e.msg }
func (e shape) Schema() bool  { return e.schema }
func (e shape) Refused() bool { return e.refused }

func (jsonDecoder) PageContext(_ context.Context, body []byte) (*harvest.Page, error) {
	var r struct {
		Items *[]string
		Error *string
		Deep  bool
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, shape{msg: "not JSON"}
	}
	if r.Deep {
		return nil, shape{msg: "too deep", refused: true}
	}
	p := &harvest.Page{Signals: map[string]string{}}
	if r.Error != nil {
		p.Signals["error"] = *r.Error
	}
	if r.Items == nil {
		return p, fmt.Errorf("page: %w", shape{msg: "items is missing", schema: true})
	}
	for _, id := range *r.Items {
		p.Items = append(p.Items, harvest.Item{ID: id})
	}
	return p, nil
}

func testSpec() *source.Spec {
	return &source.Spec{
		Source: "src",
		HTTP:   source.HTTP{BaseURL: "https://api.example.org/v1"},
		Window: source.Window{Zone: "UTC", Precision: harvest.PrecisionSecond},
		Paging: harvest.Paging{Type: harvest.PageToken, Size: 10},
		Search: source.Endpoint{
			Name: "works", Path: "/works", Format: source.FormatJSON,
			Query: map[string]string{"rows": "${page.size}", "cursor": "${coalesce(page.token, '*')}", "mailto": "${vars.contact}", "empty": "${vars.none}"},
		},
		Detail: &source.Endpoint{Name: "fetch", Path: "/fetch", Format: source.FormatXML, Form: map[string]string{"id": "${join(ids, ',')}"}},
		Retry:  source.Retry{Attempts: 4},
		Rate:   source.Rate{Key: "src", QPS: 3, LimitHeaders: []string{"X-RateLimit-Limit", "x-rate-limit-limit"}},
		Vars:   map[string]string{"contact": "me@example.org"},
	}
}

// steady jitter: the backoff as it is, plus half of 15 %.
func steady() float64 { return 0.5 }

// newClient is a client that keeps its secrets as a node's does.
func newClient(cfg Config, g Gate, dec Decoders) *Client {
	if cfg.Redactor == nil {
		cfg.Redactor = new(telemetry.Redactor)
	}
	cfg.Knowing = func(secrets ...credential.Secret) Redactor { return telemetry.NewRedactor(secrets...) }
	return New(cfg, g, dec)
}

func client(n *network, g Gate) *Client {
	return newClient(Config{Version: "1.2.3", Transport: n, Rand: steady}, g, jsonDecoder{})
}

func mustFault(t *testing.T, err error) harvest.Fault {
	t.Helper()
	f, ok := harvest.FaultOf(err)
	if !ok {
		t.Fatalf("no fault in %v", err)
	}
	return f
}

func TestAsk_GoodReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, g := play(status(200, `{"items":["a","b"]}`, "Date", "Sun, 01 Mar 2026 12:00:00 GMT", "Retry-After", "3600")), new(free)
		a, err := client(n, g).Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch, Correlation: "run-7"})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Page.Items) != 2 || a.Status != 200 || !a.UpstreamAt.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("answer %+v", a)
		}
		if a.Request != "GET https://api.example.org/v1/works?cursor=%2A&mailto=***&rows=10" {
			t.Errorf("request %s", a.Request)
		}
		r := n.asked[0]
		for name, want := range map[string]string{
			"User-Agent": "patra/1.2.3 (mailto:me@example.org)", "Accept": "application/json", "Accept-Encoding": "gzip",
			"X-Ingest-Correlation-Id": "run-7", "Authorization": "",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if got := r.URL.Query().Get("mailto"); got != "me@example.org" || r.URL.Query().Has("empty") {
			t.Errorf("sent %s", r.URL)
		}
		if a.Traffic != (source.Traffic{Sent: 1, Bytes: 19, WaitGate: time.Second, Gate: harvest.RateSums{Permits: 1}}) {
			t.Errorf("traffic %+v", a.Traffic)
		}
		if len(g.told) != 1 || g.told[0] != (pace.Outcome{Kind: pace.Fine}) || g.inside != 0 {
			t.Errorf("the gate heard %+v", g.told)
		}
	})
}

func TestAsk_RetriesThenSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, g := play(status(500, ""), broken(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), status(200, `{"items":`), status(200, `{"items":[]}`)), new(free)
		a, err := client(n, g).Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch})
		if err != nil {
			t.Fatal(err)
		}
		if a.Traffic.Sent != 4 || a.Traffic.Retried != 3 || a.Traffic.HTTP5xx != 1 || g.acquired != 4 {
			t.Errorf("traffic %+v, permits %d", a.Traffic, g.acquired)
		}
		for i, want := range []time.Duration{107500 * time.Microsecond, 215 * time.Millisecond, 430 * time.Millisecond} {
			if got := n.at[i+1].Sub(n.at[i]); got != want {
				t.Errorf("wait %d: %v, want %v", i+1, got, want)
			}
		}
	})
}

func TestR39_RetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := new(free)
		n := play(status(429, "", "Retry-After", "7"), status(503, "", "Retry-After", "Sun, 01 Mar 2026 12:00:09 GMT", "Date", "Sun, 01 Mar 2026 12:00:00 GMT"), status(200, `{"items":[]}`))
		a, err := client(n, g).Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch})
		if err != nil {
			t.Fatal(err)
		}
		for i, least := range []time.Duration{7 * time.Second, 9 * time.Second} {
			if got := n.at[i+1].Sub(n.at[i]); got < least || got > least*115/100 {
				t.Errorf("wait %d: %v, want %v and up to 15 %% more", i+1, got, least)
			}
		}
		if a.Traffic.HTTP429 != 1 || a.Traffic.HTTP5xx != 1 {
			t.Errorf("traffic %+v", a.Traffic)
		}
		if g.told[0] != (pace.Outcome{Kind: pace.Throttled, RetryAfter: 7 * time.Second}) || g.told[1] != (pace.Outcome{Kind: pace.Unwell, RetryAfter: 9 * time.Second}) {
			t.Errorf("the gate heard %+v", g.told)
		}
	})
}

func TestR39_LongWaitsAreHandedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, start := play(status(429, "", "Retry-After", "60")), time.Now()
		a, err := client(n, new(free)).Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch})
		f := mustFault(t, err)
		if f.RetryAfter < time.Minute || f.Level != harvest.Transient || f.Reaction != harvest.Retry || !f.Throttled() {
			t.Errorf("fault %+v", f)
		}
		if a.Traffic.Sent != 1 || a.Traffic.HTTP429 != 1 || time.Since(start) != 0 || a.Request == "" {
			t.Errorf("answer %+v after %v", a, time.Since(start))
		}
	})
}

func TestAsk_GivesUpAfterItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := play(status(502, "bad gateway"))
		a, err := client(n, new(free)).Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch})
		if f := mustFault(t, err); f.Code != "http_502" || f.Level != harvest.Transient || a.Traffic.Sent != 4 || a.Traffic.Retried != 3 {
			t.Errorf("%+v, %+v", f, a.Traffic)
		}
	})
}

// TestR69_AttemptsAreTheSources: a question is asked as often as the source says, five times
// unless it says so: the last reply still counts, and there is none after it.
func TestR69_AttemptsAreTheSources(t *testing.T) {
	for name, c := range map[string]struct{ own, want int }{"the platform's": {0, 5}, "its own": {2, 2}, "never again": {1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			spec := testSpec()
			spec.Retry.Attempts = c.own
			good := status(200, `{"items":[]}`)
			for bad, answers := range map[int]bool{c.want - 1: true, c.want: false} {
				n := play(append(slices.Repeat(list(status(502, "")), bad), good)...)
				a, err := client(n, new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
				if (err == nil) != answers || a.Traffic.Sent != c.want {
					t.Errorf("%s: after %d bad replies %d were sent, %v", name, bad, a.Traffic.Sent, err)
				}
			}
		})
	}
}

func TestAsk_WhatRepliesMean(t *testing.T) {
	L1 := harvest.Transient
	L2 := harvest.Rejected
	L4 := harvest.Fatal
	html := status(200, "<!DOCTYPE html><p>maintenance", "Content-Type", "text/html")
	schema := status(200, `{"hits":[]}`)
	good := status(200, `{"items":[]}`)
	for _, c := range []struct {
		name     string
		replies  []func(*http.Request) (*http.Response, error)
		code     harvest.Code // "": a good answer
		level    harvest.Level
		reaction harvest.Reaction
		sent     int
	}{
		{"rejected at once", list(status(400, "")), "http_400", L2, harvest.GiveUp, 1},
		{"auth", list(status(401, "")), "auth_refused", L4, harvest.GiveUp, 1},
		{"redirect once", list(status(302, "", "Location", "https://evil.example/"), good), "", "", "", 2},
		{"redirect twice", list(status(302, "", "Location", "https://evil.example/")), "unexpected_redirect", L4, harvest.GiveUp, 2},
		{"HTML once", list(html, good), "", "", "", 2},
		{"HTML twice", list(html), "unexpected_html", L4, harvest.GiveUp, 2},
		{"schema once", list(schema, good), "", "", "", 2},
		{"schema twice", list(schema), "schema_drift", L4, harvest.GiveUp, 2},
		{"HTML, then schema", list(html, schema), "schema_drift", L4, harvest.GiveUp, 2},
		{"unruled signal twice", list(status(200, `{"items":[],"error":"odd"}`)), "error_in_reply", L4, harvest.GiveUp, 2},
		{"cut off", list(status(200, `{"items":[`)), "bad_reply", L1, harvest.Retry, 4},
		{"too deep", list(status(200, `{"deep":true}`)), "reply_too_large", L2, harvest.GiveUp, 1},
		{"body rule beats 200", list(status(200, `{"error":"API rate limit exceeded"}`)), "throttled", L1, harvest.Retry, 4},
		{"body rule beats 400", list(status(400, "proxy_stream()"), good), "", "", "", 2},
		{"body rule makes 429 fatal", list(status(429, "plan upgrade required")), "plan_over", L4, harvest.GiveUp, 1},
		{"signal rule", list(status(200, `{"items":[],"error":"'retstart' cannot be larger than 9998"}`)), "over_wall", L1, harvest.CutSlice, 1},
		{"signal rule beats schema", list(status(200, `{"error":"Unable to obtain query #1"}`)), "session_lost", L1, harvest.RestartWalk, 1},
		{"signal rule beats status", list(status(400, `{"error":"Unable to obtain query #1"}`)), "session_lost", L1, harvest.RestartWalk, 1},
		{"refused", list(broken(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})), "connect", L1, harvest.Retry, 4},
		{"reset", list(broken(syscall.ECONNRESET)), "network", L1, harvest.Retry, 4},
		{"blocked address", list(broken(&net.OpError{Op: "dial", Err: errBlocked})), "address_refused", L2, harvest.GiveUp, 1},
		{"unasked packing", list(status(200, "x", "Content-Encoding", "br")), "unreadable", L4, harvest.GiveUp, 1},
		{"bad gzip", list(status(200, "not gzip", "Content-Encoding", "gzip")), "bad_reply", L1, harvest.Retry, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := testSpec()
				spec.Faults = []source.FaultRule{
					{Body: `rate limit exceeded`, Level: L1, Reaction: harvest.Retry, Code: "throttled"},
					{Status: []int{400}, Body: `proxy_stream\(\)`, Level: L1, Reaction: harvest.Retry, Code: "relayed"},
					{Status: []int{429}, Body: `plan upgrade`, Level: L4, Reaction: harvest.GiveUp, Code: "plan_over"},
					{Signal: "error", Match: `cannot be larger`, Level: L1, Reaction: harvest.CutSlice, Code: "over_wall"},
					{Status: []int{200, 400}, Signal: "error", Match: `Unable to obtain`, Level: L1, Reaction: harvest.RestartWalk, Code: "session_lost"},
				}
				a, err := client(play(c.replies...), new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
				if a.Traffic.Sent != c.sent {
					t.Errorf("sent %d, want %d", a.Traffic.Sent, c.sent)
				}
				if c.code == "" {
					if err != nil || a.Page == nil {
						t.Errorf("got %v", err)
					}
					return
				}
				if f := mustFault(t, err); f.Code != c.code || f.Level != c.level || f.Reaction != c.reaction {
					t.Errorf("got %+v: %v", f, err)
				}
			})
		})
	}
}

func list(r ...func(*http.Request) (*http.Response, error)) []func(*http.Request) (*http.Response, error) {
	return r
}

func TestR22_StatefulWalkIsNeverAskedAgain(t *testing.T) {
	for _, c := range []struct {
		name     string
		reply    func(*http.Request) (*http.Response, error)
		lost     bool
		reaction harvest.Reaction
	}{
		{"answer lost", broken(io.ErrUnexpectedEOF), true, harvest.RestartWalk},
		{"cut off", status(200, `{"items":`), true, harvest.RestartWalk},
		{"gateway", status(504, "", "Retry-After", "1"), true, harvest.RestartWalk},
		{"HTML", status(200, "<html>"), true, harvest.RestartWalk},
		{"throttled", status(429, ""), false, harvest.RestartWalk},
		{"cursor dead", status(404, ""), false, harvest.RestartWalk},
		{"not connected", broken(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), false, harvest.RestartWalk},
		{"bomb", status(200, bomb(t), "Content-Encoding", "gzip"), true, harvest.RestartWalk},
		{"cut again", status(200, `{"error":"wall"}`), true, harvest.CutSlice},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := testSpec()
				spec.Paging.Stateful = true
				spec.Faults = []source.FaultRule{{Body: "wall", Level: harvest.Transient, Reaction: harvest.CutSlice, Code: "wall"}}
				call := source.Call{Purpose: source.ForSearch, Position: harvest.Position{Token: "t"}}
				a, err := client(play(c.reply), new(free)).Ask(t.Context(), spec, call)
				if f := mustFault(t, err); f.Reaction != c.reaction || f.Lost != c.lost || a.Traffic.Sent != 1 || !a.Asked {
					t.Errorf("sent %d: %+v", a.Traffic.Sent, f)
				}
			})
		})
	}
	// The first page opens the walk, and details are no walk: both may be repeated.
	for _, call := range []source.Call{{Purpose: source.ForSearch}, {Purpose: source.ForDetail, Position: harvest.Position{Token: "t"}, IDs: []string{"1"}}} {
		synctest.Test(t, func(t *testing.T) {
			spec := testSpec()
			spec.Paging.Stateful = true
			a, err := client(play(status(500, "")), new(free)).Ask(t.Context(), spec, call)
			if f := mustFault(t, err); f.Reaction != harvest.Retry || a.Traffic.Sent != 4 {
				t.Errorf("%s: sent %d: %+v", call.Purpose, a.Traffic.Sent, f)
			}
		})
	}
}

func TestAsk_GateRefusalIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: "rate_wait", RetryAfter: time.Hour}
		spec := testSpec()
		spec.Paging.Stateful = true
		n := play(status(200, ""))
		call := source.Call{Purpose: source.ForSearch, Position: harvest.Position{Token: "t"}}
		a, err := client(n, &free{refuse: far}).Ask(t.Context(), spec, call)
		if f := mustFault(t, err); f != far || a.Traffic.Sent != 0 || a.Asked || len(n.asked) != 0 || a.Traffic.WaitGate != time.Second {
			t.Errorf("%+v, %+v", f, a.Traffic)
		}
		if got, want := err.Error(), "ask src for search: permit: L1 rate_wait"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		_, err = client(n, &free{refuse: errors.New("no store")}).Ask(t.Context(), spec, call)
		if f := mustFault(t, err); f.Code != "gate_lost" {
			t.Errorf("%+v", f)
		}
	})
}

func TestAsk_Timeouts(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	drip := func(every time.Duration) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(&dripping{r.Context(), every})}, nil
		}
	}
	for _, c := range []struct {
		name  string
		reply func(*http.Request) (*http.Response, error)
		http  source.HTTP
		took  time.Duration
	}{
		{"no answer", hang, source.HTTP{}, 40 * time.Second}, // 10 s to connect, 30 s to begin
		{"stalls", drip(31 * time.Second), source.HTTP{}, 30 * time.Second},
		{"drips for ever", drip(20 * time.Second), source.HTTP{}, 60 * time.Second},
		{"never above 120 s", drip(time.Second), source.HTTP{TotalTimeout: source.Duration(time.Hour)}, 120 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := testSpec()
				base := spec.HTTP.BaseURL
				spec.HTTP = c.http
				spec.HTTP.BaseURL = base
				spec.Retry.Attempts = 1
				a, err := client(play(c.reply), new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
				if f := mustFault(t, err); f.Code != "timeout" || !f.Lost || a.Traffic.Network != c.took {
					t.Errorf("%+v after %v, want %v", f, a.Traffic.Network, c.took)
				}
			})
		})
	}
}

// dripping gives a byte now and then.
type dripping struct {
	ctx   context.Context
	every time.Duration
}

func (d *dripping) Read(p []byte) (int, error) {
	if !sleep(d.ctx, d.every) {
		return 0, d.ctx.Err()
	}
	p[0] = ' '
	return 1, nil
}

func TestAsk_Cancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("lease lost")
		for _, reply := range []func(*http.Request) (*http.Response, error){
			status(503, ""), // cancelled in the wait
			func(r *http.Request) (*http.Response, error) { // cancelled in flight
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
			start := time.Now()
			a, err := client(play(reply), new(free)).Ask(ctx, testSpec(), source.Call{Purpose: source.ForSearch})
			if f := mustFault(t, err); f.Code != "cancelled" || !errors.Is(err, stop) || time.Since(start) != 50*time.Millisecond || a.Traffic.Sent != 1 {
				t.Errorf("%+v, %v", f, err)
			}
		}
	})
}

func TestR50_Bodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec()
		spec.HTTP.MaxBody = 4 << 20
		long := `{"items":["` + strings.Repeat("x", 4<<20) + `"]}`
		for name, reply := range map[string]func(*http.Request) (*http.Response, error){
			"bomb": status(200, bomb(t), "Content-Encoding", "gzip"),
			"long": status(200, long),
			"long, chunked": func(r *http.Request) (*http.Response, error) {
				res, _ := status(200, long)(r)
				res.ContentLength = -1
				return res, nil
			},
			"long, packed": status(200, pack(t, []byte(long)), "Content-Encoding", "gzip"),
		} {
			a, err := client(play(reply), new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			want := harvest.CutSlice
			if errors.Is(err, errRatio) { // a smaller window mends no bomb
				want = harvest.GiveUp
			}
			if f := mustFault(t, err); f.Code != "reply_too_large" || f.Level != harvest.Rejected || f.Reaction != want || a.Traffic.Sent != 1 {
				t.Errorf("%s: %+v", name, f)
			}
		}
		_, err := client(play(status(200, long)), new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForDetail, IDs: []string{"a"}})
		if f := mustFault(t, err); f.Code != "reply_too_large" || f.Reaction != harvest.GiveUp {
			t.Errorf("details, which no window asks for: %+v", f)
		}
		roomy := testSpec()
		roomy.HTTP.MaxBody = 1 << 30
		_, err = client(play(status(200, bomb(t), "Content-Encoding", "gzip")), new(free)).Ask(t.Context(), roomy, source.Call{Purpose: source.ForSearch})
		if f := mustFault(t, err); f.Code != "reply_too_large" || f.Reaction != harvest.GiveUp || !errors.Is(err, errRatio) {
			t.Errorf("ratio: %v", err)
		}
		a, err := client(play(status(200, pack(t, []byte(`{"items":["a"]}`)), "Content-Encoding", "gzip")), new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		if err != nil || len(a.Page.Items) != 1 {
			t.Errorf("packed reply: %v", err)
		}
		// A cut packed reply is a broken one, not a short one.
		whole := pack(t, []byte(long[:1<<20]))
		_, err = client(play(status(200, whole[:len(whole)-9], "Content-Encoding", "gzip")), new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		if f := mustFault(t, err); f.Code != "bad_reply" || !f.Lost {
			t.Errorf("cut: %+v", f)
		}
	})
}

func pack(t *testing.T, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// bomb unpacks to 64 MiB of blanks.
var bomb = func() func(*testing.T) string {
	var once sync.Once
	var s string
	return func(t *testing.T) string {
		once.Do(func() { s = pack(t, bytes.Repeat([]byte(" "), 64<<20)) })
		return s
	}
}()

func TestR48_ErrorsAndAnswersHoldNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const canary = "CANARY-123"
		spec := testSpec()
		spec.Search.Query["api_key"] = canary
		spec.Vars["contact"] = canary + "@example.org"
		spec.Paging.Stateful = true
		inner := &url.Error{Op: "Get", URL: "https://u:" + canary + "@api.example.org/?api_key=" + canary, Err: syscall.ECONNRESET}
		outer := &url.Error{Op: "Post", URL: "https://api.example.org/?x=" + canary, Err: fmt.Errorf("again: %w", inner)}
		for name, reply := range map[string]func(*http.Request) (*http.Response, error){
			"nested": broken(fmt.Errorf("round trip %s: %w", outer.URL, outer)),
			"joined": broken(errors.Join(inner, outer)),
			"status": status(400, `{"api-key":"`+canary+`"}`),
			"shape":  status(200, canary),
			"html":   status(200, "<html>"+canary),
		} {
			a, err := client(play(reply), new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			for e := range tree(err) {
				if strings.Contains(e.Error(), canary) || strings.Contains(fmt.Sprintf("%+v", e), canary) {
					t.Errorf("%s: %T prints %v", name, e, e)
				}
			}
			if strings.Contains(a.Request, canary) || strings.Contains(fmt.Sprintf("%+v", a), canary) {
				t.Errorf("%s: answer %+v", name, a)
			}
			if name == "nested" && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the cause is gone from %v", err)
			}
		}
	})
}

// tree walks an error and all it wraps.
func tree(err error) func(func(error) bool) {
	return func(yield func(error) bool) {
		todo := []error{err}
		for len(todo) > 0 {
			e := todo[0]
			todo = todo[1:]
			if e == nil {
				continue
			}
			if !yield(e) {
				return
			}
			switch u := e.(type) {
			case interface{ Unwrap() error }:
				todo = append(todo, u.Unwrap())
			case interface{ Unwrap() []error }:
				todo = append(todo, u.Unwrap()...)
			}
		}
	}
}

func TestAsk_DigestsAreOfTheRequestWithoutSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(change func(*source.Spec, *source.Call)) string {
			spec, call := testSpec(), source.Call{Purpose: source.ForSearch}
			change(spec, &call)
			a, err := client(play(status(200, `{"items":[]}`)), new(free)).Ask(t.Context(), spec, call)
			if err != nil {
				t.Fatal(err)
			}
			return a.RequestSHA256
		}
		base := ask(func(*source.Spec, *source.Call) {})
		if base != ask(func(s *source.Spec, _ *source.Call) { s.Vars["contact"] = "other@example.org" }) {
			t.Error("the contact changes the digest")
		}
		if base == ask(func(_ *source.Spec, c *source.Call) { c.Position.Token = "x" }) {
			t.Error("the token does not change the digest")
		}
		one := ask(func(_ *source.Spec, c *source.Call) { c.Purpose, c.IDs = source.ForDetail, []string{"1"} })
		if one == ask(func(_ *source.Spec, c *source.Call) { c.Purpose, c.IDs = source.ForDetail, []string{"2"} }) {
			t.Error("the body does not change the digest")
		}
	})
}

func TestR37_LimitHeadersReachTheGate(t *testing.T) {
	for _, c := range []struct {
		headers []string
		n       float64
		per     time.Duration
	}{
		{[]string{"X-RateLimit-Limit", "3"}, 3, time.Second},
		{[]string{"X-Rate-Limit-Limit", "50", "X-Rate-Limit-Interval", "1s"}, 50, time.Second},
		{[]string{"X-Rate-Limit-Limit", "100", "X-Rate-Limit-Interval", "60"}, 100, time.Minute},
		{[]string{"X-Rate-Limit-Limit", "100", "X-Rate-Limit-Interval", "60s", "X-RateLimit-Limit", "3"}, 100, time.Minute},
		{[]string{"X-RateLimit-Limit", "-1"}, 0, 0},
		{[]string{"X-RateLimit-Limit", "lots"}, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := new(free)
			if _, err := client(play(status(200, `{"items":[]}`, c.headers...)), g).Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch}); err != nil {
				t.Fatal(err)
			}
			if o := g.told[0]; o.Allowed != c.n || o.Per != c.per {
				t.Errorf("%v: the gate heard %+v", c.headers, o)
			}
		})
	}
}
