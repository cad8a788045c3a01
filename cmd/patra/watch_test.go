package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// watchArgs are what commands that show one thing are told to show.
var watchArgs = map[string][]string{
	"patra coverage": {"crossref"}, "patra plan gaps": {"crossref"}, "patra plan show": {"1"}, "patra task show": {"1"}, "patra task why": {"1"},
	"patra run show": {"1"}, "patra run why": {"1"}, "patra batch show": {"1", "1"}, "patra cursor show": {"1"}, "patra cursor events": {"1"},
	"patra record show": {"crossref", "1"}, "patra schedule show": {"crossref/HARVEST"}, "patra search show": {"insulin"}, "patra work show": {"crossref", "1"},
}

// TestWatch_EveryReadLooksAgain: each command with --watch answers at once and every two
// seconds, as data one answer a line and on a terminal one in the place of the other, until it is
// ended, and that is no failure.
func TestWatch_EveryReadLooksAgain(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	storeRecords(t, dsn, "crossref", harvest.Record{ID: "1", Raw: []byte("1"), Fields: []byte(`{"title":"中文"}`)})
	watched := 0
	for _, cmd := range leaves(commands()) {
		path := cmd.CommandPath()
		if cmd.Flags().Lookup("watch") == nil {
			continue
		}
		args := append(strings.Fields(path)[1:], watchArgs[path]...)
		if code, out, _ := patra(t, append(args, "--json", "--db", dsn)...); code != exitDone {
			t.Logf("%s: %d %s", path, code, out)
			continue // there is none to show
		}
		watched++
		out := watchFor(t, 5*time.Second, screen{}, append(args, "--json", "--watch", "--db", dsn))
		if n := strings.Count(out, "\n"); n != 3 {
			t.Errorf("%s answered %d times in five seconds:\n%s", path, n, out)
		}
		out = watchFor(t, 5*time.Second, screen{terminal: true, width: 80}, append(args, "--watch", "--db", dsn))
		if n := strings.Count(out, "\x1b[H\x1b[2J"); n != 3 || !strings.HasPrefix(out, "\x1b[H") {
			t.Errorf("%s cleared the screen %d times:\n%q", path, n, out)
		}
	}
	if watched < 20 {
		t.Errorf("%d commands were watched", watched)
	}
}

// watchFor runs a command for some time of its own clock and returns what it printed.
func watchFor(t *testing.T, d time.Duration, s screen, args []string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		if code := runOn(ctx, s, args, &out, &errOut); code != exitDone {
			t.Errorf("%q ended with %d: %s", args, code, &errOut)
		}
	})
	return out.String()
}

// TestQuiet_ListsPrintNames: -q is what other commands take, a line each; that there are more
// is said apart.
func TestQuiet_ListsPrintNames(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	storeRecords(t, dsn, "crossref", harvest.Record{ID: "a b", Raw: []byte("1"), Fields: []byte(`{}`)}, harvest.Record{ID: "中", Raw: []byte("2"), Fields: []byte(`{}`)})
	for _, cmd := range leaves(commands()) {
		if cmd.Name() == "list" && cmd.Flags().Lookup("quiet") == nil {
			t.Errorf("%s has no -q", cmd.CommandPath())
		}
	}
	code, out, errOut := patra(t, "record", "list", "-q", "--limit", "1", "--db", dsn)
	if code != exitDone || out != "a b\n" || !strings.Contains(errOut, "next: patra record list --limit 1 --quiet --after ") {
		t.Errorf("%d %q %q", code, out, errOut)
	}
	if code, out, errOut = patra(t, "task", "list", "-q", "--db", dsn); code != exitDone || out != "1\n" || errOut != "" {
		t.Errorf("%d %q %q", code, out, errOut)
	}
	if code, _, errOut = patra(t, "task", "list", "-q", "--json", "--db", dsn); code != exitUsage || !strings.Contains(errOut, "leave --json") {
		t.Errorf("%d %q", code, errOut)
	}
}
