// Command mirror counts how densely a tree of Go files is written: acts per
// line, branches per function, comments per code. The figures are a mirror and
// not a target; they are printed side by side so that two trees, or one tree at
// two times, can be compared by the same measure.
//
//	go run ./internal/mirror            this tree
//	go run ./internal/mirror DIR...     other trees, one after the other
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// What counts as much.
const (
	manyTargets = 3   // values assigned in one statement
	wide        = 140 // columns, a tab counts four
	branchy     = 25  // branches of one function
)

func main() {
	dirs := os.Args[1:]
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	for _, dir := range dirs {
		if err := show(dir); err != nil {
			fmt.Fprintln(os.Stderr, "mirror:", err)
			os.Exit(1)
		}
	}
}

// density is what was counted in the files of one kind.
type density struct {
	files, longest    int
	code, comments    int // lines
	parallel, ifAfter int // statements
	wideLines         int
	branches, lengths []int // of every function
	knots             []knot
}

// knot is a function with many branches.
type knot struct {
	branches int
	name     string
	file     string
}

// show counts the files of a tree and prints what it found, apart for the tests.
func show(dir string) error {
	var production, tests density
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		if strings.HasSuffix(name, "_test.go") {
			return tests.add(name)
		}
		return production.add(name)
	})
	if err != nil {
		return err
	}
	fmt.Println(dir)
	production.print("without tests")
	tests.print("tests")
	for _, k := range production.knots {
		fmt.Printf("  %3d branches  %s in %s\n", k.branches, k.name, k.file)
	}
	return nil
}

// add counts one file.
func (d *density) add(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	d.files++
	d.longest = max(d.longest, len(lines))
	for _, line := range lines {
		d.addLine(line)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) >= manyTargets && len(n.Rhs) >= manyTargets {
				d.parallel++
			}
		case *ast.IfStmt:
			if assigns(n.Init) {
				d.ifAfter++
			}
		case *ast.FuncDecl:
			d.addFunction(name, n, files.Position(n.End()).Line-files.Position(n.Pos()).Line+1)
		}
		return true
	})
	return nil
}

func (d *density) addLine(line string) {
	switch trimmed := strings.TrimSpace(line); {
	case trimmed == "":
	case strings.HasPrefix(trimmed, "//"):
		d.comments++
	default:
		d.code++
		if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > wide {
			d.wideLines++
		}
	}
}

func (d *density) addFunction(file string, f *ast.FuncDecl, lines int) {
	n := branchesOf(f)
	d.branches = append(d.branches, n)
	d.lengths = append(d.lengths, lines)
	if n > branchy {
		d.knots = append(d.knots, knot{n, f.Name.Name, file})
	}
}

// assigns reports whether the first part of an if changes something that was
// there before, as in `if err = f(); err != nil`.
func assigns(init ast.Stmt) bool {
	switch s := init.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// branchesOf is one more than the places at which a function may go on in two ways.
func branchesOf(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CaseClause, *ast.CommClause:
			n++
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func (d *density) print(kind string) {
	if d.files == 0 {
		return
	}
	slices.Sort(d.branches)
	slices.Sort(d.lengths)
	slices.SortFunc(d.knots, func(a, b knot) int { return cmp.Compare(b.branches, a.branches) })
	thousands := float64(d.code) / 1000
	tenth := len(d.branches) * 9 / 10
	fmt.Printf("  %s: %d files, the longest %d lines; %d lines of code\n", kind, d.files, d.longest, d.code)
	fmt.Printf("    %5.2f per 1,000 lines  assignments of three and more values (%d)\n", float64(d.parallel)/thousands, d.parallel)
	fmt.Printf("    %5.2f per 1,000 lines  if x = f(); condition (%d)\n", float64(d.ifAfter)/thousands, d.ifAfter)
	fmt.Printf("    %5.1f %%                comments per code\n", 100*float64(d.comments)/float64(d.code))
	fmt.Printf("    %5.2f %%                lines over %d columns (%d)\n", 100*float64(d.wideLines)/float64(d.code), wide, d.wideLines)
	fmt.Printf("    %5d                  functions over %d branches; of ten, nine have at most %d, and %d lines\n",
		len(d.knots), branchy, d.branches[tenth], d.lengths[tenth])
}
