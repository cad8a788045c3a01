package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func commands() *cobra.Command {
	c := &cli{printer: printer{out: io.Discard, err: io.Discard}, source: "SOURCE"}
	return c.root()
}

// What commands do, by their names. Each is in one of these lists.
var (
	// reads show something and change nothing.
	reads = []string{
		"alert list", "alert show", "audit list", "batch show", "blackbox show", "coverage", "credential list", "cursor events", "cursor list", "cursor show",
		"db archive list", "db archive show", "db backup", "db grants", "db status", "doctor", "error list", "error show", "explain", "export", "outbox list", "outbox show", "outbox target list", "plan gaps", "plan list",
		"plan show", "plan slices", "plan spec", "quarantine list", "quarantine show", "query explain", "queue show", "rate show", "record history", "record list", "record show", "replay",
		"report search", "run list", "run show", "run why", "schedule list", "schedule show", "search count", "search export", "search list", "search report",
		"search show", "source check", "source diff", "source history", "source lint", "source list", "source show", "source test", "status", "task list", "task show",
		"task why", "token list", "verify", "version", "work identifiers", "work list", "work show", "work suggestions",
	}
	// changes alter what is stored, or have something asked of a source that is stored.
	changes = []string{
		"alert ack", "alert snooze", "alert test", "backfill", "credential allow", "credential disable", "credential rotate", "credential set", "cursor skip",
		"db archive", "db compact", "db migrate", "error ack", "error mute", "error resolve", "harvest", "outbox retry", "outbox target add", "outbox target remove", "plan accept-gap", "plan cancel", "plan create", "plan retry",
		"quarantine discard", "quarantine refetch", "quarantine reparse", "rate lower", "reconcile", "refresh", "schedule pause", "schedule remove", "schedule resume",
		"schedule set", "search new", "search remove", "search run", "search schedule", "search update", "source apply", "source pause", "source resume",
		"source rollback", "source schedule", "token new", "token revoke", "work join", "work link", "work revoke", "work split",
	}
	// apart are those that neither read nor change, each with the reason why the rules for
	// these do not hold for it.
	apart = map[string]string{
		"blackbox export":   "It writes a file and a line of the audit, for which it wants a reason, and changes nothing that could be looked at first.",
		"demo":              "It works in a store of its own until it is ended.",
		"deploy alerts":     "It prints a file that Prometheus reads.",
		"deploy compose":    "It prints a file that Docker reads.",
		"deploy grafana":    "It prints a file that Grafana reads, which is JSON already.",
		"deploy kubernetes": "It prints a file that Kubernetes reads.",
		"deploy man":        "It writes pages for man, and knows no store.",
		"deploy reference":  "It prints a page of the documentation.",
		"deploy systemd":    "It prints a unit of systemd.",
		"init":              "It makes a folder with a file of settings, and there is no store yet.",
		"serve":             "It works until it is ended; what it does is read with other commands.",
		"sim":               "It answers as sources do until it is ended, and knows no store.",
		"source export":     "It prints a pack, which is YAML and is read by source apply.",
		"source new":        "It prints a skeleton of a pack, which is YAML, and knows no store.",
		"source schema":     "It prints a JSON Schema.",
		"up":                "It works until it is ended; what it does is read with other commands.",
	}
)

// withoutApply are the changes whose preview holds nothing that could be made exactly, each with
// why. All others take its token by --apply.
var withoutApply = map[string]string{
	"alert test":    "It sends messages, and nothing is stored that could have moved.",
	"backfill":      "The token of its preview makes the plan by plan create --apply, and the command then works on that.",
	"db compact":    "It goes on with what there is, which harvests add to meanwhile.",
	"db migrate":    "What it does is a part of this build.",
	"harvest":       "The token of its preview makes the plan by plan create --apply, and the command then works on that.",
	"reconcile":     "It asks the source anew, which may count otherwise by then.",
	"search run":    "Its preview counts; each source is planned when its turn comes.",
	"search update": "Its preview counts; each source is planned when its turn comes.",
	"work link":     "It goes on with what there is, which harvests add to meanwhile.",
}

