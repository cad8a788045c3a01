package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// get asks for something and fails unless it comes.
func (r *rig) get(path string) map[string]any {
	r.Helper()
	rec := r.send(ask("GET", path, ""))
	if rec.Code != 200 {
		r.Fatalf("GET %s: %d %s", path, rec.Code, rec.Body)
	}
	return object(r.T, rec)
}

// post sends a change, with headers in pairs.
func (r *rig) post(path string, body map[string]any, headers ...string) *httptest.ResponseRecorder {
	r.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	req := ask("POST", path, string(b))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return r.send(req)
}

func (r *rig) done(rec *httptest.ResponseRecorder) map[string]any {
	r.Helper()
	if rec.Code != 200 {
		r.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return object(r.T, rec)
}

// decisions lists the actions of the audit, the newest first.
func (r *rig) decisions() []string {
	r.Helper()
	list, err := r.node.Control.Audit(r.Context(), control.AuditQuery{Limit: 100})
	if err != nil {
		r.Fatal(err)
	}
	var out []string
	for _, l := range list.Audit {
		out = append(out, l.Actor+" "+l.Action+" "+l.Object+" "+l.Reason)
	}
	return out
}

// TestAChangeIsWhatThePreviewShowed: every change is looked at, made with the token,
// and refused when something has moved; the audit names who did it and why.
func TestAChangeIsWhatThePreviewShowed(t *testing.T) {
	r := newRig(t, nil)
	gap := int64(r.harvest())
	accept := fmt.Sprintf("/api/v1/slices/%d/accept", gap)
	retry := "/api/v1/sources/generic/retry"
	seen := r.get(accept)
	if seen["applied"] != false || seen["token"] == "" {
		t.Fatalf("%v", seen)
	}
	again := r.get(retry + "?cancelled=true")
	if again["slices"] != 1.0 {
		t.Fatalf("%v", again)
	}
	// A token is of one change and one object.
	r.refused(r.post(retry, map[string]any{"reason": "x", "token": seen["token"], "cancelled": true}), 409, "moved")
	r.refused(r.post(accept, map[string]any{"reason": "x", "token": "nonsense"}), 422, "bad_token")
	r.refused(r.post(accept, map[string]any{"reason": " ", "token": seen["token"]}), 422, "usage")
	r.refused(r.post(accept, map[string]any{"reason": "x"}), 422, "usage")
	if v := r.done(r.post(retry, map[string]any{"reason": "try it", "token": again["token"], "cancelled": true})); v["slices"] != 1.0 {
		t.Errorf("%v", v)
	}
	// The slice is queued now: it is no gap any more, and what was shown has moved.
	rec := r.post(accept, map[string]any{"reason": "x", "token": seen["token"]})
	r.refused(rec, 409, "no_gap")
	cancel := fmt.Sprintf("/api/v1/slices/%d/cancel", gap)
	v := r.get(cancel)
	r.done(r.post(cancel, map[string]any{"reason": "not needed", "token": v["token"]}))
	seen = r.get(accept)
	if v := r.done(r.post(accept, map[string]any{"reason": "nobody reads it", "token": seen["token"]})); v["applied"] != true {
		t.Errorf("%v", v)
	}
	list := r.get("/api/v1/plans?limit=1")
	id := list["plans"].([]any)[0].(map[string]any)["id"]
	whole := fmt.Sprintf("/api/v1/plans/%v/cancel", id)
	v = r.get(whole)
	if v := r.done(r.post(whole, map[string]any{"reason": "over", "token": v["token"]})); v["slices"] == 0.0 {
		t.Errorf("%v", v)
	}
	r.refused(r.send(ask("GET", whole, "")), 409, "not_open")
	got := strings.Join(r.decisions(), "\n")
	for _, want := range []string{
		"api/local PLAN_RETRY source/generic try it", "api/local GAP_ACCEPT slice/" + fmt.Sprint(gap) + " nobody reads it",
		fmt.Sprintf("api/local PLAN_CANCEL plan/%v over", id),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the audit lacks %q:\n%s", want, got)
		}
	}
}

