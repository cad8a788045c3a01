package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

const hourlyPack = `source: generic
name: Generic
baseUrl: %s/generic
recordType: item
identity: TEXT
http: {allowHttp: true, allowPrivate: true}
rateLimit: {limit: 100, window: 1s, qps: 90, burst: 1}
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, baseline: 30d, step: 30d, minStep: 1h}
pagination: {type: TOKEN, pageSize: 50, total: ROUGH, end: NO_TOKEN}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", style: token, size: "${page.size}", token: "${page.token}"}
    response: {items: items, total: total, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v, nextToken: next_token, signals: {error: error}}
mapping: {fields: {title: title, url: id}, volatile: [updated, v, reads]}
schedule: {harvest: "@hourly", zone: Europe/Berlin, quiet: [{days: Sun, from: "03:17", to: "03:18"}]}
`

// lines collects what a command writes while it runs.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestServe_MakesUpWhatWasMissed: a source scheduled every hour was left alone
// for a day; serve harvests it once, says what it does on stderr only, and ends
// soon after it is told to.
func TestServe_MakesUpWhatWasMissed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.db")
	db := "sqlite:" + file
	o, url := oracle(t, sim.Config{Sources: []string{sim.Generic}, Records: 120, Seed: 3, LimitRPS: -1})
	packs := filepath.Join(dir, "packs")
	if err := os.Mkdir(packs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(packs, "generic.yaml"), fmt.Appendf(nil, hourlyPack, url), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, e := patra(t, "source", "show", "generic", "--db", db, "--sources", packs)
	for _, want := range []string{"schedule", "harvest: @hourly", "zone: Europe/Berlin", "next run          2"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("show lacks %q: exit %d\n%s%s", want, code, out, e)
		}
	}
	sqlite(t, file, "UPDATE reg_prov_schedule_cfg SET effective_from = '2026-01-01 00:00:00.000000'")

	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr lines
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--db", db, "--sources", packs, "--poll", "100ms"}, &stdout, &stderr)
	}()
	store := patratest.Raw(t, db)
	deadline := time.After(patience)
	for done := 0; done == 0; {
		select {
		case code := <-ended:
			t.Fatalf("ended with %d:\n%s", code, stderr.String())
		case <-deadline:
			t.Fatalf("nothing was harvested:\n%s", stderr.String())
		case <-time.After(50 * time.Millisecond):
		}
		if err := store.QueryRow("SELECT COUNT(*) FROM ing_plan WHERE status_code='COMPLETED'").Scan(&done); err != nil && !strings.Contains(err.Error(), "no such table") {
			t.Fatal(err)
		}
	}
	stop()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit %d:\n%s", code, stderr.String())
		}
	case <-time.After(patience):
		t.Fatal("does not end")
	}
	if s := stderr.String(); stdout.String() != "" || !strings.Contains(s, "patra: serving scheduler, planner, executor, relay, console\n") || !strings.HasSuffix(s, "patra: stopped\n") || !strings.Contains(s, "msg=triggered") {
		t.Errorf("stdout %q, stderr:\n%s", stdout.String(), s)
	}
	var triggers int
	if err := store.QueryRow("SELECT COUNT(*) FROM ing_schedule_instance WHERE trigger_type_code='SCHEDULED'").Scan(&triggers); err != nil || triggers != 1 {
		t.Errorf("%d triggers, %v", triggers, err)
	}
	if n := len(o.Requests()); n < 3 {
		t.Errorf("%d requests", n)
	}
	if code, out, e := patra(t, "verify", "--db", db); code != 0 {
		t.Errorf("verify: %s%s", out, e)
	}
}

// TestServe_SaysHowToBegin: with nothing scheduled, serve says so and which command
// begins; that command works as it stands.
func TestServe_SaysHowToBegin(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	says := func(want string) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		told := &until{text: want, stop: stop}
		if code := run(ctx, []string{"serve", "--db", db, "--poll", "1h"}, io.Discard, told); code != 0 || !strings.Contains(told.b.String(), want) {
			t.Errorf("exit %d, want %q:\n%s", code, want, told.b.String())
		}
	}
	says("patra: nothing is scheduled, so nothing will begin by itself; what is set meanwhile is taken up without a restart\nnext: " + howToBegin + "\n")
	args := strings.Fields(strings.TrimPrefix(strings.ReplaceAll(howToBegin, "\"keep it fresh\"", "fresh"), "patra "))
	if code, out, e := patra(t, append(args, "--db", db)...); code != 0 {
		t.Errorf("%s: exit %d: %s%s", howToBegin, code, out, e)
	}
	says("patra: 1 schedule in force")
	if code, out, e := patra(t, "schedule", "pause", "crossref-all", "--reason", "r", "--db", db); code != 0 {
		t.Errorf("exit %d: %s%s", code, out, e)
	}
	says("patra: all schedules are paused")
}

