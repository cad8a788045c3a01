package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestVersion_SaysTheCommit: `patra version`, `patra --version` and the JSON name
// one and the same build, down to its commit.
func TestVersion_SaysTheCommit(t *testing.T) {
	was := linked
	linked = "0123456789ab"
	defer func() { linked = was }()
	_, verb, _ := patra(t, "version")
	if !strings.HasPrefix(verb, "patra ") || !strings.Contains(verb, commit()) || strings.Count(verb, "\n") != 1 {
		t.Errorf("patra version: %q, want one line with %s", verb, commit())
	}
	code, flag, _ := patra(t, "--version")
	if code != exitDone || flag != verb {
		t.Errorf("patra --version: exit %d, %q, want %q", code, flag, verb)
	}
	_, out, _ := patra(t, "version", "--json")
	var v struct{ Version, Commit string }
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Commit != commit() || v.Version != version() {
		t.Errorf("patra version --json: %s", out)
	}
}
