package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// desk is a database, a pack and an oracle for the commands about plans.
type desk struct {
	*testing.T
	o     *sim.Sim
	file  string
	packs string
	pack  string
}

func newDesk(t *testing.T, cfg sim.Config) *desk {
	t.Helper()
	cfg.Sources, cfg.LimitRPS = []string{sim.Generic}, -1
	o, url := oracle(t, cfg)
	d := &desk{T: t, o: o, file: filepath.Join(t.TempDir(), "a.db"), packs: t.TempDir()}
	d.pack = strings.NewReplacer(
		"https://mini.example.org", url+"/generic\nhttp: {allowHttp: true, allowPrivate: true}",
		"  bound: OPEN", "  bound: OPEN\n  updatedAt: PATH\n  safetyLag: 10m\n  baseline: 30d\n  step: 30d\n  minStep: 1h\n  target: 60",
		"end: NO_TOKEN}", "end: NO_TOKEN, total: EXACT}",
		"nextToken: next_token", "nextToken: next_token\n      total: total",
		"precision: MICRO", "precision: SECOND",
		"recordType: item", "recordType: item\nname: Mini\nidentity: TEXT",
	).Replace(mini)
	d.write(d.pack)
	return d
}

func (d *desk) write(pack string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.packs, "mini.yaml"), []byte(pack), 0o600); err != nil {
		d.Fatal(err)
	}
}

// run runs a command line on the desk.
func (d *desk) run(args ...string) (int, string, string) {
	d.Helper()
	return patra(d.T, append(args, "--db", "sqlite:"+d.file, "--sources", d.packs)...)
}

