package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
)

// TestStatusAndDoctorByHTTP: what the commands print is what the door answers.
func TestStatusAndDoctorByHTTP(t *testing.T) {
	r := newRig(t, nil)
	r.harvest()
	st := r.get("/api/v1/status?source=generic")
	row := st["sources"].([]any)[0].(map[string]any)
	if row["source"] != "generic" || row["lag_seconds"] == nil || row["freshness"] != "waiting" || !strings.Contains(row["next"].(string), "schedule set") {
		t.Errorf("%v", row)
	}
	d := r.get("/api/v1/doctor")
	if d["status"] == "failed" || len(d["groups"].([]any)) < 8 || d["summary"].(map[string]any)["failed"] != 0.0 {
		t.Errorf("%v", d)
	}
	r.refused(r.send(ask("GET", "/api/v1/status?source=nosuch", "")), 404, "unknown_source")
	r.refused(r.send(ask("GET", "/api/v1/status?range=5x", "")), 422, "usage")
}

// TestAScheduleIsMadeAsItWasShown: looked at, made with the token, paused, resumed and
// removed, each with its line in the audit; what has moved since is refused.
func TestAScheduleIsMadeAsItWasShown(t *testing.T) {
	r := newRig(t, nil)
	wish := func(cron string, more ...any) map[string]any {
		w := map[string]any{"name": "nightly", "source": "generic", "cron": cron, "priority": "normal"}
		for i := 0; i+1 < len(more); i += 2 {
			w[more[i].(string)] = more[i+1]
		}
		return w
	}
	r.refused(r.post("/api/v1/schedules/preview", wish("every night")), 422, "bad_schedule")
	seen := r.done(r.post("/api/v1/schedules/preview", wish("@daily")))
	if seen["applied"] != false || seen["token"] == "" || len(r.get("/api/v1/schedules")["schedules"].([]any)) != 0 {
		t.Fatalf("%v", seen)
	}
	r.refused(r.post("/api/v1/schedules", wish("@hourly", "reason", "x", "token", seen["token"])), 409, "moved")
	made := r.done(r.post("/api/v1/schedules", wish("@daily", "reason", "keep it fresh", "token", seen["token"])))
	if after := made["after"].(map[string]any); made["applied"] != true || after["cron"] != "0 0 * * *" && after["cron"] != "@daily" || after["priority"] != "normal" {
		t.Errorf("%v", made)
	}
	r.refused(r.post("/api/v1/schedules", wish("@daily", "reason", "again", "token", seen["token"])), 409, "moved")
	const one = "/api/v1/schedules/nightly"
	tag := r.send(ask("GET", one, "")).Header().Get("ETag")
	r.done(r.post(one+"/pause", map[string]any{"reason": "not now"}, "If-Match", tag))
	r.refused(r.post(one+"/resume", map[string]any{"reason": "x"}, "If-Match", tag), 412, "moved")
	resume := r.get(one + "/resume")
	r.done(r.post(one+"/resume", map[string]any{"reason": "now", "token": resume["token"]}))
	remove := r.get(one + "/remove")
	r.done(r.post(one+"/remove", map[string]any{"reason": "over", "token": remove["token"]}))
	r.refused(r.send(ask("GET", one, "")), 404, "unknown_schedule")
	got := strings.Join(r.decisions(), "\n")
	for _, want := range []string{"SCHEDULE_SET schedule/nightly keep it fresh", "SCHEDULE_PAUSE schedule/nightly not now", "SCHEDULE_RESUME schedule/nightly now", "SCHEDULE_REMOVE schedule/nightly over"} {
		if !strings.Contains(got, want) {
			t.Errorf("the audit lacks %q:\n%s", want, got)
		}
	}
}

// TestACursorSkipsWhatThePreviewShowed, and nothing if the gaps are others by then.
func TestACursorSkipsWhatThePreviewShowed(t *testing.T) {
	r := newRig(t, nil)
	gap := r.harvest()
	var id float64
	for _, c := range r.get("/api/v1/cursors?source=generic")["cursors"].([]any) {
		if row := c.(map[string]any); row["operation"] == "BACKFILL" {
			id = row["id"].(float64)
		}
	}
	skip := fmt.Sprintf("/api/v1/cursors/%v/skip", id)
	const to = "2020-01-01"
	seen := r.get(skip + "?to=" + to)
	if seen["accepted"] != 1.0 || seen["applied"] != false {
		t.Fatalf("%v", seen)
	}
	r.refused(r.post(skip, map[string]any{"reason": "x", "token": seen["token"], "to": "yesterday"}), 422, "usage")
	retry := r.get("/api/v1/sources/generic/retry?cancelled=true")
	r.done(r.post("/api/v1/sources/generic/retry", map[string]any{"reason": "try it", "token": retry["token"], "cancelled": true}))
	r.refused(r.post(skip, map[string]any{"reason": "x", "token": seen["token"], "to": to}), 409, "moved")
	cancel := fmt.Sprintf("/api/v1/slices/%d/cancel", gap)
	r.done(r.post(cancel, map[string]any{"reason": "no", "token": r.get(cancel)["token"]}))
	seen = r.get(skip + "?to=" + to)
	if v := r.done(r.post(skip, map[string]any{"reason": "nobody reads it", "token": seen["token"], "to": to})); v["applied"] != true || v["accepted"] != 1.0 {
		t.Errorf("%v", v)
	}
}

