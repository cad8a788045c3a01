package patratest

import (
	"embed"
	"regexp"
	"strings"
	"testing"
)

// guide holds the statements of the registry's design as they are printed there, without their comments: those of its
// first chapter (quick-start), those of 2.7 (example), and those that read.
//
//go:embed guide/*.sql
var guide embed.FS

// GuideStatements are the statements of one example of the registry's design. Words with a colon before them are what a
// caller puts in, here as SQL.
func GuideStatements(t testing.TB, example string, put map[string]string) []string {
	t.Helper()
	text, err := guide.ReadFile("guide/" + example + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for s := range strings.SplitSeq(string(text), ";\n") {
		s = namedPlace.ReplaceAllStringFunc(s, func(word string) string {
			value, known := put[word[1:]]
			if !known {
				t.Fatalf("%s: nothing is given for %s", example, word)
			}
			return value
		})
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

var (
	namedPlace = regexp.MustCompile(`:[A-Za-z_]+\b`)
	assignment = regexp.MustCompile(`(?s)^SET (@\w+) = (.*)$`)
)

// WithoutVariables are statements for SQLite, which has no variables: each is read where it was set. Nothing else
// differs.
func WithoutVariables(statements []string) []string {
	values := map[string]string{}
	var out []string
	for _, s := range statements {
		set := assignment.FindStringSubmatch(s)
		if set != nil {
			values[set[1]] = set[2]
			continue
		}
		for name, value := range values {
			s = strings.ReplaceAll(s, name, value)
		}
		out = append(out, s)
	}
	return out
}