// must runs a command line that ends with want, and returns stdout and stderr.
func (d *desk) must(want int, args ...string) (string, string) {
	d.Helper()
	code, out, e := d.run(args...)
	if code != want {
		d.Fatalf("patra %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, e)
	}
	return out, e
}

// object runs a command line with --json and reads its one object.
func (d *desk) object(want int, args ...string) map[string]any {
	d.Helper()
	out, _ := d.must(want, append(args, "--json")...)
	var v map[string]any
	if err := json.Unmarshal([]byte(out), &v); err != nil || strings.Count(out, "\n") != 1 {
		d.Fatalf("patra %s: not one JSON object: %v\n%s", strings.Join(args, " "), err, out)
	}
	return v
}

func (d *desk) int(q string) int {
	d.Helper()
	var n int
	if err := patratest.Raw(d.T, "sqlite:"+d.file).QueryRow(q).Scan(&n); err != nil {
		d.Fatal(err)
	}
	return n
}

func (d *desk) clean() {
	d.Helper()
	if out, _ := d.must(0, "verify"); !strings.Contains(out, "clean") {
		d.Errorf("verify: %s", out)
	}
}

func says(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

// token is the last line a preview prints.
func token(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// aged is the token of a preview as it would be later.
func aged(t *testing.T, tok string, by time.Duration) string {
	t.Helper()
	body, _, _ := strings.Cut(tok, ".")
	b, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	until, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v["x"]))
	if err != nil {
		t.Fatal(err)
	}
	v["x"] = until.Add(-by)
	b, err = json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(b) + "." + hex.EncodeToString(sum[:4])
}

// TestPlanCreate_PreviewThenExactlyThat: a preview saves nothing and shows what
// the plan would cost; its token makes that plan and no other.
func TestPlanCreate_PreviewThenExactlyThat(t *testing.T) {
	d := newDesk(t, sim.Config{Records: 300, Seed: 3})
	out, e := d.must(0, "plan", "create", "mini", "--dry-run")
	says(t, out, "mini HARVEST  would plan [", "slices    ", "about ", " records", "requests  about ", "at the configured rate", "were spent on counting", " COUNT\n")
	says(t, e, "nothing was saved", "--apply TOKEN")
	if d.int(`SELECT COUNT(*) FROM ing_plan`) != 0 {
		t.Error("the preview saved a plan")
	}
	p := d.object(0, "plan", "create", "mini", "--dry-run")
	if p["slices"].(float64) < 2 || p["expected_records"].(float64) < 290 || p["requests"].(float64) < 6 || p["duration_seconds"] == nil || p["token"] == "" {
		t.Errorf("preview %v", p)
	}
	made := d.object(0, "plan", "create", "--apply", token(out))
	if made["plan"] != 1.0 || made["status"] != "READY" || made["expected_records"] != p["expected_records"] {
		t.Errorf("made %v", made)
	}
	says(t, out, fmt.Sprintf("would plan [%s, %s)", made["from"], made["to"]))
	shown := d.object(0, "plan", "show", "1")
	list := shown["slice_list"].([]any)
	if len(list) != int(p["slices"].(float64)) {
		t.Errorf("%d slices, the preview showed %v", len(list), p["slices"])
	}
	for _, s := range list {
		s := s.(map[string]any)
		from, to := s["from"].(string), s["to"].(string)
		if !strings.Contains(out, fmt.Sprintf("[%s, %s)", from, to)) || s["status"] != "READY" {
			t.Errorf("slice %v was not shown", s)
		}
	}
	// Applied once, it is not there to be applied again.
	_, e = d.must(exitConflict, "plan", "create", "--apply", token(out))
	says(t, e, "another plan was saved", "[moved]", "nothing was changed")
	out, _ = d.must(0, "harvest", "mini")
	says(t, out, "COMPLETED", fmt.Sprintf("%v new", p["expected_records"]))
	d.clean()
	out, _ = d.must(0, "plan", "create", "mini", "--dry-run")
	says(t, out, "nothing would be planned")
	out, _ = d.must(0, "plan", "create", "mini")
	says(t, out, "nothing planned")
}

// TestPlanCreate_TokenHoldsOnlyWhileNothingMoved: another plan, another pack, ten
// minutes, a slip of the hand.
func TestPlanCreate_TokenHoldsOnlyWhileNothingMoved(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 60, Seed: 3})
	preview := func() string {
		t.Helper()
		out, _ := d.must(0, "plan", "create", "mini", "--dry-run")
		return token(out)
	}
	refused := func(tok string, want int, words ...string) {
		t.Helper()
		before := d.int(`SELECT COUNT(*) FROM ing_plan`)
		out, e := d.must(want, "plan", "create", "--apply", tok)
		says(t, e, words...)
		if out != "" || d.int(`SELECT COUNT(*) FROM ing_plan`) != before {
			t.Errorf("a plan was made: %s", out)
		}
	}
	tok := preview()
	refused(aged(t, tok, planner.TokenLife+time.Second), exitConflict, "more than 10m0s have passed", "[moved]")
	for _, bad := range []string{"x", tok[:len(tok)-1], tok[1:], tok + "0", "e30.44136fa3x"} {
		refused(bad, exitUsage, "not the token of a preview", "[bad_token]")
	}
	d.write(strings.Replace(d.pack, "pageSize: 50", "pageSize: 40", 1))
	refused(tok, exitConflict, "the description of mini was changed", "[moved]")
	tok = preview()
	if out, _ := d.must(0, "plan", "create", "mini", "--to", d.o.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339)); !strings.Contains(out, "plan 1 READY") {
		t.Errorf("create: %s", out)
	}
	refused(tok, exitConflict, "another plan was saved", "[moved]")
	if made := d.object(0, "plan", "create", "--apply", preview()); made["plan"] != 2.0 {
		t.Errorf("made %v", made)
	}
	for _, c := range [][]string{
		{"plan", "create"},
		{"plan", "create", "mini", "--apply", tok},
		{"plan", "create", "mini", "--op", "UPDATE"},
		{"plan", "create", "mini", "--op", "nonsense"},
		{"plan", "create", "mini", "--from", "gestern"},
		{"plan", "create", "mini", "--priority", "urgent"},
		{"plan", "create", "mini", "--op", "BACKFILL", "--from", "2026-01-01"},
		{"plan", "show", "x"},
		{"plan", "show", "0"},
		{"plan", "cancel", "1"},
		{"plan", "list", "x"},
	} {
		if _, e := d.must(exitUsage, c...); !strings.HasPrefix(e, "patra: ") || !strings.Contains(e, "next: ") {
			t.Errorf("%v: %s", c, e)
		}
	}
	if _, e := d.must(exitNotFound, "plan", "create", "nope", "--dry-run"); !strings.Contains(e, "no source") {
		t.Errorf("%s", e)
	}
}