// TestR74_ServeAppliesPacksIfAsked: serve begins no source whose pack nobody applied, and says
// what to do, unless the flag or the environment lets it apply packs; the flag goes first.
func TestR74_ServeAppliesPacksIfAsked(t *testing.T) {
	for _, c := range []struct {
		variable string
		flags    []string
		applies  bool
	}{
		{"", nil, false},
		{"", []string{"--apply-packs"}, true},
		{"true", nil, true},
		{"true", []string{"--apply-packs=false"}, false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "generic.yaml"), fmt.Appendf(nil, hourlyPack, "http://127.0.0.1:1"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATRA_APPLY_PACKS", c.variable)
		db := "sqlite:" + filepath.Join(dir, "a.db")
		want, rows := "source=generic next=\"patra source apply generic\"", 0
		if c.applies {
			want, rows = "patra: 1 schedule in force", 1
		}
		ctx, stop := context.WithTimeout(t.Context(), patience)
		told := &until{text: want, stop: stop}
		args := append([]string{"serve", "scheduler", "--db", db, "--sources", dir, "--poll", "1h"}, c.flags...)
		if code := run(ctx, args, io.Discard, told); code != 0 || !strings.Contains(told.b.String(), want) {
			t.Errorf("%+v: exit %d, want %q:\n%s", c, code, want, told.b.String())
		}
		stop()
		var there int
		if err := patratest.Raw(t, db).QueryRow(`SELECT COUNT(*) FROM reg_provenance`).Scan(&there); err != nil || there != rows {
			t.Errorf("%+v: %d sources are described, want %d (%v)", c, there, rows, err)
		}
		if c.applies {
			continue
		}
		if code, out, e := patra(t, "source", "apply", "generic", "--db", db, "--sources", dir); code != 0 {
			t.Errorf("what it says to do: exit %d\n%s%s", code, out, e)
		}
		if err := patratest.Raw(t, db).QueryRow(`SELECT COUNT(*) FROM reg_provenance`).Scan(&there); err != nil || there != 1 {
			t.Errorf("%d sources are described after it (%v)", there, err)
		}
	}
}

// until keeps what is written, and stops when a text was.
type until struct {
	lines
	text string
	stop func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.lines.Write(p)
	if strings.Contains(u.String(), u.text) {
		u.stop()
	}
	return n, err
}

// TestR68_PacksSuggest: what a pack schedules is in force under a name of its own; a
// row of that name stands in its place until it is removed.
func TestR68_PacksSuggest(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "generic.yaml"), fmt.Appendf(nil, hourlyPack, "http://127.0.0.1:1"), 0o600); err != nil {
		t.Fatal(err)
	}
	step := func(want int, says string, args ...string) {
		t.Helper()
		code, out, e := patra(t, append(args, "--db", "sqlite:"+filepath.Join(dir, "a.db"), "--sources", dir)...)
		if code != want || !strings.Contains(out+e, says) {
			t.Errorf("%v: exit %d, want %q:\n%s%s", args, code, says, out, e)
		}
	}
	step(0, "next run", "source", "show", "generic")
	step(0, `"name":"generic/HARVEST","source":"generic","operation":"HARVEST","cron":"@hourly","zone":"Europe/Berlin","priority":"high","enabled":true,"origin":"pack"`, "schedule", "list", "--json")
	step(exitUsage, "is suggested by the pack of generic", "schedule", "remove", "generic/harvest", "--reason", "r")
	step(0, "generic/HARVEST: paused", "schedule", "pause", "generic/harvest", "--reason", "r")
	step(0, `"enabled":false,"origin":"set"`, "schedule", "list", "--json")
	step(0, `"next_run":null`, "source", "show", "generic", "--json")
	step(0, "generic/HARVEST: set", "schedule", "set", "generic/HARVEST", "--source", "generic", "--cron", "@daily", "--reason", "r")
	step(0, "@daily", "schedule", "show", "generic/HARVEST")
	step(0, "is in force again", "schedule", "remove", "generic/HARVEST", "--reason", "r")
	step(0, `"cron":"@hourly"`, "schedule", "show", "generic/HARVEST", "--json")
}

func TestServe_RefusesWhatThereIsNot(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	for args, want := range map[string]string{
		"sheduler":    `"sheduler" is not a role`,
		"--workers 0": "--workers", "--poll 1ms": "--poll",
	} {
		code, out, e := patra(t, append([]string{"serve", "--db", db}, strings.Fields(args)...)...)
		if code != exitUsage || out != "" || !strings.Contains(e, want) {
			t.Errorf("%s: exit %d: %s%s", args, code, out, e)
		}
	}
}

// TestServe_StoppedBeforeItBegan: that is an end like any other.
func TestServe_StoppedBeforeItBegan(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, errOut bytes.Buffer
	if code := run(ctx, []string{"serve", "--db", "sqlite:" + filepath.Join(t.TempDir(), "a.db")}, &out, &errOut); code != 0 || !strings.Contains(errOut.String(), "patra: stopped") {
		t.Errorf("exit %d: %s", code, errOut.String())
	}
}
