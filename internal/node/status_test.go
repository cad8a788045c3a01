package node_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// reply is one in place of the oracle's.
func reply(r *http.Request, status int, kind, body string, header ...string) *http.Response {
	h := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}, "Content-Type": {kind}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}
}

// outage is a way in which an upstream gives no answer, and what status says of it.
type outage struct {
	name   string
	answer func(*http.Request) (*http.Response, error)
	code   string
	// reasons are those it may wait for.
	reasons []control.Reason
	// stops: the source is stopped, and a person has to resume it.
	stops bool
}

func replying(status int, kind, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) { return reply(r, status, kind, body, header...), nil }
}

var again = []control.Reason{control.ReasonLeaseHeld, control.ReasonScheduledLater, control.ReasonCircuitOpen, control.ReasonRateCooldown, control.ReasonRateWait}

func outages() []outage {
	return []outage{
		{name: "503", answer: replying(503, "text/plain", "down"), code: "http_503", reasons: again},
		{name: "503 with Retry-After", answer: replying(503, "text/plain", "down", "Retry-After", "300"), code: "http_503", reasons: again},
		{name: "500", answer: replying(500, "text/plain", "oops"), code: "http_500", reasons: again},
		{name: "502 as a page", answer: replying(502, "text/html", "<html>bad gateway</html>"), code: "http_502", reasons: again},
		{name: "504 as a page", answer: replying(504, "text/html", "<html>timeout</html>"), code: "http_504", reasons: again},
		{
			name: "429 with Retry-After", answer: replying(429, "text/plain", "slow down", "Retry-After", "600"),
			code: "http_429", reasons: []control.Reason{control.ReasonRateCooldown},
		},
		{name: "429", answer: replying(429, "text/plain", "slow down"), code: "http_429", reasons: again},
		{name: "401", answer: replying(401, "text/plain", "who are you"), code: "auth_refused", reasons: []control.Reason{control.ReasonLineStopped}, stops: true},
		{name: "connection reset", answer: func(*http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("connection reset: %w", io.ErrUnexpectedEOF)
		}, code: "network", reasons: again},
		{name: "no answer at all", answer: func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, code: "timeout", reasons: again},
		{name: "a page for people", answer: replying(200, "text/html", "<html>welcome</html>"), code: "", reasons: append([]control.Reason{control.ReasonLineStopped}, again...), stops: true},
		{name: "an empty reply", answer: replying(200, "application/json", ""), code: "", reasons: append([]control.Reason{control.ReasonLineStopped}, again...), stops: true},
		{name: "a reply cut off", answer: replying(200, "application/json", `{"items":[{"id":`), code: "", reasons: append([]control.Reason{control.ReasonLineStopped}, again...), stops: true},
		{name: "another shape", answer: replying(200, "application/json", `{"rows":[]}`), code: "", reasons: append([]control.Reason{control.ReasonLineStopped}, again...), stops: true},
		{name: "an error within", answer: replying(200, "application/json", `{"error":"database is down"}`), code: "", reasons: append([]control.Reason{control.ReasonLineStopped}, again...), stops: true},
		{name: "404", answer: replying(404, "text/plain", "gone"), code: "http_404", reasons: again},
		{name: "400", answer: replying(400, "text/plain", "no"), code: "http_400", reasons: again},
	}
}

// out is a served node whose upstream can be put out.
type out struct {
	*served
	log   *logLines
	mu    sync.Mutex
	fault func(*http.Request) (*http.Response, error) // guarded by mu
}

// RoundTrip implements http.RoundTripper.
func (o *out) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	fault := o.fault
	o.mu.Unlock()
	if fault != nil {
		return fault(r)
	}
	return o.served.RoundTrip(r)
}

