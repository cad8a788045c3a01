package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestQueryExplain_ShowsEachSource: the table says what is sent and what is not, a
// refusal names the field and those that work, and the rest is explained all the same.
func TestQueryExplain_ShowsEachSource(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "q.db")
	code, out, errOut := patra(t, "query", "explain", `oa:true`, "--sources", "arxiv,openalex", "--db", db)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	for _, want := range []string{
		"arxiv neither searches `oa` nor shows it in its records", "fields that work: ti, ab, tiab, au", "sent      filter=is_oa:true", "finds     what is asked for",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
	_, out, _ = patra(t, "query", "explain", `ti:insul* NOT au:müller`, "--sources", "semanticscholar,hal", "--db", db, "--json")
	for _, want := range []string{
		`"hash":"`, `"source":"semanticscholar","sent":"","params":[],"finds":"EXACT","filtered_here":["NOT au:müller","ti:insul*"]`,
		`"sent":"q=(title_t:insul* OR subTitle_t:insul*)"`, `"unknown":[]`, `read by patra backfill`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
	code, _, errOut = patra(t, "query", "explain", `ti:(`, "--sources", "hal", "--db", db)
	if code != 2 || !strings.Contains(errOut, "bad_query") || !strings.Contains(errOut, "^") {
		t.Errorf("a query that cannot be read: exit %d, %s", code, errOut)
	}
}

// TestR63_AnUnknownWordIsNamedBeforeAnythingIsRead: a word that a source does not know is named
// by whatever counts first, with what to do about it; without it the query is answered.
func TestR63_AnUnknownWordIsNamedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "q.db")
	_, url := oracle(t, sim.Config{Records: 40, Seed: 2, LimitRPS: -1})
	at := []string{"--base-url", "pubmed=" + url + "/pubmed", "--contact", "a@example.org", "--db", db}
	say := func(want int, args ...string) string {
		t.Helper()
		code, out, said := patra(t, append(args, at...)...)
		if code != want {
			t.Fatalf("%q: exit %d: %s%s", args, code, out, said)
		}
		return strings.Join(strings.Fields(out+said), " ")
	}
	const branch = `zzqqxx[tiab]`
	const without = "with OR between, it finds nothing there: without it the source finds the same"
	says(t, say(exitDone, "query", "explain", "tiab:insulin OR tiab:zzqqxx", "--sources", "pubmed", "--count"), branch, without)
	if code, out, said := patra(t, "search", "new", "s", "--query", "tiab:insulin OR tiab:zzqqxx", "--sources", "pubmed", "--db", db); code != exitDone {
		t.Fatal(out, said)
	}
	says(t, say(exitDone, "search", "count", "s", "--json"), branch, without)
	says(t, say(exitFailed, "search", "run", "s", "--json"), branch, without)
	if out := say(exitDone, "query", "explain", "tiab:insulin", "--sources", "pubmed", "--count"); strings.Contains(out, "zzqqxx") || !strings.Contains(out, "counts") {
		t.Errorf("without the word: %s", out)
	}
}