// TestPlanCreate_Backfill previews and makes a plan of history, in a place of the
// queue that was asked for.
func TestPlanCreate_Backfill(t *testing.T) {
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	from, to := d.o.Now().Add(-20*24*time.Hour).UTC().Format(time.DateOnly), d.o.Now().Add(-5*24*time.Hour).UTC().Format(time.DateOnly)
	out, _ := d.must(0, "plan", "create", "mini", "--op", "backfill", "--from", from, "--to", to, "--priority", "high", "--dry-run")
	says(t, out, "mini BACKFILL  would plan ["+from+"T00:00:00Z, "+to+"T00:00:00Z)", "slices    2")
	made := d.object(0, "plan", "create", "--apply", token(out))
	if made["operation"] != "BACKFILL" || !strings.HasPrefix(fmt.Sprint(made["namespace"]), "CUSTOM/backfill-") {
		t.Errorf("made %v", made)
	}
	if n := d.int(`SELECT COUNT(*) FROM ing_task WHERE priority=100 AND operation_code='BACKFILL'`); n != 2 {
		t.Errorf("%d tasks have the place asked for", n)
	}
	out, _ = d.must(0, "plan", "list", "--source", "mini")
	says(t, out, "PLAN", "BACKFILL", "READY", "backfill-")
	out, _ = d.must(0, "backfill", "mini", "--from", from, "--to", to)
	says(t, out, "mini BACKFILL  COMPLETED")
	d.clean()
}

// TestPlanViews lists and shows, with pages and as JSON.
func TestPlanViews(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	d.must(0, "harvest", "mini")
	d.o.Advance(24 * time.Hour)
	d.must(0, "harvest", "mini")
	if l := d.object(0, "plan", "list")["plans"].([]any); len(l) != 2 || l[0].(map[string]any)["id"] != 2.0 || l[0].(map[string]any)["status"] != "COMPLETED" {
		t.Errorf("plans %v", l)
	}
	if l := d.object(0, "plan", "list", "--before", "2", "--limit", "1")["plans"].([]any); len(l) != 1 || l[0].(map[string]any)["id"] != 1.0 {
		t.Errorf("plans before 2: %v", l)
	}
	if l := d.object(0, "plan", "list", "--source", "hal")["plans"].([]any); len(l) != 0 {
		t.Errorf("plans of another source: %v", l)
	}
	out, e := d.must(0, "plan", "show", "1", "--limit", "2")
	says(t, out, "plan 1  mini HARVEST  COMPLETED  [", "slices    ", " done", " new", "DONE")
	says(t, e, "next: patra plan show 1 --after 2")
	out, _ = d.must(0, "plan", "show", "1", "--after", "2")
	if strings.Contains(out, "\n1        ") || !strings.Contains(out, "\n3        ") {
		t.Errorf("slices after 2:\n%s", out)
	}
	_, e = d.must(exitNotFound, "plan", "show", "77")
	says(t, e, "plan 77", "[not_found]")
	out, _ = d.must(0, "plan", "list", "--source", "hal")
	says(t, out, "no plans")
}

