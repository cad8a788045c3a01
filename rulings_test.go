package patra_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// citation is the number of a rule, as comments, names of tests and documents
// cite it: R64, C12, M1.4, TestR64_WhatProvesTheEnd, R8 in TestR1_R8_EveryOrder.
var citation = regexp.MustCompile(`(?:^|[^A-Za-z0-9\-]|Test|Fuzz|Benchmark)([RCPIMA][1-9][0-9]{0,2}(?:\.[0-9])?)(?:$|[^A-Za-z0-9])`)

// notARule are words that only look like the number of a rule: percentiles, and
// a curve of cryptography.
var notARule = []string{"P50", "P95", "P99", "P256"}

// citations returns the numbers cited in a text. Every character may be the end
// of one citation and the beginning of the next.
func citations(text string) []string {
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

// eachFile calls f with every file of the tree that one of the endings fits,
// leaving out recorded replies.
func eachFile(t *testing.T, endings []string, f func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "bin") {
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

// mayHoldANumber are the strings of the program that hold the number of a rule
// and are no message, by file: the codes in the JSON of `patra verify`.
var mayHoldANumber = map[string]*regexp.Regexp{
	"internal/infra/sqlstore/verify.go": regexp.MustCompile(`^(I[0-9]+|C11)$`),
}

// TestMessagesHoldNoRuleNumber looks at every string of the program: whoever
// reads a message has never heard of R57, so it says the thing itself. The suite
// of the store is test code, whose cases are named after rules.
func TestMessagesHoldNoRuleNumber(t *testing.T) {
	looked := 0
	eachFile(t, []string{".go"}, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/storetest/") {
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
