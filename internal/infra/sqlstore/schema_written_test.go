package sqlstore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unwritten are the columns that are there for what comes next, each with what will
// write it. They hold what they begin with.
var unwritten = map[string]string{}

// madeUp are columns whose statements are put together from names, so that no statement
// can be read in the code: the dictionary's rows, the counters of error groups, and
// quarantine, whose list of columns is a constant of its function, and whose message it is
// that a target refused.
var madeUp = []string{"sys_dict_", "ing_error_group.", "ing_meta.name", "ing_quarantine.", "ing_outbox_held.target_id"}

// TestR66_EveryColumnIsWritten: a column that no statement writes is always empty, and is
// to be dropped. Those of the registry are written by the keys of packs.
func TestR66_EveryColumnIsWritten(t *testing.T) {
	t.Parallel()
	words := writtenWords(t)
	for _, c := range slices.Sorted(maps.Keys(sqliteColumns(t))) {
		table, column, _ := strings.Cut(c, ".")
		isMadeUp := slices.ContainsFunc(madeUp, func(of string) bool { return strings.HasPrefix(c, of) })
		if strings.HasPrefix(table, "reg_") || column == "id" || isMadeUp {
			continue
		}
		switch later := unwritten[c] != ""; {
		case !words[column] && !later:
			t.Errorf("%s: no INSERT and no UPDATE of the store writes it; drop it, or say here what will", c)
		case words[column] && later:
			t.Errorf("%s: the store writes it, so take it off the list", c)
		}
	}
}

// writtenWords are the words of all statements of the store that stand where columns
// are written: in the list of an INSERT, behind the SET of an UPDATE, and in pairs of a
// column and its value.
func writtenWords(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	w := statements{constants: map[string]string{}, words: map[string]bool{}}
	var trees []*ast.File
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree)
		ast.Inspect(tree, w.noteConstants)
	}
	for _, tree := range trees {
		ast.Inspect(tree, w.noteWrites)
	}
	return w.words
}

// statements gathers what statements write.
type statements struct {
	constants map[string]string
	words     map[string]bool
}

// noteConstants remembers constants that hold a text.
func (w *statements) noteConstants(n ast.Node) bool {
	spec, is := n.(*ast.ValueSpec)
	if !is {
		return true
	}
	for i, name := range spec.Names {
		if i < len(spec.Values) {
			w.constants[name.Name] = w.text(spec.Values[i])
		}
	}
	return true
}

var (
	inserted = regexp.MustCompile(`(?s)\bINTO \w+ *\(([^)]*)`)
	assigned = regexp.MustCompile(`(?s)\bSET (.*?)(?:\bWHERE\b|$)`)
	aWord    = regexp.MustCompile(`\w+`)
)

// noteWrites remembers what the statements and pairs below a node write.
func (w *statements) noteWrites(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit, *ast.BinaryExpr:
		text := w.text(n.(ast.Expr))
		for _, found := range append(inserted.FindAllStringSubmatch(text, -1), assigned.FindAllStringSubmatch(text, -1)...) {
			for _, word := range aWord.FindAllString(found[1], -1) {
				w.words[word] = true
			}
		}
	case *ast.CompositeLit:
		if len(n.Elts) == 2 {
			w.words[w.text(n.Elts[0])] = true
		}
	}
	return true
}

// text is an expression as far as it is made of texts and constants.
func (w *statements) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return text
	case *ast.Ident:
		return w.constants[e.Name]
	case *ast.BinaryExpr:
		return w.text(e.X) + w.text(e.Y)
	}
	return ""
}