// TestPlanCancel_NextHarvestPlansItAgain: what a cancelled plan had not done is
// planned anew, and the store is whole all the while.
func TestPlanCancel_NextHarvestPlansItAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	d.must(0, "plan", "create", "mini")
	_, e := d.must(exitUsage, "plan", "cancel", "1")
	says(t, e, "--reason")
	out, _ := d.must(0, "plan", "cancel", "1", "--dry-run")
	says(t, out, "plan 1: ", "open", "would be given up")
	if d.int(`SELECT COUNT(*) FROM ing_task WHERE status_code='CANCELLED'`) != 0 {
		t.Error("the preview cancelled")
	}
	out, _ = d.must(0, "plan", "cancel", "1", "--reason", "wrong window")
	says(t, out, "plan/1: ", "slices given up")
	d.clean()
	_, e = d.must(exitConflict, "plan", "cancel", "1", "--reason", "again")
	says(t, e, "[not_open]", "nothing was changed")
	_, e = d.must(exitNotFound, "plan", "cancel", "77", "--reason", "none")
	says(t, e, "[not_found]")
	_, e = d.must(exitNotFound, "plan", "cancel", "77", "--dry-run")
	says(t, e, "[not_found]")
	_, e = d.must(exitNotFound, "plan", "cancel", "7777", "--slice", "--dry-run")
	says(t, e, "[not_found]")
	// Two plans share the windows of what was given up.
	out, _ = d.must(0, "harvest", "mini", "--to", d.o.Now().Add(-9*24*time.Hour).UTC().Format(time.RFC3339))
	says(t, out, "COMPLETED")
	d.clean()
	out, _ = d.must(0, "harvest", "mini")
	says(t, out, "COMPLETED")
	d.clean()
	out, _ = d.must(0, "plan", "gaps", "mini")
	says(t, out, "no gaps")
	list := d.object(0, "plan", "list")["plans"].([]any)
	if v := d.object(0, "cursor", "list")["cursors"].([]any)[0].(map[string]any); len(list) != 3 || !strings.HasPrefix(fmt.Sprint(v["value"]), strings.TrimSuffix(fmt.Sprint(list[0].(map[string]any)["to"]), "Z")) {
		t.Errorf("the cursor is at %v, the plans are %v", v["value"], list)
	}
	if n := d.int(`SELECT COUNT(*) FROM ing_record`); n < 195 {
		t.Errorf("%d records", n)
	}
	out, _ = d.must(0, "audit", "list", "--object", "plan/1")
	says(t, out, "PLAN_CANCEL", "wrong window")
}

// TestPlanCancel_NothingCommitsAfterIt cancels a plan while it is worked on.
func TestPlanCancel_NothingCommitsAfterIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 600, Seed: 3})
	stored := make(chan struct{})
	cancelled := make(chan struct{})
	tell := sync.OnceFunc(func() { close(stored) })
	d.o.SetOnRequest(func(r *http.Request) {
		// From the first record on that is stored nothing is answered until the plan is cancelled.
		var n int
		if _, err := os.Stat(d.file); err != nil {
			return
		}
		if err := patratest.Raw(t, "sqlite:"+d.file).QueryRow(`SELECT COUNT(*) FROM ing_record`).Scan(&n); err != nil || n == 0 {
			return
		}
		tell()
		select {
		case <-cancelled:
		case <-r.Context().Done():
		}
	})
	ended := make(chan int, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var stdout, stderr lines
	go func() {
		ended <- run(ctx, []string{"harvest", "mini", "--workers", "2", "--db", "sqlite:" + d.file, "--sources", d.packs, "--progress", "none"}, &stdout, &stderr)
	}()
	select {
	case <-stored:
	case <-time.After(patience):
		t.Fatalf("nothing was stored\n%s", stderr.String())
	}
	d.must(0, "plan", "cancel", "1", "--reason", "stop it")
	d.o.SetOnRequest(nil)
	close(cancelled)
	records, versions := d.int(`SELECT COUNT(*) FROM ing_record`), d.int(`SELECT COUNT(*) FROM ing_record_version`)
	select {
	case code := <-ended:
		if code != exitPartial {
			t.Errorf("the harvest ended with %d:\n%s%s", code, stdout.String(), stderr.String())
		}
	case <-time.After(patience):
		t.Fatal("the harvest does not end")
	}
	if r, v := d.int(`SELECT COUNT(*) FROM ing_record`), d.int(`SELECT COUNT(*) FROM ing_record_version`); r != records || v != versions || r >= 600 {
		t.Errorf("%d records and %d versions when it was cancelled, %d and %d at the end", records, versions, r, v)
	}
	d.clean()
	out, _ := d.must(0, "harvest", "mini")
	says(t, out, "COMPLETED")
	if n := d.int(`SELECT COUNT(*) FROM ing_record`); n < 590 {
		t.Errorf("%d records", n)
	}
	d.clean()
}

