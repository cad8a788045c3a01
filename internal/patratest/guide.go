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
	readInto   = regexp.MustCompile(`(?s)^SELECT (\w+)\s+INTO (@\w+)\s+(FROM .*)$`)
)

// WithoutVariables are statements for SQLite, which has no variables: each is read where it was set. Nothing else
// differs.
func WithoutVariables(statements []string) []string {
	values := map[string]string{}
	var out []string
	for _, s := range statements {
		s = strings.TrimSpace(s)
		read := readInto.FindStringSubmatch(s)
		if read != nil {
			values[read[2]] = "(SELECT " + read[1] + " " + read[3] + ")"
			continue
		}
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

// forSQLite puts what SQLite has in place of what it has not: selects in brackets that are
// united, each of which is selected from, and a function for the time.
var forSQLite = strings.NewReplacer("(SELECT *", "SELECT * FROM (SELECT *", "UTC_TIMESTAMP()", "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')")

// ReadBySQLite are statements that read, for SQLite.
func ReadBySQLite(statements []string) []string {
	var out []string
	for _, s := range WithoutVariables(statements) {
		out = append(out, forSQLite.Replace(s))
	}
	return out
}