// TestAPlanIsMadeAsItWasShown, once, and queued for whoever works.
func TestAPlanIsMadeAsItWasShown(t *testing.T) {
	r := newRig(t, nil)
	wish := map[string]any{"source": "generic"}
	shown := r.done(r.post("/api/v1/plans/preview", wish))
	if shown["slices"].(float64) < 1 || shown["token"] == "" {
		t.Fatalf("%v", shown)
	}
	if r.get("/api/v1/plans")["plans"] == nil || len(r.get("/api/v1/plans")["plans"].([]any)) != 0 {
		t.Error("a preview has made a plan")
	}
	made := r.done(r.post("/api/v1/plans", map[string]any{"reason": "to begin", "token": shown["token"]}))
	if made["plan"] != 1.0 || made["noop"] != false {
		t.Errorf("%v", made)
	}
	r.refused(r.post("/api/v1/plans", map[string]any{"reason": "again", "token": shown["token"]}), 409, "moved")
	refresh := map[string]any{"source": "generic", "signals": true}
	rec := r.post("/api/v1/refreshes/preview", refresh)
	r.refused(rec, 422, "no_update") // the source cannot be asked for single records, and says so as the command does
}

// TestTheSameKeyIsDoneOnce: a change that is sent again with its key is answered
// again and not made again, also by many at once; another body with the key is refused.
func TestTheSameKeyIsDoneOnce(t *testing.T) {
	r := newRig(t, nil)
	pause, resume := "/api/v1/sources/crossref/pause", "/api/v1/sources/crossref/resume"
	first := r.post(pause, map[string]any{"reason": "x"}, "Idempotency-Key", "k1")
	if v := r.done(first); v["applied"] != true {
		t.Fatalf("%v", v)
	}
	r.done(r.post(resume, map[string]any{"reason": "y"}))
	second := r.post(pause, map[string]any{"reason": "x"}, "Idempotency-Key", "k1")
	if second.Body.String() != first.Body.String() || second.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s", second.Code, second.Body)
	}
	if row, err := r.node.Control.Source(t.Context(), "crossref"); err != nil || row.State != control.SourceReady {
		t.Errorf("it was done twice: %+v %v", row, err)
	}
	r.refused(r.post(pause, map[string]any{"reason": "z"}, "Idempotency-Key", "k1"), 409, "key_reused")
	// What was refused has done nothing: the key is free for the mended request.
	r.refused(r.post(pause, map[string]any{}, "Idempotency-Key", "k2"), 422, "usage")
	r.done(r.post(pause, map[string]any{"reason": "mended"}, "Idempotency-Key", "k2"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			rec := r.post("/api/v1/sources/pubmed/pause", map[string]any{"reason": "many"}, "Idempotency-Key", "k3")
			if rec.Code != 200 && rec.Code != 409 {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(strings.Join(r.decisions(), "\n"), "source/pubmed many"); n != 1 {
		t.Errorf("done %d times", n)
	}
}

// TestARefusalOfTheSourceFreesTheKey: what the source refused has changed nothing, so that
// the same call with its key is made once the cause is mended.
func TestARefusalOfTheSourceFreesTheKey(t *testing.T) {
	r := newRig(t, nil)
	call := map[string]any{"source": "generic", "scheduler": "airflow", "job": "daily", "log_id": "1"}
	wants := func(auth string) {
		t.Helper()
		if err := r.oracle.SetGeneric(sim.GenericStyle{Auth: auth}); err != nil {
			t.Fatal(err)
		}
	}
	wants("key")
	r.refused(r.post("/api/v1/triggers", call, "Idempotency-Key", "k1"), 502, "auth_refused")
	wants("none")
	r.done(r.post("/api/v1/sources/generic/resume", map[string]any{"reason": "mended", "force": true}))
	if v := r.done(r.post("/api/v1/triggers", call, "Idempotency-Key", "k1")); v["plan"] != 1.0 {
		t.Errorf("%v", v)
	}
}

// TestAnErrorThatNobodyForesawKeepsTheKey: nobody knows what came of the change, and
// a person looks before it is sent again.
func TestAnErrorThatNobodyForesawKeepsTheKey(t *testing.T) {
	r := newRig(t, nil)
	if _, err := r.raw().Exec(`CREATE TRIGGER broken BEFORE INSERT ON sys_audit BEGIN SELECT RAISE(ABORT, 'broken'); END`); err != nil {
		t.Fatal(err)
	}
	pause := func() *httptest.ResponseRecorder {
		return r.post("/api/v1/sources/crossref/pause", map[string]any{"reason": "x"}, "Idempotency-Key", "k1")
	}
	r.refused(pause(), 500, "failed")
	r.refused(pause(), 409, "in_hand")
}

// TestIfMatchHoldsAChangeToWhatWasSeen.
func TestIfMatchHoldsAChangeToWhatWasSeen(t *testing.T) {
	r := newRig(t, nil)
	tag := func() string { return r.send(ask("GET", "/api/v1/sources/crossref", "")).Header().Get("ETag") }
	old := tag()
	pause := "/api/v1/sources/crossref/pause"
	r.refused(r.post(pause, map[string]any{"reason": "x"}, "If-Match", `"other"`), 412, "moved")
	r.done(r.post(pause, map[string]any{"reason": "x"}, "If-Match", old))
	if tag() == old {
		t.Error("a paused source has the tag of one that is not")
	}
	r.refused(r.post("/api/v1/sources/crossref/resume", map[string]any{"reason": "x"}, "If-Match", old), 412, "moved")
	r.done(r.post("/api/v1/sources/crossref/resume", map[string]any{"reason": "x"}, "If-Match", `"a", `+tag()))
}

// TestOneCallIsOneTrigger: an outside scheduler that calls twice, or eight times at
// once, has made one plan; it is told so, and a source that is held is not planned.
func TestOneCallIsOneTrigger(t *testing.T) {
	r := newRig(t, nil)
	call := func(log string) map[string]any {
		return map[string]any{"source": "generic", "scheduler": "airflow", "job": "daily", "log_id": log}
	}
	const tree = "4bf92f3577b34da6a3ce929d0e0e4736"
	first := r.done(r.post("/api/v1/triggers", call("1"), "Traceparent", "00-"+tree+"-00f067aa0ba902b7-01"))
	if first["plan"] != 1.0 || first["repeated"] != nil {
		t.Fatalf("%v", first)
	}
	jobs, err := r.node.Store.LeaseTasks(t.Context(), harvest.LeaseRequest{Owner: "test", TTL: time.Minute, Max: 1, SpecVersion: source.SpecVersion})
	if err != nil || len(jobs) != 1 || !strings.HasPrefix(jobs[0].Trace, "00-"+tree+"-") {
		t.Errorf("the work does not go on in the caller's tree: %+v, %v", jobs, err)
	}
	asked := len(r.oracle.Requests())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if v := r.done(r.post("/api/v1/triggers", call("1"))); v["plan"] != 1.0 || v["repeated"] != true {
				t.Errorf("%v", v)
			}
		})
	}
	wg.Wait()
	if n := len(r.oracle.Requests()); n != asked {
		t.Errorf("%d requests for calls that were answered", n-asked)
	}
	if v := r.get("/api/v1/plans"); len(v["plans"].([]any)) != 1 {
		t.Errorf("%v", v)
	}
	r.done(r.post("/api/v1/sources/generic/pause", map[string]any{"reason": "x"}))
	rec := r.post("/api/v1/triggers", call("2"))
	if rec.Code != 409 {
		t.Errorf("a paused source: %d %s", rec.Code, rec.Body)
	}
	r.refused(r.post("/api/v1/triggers", map[string]any{"source": "generic", "scheduler": "a", "job": "b", "log_id": "c", "operation": "BACKFILL"}), 422, "usage")
}