// TestPlanCreate_FinestGrain: the end of the window is the one shown, though what
// is known of the upstream's clock has changed by less than a second since.
func TestPlanCreate_FinestGrain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 50, Seed: 3})
	d.write(strings.Replace(d.pack, "precision: SECOND", "precision: MICRO", 1))
	for range 5 {
		p := d.object(0, "plan", "create", "mini", "--dry-run")
		made := d.object(0, "plan", "create", "--apply", p["token"].(string))
		if made["from"] != p["from"] || made["to"] != p["to"] || made["noop"] != false {
			t.Fatalf("shown [%v, %v), made %v", p["from"], p["to"], made)
		}
		d.must(0, "plan", "cancel", fmt.Sprint(made["plan"]), "--reason", "again")
	}
}

// TestR38_AQuotaThatIsSpokenForIsSaid: a run that finds no room beside open tasks
// says so and ends as partial, not as one for which there was nothing new.
func TestR38_AQuotaThatIsSpokenForIsSaid(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 300, Seed: 3})
	d.write(strings.NewReplacer("burst: 1}", "burst: 1, quotas: [{limit: 24, window: 1d}]}", "pageSize: 50", "pageSize: 5").Replace(d.pack))
	out, _ := d.must(0, "plan", "create", "mini")
	says(t, out, "plan 1 PARTIAL", "the quota of 24 per 24h0m0s is spoken for")
	if _, err := patratest.Raw(t, "sqlite:"+d.file).Exec(`UPDATE ing_plan_slice SET slice_spec=REPLACE(slice_spec, '"expectedRecords":', '"expectedRecords":9')`); err != nil {
		t.Fatal(err)
	}
	day := func(n int) string {
		return d.o.Now().Add(time.Duration(n) * 24 * time.Hour).UTC().Format(time.DateOnly)
	}
	back := []string{"backfill", "mini", "--from", day(-60), "--to", day(-40)}
	out, _ = d.must(exitPartial, back...)
	says(t, out, "mini BACKFILL  waits: the quota of 24 per 24h0m0s is spoken for")
	if v := d.object(exitPartial, back...); v["noop"] != true || !strings.Contains(fmt.Sprint(v["reason"]), "spoken for") {
		t.Errorf("%v", v)
	}
}

// TestR3_WhatIsNeverReadIsRefused: with the command that reads it.
func TestR3_WhatIsNeverReadIsRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 60, Seed: 3})
	day := func(n int) string {
		return d.o.Now().Add(time.Duration(n) * 24 * time.Hour).UTC().Format(time.DateOnly)
	}
	d.must(0, "harvest", "mini", "--from", day(-20))
	_, e := d.must(exitConflict, "harvest", "mini", "--from", day(-30))
	says(t, e, "this harvest began at "+day(-20), "[never_read]", "next: patra backfill mini --from "+day(-30)+"T00:00:00.000000Z --to "+day(-20)+"T00:00:00.000000Z")
	d.must(0, "backfill", "mini", "--from", day(-30), "--to", day(-20), "--activity", "a")
	_, e = d.must(exitConflict, "backfill", "mini", "--from", day(-30), "--to", day(-10), "--activity", "a")
	says(t, e, "this activity began at "+day(-20), "[never_read]", "--activity ANOTHER", "nothing was changed")
}

// TestPlanCreate_NextIsACommandThatWorks: what is said to come next works on the
// plan, and on no other.
func TestPlanCreate_NextIsACommandThatWorks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 60, Seed: 3})
	day := func(n int) string {
		return d.o.Now().Add(time.Duration(n) * 24 * time.Hour).UTC().Format(time.DateOnly)
	}
	for i, args := range [][]string{
		{"--op", "BACKFILL", "--from", day(-20), "--to", day(-10)},
		{"--op", "BACKFILL", "--from", day(-20), "--to", day(-10), "--activity", "by hand"},
		{},
	} {
		_, e := d.must(0, append([]string{"plan", "create", "mini"}, args...)...)
		_, next, _ := strings.Cut(strings.TrimSpace(e), "to work on it: patra ")
		words := strings.Fields(strings.ReplaceAll(next, "'by hand'", "by\x00hand"))
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\x00", " ")
		}
		out, _ := d.must(0, words...)
		says(t, out, "COMPLETED")
		if n := d.int(`SELECT COUNT(*) FROM ing_plan WHERE status_code='COMPLETED'`); n != i+1 || d.int(`SELECT COUNT(*) FROM ing_plan`) != n {
			t.Errorf("%s: %d plans are completed", next, n)
		}
	}
}
