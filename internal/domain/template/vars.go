package template

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// Vars are the variables that templates of one place may read.
type Vars struct {
	example any
	// signature names the variables and their types.
	signature string
	// names are those that are known one by one, as in "window.from"; under one of
	// open there is any name, as in "query.filter".
	names []string
	open  []string
	// blanks is the word before the names of blanks, "secret" in ${secret.NAME}.
	blanks string
}

// NewVars declares variables by a value of the type that will hold them: a struct
// whose fields are named by their tags `expr:"..."`, or a map by name. Within it
// structs have names of their own and maps any.
func NewVars(example any) *Vars {
	v := &Vars{example: example, signature: fmt.Sprintf("%T", example)}
	m, isMap := example.(map[string]any)
	if !isMap {
		v.declare("", reflect.TypeOf(example))
		return v
	}
	v.names = slices.Sorted(maps.Keys(m))
	for _, name := range v.names {
		v.signature += fmt.Sprintf(" %s %T", name, m[name])
	}
	return v
}

func (v *Vars) declare(prefix string, t reflect.Type) {
	for field := range t.Fields() {
		if !field.IsExported() {
			continue
		}
		name := prefix + field.Tag.Get("expr")
		_, isValue := kinds[field.Type]
		switch {
		case isValue:
			v.names = append(v.names, name)
		case field.Type.Kind() == reflect.Map:
			v.open = append(v.open, name+".")
		default:
			v.declare(name+".", field.Type)
		}
	}
}

// WithBlanks are the same variables beside blanks ${word.NAME}, which stand alone
// in their braces.
func (v *Vars) WithBlanks(word string) *Vars {
	with := *v
	with.blanks = word
	with.signature += " blanks " + word
	return &with
}

var blankName = regexp.MustCompile(`^\s*([A-Za-z]+)\.([A-Za-z0-9_]+)\s*$`)

// parsePart compiles what stands between the braces.
func (v *Vars) parsePart(source string) (Part, error) {
	if m := blankName.FindStringSubmatch(source); m != nil && v.blanks != "" && m[1] == v.blanks {
		return Part{Blank: m[2]}, nil
	}
	if strings.TrimSpace(source) == "" {
		return Part{}, errors.New("the expression is empty")
	}
	seen := new(rootVisitor)
	options := append(slices.Clone(functionOptions), expr.Env(v.example), expr.Patch(seen))
	program, err := expr.Compile(source, options...)
	if seen.root == nil {
		return Part{}, plainly(err)
	}
	// The guard speaks first: it knows what was meant, the library only what it read.
	g := guard{vars: v}
	g.check(seen.root)
	if g.err != nil {
		return Part{}, g.err
	}
	if err != nil {
		return Part{}, plainly(err)
	}
	part := Part{Names: g.names, Calls: g.calls, Elements: g.elements, Dates: g.dates, Type: kinds[seen.root.Type()], source: source, program: program}
	if part.Type == KindList {
		return Part{}, errors.New("a list has no text of its own: use join() or json()")
	}
	return part, nil
}

// rootVisitor keeps the root of the tree, which is visited last.
type rootVisitor struct{ root ast.Node }

func (r *rootVisitor) Visit(node *ast.Node) { r.root = *node }
