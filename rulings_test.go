package patra_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// citation is the number of a rule, as comments, names of tests and documents
// cite it: R64, C12, M1.4, TestR64_WhatProvesTheEnd, R8 in TestR1_R8_EveryOrder.
var citation = regexp.MustCompile(`(?:^|[^A-Za-z0-9\-]|Test|Fuzz|Benchmark)([RCPIMA][1-9][0-9]{0,2}(?:\.[0-9])?)(?:$|[^A-Za-z0-9])`)

// notARule are words that only look like the number of a rule: percentiles, a curve
// of cryptography, and tags of RIS.
var notARule = []string{"P50", "P95", "P99", "P256", "M2", "M3"}

// citations returns the numbers cited in a text. Every character may be the end
// of one citation and the beginning of the next.
func citations(text string) []string {
	if !mayCite(text) {
		return nil
	}
	var found []string
	for at := 0; at < len(text); {
		m := citation.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		number := text[at+m[2] : at+m[3]]
		at += m[3]
		if !slices.Contains(notARule, number) {
			found = append(found, number)
		}
	}
	return found
}

// mayCite is a quick look, which spares most lines the slow one.
func mayCite(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i] >= '1' && text[i] <= '9' && strings.IndexByte("RCPIMA", text[i-1]) >= 0 {
			return true
		}
	}
	return false
}

// isNotKept reports whether it is a folder of what was built or fetched, such as the other programs
// of make bench-peers, and no part of the repository. In a second work tree .git is a file.
func isNotKept(name string, d fs.DirEntry) bool {
	return d.IsDir() && (name == ".git" || name == "bin" || name == ".cache")
}

// eachFile calls f with every file of the tree that one of the endings fits,
// leaving out recorded replies.
func eachFile(t *testing.T, endings []string, f func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if isNotKept(name, d) || d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || !slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f(name, string(b))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// registered is an entry of docs/rulings.md, namedTest a test that a document
// names: of a package, a case of the suite of stores, or several by the beginning
// of their names.
var (
	registered = regexp.MustCompile(`(?m)^- \*\*([RCPIMA][0-9]+(?:\.[0-9])?) `)
	namedTest  = regexp.MustCompile("`(?:([a-z]+)\\.)?((?:Test|Fuzz)[A-Za-z0-9]+(?:_[A-Za-z0-9_]*)?)(/[^` ]*)?(\\.\\.\\.)?`")
)

const register = "docs/rulings.md"

// TestRulings_EveryNumberCitedIsThere: a comment, a test or a document that cites a rule
// is of no use to a reader who cannot look it up.
func TestRulings_EveryNumberCitedIsThere(t *testing.T) {
	b, err := os.ReadFile(register)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range registered.FindAllStringSubmatch(string(b), -1) {
		if known[m[1]] {
			t.Errorf("%s: %s is there twice", register, m[1])
		}
		known[m[1]] = true
	}
	cited := 0
	eachFile(t, []string{".go", ".md", ".yaml", ".sql", ".sh", ".json", "Makefile", ".ci/run"}, func(name, text string) {
		for i, line := range strings.Split(text, "\n") {
			for _, number := range citations(line) {
				cited++
				if !known[number] {
					t.Errorf("%s:%d cites %s, which is not in %s", name, i+1, number, register)
				}
			}
		}
	})
	if cited < 500 {
		t.Fatalf("only %d citations seen", cited)
	}
}

// TestRulings_TestsNamedExist: every entry of the register names a test that
// proves it, and every test that a document names is there.
func TestRulings_TestsNamedExist(t *testing.T) {
	tests := map[string][]string{} // the folders that have a test of that name
	cases := ""
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
	eachFile(t, []string{".go"}, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(text, -1) {
				tests[m[1]] = append(tests[m[1]], path.Base(path.Dir(name)))
			}
		}
		if strings.HasPrefix(name, "internal/infra/sqlstore/") {
			cases += text
		}
	})
	eachFile(t, []string{".md"}, func(doc, text string) {
		for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
			folder := m[1]
			name := m[2]
			sub := m[3]
			more := m[4] != ""
			switch {
			case folder != "" && !slices.Contains(tests[name], folder):
				t.Errorf("%s names %s of a package %s, which has no such test", doc, name, folder)
			case more && !hasPrefix(tests, name):
				t.Errorf("%s names tests that begin with %s, and there are none", doc, name)
			case !more && tests[name] == nil:
				t.Errorf("%s names %s, which is no test", doc, name)
			case name == "TestStore" && sub != "" && !strings.Contains(cases, strconv.Quote(path.Base(sub))):
				t.Errorf("%s names %s, which is no case of the suite of stores", doc, sub)
			}
		}
	})
	b, err := os.ReadFile(register)
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(b), "\n- ") {
		if m := registered.FindStringSubmatch("- " + entry); m != nil && !strings.Contains(entry, "Test: `") {
			t.Errorf("%s: %s names no test that proves it", register, m[1])
		}
	}
}

