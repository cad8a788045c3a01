package control_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestExplain_EveryCodeHasItsPage: each constant of the type of codes is explained
// once, in whole sentences, and nothing else is.
func TestExplain_EveryCodeHasItsPage(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../domain/harvest/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Code" {
			declared[text(v.Values[0].(*ast.BasicLit))] = true
		}
		return true
	})
	seen := map[harvest.Code]bool{}
	for _, m := range harvest.Meanings() {
		if seen[m.Code] || !declared[string(m.Code)] {
			t.Errorf("%s is explained twice, or is no code", m.Code)
		}
		seen[m.Code] = true
		for _, s := range []string{m.Means, m.Does, m.Do} {
			if s == "" || strings.Contains(s, "(R") {
				t.Errorf("%s: %q", m.Code, s)
			}
		}
	}
	if len(seen) != len(declared) || len(seen) < 40 {
		t.Errorf("%d codes are explained of %d", len(seen), len(declared))
	}
}

// TestExplain_EveryWordOfTheRulesHasItsPage: every constant of the rules that is a word
// of its own type, such as a state, a strategy or what came of a trigger, is explained.
// Types whose words nobody meets outside of the program are named here.
func TestExplain_EveryWordOfTheRulesHasItsPage(t *testing.T) {
	inside := map[string]bool{
		"Absence":    true, // decides what becomes of a record; the record's status is stored
		"Bound":      true, // of a slice: always the same
		"RunOutcome": true, // decides the states of run, task and slice, which are stored
	}
	files, err := filepath.Glob("../../domain/harvest/*.go")
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			kind, typed := v.Type.(*ast.Ident)
			lit, written := v.Values[0].(*ast.BasicLit)
			if !typed || !written || lit.Kind != token.STRING || inside[kind.Name] {
				return true
			}
			words++
			if _, err := control.ExplainCode(text(lit)); err != nil {
				t.Errorf("%s %s: %v", kind.Name, v.Names[0].Name, err)
			}
			return true
		})
	}
	if words < 120 {
		t.Errorf("%d words found: this test has lost them", words)
	}
}

// text is the string that a literal stands for.
func text(lit *ast.BasicLit) string {
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}

// TestExplain_CodesAreWrittenOnce: outside of the file of codes no program text
// spells a code of a fault out.
func TestExplain_CodesAreWrittenOnce(t *testing.T) {
	known := map[string]bool{}
	for _, m := range harvest.Meanings() {
		known[string(m.Code)] = strings.Contains(string(m.Code), "_")
	}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		other := strings.Contains(path, "/sim") || strings.Contains(path, "/bench")
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "harvest/code.go") || other {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				column := text(lit) == "quiet_hours" && strings.HasSuffix(path, "registry_column.go") // a name of a column
				if known[text(lit)] && !column {
					t.Errorf("%s spells %s out", files.Position(lit.Pos()), text(lit))
				}
				if strings.Contains(text(lit), "error_code='") {
					t.Errorf("%s spells a code out in SQL", files.Position(lit.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestExplain_AWordInEverySense: codes, the codes of any HTTP status, states of
// several things, in any case; and what is none.
func TestExplain_AWordInEverySense(t *testing.T) {
	for word, want := range map[string][]string{
		"poison":     {"gaps"},
		" RATE_WAIT": {"waiting"},
		"http_503":   {"what came"},
		"no_gap":     {"refusal"},
		"safety_lag": {"why work waits"},
		"failed":     {"refusal", "states of a plan", "states of a slice", "states of a task", "states of an attempt", "states of a page", "what came of a trigger"},
	} {
		got, err := control.ExplainCode(word)
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		var kinds []string
		for _, e := range got.Explained {
			kinds = append(kinds, e.Kind)
		}
		if strings.Join(kinds, ", ") != strings.Join(want, ", ") {
			t.Errorf("%s is explained as %q, want %q", word, kinds, want)
		}
	}
	for _, word := range []string{"http_", "http_99", "solr_error"} {
		_, err := control.ExplainCode(word)
		if unknown, ok := errors.AsType[*control.UnknownCodeError](err); !ok || unknown.Word != word {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// TestExplain_EveryRefusalHasItsPage: whatever code a message may bear is explained, in
// whole sentences, and nothing is that no message bears.
func TestExplain_EveryRefusalHasItsPage(t *testing.T) {
	born := map[string]string{}
	inProblem := regexp.MustCompile(`(?:problem\.|control\.)?Problem\{\s*Code:\s*"([a-z0-9_]+)"`)
	inCondition := regexp.MustCompile(`ConditionError\{\s*Kind:\s*"([a-z0-9_]+)"`)
	inMessage := regexp.MustCompile(`\[([a-z0-9_]+)\]\\n`)
	for _, root := range []string{"../../../internal", "../../../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, bearer := range []*regexp.Regexp{inProblem, inCondition, inMessage} {
				for _, m := range bearer.FindAllStringSubmatch(string(b), -1) {
					born[m[1]] = path
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(born) < 40 {
		t.Fatalf("%d codes were found", len(born))
	}
	explained := map[string]bool{}
	all, err := control.ExplainCode("")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all.Explained {
		explained[e.Code] = true
		if e.Kind != "refusal" {
			continue
		}
		if born[e.Code] == "" {
			t.Errorf("%s is explained, and no message bears it", e.Code)
		}
		for _, s := range []string{e.Means, e.Do} {
			if !strings.HasSuffix(s, ".") {
				t.Errorf("%s: %q is no sentence", e.Code, s)
			}
		}
	}
	for code, path := range born {
		if !explained[code] {
			t.Errorf("%s of %s is not explained", code, path)
		}
	}
}
