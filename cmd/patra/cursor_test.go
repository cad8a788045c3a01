package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestCursor_HeldBySliceUntilSkipped: a slice that was given up holds the cursor
// as a gap, whatever is harvested after it, until somebody lets the cursor pass.
func TestCursor_HeldBySliceUntilSkipped(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	d.must(0, "db", "migrate")
	out, _ := d.must(0, "cursor", "list")
	says(t, out, "no cursors yet")
	d.must(0, "plan", "create", "mini")
	shown := d.object(0, "plan", "show", "1")["slice_list"].([]any)
	gap := shown[2].(map[string]any)
	out, _ = d.must(0, "plan", "cancel", "3", "--slice", "--dry-run")
	says(t, out, "slice 3 would be given up")
	out, _ = d.must(0, "plan", "cancel", "3", "--slice", "--reason", "poisoned")
	says(t, out, "slice/3: 1 slices given up")
	_, e := d.must(exitConflict, "plan", "cancel", "3", "--slice", "--reason", "again")
	says(t, e, "[not_open]")
	d.clean()
	out, _ = d.must(exitPartial, "harvest", "mini")
	says(t, out, "mini HARVEST  PARTIAL", "complete  up to "+gap["from"].(string), "CANCELLED")
	out, _ = d.must(0, "plan", "show", "1")
	says(t, out, "mini HARVEST  PARTIAL")
	d.o.Advance(24 * time.Hour)
	d.must(exitPartial, "harvest", "mini")
	d.clean()

	cursors := d.object(0, "cursor", "list", "--source", "mini")["cursors"].([]any)
	if len(cursors) != 1 || cursors[0].(map[string]any)["id"] != 1.0 {
		t.Fatalf("cursors %v", cursors)
	}
	out, _ = d.must(0, "cursor", "list")
	says(t, out, "CURSOR", "PROVEN TO", "mini", "HARVEST", "FORWARD")
	if l := d.object(0, "cursor", "list", "--source", "hal")["cursors"].([]any); len(l) != 0 {
		t.Errorf("cursors of another source: %v", l)
	}
	out, _ = d.must(0, "cursor", "show", "1")
	says(t, out, "cursor 1  mini HARVEST by updated", "proven    from ", "held      by 1 gaps", "cancelled by ", "poisoned")
	held := d.object(0, "cursor", "show", "1")
	if g := held["held_by"].([]any); len(g) != 1 || g[0].(map[string]any)["from"] != gap["from"] {
		t.Errorf("held by %v, want %v", g, gap)
	}
	for _, ev := range d.object(0, "cursor", "events", "1", "--limit", "1")["events"].([]any) {
		if ev.(map[string]any)["kind"] == "" || ev.(map[string]any)["new"] == "" {
			t.Errorf("event %v", ev)
		}
	}
	all := d.object(0, "cursor", "events", "1")["events"].([]any)
	moves := len(all)
	newest := all[0].(map[string]any)["at"].(string)
	for span, want := range map[string]int{"--from " + newest: 1, "--to " + newest: moves - 1, "--from -1d": moves, "--from 2020 --to 2021": 0} {
		args := append([]string{"cursor", "events", "1"}, strings.Fields(span)...)
		if n := len(d.object(0, args...)["events"].([]any)); n != want {
			t.Errorf("%s: %d moves, want %d of %d", span, n, want, moves)
		}
	}

	// What would be queued again is what is.
	if v := d.object(0, "plan", "retry", "mini", "--dry-run"); v["slices"] != 0.0 {
		t.Errorf("without --cancelled: %v", v)
	}
	if v := d.object(0, "plan", "retry", "mini", "--dry-run", "--cancelled"); v["slices"] != 1.0 {
		t.Errorf("with --cancelled: %v", v)
	}
	if v := d.object(0, "plan", "retry", "mini", "--reason", "x"); v["slices"] != 0.0 {
		t.Errorf("queued %v", v)
	}

	// Up to before the gap's end nothing is skipped.
	out, _ = d.must(0, "cursor", "skip", "1", "--to", gap["from"].(string), "--reason", "x")
	says(t, out, "no gap ends by ", "it is proven to ")
	out, _ = d.must(0, "cursor", "skip", "1", "--to", gap["to"].(string), "--dry-run")
	says(t, out, "would not be read: ["+gap["from"].(string))
	if n := d.int(`SELECT COUNT(*) FROM ing_plan_slice WHERE gap_accepted=1`); n != 0 {
		t.Error("the preview accepted")
	}
	v := d.object(0, "cursor", "skip", "1", "--to", gap["to"].(string), "--reason", "read from the files")
	if v["accepted"] != 1.0 || v["applied"] != true {
		t.Errorf("skip %v", v)
	}
	d.clean()
	out, _ = d.must(0, "cursor", "show", "1")
	if strings.Contains(out, "held ") || !strings.Contains(out, "gap accepted: read from the files") {
		t.Errorf("after the skip:\n%s", out)
	}
	if n := len(d.object(0, "cursor", "events", "1")["events"].([]any)); n <= moves {
		t.Errorf("%d moves, %d before", n, moves)
	}
	out, _ = d.must(0, "harvest", "mini")
	says(t, out, "mini HARVEST")
	out, _ = d.must(0, "audit", "list", "--object", "slice/3")
	says(t, out, "GAP_ACCEPT", "read from the files", "PLAN_CANCEL", "poisoned")

	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{exitNotFound, []string{"cursor", "show", "9"}, "cursor 9"},
		{exitNotFound, []string{"cursor", "events", "9"}, "cursor 9"},
		{exitNotFound, []string{"cursor", "skip", "9", "--to", "2026-01-01", "--reason", "x"}, "cursor 9"},
		{exitUsage, []string{"cursor", "events", "1", "--from", "soon"}, "--from"},
		{exitUsage, []string{"cursor", "events", "1", "--from", "2026", "--to", "2025"}, "2025"},
		{exitUsage, []string{"cursor", "show", "x"}, "takes the number of a cursor"},
		{exitUsage, []string{"cursor", "show"}, "takes the number of a cursor"},
		{exitUsage, []string{"cursor", "skip", "1", "--reason", "x"}, "--to"},
		{exitUsage, []string{"cursor", "skip", "1", "--to", "2026-01-01"}, "--reason"},
		{exitUsage, []string{"cursor", "skip", "1", "--to", "soon", "--reason", "x"}, "--to"},
		{exitUsage, []string{"cursor", "list", "x"}, "takes no arguments"},
	} {
		if _, e := d.must(c.code, c.args...); !strings.Contains(e, c.says) {
			t.Errorf("%v: %s", c.args, e)
		}
	}
}