func (o *out) set(fault func(*http.Request) (*http.Response, error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fault = fault
}

// newOut serves a source that is harvested every five minutes.
func newOut(t *testing.T) *out {
	o := &out{served: newServed(t, "5", `{harvest: "*/5 * * * *"}`, sim.Config{Records: 100, Churn: &sim.Churn{New: 2000}}), log: new(logLines)}
	log := slog.New(slog.NewTextHandler(o.log, nil))
	store := patratest.Open(t, o.dsn, sqlstore.Options{Logger: log})
	o.Node = node.Assemble(node.Config{Workers: 2, Poll: o.poll, Logger: log}, store, registry.New(store, registry.Read(o.packs), nil, node.CheckSpec, log), o)
	return o
}

// status is that of the one source there is.
func (o *out) status() (control.SourceStatus, control.Status) {
	o.t.Helper()
	all, err := o.Control.Status(o.t.Context(), "")
	if err != nil || len(all.Sources) != 1 || all.Sources[0].Source != "generic" {
		o.t.Fatalf("%+v, %v", all, err)
	}
	return all.Sources[0], all
}

// TestOutages_StatusAndAlertTellOfEveryWay: whatever an upstream does in place of
// answering, a minute after the first request that meets it the status names the
// source, what came, and what is waited for; after five minutes somebody is told once,
// of the source and its cause. When it is over nothing of it is left in the status, and
// that is told too. Nothing that is sent holds an address of a reply, and no log the key
// of a target.
func TestOutages_StatusAndAlertTellOfEveryWay(t *testing.T) {
	t.Parallel()
	const author = "jane.doe@example.org"
	for _, k := range outages() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			servedBubble(t, func(t *testing.T) {
				o, m := newAlerted(t)
				stop := o.begin(role.All...)
				defer func() { stop() }()
				time.Sleep(14 * time.Minute)
				s, all := o.status()
				if !isWell(all) || s.LastSuccess == nil || s.Lag == nil || len(m.got) != 0 {
					t.Fatalf("while all is well: %s, told %+v", show(all), m.got)
				}
				o.set(func(r *http.Request) (*http.Response, error) {
					resp, err := k.answer(r)
					if err == nil {
						resp.Header.Set("X-Author", author)
					}
					return resp, err
				})
				time.Sleep(time.Minute) // the next harvest begins
				time.Sleep(time.Minute)
				o.mustTell(k)
				o.mustExplain(k)
				time.Sleep(4 * time.Minute)
				if len(m.got) != 1 || m.got[0].Source != "generic" || m.got[0].Next == "" || k.code != "" && !strings.Contains(m.got[0].Text, k.code) {
					t.Fatalf("after five minutes: %+v", m.got)
				}
				time.Sleep(4 * time.Minute)
				o.mustTell(k)
				o.set(nil)
				if s, _ := o.status(); s.Freshness == control.FreshStopped {
					if !k.stops || m.got[0].Rule != alert.SourceStopped {
						t.Errorf("stopped: %+v, told %+v", s, m.got)
					}
					if err := o.Store.HoldSource(t.Context(), "generic", false, false, ""); err != nil {
						t.Fatal(err)
					}
				}
				o.mustRecover(m)
				for _, sent := range m.raw {
					if strings.Contains(sent, author) {
						t.Errorf("an address was sent: %s", sent)
					}
				}
				if logged := o.log.with(alertKey); len(logged) != 0 {
					t.Errorf("the key of a target was logged: %q", logged)
				}
			})
		})
	}
}

// mustExplain fails the test unless partition, tasks and slices that are not done tell
// the cause and what is waited for, each for itself.
func (o *out) mustExplain(k outage) {
	o.t.Helper()
	told := func(what string, cause *control.Cause, w *control.WaitingFor) {
		o.t.Helper()
		if cause == nil || k.code != "" && string(cause.Code) != k.code || cause.At == nil || w == nil || w.Reason == "" || w.Text == "" || w.Unblocks == "" {
			o.t.Errorf("%s: cause %+v, waits for %+v", what, cause, w)
		}
	}
	q, err := o.Control.Queue(o.t.Context(), "generic", "")
	if err != nil {
		o.t.Fatal(err)
	}
	tasks, err := o.Control.Tasks(o.t.Context(), control.TaskQuery{Source: "generic", Page: control.Page{Limit: 5}})
	if err != nil || len(tasks.Tasks) == 0 {
		o.t.Fatalf("%+v, %v", tasks, err)
	}
	for _, p := range q.Partitions {
		told("partition", p.Cause, p.Waiting)
	}
	open := 0
	for _, t := range tasks.Tasks {
		if !t.Status.Open() {
			continue
		}
		open++
		told(fmt.Sprintf("%s task", t.Status), t.Cause, t.Waiting)
		s, err := o.Control.Slice(o.t.Context(), t.Slice)
		if err != nil {
			o.t.Fatal(err)
		}
		told(fmt.Sprintf("slice of a %s task", t.Status), s.Cause, s.Waiting)
	}
	if open == 0 && k.name == "503" {
		o.t.Error("nothing was open")
	}
}

