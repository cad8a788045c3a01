package httpapi_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
)

// TestArchivedLineageIsGoneAndFound: whatever of the lineage is asked for that was moved
// to an archive is answered with 410, the name of the archive, and what shows it; what
// never was there is not found.
func TestArchivedLineageIsGoneAndFound(t *testing.T) {
	r := newRig(t, nil)
	for range 2 { // the newest plan stays
		if _, err := r.node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "generic"}); err != nil {
			t.Fatal(err)
		}
		r.oracle.Advance(20 * 24 * time.Hour)
	}
	doc := r.document()
	dir := t.TempDir()
	n, err := node.Open(t.Context(), node.Config{DB: r.node.Store.DSN(), Archive: dir, Logger: patratest.Logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	soon := time.Now().Add(24 * time.Hour)
	keeper := retention.New(retention.Config{Pause: time.Nanosecond}, n.Store, archive.New(dir), slog.New(slog.DiscardHandler))
	done, err := keeper.Archive(t.Context(), retention.Cut{Trail: soon}, source.Audit{Actor: "test", Reason: "to see it go"})
	if err != nil || len(done.Archives) != 1 {
		t.Fatalf("%+v: %v", done, err)
	}
	r.config.Control = n.Control
	r.open()
	asked := 0
	for _, op := range doc.operations() {
		path := inPath(op.path, "generic", "1", "nobody")
		nowhere := inPath(op.path, "generic", "999999", "nobody")
		if op.path == "/api/v1/tasks" {
			path += "?plan=1"
			nowhere += "?plan=999999"
		}
		_, declared := op.raw["responses"].(map[string]any)["410"]
		if !declared || strings.Contains(op.path, "/cursors/") { // that of a harvest stays
			continue
		}
		asked++
		body := map[string]string{"/api/v1/blackbox/{run}/{batch}/export": `{"reason":"x"}`, "/api/v1/replays": `{"batch":"1/1"}`}[op.path]
		rec := r.send(ask(op.method, path, body))
		doc.holds(op, "archived", rec)
		if rec.Code != 410 {
			t.Errorf("%s %s: %d %s", op.method, path, rec.Code, rec.Body)
			continue
		}
		r.refused(rec, 410, "archived")
		if v := object(t, rec); !strings.Contains(v["title"].(string), done.Archives[0].File) || !strings.HasPrefix(v["next"].(string), "patra db archive show ") {
			t.Errorf("%s %s: %v", op.method, path, v)
		}
		if op.method == "GET" {
			r.refused(r.send(ask("GET", nowhere, "")), 404, "not_found")
		}
	}
	if asked < 12 {
		t.Errorf("only %d routes say that they may answer so", asked)
	}
}