// TestR73_MannerByHTTP: what a call says of how a plan is worked on is frozen with the plan,
// and a schedule keeps it for those that it will make; what is more than the source allows
// is refused.
func TestR73_MannerByHTTP(t *testing.T) {
	r := newRig(t, nil)
	how := map[string]any{
		"source": "generic", "endpoint": "items", "priority": "high", "not_before": "2999-01-01T00:00:00Z", "spread": "6h", "rate": 0.5, "page_size": 7, "concurrency": 1,
	}
	with := func(more map[string]any) map[string]any {
		out := maps.Clone(how)
		maps.Copy(out, more)
		return out
	}
	holds := func(what string, v map[string]any, want map[string]any) {
		t.Helper()
		for name, value := range want {
			if !reflect.DeepEqual(v[name], value) {
				t.Errorf("%s: %s is %v, want %v", what, name, v[name], value)
			}
		}
	}
	call := map[string]any{"scheduler": "airflow", "job": "daily", "log_id": "1"}
	r.refused(r.post("/api/v1/triggers", with(map[string]any{"scheduler": "airflow", "job": "daily", "log_id": "0", "page_size": 51})), 422, "bound")
	if rec := r.post("/api/v1/triggers", with(map[string]any{"scheduler": "airflow", "job": "daily", "log_id": "0", "endpoint": "others"})); rec.Code < 400 {
		t.Errorf("an endpoint that the source has not: %d %s", rec.Code, rec.Body)
	}
	if made := r.done(r.post("/api/v1/triggers", with(call))); made["plan"] != 1.0 {
		t.Fatalf("%v", made)
	}
	plan := r.get("/api/v1/plans/1")
	pacing, _ := plan["pacing"].(map[string]any)
	holds("the plan", pacing, map[string]any{"not_before": "2999-01-01T00:00:00Z", "spread": "6h0m0s", "rate": 0.5, "page_size": 7.0, "concurrency": 1.0})
	jobs, err := r.node.Store.LeaseTasks(t.Context(), harvest.LeaseRequest{Owner: "test", TTL: time.Minute, Max: 1, SpecVersion: source.SpecVersion})
	if err != nil || len(jobs) != 0 {
		t.Errorf("a task is begun before its time: %+v, %v", jobs, err)
	}
	standing := with(map[string]any{"name": "nightly", "cron": "@daily"})
	delete(standing, "not_before")
	seen := r.done(r.post("/api/v1/schedules/preview", standing))
	standing["reason"] = "keep it fresh"
	standing["token"] = seen["token"]
	made := r.done(r.post("/api/v1/schedules", standing))
	after, _ := made["after"].(map[string]any)
	holds("the schedule", after, map[string]any{"endpoint": "items", "priority": "high"})
	pacing, _ = after["pacing"].(map[string]any)
	holds("the schedule", pacing, map[string]any{"spread": "6h0m0s", "rate": 0.5, "page_size": 7.0, "concurrency": 1.0})
}

