package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/sim"
)

// TestOutbox_FromHarvestToFile: a harvest with a target has sent every revision when it
// ends; the targets are listed, removed with a reason, and one that comes later gets what
// is held. Secrets of targets are shown nowhere.
func TestOutbox_FromHarvestToFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "p.db")
	_, url := oracle(t, sim.Config{Records: 50, LimitRPS: -1, Sources: []string{"crossref"}})
	base := url + "/crossref"
	lines := func(name string) int {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "\n")
	}
	targets := func(args ...string) map[string]control.OutboxTarget {
		t.Helper()
		code, out, errOut := patra(t, append([]string{"outbox", "target", "list", "--db", db, "--json"}, args...)...)
		var list control.OutboxTargetList
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
			t.Fatalf("%d %s %s: %v", code, out, errOut, err)
		}
		byName := map[string]control.OutboxTarget{}
		for _, target := range list.Targets {
			byName[target.Name] = target
		}
		return byName
	}
	first := "file:" + filepath.Join(dir, "a.jsonl") + "#lake"
	if code, out, errOut := patra(t, "harvest", "crossref", "--db", db, "--base-url", base, "--events", first, "--yes"); code != 0 {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	lake := targets()["lake"]
	if lake.Sent == 0 || lake.Backlog != 0 || lines("a.jsonl") != int(lake.Sent) || lake.State != control.TargetFollows {
		t.Errorf("%+v, %d lines", lake, lines("a.jsonl"))
	}
	if code, _, errOut := patra(t, "outbox", "target", "remove", "lake", "--db", db); code != exitUsage || !strings.Contains(errOut, "--reason") {
		t.Errorf("without a reason: %d %s", code, errOut)
	}
	if code, out, errOut := patra(t, "outbox", "target", "remove", "lake", "--db", db, "--dry-run"); code != 0 || !strings.Contains(out, "would be forgotten") || len(targets()) != 1 {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	if code, out, errOut := patra(t, "outbox", "target", "remove", "lake", "--db", db, "--reason", "moved"); code != 0 || len(targets()) != 0 {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	second := "file:" + filepath.Join(dir, "b.jsonl") + " webhook+https://hooks.example/v3ry-s3cret-path?secret=SIGN-0123456789abcdef"
	if got := targets("--events", second); got["file"].State != control.TargetNew || got["webhook"].Kind != "webhook" {
		t.Errorf("%+v", got)
	}
	if code, out, errOut := patra(t, "outbox", "target", "add", "file", "--events", second, "--everything", "--db", db, "--reason", "new lake"); code != 0 {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	if code, out, errOut := patra(t, "harvest", "crossref", "--db", db, "--base-url", base, "--events", "file:"+filepath.Join(dir, "b.jsonl"), "--yes"); code != 0 {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	if lines("b.jsonl") != lines("a.jsonl") {
		t.Errorf("%d and %d lines", lines("b.jsonl"), lines("a.jsonl"))
	}
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}, {"outbox", "list"}, {"audit"}, {"outbox", "target", "add", "nobody", "--reason", "x"}} {
		_, out, errOut := patra(t, append(args, "--db", db, "--events", second)...)
		if both := out + errOut; strings.Contains(both, "v3ry") || strings.Contains(both, "SIGN-0") {
			t.Errorf("%v shows a secret: %s", args, both)
		}
	}
	if code, out, errOut := patra(t, "outbox", "list", "--db", db, "--events", "ftp://x"); code != 0 {
		t.Errorf("to look needs no targets: %d %s %s", code, out, errOut)
	}
	if code, _, errOut := patra(t, "harvest", "crossref", "--db", db, "--base-url", base, "--events", "ftp://x"); code != exitUsage || !strings.Contains(errOut, "event_targets") {
		t.Errorf("%d %s", code, errOut)
	}
	if code, _, errOut := patra(t, "outbox", "show", "7", "--db", db); code == 0 || !strings.Contains(errOut, "next:") {
		t.Errorf("%d %s", code, errOut)
	}
	if code, out, errOut := patra(t, "verify", "--db", db); code != 0 {
		t.Errorf("%d %s %s", code, out, errOut)
	}
}
