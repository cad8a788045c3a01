package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
	"github.com/spf13/cobra"
)

func commands() *cobra.Command {
	c := &cli{printer: printer{out: io.Discard, err: io.Discard}, source: "SOURCE"}
	return c.root()
}

// notData are the commands whose answer is a text or a file of its own, or that work until
// they are ended: there is no object to print.
var notData = []string{
	"patra demo", "patra serve", "patra sim", "patra db migrate", "patra source export", "patra source new", "patra source schema",
	"patra deploy alerts", "patra deploy compose", "patra deploy grafana", "patra deploy systemd", "patra deploy man", "patra deploy reference",
	"patra export",
}

// byItself are the commands that change what is stored by doing what they are for: reading
// from a source, which loses nothing and is undone by nobody.
var byItself = []string{"patra harvest", "patra backfill", "patra refresh"}

// audited are the commands that change nothing, and want a reason for what they show.
var audited = []string{"patra blackbox export"}

// TestTree_EveryCommandKeepsTheRules: an example on every command, data from every one
// that answers, a preview and a reason for every one that changes something.
func TestTree_EveryCommandKeepsTheRules(t *testing.T) {
	all := leaves(commands())
	if len(all) < 80 {
		t.Fatalf("%d commands were found", len(all))
	}
	for _, cmd := range all {
		path := cmd.CommandPath()
		has := func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
		if !strings.Contains(cmd.Example, path) {
			t.Errorf("%s has no example of itself: %q", path, cmd.Example)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s is told of as %q", path, cmd.Short)
		}
		if !has("json") && !slices.Contains(notData, path) {
			t.Errorf("%s answers, and has no --json", path)
		}
		if has("dry-run") != has("reason") && !slices.Contains(byItself, path) && !slices.Contains(audited, path) {
			t.Errorf("%s: --dry-run %t, --reason %t: a change has both", path, has("dry-run"), has("reason"))
		}
	}
}

// TestTree_EveryCommandHasAHeading: nothing is listed below all headings.
func TestTree_EveryCommandHasAHeading(t *testing.T) {
	for _, cmd := range commands().Commands() {
		if cmd.GroupID == "" && !cmd.Hidden {
			t.Errorf("%s is under no heading", cmd.CommandPath())
		}
	}
}

// TestReference_IsCurrent: docs/commands.md is what the commands say of themselves.
func TestReference_IsCurrent(t *testing.T) {
	want := reference(commands())
	got, err := os.ReadFile("../../docs/commands.md")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/commands.md is stale (%v): go run ./cmd/patra deploy reference > docs/commands.md", err)
	}
}

// TestCodes_AreCurrent: docs/codes.md is what patra explain says, and every fault of the
// simulator is told of.
func TestCodes_AreCurrent(t *testing.T) {
	want, err := codesReference()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/codes.md")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/codes.md is stale (%v): go run ./cmd/patra deploy reference --codes > docs/codes.md", err)
	}
	for _, f := range sim.AllFaults {
		if f.Meaning() == "" {
			t.Errorf("nothing says what %s does", f)
		}
	}
}

// TestManPages: there is one for each command, and no line of one is taken for an order to
// troff.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	root := commands()
	n, err := manPages(root, dir)
	if err != nil || n != len(leaves(root))+1 {
		t.Fatalf("%d pages, %v", n, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "patra-plan-cancel.1"))
	if err != nil || !bytes.Contains(page, []byte(".SH EXAMPLES")) || !bytes.Contains(page, []byte(`\-\-reason`)) {
		t.Errorf("%s, %v", page, err)
	}
	if got := roff("a\n.b\n'c \\ -d"); got != "a\n\\&.b\n\\&'c \\e \\-d" {
		t.Errorf("%q", got)
	}
}
