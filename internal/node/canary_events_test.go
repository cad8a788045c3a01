package node_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/infra/bus"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR48_TargetsOfEventsShowNothing: a target that repeats the secrets by which it is reached, and the mail address
// of somebody, in what it says when it refuses an event or is out. Neither they nor the beginning
// of one stand in the store, the log, what is shown, or the events that others get.
func TestR48_TargetsOfEventsShowNothing(t *testing.T) {
	const (
		token = "canary-Token-83hf72hs91kd"
		signs = "canary-Signs-19dj38fh27sk"
		mail  = "canary.mail@leak.example"
	)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusUnprocessableEntity
		if r.URL.Path == "/out" {
			status = http.StatusServiceUnavailable
		}
		w.WriteHeader(status)
		// Texts are cut: what is cut in the middle of a secret must not show its beginning.
		for _, filler := range []int{188, 200, 40} {
			fmt.Fprintf(w, "%s %s %s %s %s;", strings.Repeat("x", filler), token, signs, mail, r.URL)
		}
	}))
	t.Cleanup(hook.Close)
	host := strings.TrimPrefix(hook.URL, "http://")
	lake := filepath.Join(t.TempDir(), "lake.jsonl")
	targets := fmt.Sprintf("webhook+http://%s/refuse?token=%s&secret=%s&private=allow#refuses webhook+http://%s/out?token=%s&secret=%s&private=allow#away file:%s#lake",
		host, token, signs, host, token, signs, lake)
	oracle, err := sim.New(sim.Config{Sources: []string{"crossref"}, Records: 20, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(oracle)
	t.Cleanup(upstream.Close)
	var log bytes.Buffer
	dsn := patratest.SQLite.DSN(t)
	n, err := node.Open(t.Context(), node.Config{
		DB: dsn, Contact: "tests@example.org", Events: bus.FromText(targets),
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	send := func() {
		t.Helper()
		if err := n.Control.SendEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Control.RegisterTargets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", BaseURL: upstream.URL + "/crossref", Watch: new(control.Watch)}); err != nil {
		t.Fatal(err)
	}
	send()
	if _, err := patratest.Raw(t, dsn).Exec(`UPDATE ing_outbox_held SET attempts=9, next_at=created_at`); err != nil {
		t.Fatal(err)
	}
	send()

	list, err := n.Control.Outbox(t.Context(), control.OutboxQuery{Page: control.Page{Limit: 100}})
	if err != nil || len(list.Messages) == 0 || list.Messages[0].State != control.MessageParked || !strings.Contains(list.Messages[0].Error, "answered 422") {
		t.Fatalf("%+v, %v", list, err)
	}
	status, err := n.Control.Status(t.Context(), "")
	if err != nil || len(status.Events) != 3 || status.Events[0].Error == "" {
		t.Fatalf("%+v, %v", status.Events, err)
	}
	shown, err := json.Marshal([]any{list, status})
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(dsn, "sqlite:")
	said := map[string][]byte{"log": log.Bytes(), "answers": shown}
	for name, file := range map[string]string{"database": path, "wal": path + "-wal", "events": lake} {
		said[name], err = os.ReadFile(file)
		if err != nil || len(said[name]) == 0 {
			t.Fatalf("%s: %d bytes, %v", name, len(said[name]), err)
		}
	}
	for name, text := range said {
		for _, canary := range []string{token, signs, mail, token[:10], signs[:10], "canary.mail"} {
			if bytes.Contains(text, []byte(canary)) {
				t.Errorf("%s shows %q", name, canary)
			}
		}
	}
	if !bytes.Contains(log.Bytes(), []byte("an event is parked")) || !bytes.Contains(log.Bytes(), []byte("a target of events is out")) {
		t.Error("the log tells nothing of it")
	}
}