func hasPrefix(tests map[string][]string, prefix string) bool {
	for name := range tests {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// TestDocuments_CitedAreHere: what a reader of this repository cannot open is
// not cited; the thing itself is said instead.
func TestDocuments_CitedAreHere(t *testing.T) {
	elsewhere := []string{
		"appendix a", "appendix b", "appendix c", "window-slicing", "ingest-design", "core-schema", "runtime-schema", "registry-guide",
		"registry guide", "the guide's", "testux", "§",
	}
	eachFile(t, []string{".go", ".md", ".yaml", ".sql", ".sh", "Makefile"}, func(name, text string) {
		if name == "rulings_test.go" {
			return
		}
		text = strings.ToLower(text)
		for _, words := range elsewhere {
			if before, _, cited := strings.Cut(text, words); cited {
				t.Errorf("%s:%d cites %q, which is not in this repository", name, 1+strings.Count(before, "\n"), words)
			}
		}
	})
}

// TestDocuments_FilesNamedExist: a document that leads to a file leads to one
// that is there.
func TestDocuments_FilesNamedExist(t *testing.T) {
	named := regexp.MustCompile("`((?:cmd|internal|docs|sources|scripts)/[A-Za-z0-9_./-]*)`|\\]\\(([A-Za-z0-9_./-]+)\\)")
	looked := 0
	eachFile(t, []string{".md"}, func(doc, text string) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			name := m[1]
			if m[2] != "" {
				name = path.Join(path.Dir(doc), m[2])
			}
			looked++
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s names %s: %v", doc, name, err)
			}
		}
	})
	if looked < 50 {
		t.Fatalf("only %d names seen", looked)
	}
}

// mayHoldANumber are the strings of the program that hold the number of a rule
// and are no message, by file: the codes in the JSON of `patra verify`, and a tag of RIS.
var mayHoldANumber = map[string]*regexp.Regexp{
	"internal/infra/sqlstore/verify.go": regexp.MustCompile(`^(I[0-9]+|C11)$`),
	"internal/app/citefile/ris.go":      regexp.MustCompile(`^C2$`),
}

// TestMessagesHoldNoRuleNumber looks at every string of the program: whoever
// reads a message has never heard of R57, so it says the thing itself.
func TestMessagesHoldNoRuleNumber(t *testing.T) {
	looked := 0
	eachFile(t, []string{".go"}, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			looked++
			said, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatalf("%s: %v", set.Position(lit.Pos()), err)
			}
			if allowed := mayHoldANumber[name]; allowed != nil && allowed.MatchString(said) {
				return true
			}
			for _, number := range citations(said) {
				t.Errorf("%s: a text holds %s: say what holds and what to do instead, users do not know the rule", set.Position(lit.Pos()), number)
			}
			return true
		})
	})
	if looked < 5000 {
		t.Fatalf("only %d texts seen", looked)
	}
}
