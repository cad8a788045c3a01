package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourceTest_FromTheCommandLine: cases beside a pack are run without a database;
// what differs is named with its line and ends with the code for differences.
func TestSourceTest_FromTheCommandLine(t *testing.T) {
	file := write(t, "mini.yaml", mini)
	cases := filepath.Join(filepath.Dir(file), "mini.cases.yaml")
	put := func(title string) {
		t.Helper()
		text := `cases:
  - name: one item
    reply: {body: '{"items": [{"id": "1", "updated": "2026-08-01T00:00:00Z", "title": "One"}]}'}
    expect: {items: 1, records: [{id: "1", fields: {title: ` + title + `}}]}
`
		if err := os.WriteFile(cases, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, e := patra(t, "source", "test", file); code == 0 || !strings.Contains(e, "no mini.cases.yaml beside it") {
		t.Errorf("without cases: %d %s", code, e)
	}
	put("One")
	if code, out, e := patra(t, "source", "test", file, cases); code != exitDone || !strings.Contains(out, "mini.yaml: 1 of 1 case as expected") || strings.Count(out, "as expected") != 1 {
		t.Errorf("%d %s%s", code, out, e)
	}
	if code, out, e := patra(t, "source", "lint", file, cases); code != exitDone || !strings.Contains(out, "mini.cases.yaml: ok") {
		t.Errorf("%d %s%s", code, out, e)
	}
	put("Two")
	code, out, _ := patra(t, "source", "test", file)
	if code != exitDifferences || !strings.Contains(out, `mini.cases.yaml:2: one item`) || !strings.Contains(out, `record 1: title is "One", expected "Two"`) {
		t.Errorf("%d %s", code, out)
	}
	code, out, _ = patra(t, "source", "test", file, "--json")
	var view struct {
		Held, Failed int
		Packs        []struct {
			Results []struct{ Differences []string }
		}
	}
	if err := json.Unmarshal([]byte(out), &view); err != nil || code != exitDifferences || view.Failed != 1 || len(view.Packs) != 1 || len(view.Packs[0].Results[0].Differences) != 1 {
		t.Errorf("%d %s %v", code, out, err)
	}
	if code, out, e := patra(t, "source", "test", "crossref", "pubmed"); code != exitDone {
		t.Errorf("shipped packs: %d %s%s", code, out, e)
	}
}
