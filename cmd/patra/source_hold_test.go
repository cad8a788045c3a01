package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR65_ResumeNeedsAPassedCheck: a source that its upstream refused stays
// stopped while it does, with what failed and what to do; --force resumes it all
// the same, and a passed check without.
func TestR65_ResumeNeedsAPassedCheck(t *testing.T) {
	t.Parallel()
	o, err := sim.New(sim.Config{Sources: []string{"generic"}, Records: 60, Seed: 3, LimitRPS: -1, Now: time.Now().Add(-time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	var refuse atomic.Bool
	var requests atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if refuse.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		o.ServeHTTP(w, r)
	}))
	defer srv.Close()
	db, base := "sqlite:"+filepath.Join(t.TempDir(), "a.db"), srv.URL+"/generic"
	if code, out, e := patra(t, "source", "apply", write(t, "mini.yaml", mini), "--reason", "new", "--db", db); code != 0 {
		t.Fatalf("apply: exit %d\n%s%s", code, out, e)
	}
	resume := func(more ...string) (int, string) {
		t.Helper()
		code, out, e := patra(t, append([]string{"source", "resume", "mini", "--reason", "mended", "--base-url", base, "--db", db}, more...)...)
		return code, out + e
	}
	stop := func() {
		t.Helper()
		refuse.Store(true)
		requests.Store(0)
		code, out, e := patra(t, "harvest", "mini", "--base-url", base, "--db", db)
		if code != exitUpstream || requests.Load() != 1 || strings.Count(e, "\n") > 12 || !strings.Contains(e, "auth_refused") || !strings.Contains(e, "patra source resume") {
			t.Fatalf("exit %d after %d requests\n%s%s", code, requests.Load(), out, e)
		}
		code, _, e = patra(t, "harvest", "mini", "--base-url", base, "--db", db)
		if code != exitUpstream || requests.Load() != 1 || !strings.Contains(e, "stopped since") {
			t.Fatalf("again: exit %d after %d requests\n%s", code, requests.Load(), e)
		}
	}
	stop()
	if code, text := resume("--dry-run"); code != 0 || requests.Load() != 1 || !strings.Contains(text, "stopped would become ready if its check passes") {
		t.Errorf("dry run: exit %d after %d requests\n%s", code, requests.Load(), text)
	}
	if code, text := resume(); code != exitUpstream || !strings.Contains(text, "mini stays stopped") || !strings.Contains(text, "--force --reason TEXT") || requests.Load() > 3 {
		t.Errorf("refused still: exit %d after %d requests\n%s", code, requests.Load(), text)
	}
	if _, list, _ := patra(t, "source", "list", "--db", db); !strings.Contains(list, "stopped") {
		t.Errorf("not stopped any more:\n%s", list)
	}
	if code, text := resume("--force"); code != 0 || !strings.Contains(text, "ready, was stopped") {
		t.Errorf("forced: exit %d\n%s", code, text)
	}
	stop()
	refuse.Store(false)
	requests.Store(0)
	if code, text := resume(); code != 0 || !strings.Contains(text, "ready, was stopped") || requests.Load() == 0 || requests.Load() > 3 {
		t.Errorf("mended: exit %d after %d requests\n%s", code, requests.Load(), text)
	}
	if code, out, e := patra(t, "harvest", "mini", "--base-url", base, "--db", db); code != 0 {
		t.Errorf("harvest afterwards: exit %d\n%s%s", code, out, e)
	}
	if _, list, _ := patra(t, "audit", "list", "--object", "source/mini", "--db", db); !strings.Contains(list, "forced, without a check") {
		t.Errorf("the audit does not tell what was forced:\n%s", list)
	}
}