// TestR8_SkipFollowsTheCursor: the cursor of a BACKFILL falls, so that skipping
// it to T accepts the gaps down to T, those shown before and no others.
func TestR8_SkipFollowsTheCursor(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 400, Seed: 3})
	at := func(days int) string { return d.o.Now().AddDate(0, 0, -days).UTC().Format(time.DateOnly) }
	d.must(0, "plan", "create", "mini", "--op", "BACKFILL", "--from", at(25), "--to", at(5))
	list := d.object(0, "plan", "show", "1")["slice_list"].([]any)
	if len(list) < 4 {
		t.Fatalf("%d slices", len(list))
	}
	newer, older := list[1].(map[string]any), list[len(list)-1].(map[string]any)
	if newer["from"].(string) <= older["from"].(string) {
		t.Fatalf("the newest slice does not come first: %v", list)
	}
	for _, s := range []map[string]any{newer, older} {
		d.must(0, "plan", "cancel", fmt.Sprint(s["id"]), "--slice", "--reason", "poisoned")
	}
	d.must(exitPartial, "backfill", "mini", "--from", at(25), "--to", at(5))
	if v := d.object(0, "cursor", "show", "1")["cursor"].(map[string]any)["value"].(string); short(v) != newer["to"] {
		t.Fatalf("the cursor is at %s, the first gap ends at %v", v, newer["to"])
	}
	out, _ := d.must(0, "cursor", "skip", "1", "--to", newer["to"].(string), "--reason", "x")
	says(t, out, "no gap ")
	out, _ = d.must(0, "cursor", "skip", "1", "--to", newer["from"].(string), "--dry-run")
	says(t, out, "would not be read: ["+newer["from"].(string))
	if strings.Contains(out, older["from"].(string)) {
		t.Errorf("the preview shows a gap the cursor has not come to:\n%s", out)
	}
	out, _ = d.must(0, "cursor", "skip", "1", "--to", newer["from"].(string), "--reason", "lost upstream")
	says(t, out, "1 gaps accepted, it is now at "+older["to"].(string))
	if n := d.int(`SELECT COUNT(*) FROM ing_plan_slice WHERE gap_accepted=1`); n != 1 {
		t.Errorf("%d gaps accepted", n)
	}
	d.must(0, "cursor", "skip", "1", "--to", at(25), "--reason", "lost upstream")
	if v := d.object(0, "cursor", "show", "1")["cursor"].(map[string]any)["value"].(string); short(v) != older["from"] {
		t.Errorf("the cursor is at %s, want %v", v, older["from"])
	}
	d.clean()
}

