package patra_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/papertrace/patra/"

// layers says what each part of the tree may import of the others. A part may
// always import itself. Test files may import more: they introduce parts to
// each other as node does.
var layers = []struct {
	part    string
	imports []string
}{
	{"internal/domain/problem", nil},
	{"internal/domain/digest", nil},
	{"internal/domain/harvest", []string{"internal/domain/digest", "internal/domain/problem"}},
	{"internal/domain/pace", nil},
	{"internal/domain/nearest", nil},
	{"internal/domain/trace", nil},
	{"internal/domain/cloudevent", nil},
	{"internal/domain/doi", nil},
	{"internal/domain/markup", nil},
	{"internal/domain/citation", []string{"internal/domain/doi", "internal/domain/markup"}},
	{"internal/domain/letters", nil},
	{"internal/domain/work", []string{"internal/domain/doi", "internal/domain/letters", "internal/domain/markup"}},
	{"internal/domain/template", []string{"internal/domain/nearest"}},
	{"internal/domain/query", []string{"internal/domain/letters", "internal/domain/nearest", "internal/domain/template"}},
	{"internal/domain/schedule", []string{"internal/domain/harvest"}},
	{"internal/domain/source", []string{"internal/domain"}},
	// What a source says of itself knows of no key: keys know what they are for.
	{"internal/domain/credential", []string{"internal/domain/harvest", "internal/domain/source"}},
	// The executor sees a plan's snapshot and nothing of the registry (R47).
	// What a person may see or do is made of all of them; they know nothing of it.
	{"internal/app/control", []string{"internal/domain", "internal/app"}},
	{"internal/app/", []string{"internal/domain"}},
	{"internal/infra/", []string{"internal/domain", "internal/app"}},
	{"internal/sim/demo", []string{"internal/sim", "sources"}},
	{"internal/sim", nil},
	{"sources", nil},
	{"deploy", nil},
	{"internal/node", []string{"internal/domain", "internal/app", "internal/infra", "sources", "deploy"}},
	{"internal/mirror", nil},
	{"internal/bench", []string{"internal/domain", "internal/app", "internal/infra", "internal/node", "internal/sim", "sources"}},
	{"internal/patratest", []string{"internal/domain", "internal/app", "internal/infra", "internal/node", "internal/sim", "sources"}},
	{"internal/proctest", nil},
	// A command parses, calls and prints: it sees the operator's room and no store, file or vault.
	{"cmd/patra", []string{"internal/domain/harvest", "internal/app/control", "internal/node", "internal/sim"}},
}

// TestImportsPointInward parses every file's imports and holds them against the
// table. App packages do not import each other, but for control which may import
// all of them, nor do infra packages; only
// tests import the test helpers.
func TestImportsPointInward(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && isNotKept(name, d) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(name)
		allowed, found := rule(pkg)
		if !found {
			t.Errorf("%s: no layer is named for it in layers_test.go", pkg)
			return nil
		}
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			to, ours := strings.CutPrefix(p, module)
			if !ours {
				if !mayUse(pkg, p) {
					t.Errorf("%s imports %s: the domain uses the standard library only, and two packages of it one library each", name, p)
				}
				continue
			}
			if !mayImport(pkg, to, allowed) {
				t.Errorf("%s imports %s: imports point inward", name, to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Fatalf("only %d files seen", files)
	}
}

// mayUse reports whether a package may import one that is not ours. The expression
// library has one user, so that there is one guard over it; the standard library has
// no normal forms of Unicode, which the project that makes it keeps beside it.
func mayUse(pkg, imported string) bool {
	const library = "github.com/expr-lang/expr"
	isLibrary := imported == library || strings.HasPrefix(imported, library+"/")
	isStandard := !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")
	switch {
	case isLibrary:
		return pkg == "internal/domain/template"
	case imported == "golang.org/x/text/unicode/norm":
		return pkg == "internal/domain/citation" || !strings.HasPrefix(pkg, "internal/domain/")
	case strings.HasPrefix(pkg, "internal/domain/"):
		return isStandard
	}
	return true
}

func rule(pkg string) ([]string, bool) {
	for _, l := range layers {
		if pkg == l.part || strings.HasPrefix(pkg, strings.TrimSuffix(l.part, "/")+"/") {
			return l.imports, true
		}
	}
	return nil, false
}

func mayImport(from, to string, allowed []string) bool {
	if to == from {
		return true
	}
	for _, a := range allowed {
		if to == a || strings.HasPrefix(to, a+"/") {
			return true
		}
	}
	return false
}