// TestResumingAStoppedSourceNeedsAnAdmin.
func TestResumingAStoppedSourceNeedsAnAdmin(t *testing.T) {
	r := newRig(t, nil)
	operator := r.token(control.Operator)
	if err := r.node.Store.StopSource(t.Context(), harvest.Partition{Provenance: "generic"}, "http_401", "refused"); err != nil {
		t.Fatal(err)
	}
	req := with(ask("POST", "/api/v1/sources/generic/resume", `{"reason":"x"}`), operator)
	r.refused(r.send(req), 403, "role")
	req = with(ask("POST", "/api/v1/sources/generic/resume", `{"reason":"x","force":true}`), r.token(control.Admin))
	if v := r.done(r.send(req)); v["after"] != "ready" {
		t.Errorf("%v", v)
	}
}

// TestListsComeInPages: every list that can be long is read to its end by next, each
// row once.
func TestListsComeInPages(t *testing.T) {
	r := newRig(t, nil)
	r.harvest()
	for path, list := range map[string]string{
		"/api/v1/sources": "sources", "/api/v1/plans": "plans", "/api/v1/plans/1/slices": "slices", "/api/v1/cursors": "cursors",
		"/api/v1/audit?all=true": "audit", "/api/v1/sources/generic/gaps": "gaps",
	} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		all := r.get(path + sep + "limit=1000")[list].([]any)
		var got []any
		after := ""
		for range len(all) + 1 {
			v := r.get(path + sep + "limit=1&after=" + after)
			got = append(got, v[list].([]any)...)
			next, more := v["next"].(string)
			if !more {
				break
			}
			after = next
		}
		a, _ := json.Marshal(all)
		b, _ := json.Marshal(got)
		if string(a) != string(b) || len(all) == 0 {
			t.Errorf("%s: %d in pages, %d at once", path, len(got), len(all))
		}
	}
}

