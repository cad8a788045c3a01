package httpapi_test

import (
	"fmt"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// TestWhatADashboardAsks: queue, lineage, timeline and errors say what the store
// holds, on every engine.
func TestWhatADashboardAsks(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		r := newRigAt(t, e.DSN(t), nil)
		r.harvest()
		queue := r.get("/api/v1/queue")
		parts := queue["partitions"].([]any)
		if len(parts) != 1 {
			t.Fatalf("%v", queue)
		}
		p := parts[0].(map[string]any)
		if p["source"] != "generic" || p["operation"] != "BACKFILL" || p["queued"].(float64) < 1 || p["due"] != p["queued"] || p["running"] != 0.0 || p["waiting"] != nil {
			t.Errorf("%v", p)
		}
		r.done(r.post("/api/v1/sources/generic/pause", map[string]any{"reason": "x"}))
		p = r.get("/api/v1/queue?source=generic&operation=BACKFILL")["partitions"].([]any)[0].(map[string]any)
		if w, _ := p["waiting"].(map[string]any); w["reason"] != "source_paused" {
			t.Errorf("%v", p)
		}
		if v := r.get("/api/v1/queue?operation=HARVEST"); len(v["partitions"].([]any)) != 0 {
			t.Errorf("%v", v)
		}

		lineage := r.get("/api/v1/plans/1/lineage?limit=1")
		slice := lineage["slices"].([]any)[0].(map[string]any)
		run := slice["runs"].([]any)[0].(map[string]any)
		batch := slice["batches"].([]any)[0].(map[string]any)
		if lineage["next"] != fmt.Sprint(slice["id"]) || run["status"] != "SUCCEEDED" || batch["run"] != run["id"] || batch["status"] != "SUCCEEDED" || batch["requests"] == 0.0 {
			t.Errorf("%v", lineage)
		}

		timeline := r.get("/api/v1/cursors/timeline?source=generic&operation=HARVEST")
		events := timeline["events"].([]any)
		first, last := events[0].(map[string]any), events[len(events)-1].(map[string]any)
		if len(events) < 2 || first["kind"] != "INIT" || last["kind"] != "ADVANCE" || first["operation"] != "HARVEST" {
			t.Errorf("%v", timeline)
		}
		if v := r.get("/api/v1/cursors/timeline?source=generic&to=2020-01-01T00:00:00Z"); len(v["events"].([]any)) != 0 {
			t.Errorf("%v", v)
		}
		var got []any
		after := ""
		for range 100 {
			v := r.get("/api/v1/cursors/timeline?source=generic&operation=HARVEST&limit=1&after=" + after)
			got = append(got, v["events"].([]any)...)
			next, more := v["next"].(string)
			if !more {
				break
			}
			after = next
		}
		if len(got) != len(events) {
			t.Errorf("%d events in pages, %d at once", len(got), len(events))
		}

		if v := r.get("/api/v1/errors/top"); len(v["errors"].([]any)) != 0 {
			t.Errorf("%v", v)
		}
		p1 := harvest.Partition{Provenance: "generic", Endpoint: "items", Operation: harvest.Harvest}
		for i, code := range []harvest.Code{"http_503", harvest.CodeTimeout, "http_503"} {
			if err := r.node.Store.CountFailure(t.Context(), p1, harvest.BreakerLimits{}, code, fmt.Sprint("said ", i)); err != nil {
				t.Fatal(err)
			}
		}
		top := r.get("/api/v1/errors/top?source=generic&level=L1")["errors"].([]any)
		worst := top[0].(map[string]any)
		if len(top) != 2 || worst["code"] != "http_503" || worst["count"] != 2.0 || worst["means"] == nil || worst["sample"] != "said 2" {
			t.Errorf("%v", top)
		}
	})
}