// TestAPackIsAppliedAsItWasShown: its mistakes are listed by line, what it would change
// is shown, made with the token by an admin alone, and taken back.
func TestAPackIsAppliedAsItWasShown(t *testing.T) {
	r := newRig(t, nil)
	pack := strings.ReplaceAll(fmt.Sprintf(genericPack, "http://127.0.0.1:1"), "source: generic", "source: other")
	bad := r.done(r.post("/api/v1/packs/validate", map[string]any{"pack": pack + "nam: x\n"}))
	mistakes := bad["mistakes"].([]any)
	if bad["clean"] != false || len(mistakes) == 0 || mistakes[0].(map[string]any)["line"] == nil {
		t.Errorf("%v", bad)
	}
	if v := r.done(r.post("/api/v1/packs/validate", map[string]any{"pack": pack})); v["clean"] != true {
		t.Errorf("%v", v)
	}
	r.refused(r.post("/api/v1/packs/preview", map[string]any{"pack": pack + "nam: x\n"}), 422, "pack_invalid")
	seen := r.done(r.post("/api/v1/packs/preview", map[string]any{"pack": pack}))
	if seen["applied"] != false || seen["new"] != true || seen["source"] != "other" {
		t.Fatalf("%v", seen)
	}
	if v := r.done(r.post("/api/v1/packs", map[string]any{"pack": pack, "reason": "another source", "token": seen["token"]})); v["applied"] != true {
		t.Errorf("%v", v)
	}
	larger := strings.ReplaceAll(pack, "pageSize: 50", "pageSize: 60")
	if rec := r.post("/api/v1/packs", map[string]any{"pack": larger, "reason": "x", "token": seen["token"]}); rec.Code != 409 {
		t.Errorf("a token of another preview: %d %s", rec.Code, rec.Body)
	}
	seen = r.done(r.post("/api/v1/packs/preview", map[string]any{"pack": larger}))
	r.done(r.post("/api/v1/packs", map[string]any{"pack": larger, "reason": "larger pages", "token": seen["token"]}))
	back := r.get("/api/v1/sources/other/rollback")
	if v := r.done(r.post("/api/v1/sources/other/rollback", map[string]any{"reason": "too large", "token": back["token"]})); v["applied"] != true {
		t.Errorf("%v", v)
	}
}

// TestACredentialIsGivenByReference: where its secret is, as it was shown, and never the
// secret itself; then it is taken out of use.
func TestACredentialIsGivenByReference(t *testing.T) {
	t.Setenv("CROSSREF_PLUS", canary)
	r := newRig(t, nil)
	wish := map[string]any{"source": "crossref", "name": "plus", "env": "CROSSREF_PLUS"}
	r.refused(r.post("/api/v1/credentials/preview", map[string]any{"source": "crossref", "name": "plus"}), 422, "usage")
	r.refused(r.post("/api/v1/credentials/preview", map[string]any{"source": "crossref", "name": "plus", "secret": canary, "env": "X"}), 422, "usage")
	seen := r.done(r.post("/api/v1/credentials/preview", wish))
	if seen["dry_run"] != true || seen["token"] == "" || len(r.get("/api/v1/credentials")["credentials"].([]any)) != 0 {
		t.Fatalf("%v", seen)
	}
	wish["reason"] = "more a day"
	wish["token"] = seen["token"]
	r.done(r.post("/api/v1/credentials", wish))
	r.refused(r.post("/api/v1/credentials", wish), 409, "moved")
	const disable = "/api/v1/credentials/crossref/plus/disable"
	v := r.get(disable)
	r.done(r.post(disable, map[string]any{"reason": "it leaked", "token": v["token"]}))
	row := r.get("/api/v1/credentials")["credentials"].([]any)[0].(map[string]any)
	if row["state"] != control.CredentialDisabled {
		t.Errorf("%v", row)
	}
	if got := strings.Join(r.decisions(), "\n"); !strings.Contains(got, "more a day") || !strings.Contains(got, "it leaked") {
		t.Errorf("the audit says:\n%s", got)
	}
}