// TestTree_EveryCommandKeepsTheRules: an example on every command, data from every one
// that answers, a preview, a reason and a way to make what was shown for every one that changes
// something.
func TestTree_EveryCommandKeepsTheRules(t *testing.T) {
	all := leaves(commands())
	kinds := map[string][]string{"read": reads, "change": changes, "apart": slices.Collect(maps.Keys(apart))}
	listed := 0
	for _, names := range kinds {
		listed += len(names)
	}
	if listed != len(all) {
		t.Errorf("there are %d commands, and %d are listed", len(all), listed)
	}
	for _, cmd := range all {
		path := cmd.CommandPath()
		var kind []string
		for k, names := range kinds {
			if slices.Contains(names, strings.TrimPrefix(path, "patra ")) {
				kind = append(kind, k)
			}
		}
		if len(kind) != 1 {
			t.Errorf("%s is listed as %q: say once whether it reads or changes", path, kind)
			continue
		}
		for _, broken := range brokenRules(cmd, kind[0]) {
			t.Errorf("%s %s", path, broken)
		}
	}
}

// brokenRules are those of a kind of command that one does not keep.
func brokenRules(cmd *cobra.Command, kind string) (out []string) {
	expect := func(flag string, want bool) {
		if has := cmd.Flags().Lookup(flag) != nil; has != want {
			out = append(out, fmt.Sprintf("(%s) has --%s: %t", kind, flag, has))
		}
	}
	if !strings.Contains(cmd.Example, cmd.CommandPath()) {
		out = append(out, fmt.Sprintf("has no example of itself: %q", cmd.Example))
	}
	if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
		out = append(out, fmt.Sprintf("is told of as %q", cmd.Short))
	}
	if kind != "apart" {
		expect("json", true)
		expect("reason", kind == "change")
	}
	expect("dry-run", kind == "change")
	_, exempt := withoutApply[strings.TrimPrefix(cmd.CommandPath(), "patra ")]
	expect("apply", kind == "change" && !exempt)
	if kind == "read" && slices.Contains(readVerbs, cmd.Name()) && !slices.Contains(stillLife, cmd.CommandPath()) {
		expect("watch", true)
	}
	if cmd.Flags().Lookup("watch") != nil && kind != "read" {
		out = append(out, "takes --watch, and is no read")
	}
	return out
}

// TestTree_NoCommandEscapesTheWalk: what does something by itself is one of those that are walked
// over, also where it has commands below it.
func TestTree_NoCommandEscapesTheWalk(t *testing.T) {
	walked := leaves(commands())
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		own := cmd.LocalNonPersistentFlags()
		own.VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && cmd.HasParent() && !slices.ContainsFunc(walked, func(w *cobra.Command) bool { return w.CommandPath() == cmd.CommandPath() }) {
				t.Errorf("%s takes --%s and is not walked over", cmd.CommandPath(), f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.Name() != "completion" {
				visit(sub)
			}
		}
	}
	visit(commands())
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

// TestConfiguration_IsCurrent: docs/configuration.md is what the settings say of themselves.
func TestConfiguration_IsCurrent(t *testing.T) {
	want := configurationReference(commands())
	got, err := os.ReadFile("../../docs/configuration.md")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/configuration.md is stale (%v): go run ./cmd/patra deploy reference --configuration > docs/configuration.md", err)
	}
}

// TestConfiguration_EveryVariableIsTold: every variable of the environment that the code names is
// a setting or one of those that stand in no file.
func TestConfiguration_EveryVariableIsTold(t *testing.T) {
	variable := regexp.MustCompile(`"((?:PATRA|OTEL|XDG)_[A-Z_]+|NO_COLOR|NOTIFY_SOCKET|GOGC|GOMEMLIMIT)"`)
	found := 0
	for _, root := range []string{".", "../../internal/node", "../../internal/infra", "../../internal/app", "../../internal/domain"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, m := range variable.FindAllSubmatch(code, -1) {
				name := string(m[1])
				found++
				isShared := slices.ContainsFunc(shared, func(s struct{ flag, env string }) bool { return s.env == name })
				if !isShared && !isOutsideFiles(name) {
					t.Errorf("%s names %s, and docs/configuration.md does not tell of it: add it to outsideFiles", path, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < len(shared)+len(outsideFiles)/2 {
		t.Errorf("only %d variables were found in the code", found)
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