// TestR77_NothingPrivateComesOut: secrets and mail addresses that strangers have put
// into reasons and names are in no answer; those of records stay where they belong.
func TestR77_NothingPrivateComesOut(t *testing.T) {
	r := newRig(t, nil)
	gap := r.harvest()
	doc := r.document()
	const mail = "jane.doe+x@hospital.example.org"
	text := "line\nbreak\t" + mail + " says " + canary + " \"quoted\" <b>\u2028"
	db := r.raw()
	for _, q := range []string{
		`UPDATE ing_plan_slice SET reason=?`, `UPDATE ing_task SET error=?`, `UPDATE sys_audit SET reason=?`, `UPDATE ing_cursor_event SET record_remarks=?`,
		`UPDATE ing_task_run SET error=?`, `UPDATE ing_task_run_batch SET error=?, error_code='http_503', status_code='FAILED' WHERE id=1`,
	} {
		if _, err := db.Exec(q, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.node.Store.StopSource(t.Context(), harvest.Partition{Provenance: "generic"}, "http_401", text); err != nil {
		t.Fatal(err)
	}
	patratest.SetFields(t, db, `{"title":"by `+mail+` <i>"}`, `id=1`)
	shown := 0
	for _, op := range doc.operations() {
		for _, id := range []string{"1", fmt.Sprint(harvest.SliceID(gap))} {
			body := map[string]string{"POST": `{"reason":"x","token":"1.x","source":"generic","scheduler":"a","job":"b","log_id":"c"}`}[op.method]
			rec := r.send(ask(op.method, inPath(op.path, "generic", id, "x"), body))
			out := rec.Body.String()
			if strings.Contains(out, canary) {
				t.Errorf("%s %s tells a secret: %s", op.method, op.path, out)
			}
			if strings.Contains(out, mail) != (op.path == "/api/v1/changes") {
				t.Errorf("%s %s and the address: %s", op.method, op.path, out)
			}
			if strings.Contains(out, "***@***") {
				shown++
			}
			if op.path != "/metrics" {
				object(t, rec)
			}
		}
	}
	if shown < 5 {
		t.Errorf("only %d answers hold what was planted", shown)
	}
}

// TestTheFeedEqualsTheExport: read in parts to its end it holds every record that is
// exported, with the same fields, and goes on where it stopped.
func TestTheFeedEqualsTheExport(t *testing.T) {
	r := newRig(t, nil)
	r.harvest()
	after := 0.0
	got := map[string]string{}
	for {
		v := r.get(fmt.Sprintf("/api/v1/changes?limit=7&after=%v", after))
		for _, c := range v["changes"].([]any) {
			m := c.(map[string]any)
			b, _ := json.Marshal(m["fields"])
			got[m["id"].(string)] = string(b)
		}
		after = v["next"].(float64)
		if v["more"] != true {
			break
		}
	}
	want := 0
	err := r.node.Store.Export(t.Context(), control.ExportQuery{}, func(e *control.Exported) error {
		want++
		var v any
		if err := json.Unmarshal(e.Fields, &v); err != nil {
			return err
		}
		b, _ := json.Marshal(v)
		if got[e.ID] != string(b) {
			t.Errorf("%s: %s, exported %s", e.ID, got[e.ID], b)
		}
		return nil
	})
	if err != nil || want == 0 || len(got) != want {
		t.Errorf("%d of %d records: %v", len(got), want, err)
	}
	if v := r.get(fmt.Sprintf("/api/v1/changes?after=%v", after)); len(v["changes"].([]any)) != 0 || v["next"] != after {
		t.Errorf("%v", v)
	}
}