// mustRecover fails the test unless, some time after the outage, nothing of it is left
// in the status and its end is told.
func (o *out) mustRecover(m *mailroom) {
	o.t.Helper()
	var all control.Status
	for range 40 {
		time.Sleep(time.Minute)
		_, all = o.status()
		fired := m.told(alert.Firing)
		if !isWell(all) || len(m.told(alert.Cleared)) != len(fired) {
			continue
		}
		// What could not be read meanwhile may be a gap for a while, which is another thing.
		gap := len(fired) == 2 && fired[1] == string(alert.GapsOpen)+" generic"
		if len(fired) != 1 && !gap {
			o.t.Errorf("told of %v", fired)
		}
		return
	}
	o.t.Errorf("when it is over: %s, told %+v", show(all), m.got)
}

// isWell reports whether nothing is to be told of the one source there is.
func isWell(all control.Status) bool {
	s := all.Sources[0]
	return s.Freshness == control.FreshOnTime && s.Cause == nil && s.Waiting == nil && len(all.Needs) == 0
}

// mustTell fails the test unless status tells of an outage.
func (o *out) mustTell(k outage) {
	o.t.Helper()
	s, all := o.status()
	if s.Cause == nil || k.code != "" && string(s.Cause.Code) != k.code || s.Cause.Code == "" || s.Cause.Text == "" || s.Cause.At == nil {
		o.t.Errorf("the cause is %+v", s.Cause)
	}
	w := s.Waiting
	if w == nil {
		o.t.Errorf("nothing is said to be waited for: %s", show(all))
		return
	}
	known := false
	for _, r := range k.reasons {
		known = known || w.Reason == r
	}
	stopped := w.Reason == control.ReasonLineStopped
	if !known || w.Text == "" || w.Unblocks == "" || w.Until == nil && !stopped || stopped != (s.Freshness == control.FreshStopped) {
		o.t.Errorf("waits for %+v", w)
	}
	if len(all.Needs) == 0 || all.Needs[0].Source != "generic" || all.Needs[0].Next == "" {
		o.t.Errorf("needs %+v", all.Needs)
	}
}

func show(v any) string { return fmt.Sprintf("%+v", v) }

// logLines is a log that can be read while it is written.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// with are the lines that contain a text.
func (l *logLines) with(text string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}

// TestStatus_OutageIsLoggedOnce: eleven minutes of nothing but 503 leave one warning,
// within the first minute and with the cause, and one line that says they are over. The
// alert that people are told of has a line of its own.
func TestStatus_OutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		o := newOut(t)
		stop := o.begin(role.All...)
		defer func() { stop() }()
		time.Sleep(14 * time.Minute)
		o.set(replying(503, "text/plain", "down"))
		time.Sleep(2 * time.Minute)
		if first := o.log.with("level=WARN msg=\"the source"); len(first) != 1 || !strings.Contains(first[0], "code=http_503") || !strings.Contains(first[0], "source=generic") {
			t.Errorf("after a minute: %q", first)
		}
		time.Sleep(9 * time.Minute)
		o.set(nil)
		time.Sleep(40 * time.Minute)
		warned, alerts := o.log.with("level=WARN"), o.log.with("level=WARN msg=alert component=alert rule=source_out")
		if len(warned) != 2 || len(alerts) != 1 {
			t.Errorf("%d warnings: %q", len(warned), warned)
		}
		if over := o.log.with("the source answers again"); len(over) != 1 || !strings.Contains(over[0], "level=INFO") {
			t.Errorf("the end: %q", over)
		}
	})
}
