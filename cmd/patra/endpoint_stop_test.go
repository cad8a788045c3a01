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

	"github.com/papertrace/patra/internal/sim"
)

// TestR72_AFatalFaultOfOneEndpointLeavesTheOthers: an endpoint whose replies are of another
// shape is stopped alone, says so wherever its source is shown, and is resumed when its own
// check passes; what goes through the other endpoint goes on meanwhile.
func TestR72_AFatalFaultOfOneEndpointLeavesTheOthers(t *testing.T) {
	t.Parallel()
	o, err := sim.New(sim.Config{Sources: []string{"generic"}, Records: 60, Seed: 3, LimitRPS: -1, Now: time.Now().Add(-time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	var changed atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("via") != "others" || !changed.Load() {
			o.ServeHTTP(w, r)
			return
		}
		kept := httptest.NewRecorder()
		o.ServeHTTP(kept, r)
		w.Header().Set("Content-Type", kept.Header().Get("Content-Type"))
		w.WriteHeader(kept.Code)
		body := bytes.ReplaceAll(kept.Body.Bytes(), []byte(`"id":`), []byte(`"identifier":`))
		if _, err := w.Write(body); err != nil {
			t.Errorf("write: %v", err)
		}
	}))
	defer srv.Close()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	at := strings.Index(mini, "  count:\n")
	search := mini[strings.Index(mini, "  items:\n"):at]
	other := strings.Replace(search, "  items:\n", "  others:\n", 1)
	other = strings.Replace(other, "    query:\n", "    query:\n      via: others\n", 1)
	pack := strings.Replace(mini[:at]+other+mini[at:], "  items:\n", "  items:\n    default: true\n", 1)
	run := func(want int, args ...string) string {
		t.Helper()
		code, out, e := patra(t, append(args, "--db", db)...)
		if code != want {
			t.Fatalf("%v: exit %d, want %d\n%s%s", args, code, want, out, e)
		}
		return out + e
	}
	base := "--base-url=" + srv.URL + "/generic"
	run(0, "source", "apply", write(t, "mini.yaml", pack), "--reason", "new")
	run(0, "harvest", "mini", base)
	changed.Store(true)
	run(0, "plan", "create", "mini", "--op", "BACKFILL", "--from", "2020-01-01", "--to", "2020-01-03", "--endpoint", "others", "--reason", "to lie there", base)
	says(t, run(exitUpstream, "harvest", "mini", "--endpoint", "others", base), "schema_drift")
	says(t, run(exitUpstream, "harvest", "mini", "--endpoint", "others", base), "mini/others has been stopped", "patra source resume mini/others")
	says(t, run(0, "source", "list"), "stopped endpoints: others")
	told := run(0, "status")
	says(t, told, "mini/others: stopped since", "schema_drift", "next: patra source resume mini/others --reason TEXT", "a fatal fault stopped mini/others", "line_stopped")
	for _, said := range []string{told, run(0, "doctor")} {
		if strings.Contains(said, "nobody takes it") {
			t.Errorf("what waits for a stopped endpoint is said to wait for a process:\n%s", said)
		}
	}
	run(0, "harvest", "mini", base)
	says(t, run(0, "source", "resume", "mini/others", "--reason", "mended", base, "--dry-run"), "if its check passes")
	says(t, run(exitUpstream, "source", "resume", "mini/others", "--reason", "mended", base), "mini/others stays stopped")
	changed.Store(false)
	says(t, run(0, "source", "resume", "mini/others", "--reason", "mended", base), "ready, was stopped")
	run(0, "plan", "retry", "mini", "--reason", "mended")
	run(0, "harvest", "mini", "--endpoint", "others", base)
	run(0, "verify")
}
