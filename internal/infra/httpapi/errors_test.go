package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// TestErrorsQuarantineAndRecordsOverHTTP: an error group is listed, shown and decided
// on; a record is found with its history; all of it without secrets and addresses, on
// every engine.
func TestErrorsQuarantineAndRecordsOverHTTP(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		r := newRigAt(t, e.DSN(t), nil)
		r.harvest()
		p := harvest.Partition{Provenance: "generic", Endpoint: "items", Operation: harvest.Harvest}
		for range 3 {
			if err := r.node.Store.CountFailure(t.Context(), p, harvest.BreakerLimits{}, "http_503", "ask jo@example.org about "+canary); err != nil {
				t.Fatal(err)
			}
		}
		list := r.get("/api/v1/errors")["errors"].([]any)
		if len(list) != 1 {
			t.Fatalf("%v", list)
		}
		g := list[0].(map[string]any)
		if g["count"] != 3.0 || g["state"] != "OPEN" || g["level"] != "L1" || g["sample"] != "ask ***@*** about ***" || g["next"] == nil {
			t.Errorf("%v", g)
		}
		path := fmt.Sprint("/api/v1/errors/", g["id"])
		if one := r.get(path); one["code"] != "http_503" || len(one["last_day"].([]any)) != 1 {
			t.Errorf("%v", one)
		}
		seen := r.get(path + "/mute?seconds=3600")
		if seen["applied"] != false || seen["changes"] != true {
			t.Errorf("%v", seen)
		}
		done := r.done(r.post(path+"/mute", map[string]any{"reason": "x", "seconds": 3600, "token": seen["token"]}))
		if after := done["after"].(map[string]any); after["state"] != "MUTED" || after["muted_until"] == nil {
			t.Errorf("%v", done)
		}
		if open := r.get("/api/v1/errors")["errors"].([]any); len(open) != 0 {
			t.Errorf("muted, and listed: %v", open)
		}
		r.refused(r.post(path+"/mute", map[string]any{"reason": "x", "seconds": 3600, "token": seen["token"]}), 409, "moved")
		r.done(r.post(path+"/resolve", map[string]any{"reason": "mended"}))
		if err := r.node.Store.CountFailure(t.Context(), p, harvest.BreakerLimits{}, "http_503", "again"); err != nil {
			t.Fatal(err)
		}
		if back := r.get("/api/v1/errors?state=CAME_BACK")["errors"].([]any); len(back) != 1 {
			t.Errorf("%v", back)
		}

		records := r.get("/api/v1/records?source=generic&limit=2")
		first := records["records"].([]any)[0].(map[string]any)
		if len(records["records"].([]any)) != 2 || records["next"] == nil || first["status"] != "ACTIVE" || first["title"] == nil {
			t.Errorf("%v", records)
		}
		db := r.raw()
		patratest.SetFields(t, db, `{"title":"line\nby jo@example.org"}`, `record_id=?`, first["number"])
		one := r.get(fmt.Sprint("/api/v1/records/generic/", first["id"]))
		if origin := one["provenance"].(map[string]any); origin["plan"] == nil || origin["request"] == nil || !strings.Contains(fmt.Sprint(one["fields"]), "***@***") {
			t.Errorf("%v", one)
		}
		history := r.get(fmt.Sprint("/api/v1/records/generic/", first["id"], "/history"))
		revision := history["revisions"].([]any)[0].(map[string]any)
		if len(revision["changes"].([]any)) == 0 || revision["effect"] != "inserted" {
			t.Errorf("%v", history)
		}
		r.refused(r.send(ask("GET", "/api/v1/records/generic/nothing", "")), 404, "not_found")
		if empty := r.get("/api/v1/quarantine?source=generic"); len(empty["items"].([]any)) != 0 {
			t.Errorf("%v", empty)
		}
		if _, err := db.Exec(`INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, path, raw, raw_sha256, created_at, seen_at)
			SELECT batch_id, 'generic', 'item', 'paper-1', 'missing_field', 'title', ?, raw_sha256, created_at, created_at FROM ing_record_version WHERE id=1`,
			patratest.PackItem(t, []byte(`{"id":"paper-1"}`))); err != nil {
			t.Fatal(err)
		}
		item := r.get("/api/v1/quarantine?source=generic")["items"].([]any)[0].(map[string]any)
		if item["name"] != "paper-1" || item["code"] != "missing_field" || item["path"] != "title" || item["means"] == nil {
			t.Errorf("%v", item)
		}
		path = fmt.Sprint("/api/v1/quarantine/", item["id"])
		if one := r.get(path); one["raw"] == "" || one["origin"].(map[string]any)["plan"] == nil {
			t.Errorf("%v", one)
		}
		seen = r.get(path + "/discard")
		r.refused(r.post(path+"/discard", map[string]any{"reason": "x", "token": seen["token"], "name": "paper-2"}), 422, "wrong_name")
		r.done(r.post(path+"/discard", map[string]any{"reason": "x", "token": seen["token"], "name": "paper-1"}))
		if empty := r.get("/api/v1/quarantine?source=generic"); len(empty["items"].([]any)) != 0 {
			t.Errorf("%v", empty)
		}
		r.refused(r.post("/api/v1/quarantine/refetch/preview", map[string]any{"source": "generic"}), 404, "not_found")
	})
}
