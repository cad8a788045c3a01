package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/patratest"
)

// TestWorkInFlight: from the queue an operator comes to the task, its run and its page,
// and each says why it is as it is, on every engine.
func TestWorkInFlight(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		t.Parallel()
		r := newRigAt(t, e.DSN(t), nil)
		r.harvest()
		queued := r.get("/api/v1/tasks?source=generic&state=QUEUED")["tasks"].([]any)
		if len(queued) == 0 {
			t.Fatal("nothing is queued")
		}
		task := queued[len(queued)-1].(map[string]any)
		r.done(r.post("/api/v1/sources/generic/pause", map[string]any{"reason": "x"}))
		view := r.get(fmt.Sprintf("/api/v1/tasks/%v", task["id"]))
		waiting := view["waiting"].(map[string]any)
		if view["ahead"] != float64(len(queued)-1) || waiting["reason"] != "source_paused" || view["cause"] != nil {
			t.Errorf("%v", view)
		}
		why := r.get(fmt.Sprintf("/api/v1/tasks/%v/why", task["id"]))
		if !strings.Contains(why["text"].(string), "somebody paused the source") || !strings.Contains(why["next"].(string), "patra source resume generic") {
			t.Errorf("%v", why)
		}

		done := r.get("/api/v1/runs?source=generic&state=SUCCEEDED&limit=1")
		run := done["runs"].([]any)[0].(map[string]any)
		if done["next"] == nil || run["stats"] == nil || run["cause"] != nil {
			t.Errorf("%v", done)
		}
		shown := r.get(fmt.Sprintf("/api/v1/runs/%v", run["id"]))
		batch := shown["batches"].([]any)[0].(map[string]any)
		if shown["why"] != "It read its slice to a proven end." || batch["status"] != "SUCCEEDED" {
			t.Errorf("%v", shown)
		}
		page := r.get(fmt.Sprintf("/api/v1/runs/%v/batches/%v", run["id"], batch["batch_no"]))
		if page["correlation_id"] != fmt.Sprintf("ing-%v-%v", run["id"], batch["batch_no"]) || page["http_status"] != 200.0 || page["request"] == nil {
			t.Errorf("%v", page)
		}
		if doc := fmt.Sprint(page); strings.Contains(doc, "test@example.org") || strings.Contains(doc, "test%40example.org") {
			t.Errorf("the contact address is shown: %s", doc)
		}
		if q := r.get("/api/v1/queue"); q["workers"] == nil {
			t.Errorf("%v", q)
		}
	})
}

// TestRateIsLoweredForATime: what a preview showed is done and audited, never above what
// is declared, and ends when it is lifted.
func TestRateIsLoweredForATime(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.harvest()
	const path = "/api/v1/sources/generic/lower"
	look := r.get(path + "?to=2&for=1h")
	token := look["token"].(string)
	if look["applied"] != false || look["changes"] != true {
		t.Errorf("%v", look)
	}
	r.refused(r.send(ask("GET", path+"?to=901&for=1h", "")), 422, "bad_rate")
	r.refused(r.send(ask("GET", path+"?to=2&for=100d", "")), 422, "bad_rate")
	r.refused(r.send(ask("GET", path+"?to=0&for=1h", "")), 422, "bad_rate")
	other := map[string]any{"reason": "they asked us to", "token": token, "to": 3, "for": "1h"}
	r.refused(r.post(path, other), 409, "moved")
	order := map[string]any{"reason": "they asked us to", "token": token, "to": 2, "for": "1h"}
	if v := r.done(r.post(path, order)); v["applied"] != true || v["until"] == nil {
		t.Errorf("%v", v)
	}
	rate := r.get("/api/v1/rates?source=generic")["rates"].([]any)[0].(map[string]any)
	lowered, _ := rate["lowered"].(map[string]any)
	if rate["limit"] != 900.0 || rate["allowed"] != 2.0 || lowered["to"] != 2.0 || !strings.Contains(rate["why"].(string), "a person lowered it to 2 a second") {
		t.Errorf("%v", rate)
	}
	r.refused(r.post(path, order), 409, "moved") // it is not as the preview showed any more
	lift := r.get(path + "?lift=true")
	r.done(r.post(path, map[string]any{"reason": "all is well", "token": lift["token"], "lift": true}))
	rate = r.get("/api/v1/rates")["rates"].([]any)[0].(map[string]any)
	if rate["allowed"] != 900.0 || rate["lowered"] != nil {
		t.Errorf("%v", rate)
	}
	got := r.decisions()
	if !strings.Contains(got[0], "RATE_LIFT source/generic all is well") || !strings.Contains(got[1], "RATE_LOWER source/generic they asked us to") {
		t.Errorf("the audit says %v", got)
	}
}
