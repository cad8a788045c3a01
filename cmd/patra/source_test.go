package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/sim"
)

// mini is a whole pack for the oracle's generic source.
const mini = `source: mini
recordType: item
baseUrl: https://mini.example.org
window:
  key: updated
  filters: {from: updated, to: updated}
  precision: MICRO
  bound: OPEN
pagination: {type: TOKEN, pageSize: 50, end: NO_TOKEN}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query:
      from: ${iso(window.from)}
      to: ${iso(window.to)}
      size: ${page.size}
      style: token
      token: ${page.token}
    response:
      items: items
      id: id
      updatedAt: {path: updated, format: RFC3339, key: updated}
      nextToken: next_token
  count:
    usage: COUNT
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: 1}
    response: {root: total, total: total}
mapping:
  fields: {title: title}
rateLimit: {limit: 2000, window: 1s, qps: 1000, burst: 1}
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSourceBadInput_AllFindingsAtOnce: what a person gets wrong in a pack is
// told whole, with its place, and nothing is written.
func TestSourceBadInput_AllFindingsAtOnce(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	r := strings.NewReplacer
	for _, c := range []struct {
		name string
		text string
		says []string
	}{
		{"wrong YAML", "source: [a\nname: x\n", []string{"mini.yaml:2:"}},
		{"wrong type", r("pageSize: 50", "pageSize: lots").Replace(mini), []string{`:9:37: pagination.pageSize: "lots" is not a whole number`}},
		{"a map for a value", r("recordType: item", "recordType: {a: b}").Replace(mini), []string{":2:13: recordType: expected a single value, found a map"}},
		{"unknown key", r("recordType", "recordTpye", "usage:", "usge:").Replace(mini), []string{":2:1: recordTpye: key is not known: did you mean recordType?", ":12:5: endpoints.items.usge: key is not known: did you mean usage?"}},
		{"unknown code", r("type: TOKEN", "type: TOKN").Replace(mini), []string{":9:14: pagination.type: TOKN is not known: known are OFFSET, PAGE, TOKEN, URL, SCROLL, TIME, KEYSET; did you mean TOKEN?"}},
		{"token paging without token path", r("      nextToken: next_token\n", "").Replace(mini), []string{"endpoints.items.response.nextToken: is required with paging TOKEN"}},
		{"http without permission", r("https://mini", "http://mini").Replace(mini), []string{":3:1: baseUrl: plain http needs http.allowHttp: true"}},
		{"a rate above the limit", r("limit: 2000, window: 1s, qps: 1000, burst: 1", "limit: 3, window: 1s, qps: 3, burst: 2").Replace(mini), []string{"rateLimit: 3 a second with a burst of 2, arriving up to 50ms early or late, exceeds the provider's limit of 3 in 1s; next: qps: 1 or less"}},
		{"a TASK part without its operation", mini + "tasks:\n  retry: {maxAttempts: 3}\n", []string{":36:3: tasks.retry: key is not known: known are harvest, backfill, update"}},
		{"a mistake in a TASK part", mini + "tasks:\n  backfill:\n    retry: {maxAttempts: 99}\n", []string{":37:13: tasks.backfill.retry.maxAttempts: 99 is not within [1, 20]"}},
		{"a template that calls something unknown", r("${iso(window.from)}", "${exec(window.from)}").Replace(mini), []string{":16:7: endpoints.items.query.from: ${exec(window.from)}: function exec is not known"}},
		{"a template that does not parse", r("${page.size}", "${page.size +}").Replace(mini), []string{":18:7: endpoints.items.query.size: "}},
		{"a path that cannot be followed", r("title: title", "title: 'a[['").Replace(mini), []string{"mapping.fields.title"}},
		{"the wrong date", r("{from: updated, to: updated}", "{from: created, to: updated}").Replace(mini), []string{"from filters by created, but the window is of updated"}},
		{"many at once", r("recordType: item", "recordType: ITEM!", "https://mini", "ftp://mini", "precision: MICRO", "precision: WEEK", "title: title", "titel: title").Replace(mini), []string{
			"recordType: ", `baseUrl: scheme "ftp" is not https`, "window.precision: WEEK is not known: known are DAY, SECOND, MILLI, MICRO",
			"mapping.fields.titel: is not a field of the standard record: did you mean title?",
		}},
		{"empty", "", []string{":1:1: the file is empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := write(t, "mini.yaml", c.text)
			for _, args := range [][]string{
				{"source", "lint", file},
				{"source", "apply", file, "--db", db},
				{"source", "apply", file, "--dry-run", "--db", db},
				{"source", "schedule", file, "--at", "2099-01-01", "--reason", "x", "--db", db},
				{"source", "diff", file, "--db", db},
			} {
				code, out, errOut := patra(t, args...)
				if code != exitUsage || out != "" || !strings.HasPrefix(errOut, "patra: ") || !strings.Contains(errOut, "next: ") {
					t.Errorf("%s: exit %d, stdout %q\n%s", args[1], code, out, errOut)
				}
				for _, s := range c.says {
					if strings.HasPrefix(s, ":") {
						s = file + s
					}
					if !strings.Contains(errOut, s) {
						t.Errorf("%s: message lacks %q:\n%s", args[1], s, errOut)
					}
				}
			}
		})
	}
	if _, out, _ := patra(t, "source", "list", "--db", db, "--json"); strings.Contains(out, "mini") {
		t.Errorf("something was written: %s", out)
	}
}

// TestSourceBadUse_OneClearMessage: the command lines people get wrong.
func TestSourceBadUse_OneClearMessage(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	file := write(t, "mini.yaml", mini)
	if code, _, e := patra(t, "source", "apply", file, "--db", db); code != 0 {
		t.Fatal(e)
	}
	changed := write(t, "mini.yaml", strings.Replace(mini, "pageSize: 50", "pageSize: 60", 1))
	if code, _, e := patra(t, "source", "schedule", changed, "--at", "2098-01-01", "--reason", "r", "--db", db); code != 0 {
		t.Fatal(e)
	}
	other := write(t, "mini.yaml", strings.Replace(mini, "pageSize: 50", "pageSize: 70", 1))
	moved := write(t, "mini.yaml", strings.Replace(mini, "mini.example", "other.example", 1))
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"no verb like it", []string{"source", "shwo"}, exitUsage, []string{`"shwo"`, "did you mean show?"}},
		{"unknown source", []string{"source", "show", "minni", "--db", db}, exitNotFound, []string{`no source "minni"`}},
		{"history of an unknown source", []string{"source", "history", "minni", "--db", db}, exitNotFound, []string{`no source "minni"`}},
		{"rollback of an unknown source", []string{"source", "rollback", "minni", "--reason", "x", "--db", db}, exitNotFound, []string{`no source "minni"`}},
		{"pause of an unknown source", []string{"source", "pause", "minni", "--reason", "x", "--db", db}, exitNotFound, []string{`no source "minni"`}},
		{"no file", []string{"source", "apply", "--db", db}, exitUsage, []string{"takes one source pack"}},
		{"file not there", []string{"source", "lint", "/nowhere.yaml"}, exitFailed, []string{"/nowhere.yaml"}},
		{"unknown operation", []string{"source", "show", "mini", "--operation", "sweep", "--db", db}, exitUsage, []string{"--operation", "harvest, backfill or update"}},
		{"bad time", []string{"source", "show", "mini", "--at", "noon", "--db", db}, exitUsage, []string{"--at", "no time", "next: patra source show --help"}},
		{"no instant", []string{"source", "schedule", file, "--reason", "x", "--db", db}, exitUsage, []string{"needs --at T"}},
		{"bad observation", []string{"source", "schedule", file, "--at", "2099-01-01", "--observe", "long", "--reason", "x", "--db", db}, exitUsage, []string{"--observe"}},
		{"no reason", []string{"source", "rollback", "mini", "--db", db}, exitUsage, []string{"--reason"}},
		{"no reason to pause", []string{"source", "pause", "mini", "--db", db}, exitUsage, []string{"--reason"}},
		{"past", []string{"source", "apply", other, "--at", "2020-01-01", "--db", db}, exitUsage, []string{"cannot take effect in the past"}},
		{"overlapping interval", []string{"source", "apply", other, "--db", db}, exitUsage, []string{"overlaps row 2, in force from 2098-01-01"}},
		{"scheduled base URL", []string{"source", "schedule", moved, "--at", "2097-01-01", "--reason", "x", "--db", db}, exitUsage, []string{"mini.yaml:3:1: baseUrl: ", "use http.baseUrl"}},
		{"stale token", []string{"source", "apply", file, "--apply", "0123", "--db", db}, exitConflict, []string{"has changed since the preview", "--dry-run again"}},
		{"both", []string{"source", "apply", file, "--apply", "0123", "--dry-run", "--db", db}, exitUsage, []string{"exclude each other"}},
		{"diff without instants", []string{"source", "diff", "mini", "--db", db}, exitUsage, []string{"--from"}},
		{"diff of a file between instants", []string{"source", "diff", file, "--from", "2026-01-01", "--db", db}, exitUsage, []string{"leave --from and --to out"}},
		{"export before it was there", []string{"source", "export", "mini", "--at", "2001-01-01", "--db", db}, exitNotFound, []string{"no row was in force"}},
		{"bad name", []string{"source", "new", "My Source"}, exitUsage, []string{"is not a code"}},
		{"lint nothing", []string{"source", "lint"}, exitUsage, []string{"at least one pack"}},
		{"audit of nothing", []string{"audit", "lst"}, exitUsage, []string{"did you mean list?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errOut := patra(t, c.args...)
			if code != c.code {
				t.Errorf("exit %d, want %d\n%s", code, c.code, errOut)
			}
			for _, s := range c.says {
				if !strings.Contains(errOut, s) {
					t.Errorf("message lacks %q:\n%s", s, errOut)
				}
			}
			if !strings.HasPrefix(errOut, "patra: ") || out != "" {
				t.Errorf("stdout %q, stderr %q", out, errOut)
			}
		})
	}
}

// TestSource_FromPackToRecordsAndBack walks a source through its life: applied,
// harvested, switched by token, shown, compared, exported, rolled back, held.
func TestSource_FromPackToRecordsAndBack(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	must := func(args ...string) string {
		t.Helper()
		code, out, e := patra(t, append(args, "--db", db)...)
		if code != 0 {
			t.Fatalf("%v: exit %d: %s%s", args, code, out, e)
		}
		return out
	}
	has := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("lacks %q:\n%s", w, out)
			}
		}
	}
	file := write(t, "mini.yaml", mini)
	has(must("source", "lint", file), "mini.yaml: ok")
	has(must("source", "apply", file), "mini: described")
	has(must("source", "apply", file), "nothing to change")
	_, url := oracle(t, sim.Config{Sources: []string{sim.Generic}, Records: 120, Seed: 3, LimitRPS: -1})
	var rep struct {
		Namespace string
		Status    string
		Records   struct{ Inserted int }
	}
	if err := json.Unmarshal([]byte(must("harvest", "mini", "--base-url", url+"/generic", "--json")), &rep); err != nil || rep.Status != "COMPLETED" || rep.Records.Inserted != 120 {
		t.Errorf("harvest: %+v, %v", rep, err)
	}
	changed := write(t, "mini.yaml", strings.Replace(mini, "pageSize: 50", "pageSize: 60", 1)+"tasks:\n  backfill:\n    retry: {maxAttempts: 7}\n")
	var prev struct {
		Token   string
		Applied bool
		Fields  []struct{ Path, Old, New string }
	}
	if err := json.Unmarshal([]byte(must("source", "apply", changed, "--dry-run", "--json")), &prev); err != nil || prev.Applied || len(prev.Fields) != 2 {
		t.Errorf("preview: %+v, %v", prev, err)
	}
	has(must("source", "diff", changed), "pagination.pageSize: 50 -> 60", "tasks.backfill.retry.maxAttempts: (none) -> 7")
	has(must("source", "apply", changed, "--apply", prev.Token, "--reason", "larger"), "supersedes row 1", "pagination.pageSize: 50 -> 60")
	if code, _, _ := patra(t, "source", "apply", file, "--apply", prev.Token, "--db", db); code != exitConflict {
		t.Errorf("a used token: exit %d", code)
	}
	has(must("source", "show", "mini", "--operation", "backfill"), "retry                    TASK     row 1 is for BACKFILL", "maxAttempts: 7", "config hash", "spec fingerprint")
	has(must("source", "show", "mini"), "  asked at   ", "  windows    ", "  pages      ", "  pace       ", "  given up   after", "retry                    default  no row in force", "note: retry: not given")
	var shown map[string]any
	if err := json.Unmarshal([]byte(must("source", "show", "mini", "--json")), &shown); err != nil || shown["spec_fingerprint"] == "" {
		t.Errorf("show: %v, %v", shown, err)
	}
	exported := write(t, "mini.yaml", must("source", "export", "mini"))
	has(must("source", "apply", exported), "nothing to change")
	has(must("source", "history", "mini"), "SOURCE_APPLY", "larger", "ended", "in force", "supersedes 1")
	has(must("source", "rollback", "mini", "--dry-run"), "would change", "pagination.pageSize: 60 -> 50", "tasks.backfill.retry.maxAttempts: 7 -> (none)", "token: ")
	has(must("source", "rollback", "mini", "--reason", "smaller again"), "row 1 holds again")
	if code, _, _ := patra(t, "source", "diff", file, "--exit-code", "--db", db); code != 0 {
		t.Errorf("after the rollback the pack differs: exit %d", code)
	}
	has(must("source", "pause", "mini", "--reason", "maintenance"), "paused, was ready")
	has(must("source", "list"), "paused   maintenance")
	if code, _, e := patra(t, "harvest", "mini", "--db", db); code != exitUpstream || !strings.Contains(e, "paused") {
		t.Errorf("harvest of a paused source: exit %d: %s", code, e)
	}
	has(must("source", "resume", "mini", "--dry-run"), "paused would become ready")
	has(must("source", "resume", "mini", "--reason", "done"), "ready, was paused")
	has(must("audit", "list", "--object", "source/mini"), "SOURCE_RESUME", "SOURCE_PAUSE", "SOURCE_ROLLBACK")
	has(must("audit", "list", "--json"), `"action":"SOURCE_RESUME"`)
}

// TestR7_TuningKeepsTheNamespace changes each tunable of a source in turn and
// harvests: the cursor is the same. Another date is another one.
func TestR7_TuningKeepsTheNamespace(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	o, url := oracle(t, sim.Config{Sources: []string{sim.Generic}, Records: 40, Seed: 3, LimitRPS: -1})
	namespace := func(name, text string) string {
		t.Helper()
		file := write(t, "mini.yaml", text)
		if code, _, e := patra(t, "source", "apply", file, "--db", db); code != 0 {
			t.Fatalf("%s: %s", name, e)
		}
		o.Advance(2 * time.Hour)
		code, out, e := patra(t, "harvest", "mini", "--base-url", url+"/generic", "--db", db, "--json")
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", name, code, e)
		}
		var rep struct{ Namespace string }
		if err := json.Unmarshal([]byte(out), &rep); err != nil {
			t.Fatal(err)
		}
		return rep.Namespace
	}
	first := namespace("first", mini)
	tuned := func(s string) string { return strings.Replace(mini, "  bound: OPEN", "  bound: OPEN\n"+s, 1) }
	for name, text := range map[string]string{
		"page size":  strings.Replace(mini, "pageSize: 50", "pageSize: 20", 1),
		"safety lag": tuned("  safetyLag: 5m"),
		"overlap":    tuned("  overlap: 10m"),
		"step":       tuned("  step: 12h"),
		"min step":   tuned("  minStep: 1h"),
		"align":      tuned("  align: 1s"),
		"baseline":   tuned("  baseline: 10d"),
		"target":     tuned("  target: 25"),
		"rate":       strings.Replace(mini, "qps: 1000", "qps: 900", 1),
		"retry":      mini + "retry: {maxAttempts: 3}\n",
		"timeouts":   mini + "http: {readTimeout: 20s, headers: {X-A: b}}\n",
		"base URL":   strings.Replace(mini, "mini.example", "other.example", 1),
		"mapping":    strings.Replace(mini, "{title: title}", "{title: title, abstract: text}", 1),
		"faults":     mini + "faults: [{code: gone, status: 410, level: L2}]\n",
		"name":       mini + "name: Mini\n",
	} {
		if got := namespace(name, text); got != first {
			t.Errorf("%s: %s became %s", name, first, got)
		}
	}
	// The endpoint is part of the key; so is the date, which renames the filters.
	if got := namespace("endpoint", strings.Replace(mini, "  items:\n", "  other:\n", 1)); got == first {
		t.Error("another endpoint shares the cursor")
	}
	if got := namespace("date", strings.ReplaceAll(strings.ReplaceAll(mini, "key: updated", "key: changed"), "{from: updated, to: updated}", "{from: changed, to: changed}")); got == first {
		t.Error("another date shares the cursor")
	}
}

// TestSourceVerbs_HaveTheFlagsTheyShould walks the command tree.
func TestSourceVerbs_HaveTheFlagsTheyShould(t *testing.T) {
	c := &cli{}
	for _, sub := range c.sourceCmd().Commands() {
		flag := func(name string) bool { return sub.Flags().Lookup(name) != nil }
		switch sub.Name() {
		case "list", "show", "history", "diff", "lint", "check", "test":
			if !flag("json") {
				t.Errorf("%s has no --json", sub.Name())
			}
		case "apply", "schedule", "rollback", "pause", "resume":
			if !flag("dry-run") || !flag("reason") {
				t.Errorf("%s has no --dry-run or --reason", sub.Name())
			}
		case "export", "new", "schema": // data by themselves
		default:
			t.Errorf("%s: does it read or change?", sub.Name())
		}
	}
}

// TestSourceNew_LeadsFromEmptyToPassing: the skeleton lints with messages that
// name every gap, and following them ends in a pack that passes.
func TestSourceNew_LeadsFromEmptyToPassing(t *testing.T) {
	_, text, _ := patra(t, "source", "new", "mini")
	steps := []struct{ asks, old, add string }{
		{"baseUrl: is required", "baseUrl:", "baseUrl: https://mini.example.org #"},
		{"window.key: is required", "  key:", "  key: updated #"},
		{"window.precision: is required", "  precision:", "  precision: MICRO #"},
		{"window.bound: is required", "  bound:", "  bound: OPEN #"},
		{"pagination.type: is required", "  type:", "  type: TOKEN #"},
		{"endpoints.list.response.items: is required", "      items:", "      items: items #"},
		{"endpoints.list.response.id: is required", "      id:", "      id: id #"},
		{"mapping.fields.title: is empty", "    title:", "    title: title #"},
		{"pagination.pageSize: 0 is below 1", "  pageSize:", "  pageSize: 50 #"},
		{"pagination.end: no end proof declared", "  end:", "  end: NO_TOKEN #"},
		{"endpoints.list.response.nextToken: is required with paging TOKEN", "      updatedAt:", "      nextToken: next_token\n      updatedAt: {path: updated, format: RFC3339, key: updated} #"},
		{"paging TOKEN needs ${page.token}", "    query:", "    query: {from: '${iso(window.from)}', to: '${iso(window.to)}', size: '${page.size}', style: token, token: '${page.token}'} #"},
		{"window.filters: is required", "  filters:", "  filters: {from: updated, to: updated} #"},
	}
	for i, s := range steps {
		file := write(t, "mini.yaml", text)
		code, _, e := patra(t, "source", "lint", file)
		if code != exitUsage || !strings.Contains(e, s.asks) {
			t.Fatalf("step %d: exit %d, want %q in\n%s", i, code, s.asks, e)
		}
		if !strings.Contains(text, "\n"+s.old) {
			t.Fatalf("the skeleton has no %q", s.old)
		}
		text = strings.Replace(text, "\n"+s.old, "\n"+s.add, 1)
	}
	code, out, e := patra(t, "source", "lint", write(t, "mini.yaml", text))
	if code != 0 || !strings.Contains(out, "ok") {
		t.Errorf("the finished pack: exit %d\n%s%s", code, out, e)
	}
}

// TestDictionary_EveryCodeIsRefusedWithTheList: an unknown word for any code of
// a pack names those allowed.
func TestDictionary_EveryCodeIsRefusedWithTheList(t *testing.T) {
	for _, c := range []struct {
		old, bad string
		kind     source.Dict
	}{
		{"type: TOKEN", "type: BOGUS", source.DictPaging},
		{"end: NO_TOKEN", "end: BOGUS", source.DictEndProof},
		{"bound: OPEN", "bound: BOGUS", source.DictBound},
		{"precision: MICRO", "precision: BOGUS", source.DictPrecision},
		{"usage: SEARCH", "usage: BOGUS", source.DictUsage},
		{"format: JSON", "format: BOGUS", source.DictFormat},
		{"    usage: SEARCH", "    usage: SEARCH\n    method: BOGUS", source.DictMethod},
		{"recordType: item", "recordType: item\nidentity: BOGUS", source.DictIdentity},
		{"bound: OPEN", "bound: OPEN\n  updatedAt: BOGUS", source.DictUpdatedAt},
		{"end: NO_TOKEN", "end: NO_TOKEN, tokenRepeat: BOGUS", source.DictTokenRepeat},
		{"end: NO_TOKEN", "end: NO_TOKEN, total: BOGUS", source.DictTotal},
		{"recordType: item", "recordType: item\nfaults: [{code: a, status: 400, level: L1, reaction: BOGUS}]", source.DictReaction},
	} {
		_, _, e := patra(t, "source", "lint", write(t, "mini.yaml", strings.Replace(mini, c.old, c.bad, 1)))
		if want := fmt.Sprintf("BOGUS is not known: known are %s", strings.Join(c.kind.Codes(), ", ")); !strings.Contains(e, want) {
			t.Errorf("%s: want %q in\n%s", c.kind, want, e)
		}
	}
}

// TestSourceApply_WhatComesWithPatra: after an upgrade the list says that another
// pack is shipped, and its name applies it.
func TestSourceApply_WhatComesWithPatra(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := "sqlite:" + path
	line := func() string {
		t.Helper()
		_, out, _ := patra(t, "source", "list", "--db", db)
		for l := range strings.Lines(out) {
			if strings.HasPrefix(l, "crossref ") {
				return l
			}
		}
		t.Fatalf("no crossref in %s", out)
		return ""
	}
	if code, _, e := patra(t, "source", "apply", "crossref", "--db", db); code != 0 {
		t.Fatalf("exit %d: %s", code, e)
	}
	if l := line(); strings.Contains(l, "another pack") || !strings.Contains(l, "SHIPPED") {
		t.Errorf("just applied: %s", l)
	}
	sqlite(t, path, `UPDATE reg_provenance SET origin_hash='of an older build'`)
	if l := line(); !strings.Contains(l, "patra source apply crossref") {
		t.Errorf("after an upgrade: %s", l)
	}
	if code, _, e := patra(t, "source", "apply", "crossref", "--db", db, "--reason", "upgrade"); code != 0 {
		t.Fatalf("exit %d: %s", code, e)
	}
	if l := line(); strings.Contains(l, "another pack") {
		t.Errorf("after it was applied: %s", l)
	}
	if code, _, e := patra(t, "source", "apply", "nosuch", "--db", db); code == 0 || !strings.Contains(e, "nosuch") {
		t.Errorf("exit %d: %s", code, e)
	}
}