// TestFirstContact_EndsInOneLine: whatever a source answers at first contact that
// is not what its description says ends the harvest before anything is planned,
// with one line and what to do.
func TestFirstContact_EndsInOneLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   []string
		most   int64
	}{
		"404": {http.NotFound, []string{"first contact with mini", "http_404", "`patra source check mini --show http`"}, 2},
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<!doctype html><title>Welcome</title>"))
		}, []string{"first contact with mini", "unexpected_html", "patra source resume mini "}, 2},
		"another shape": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"greeting":"hello"}`))
		}, []string{"first contact with mini", "schema_drift", "patra source resume mini "}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				c.answer(w, r)
			}))
			defer srv.Close()
			db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
			if code, out, e := patra(t, "source", "apply", write(t, "mini.yaml", mini), "--reason", "new", "--db", db); code != 0 {
				t.Fatalf("apply: exit %d\n%s%s", code, out, e)
			}
			code, out, e := patra(t, "harvest", "mini", "--base-url", srv.URL, "--db", db, "--progress", "none")
			if code != exitUpstream || out != "" || requests.Load() > c.most {
				t.Errorf("exit %d after %d requests\n%s%s", code, requests.Load(), out, e)
			}
			for _, s := range c.says {
				if !strings.Contains(e, s) {
					t.Errorf("says nothing of %q:\n%s", s, e)
				}
			}
			if strings.Count(e, "patra: ") != 1 || strings.Contains(e, "ERROR") {
				t.Errorf("says more than one line:\n%s", e)
			}
			if _, list, _ := patra(t, "plan", "list", "--db", db); strings.Contains(list, "mini") {
				t.Errorf("planned all the same:\n%s", list)
			}
		})
	}
}

// TestCertificate_RefusedSaysWhatToCheck: a certificate that nobody here has signed
// does not mend itself by waiting.
func TestCertificate_RefusedSaysWhatToCheck(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	if code, out, e := patra(t, "source", "apply", write(t, "mini.yaml", mini), "--reason", "new", "--db", db); code != 0 {
		t.Fatalf("apply: exit %d\n%s%s", code, out, e)
	}
	code, _, e := patra(t, "harvest", "mini", "--base-url", srv.URL, "--db", db, "--progress", "none")
	if code != exitUpstream || !strings.Contains(e, "certificate_refused") || !strings.Contains(e, "is the address right") || strings.Contains(e, "again later") {
		t.Errorf("exit %d\n%s", code, e)
	}
}

// TestGapLine_SaysWhatItWaitsFor: a gap of a source that is held is not tried again
// by itself.
func TestGapLine_SaysWhatItWaitsFor(t *testing.T) {
	at := control.Time(time.Date(2026, 9, 15, 14, 55, 45, 0, time.UTC))
	for _, c := range []struct {
		state harvest.SourceState
		held  string
		retry *control.Time
		want  string
		times int
	}{
		{harvest.SourceState{}, "", &at, "(tried again after 2026-09-15T14:55:45Z)", 1},
		{harvest.SourceState{Stopped: true}, "mini", &at, "(tried again once mini is resumed)", 1},
		{harvest.SourceState{Stopped: true}, "mini/news", &at, "(tried again once mini/news is resumed)", 1},
		{harvest.SourceState{Paused: true}, "mini", &at, "(tried again once mini is resumed)", 1},
		{harvest.SourceState{Stopped: true}, "mini", nil, "schema_drift\n", 0}, // a person has to decide
		{harvest.SourceState{}, "", nil, "schema_drift\n", 0},
	} {
		var out bytes.Buffer
		p := &cli{printer: printer{out: &out, err: &out}}
		p.printReport(&control.Report{
			Operation: harvest.Harvest, Source: "mini", Status: "PARTIAL", State: c.state, Held: c.held,
			Gaps: []control.ReportGap{{Status: "FAILED", Reason: "schema_drift", RetryAt: c.retry}},
		})
		if !strings.Contains(out.String(), c.want) || strings.Count(out.String(), "tried again") != c.times {
			t.Errorf("want %q:\n%s", c.want, out.String())
		}
	}
}
