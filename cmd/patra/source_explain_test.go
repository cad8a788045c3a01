package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/patratest"
)

// TestSourceShow_Explains: of every part of a contract it is told which table and row it is
// from, and why it was picked over each of the others.
func TestSourceShow_Explains(t *testing.T) {
	dsn := patratest.SQLite.DSN(t)
	keyed := mini + "auth: {type: API_KEY, in: HEADER, name: X-Key, open: true}\n"
	first := write(t, "mini.yaml", keyed)
	second := write(t, "mini.yaml", strings.Replace(keyed, "pageSize: 50", "pageSize: 40", 1)+"retry: {maxAttempts: 3}\ntasks:\n  backfill:\n    retry: {maxAttempts: 9}\n")
	t.Setenv("MINI_KEY", "0123456789abcdef0")
	synctest.Test(t, func(t *testing.T) {
		must := func(args ...string) string {
			t.Helper()
			code, out, errOut := patra(t, append(args, "--db", dsn)...)
			if code != exitDone {
				t.Fatalf("%v: exit %d\n%s%s", args, code, out, errOut)
			}
			return out
		}
		must("source", "apply", first, "--reason", "first")
		time.Sleep(time.Hour)
		must("source", "apply", second, "--reason", "smaller pages")
		must("credential", "set", "mini", "main", "--env", "MINI_KEY", "--reason", "x")
		must("credential", "set", "mini", "counting", "--env", "MINI_KEY", "--endpoint", "count", "--reason", "x")
		time.Sleep(time.Hour)
		harvest := must("source", "show", "mini", "--explain")
		backfill := must("source", "show", "mini", "--explain", "--operation", "backfill")
		data := must("source", "show", "mini", "--explain", "--operation", "backfill", "--json")
		patratest.Golden(t, "explain.txt", []byte(harvest+"\n"+backfill))
		patratest.Golden(t, "explain.json", pretty([]byte(data)))
	})
}
