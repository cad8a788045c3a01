package main

import (
	"path/filepath"
	"strings"
	"testing"
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