// TestR4_WhatIsShownIsWhatIsDone: of many gaps some are printed, and the rest are
// counted, those of one reason together; what a preview counts is what is queued or
// accepted, all of it.
func TestR4_WhatIsShownIsWhatIsDone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 20, Seed: 3})
	count := strings.Index(d.pack, "  count:")
	d.write(strings.Replace(d.pack[:count]+d.pack[strings.Index(d.pack, "mapping:"):], "step: 30d\n  minStep: 1h", "step: 30m\n  minStep: 30m", 1))
	d.must(0, "plan", "create", "mini")
	n := d.int(`SELECT COUNT(*) FROM ing_plan_slice`)
	if n < 1100 {
		t.Fatalf("%d slices", n)
	}
	db := patratest.Raw(t, "sqlite:"+d.file)
	for _, table := range []string{"ing_plan_slice", "ing_task"} {
		if _, err := db.ExecContext(t.Context(), `UPDATE `+table+` SET status_code='FAILED'`); err != nil {
			t.Fatal(err)
		}
	}
	all := fmt.Sprint(n)
	told := map[int]string{1: fmt.Sprintf("and %d more, same reason", n-1), 100: fmt.Sprintf("100 of %d", n)}
	for lines, args := range map[int][]string{1: {"plan", "retry", "mini", "--dry-run"}, 100: {"cursor", "skip", "1", "--to", "2100-01-01", "--dry-run"}} {
		out, e := d.must(0, args...)
		says(t, out+e, all, told[lines])
		if strings.Count(out, "[20") != lines {
			t.Errorf("patra %s prints %d gaps", strings.Join(args, " "), strings.Count(out, "[20"))
		}
		if gaps := d.object(0, args...)["gaps"].([]any); len(gaps) != n {
			t.Errorf("patra %s --json lists %d of %s", strings.Join(args, " "), len(gaps), all)
		}
	}
	// Gaps that are alike stand in one line, and each by itself comes in pages.
	for _, look := range []struct {
		args    []string
		says    []string
		windows int
	}{
		{[]string{"plan", "gaps", "mini"}, []string{fmt.Sprintf("and %d more, same reason", n-1)}, 1},
		{[]string{"plan", "gaps", "mini", "--limit", "50"}, []string{"and 49 more, same reason", "there are more: patra plan gaps mini --limit 50 --after "}, 1},
		{[]string{"plan", "gaps", "mini", "--all"}, []string{"there are more: patra plan gaps mini --all --after "}, 50},
		{[]string{"cursor", "show", "1"}, []string{"held      by more than 100 gaps", "and 99 more, same reason"}, 1},
	} {
		out, e := d.must(0, look.args...)
		says(t, out+e, look.says...)
		if strings.Count(out, "[20") != look.windows {
			t.Errorf("patra %s prints %d gaps", strings.Join(look.args, " "), strings.Count(out, "[20"))
		}
	}
	listed := 0
	after := "0"
	for range 10 {
		v := d.object(0, "plan", "gaps", "mini", "--limit", "400", "--after", after)
		listed += len(v["gaps"].([]any))
		next, more := v["next"].(string)
		if !more {
			break
		}
		after = next
	}
	if listed != n {
		t.Errorf("the pages of plan gaps list %d of %s", listed, all)
	}
	if v := d.object(0, "plan", "retry", "mini", "--reason", "mended"); v["slices"] != float64(n) {
		t.Errorf("queued again: %v of %s", v["slices"], all)
	}
	if left := d.int(`SELECT COUNT(*) FROM ing_task WHERE status_code<>'QUEUED'`); left != 0 {
		t.Errorf("%d were left", left)
	}
}
