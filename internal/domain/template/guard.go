package template

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/papertrace/patra/internal/domain/nearest"
)

// guard goes over an expression and refuses every kind of syntax but the plainest.
// There are no loops, closures or bindings, so that the work is bounded by the
// number of nodes.
type guard struct {
	vars  *Vars
	names []string
	calls []string
	// elements are the lists of which one element is read, each as often as it is.
	elements []string
	dates    []Date
	err      error
}

var operators = []string{
	"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "&&", "or", "||", "not", "!", "??", "in",
	"contains", "startsWith", "endsWith",
}

func (g *guard) check(node ast.Node) {
	switch n := node.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
	case *ast.IdentifierNode:
		g.variable(n.Value)
	case *ast.MemberNode:
		g.member(n)
	case *ast.ChainNode:
		g.check(n.Node)
	case *ast.ConditionalNode:
		g.checkAll(n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		g.checkAll(n.Nodes...)
	case *ast.UnaryNode:
		g.operator(n.Operator)
		g.check(n.Node)
	case *ast.BinaryNode:
		g.operator(n.Operator)
		g.checkAll(n.Left, n.Right)
	case *ast.CallNode:
		g.call(n)
	case *ast.BuiltinNode:
		g.function(n.Name)
		g.refuse("function %s cannot be called so", n.Name)
	default:
		g.refuse("%s does not belong in a template", strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast."))
	}
}

func (g *guard) checkAll(nodes ...ast.Node) {
	for _, n := range nodes {
		g.check(n)
	}
}

func (g *guard) operator(op string) {
	if !slices.Contains(operators, op) {
		g.refuse("operator %s does not belong in a template", op)
	}
}

func (g *guard) call(n *ast.CallNode) {
	callee, isName := n.Callee.(*ast.IdentifierNode)
	if !isName {
		g.refuse("only the functions of templates can be called")
		return
	}
	g.function(callee.Value)
	g.checkAll(n.Arguments...)
	g.arguments(callee.Value, n.Arguments)
	if callee.Value == "date" && len(n.Arguments) == 2 {
		g.date(n.Arguments[0], n.Arguments[1])
	}
}

// date notes how an instant is written, and refuses a layout that tells nothing of it:
// those of other languages, such as YYYY-MM-DD, are sent as they stand.
func (g *guard) date(at, layout ast.Node) {
	text, isText := layout.(*ast.StringNode)
	if !isText {
		return
	}
	if !slices.ContainsFunc(Units, func(u Unit) bool { return Tells(text.Value, u) }) {
		g.refuse("layout %q gives the same text for every instant: write 2 January 2006, 15:04:05 as it should look, such as '2006-01-02'", text.Value)
		return
	}
	read := guard{vars: g.vars}
	read.check(at)
	g.dates = append(g.dates, Date{Names: read.names, Layout: text.Value})
}

// arguments checks that the function takes what it is given, as far as its type is
// known. The library checks that too, but not of calls within calls.
func (g *guard) arguments(name string, given []ast.Node) {
	var takes []string
	for _, signature := range functions[name].types {
		t := reflect.TypeOf(signature).Elem()
		if t.IsVariadic() || t.NumIn() != len(given) {
			return // anything goes, or the library says what is missing
		}
		fits := true
		var names []string
		for i := range t.NumIn() {
			fits = fits && mayBe(given[i], t.In(i))
			names = append(names, typeName(t.In(i)))
		}
		if fits {
			return
		}
		takes = append(takes, name+"("+strings.Join(names, ", ")+")")
	}
	var got []string
	for _, n := range given {
		name := typeName(n.Type())
		if _, isText := n.(*ast.StringNode); isText {
			name = "text" // the library may have stopped before it
		}
		got = append(got, name)
	}
	g.refuse("%s does not take (%s), only %s", name, strings.Join(got, ", "), strings.Join(takes, " or "))
}

// mayBe reports whether a node can give a value of that type.
func mayBe(node ast.Node, t reflect.Type) bool {
	given := node.Type()
	_, isNil := node.(*ast.NilNode)
	return isNil || given.Kind() == reflect.Interface || given.AssignableTo(t)
}

func typeName(t reflect.Type) string { return goTypes.Replace(t.String()) }

func (g *guard) function(name string) {
	if _, known := functions[name]; !known {
		g.refuse("function %s is not known: %s", name, nearest.Hint(name, FunctionNames()))
		return
	}
	g.calls = append(g.calls, name)
}

// member reads a.b, a.b.c or a list's a[0].
func (g *guard) member(n *ast.MemberNode) {
	if name, isName := dotted(n); isName {
		g.variable(name)
		return
	}
	if list, isName := dotted(n.Node); isName {
		g.elements = append(g.elements, list)
	}
	g.checkAll(n.Node, n.Property)
}

// dotted is the name that members of members have together.
func dotted(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value, true
	case *ast.ChainNode:
		return dotted(n.Node)
	case *ast.MemberNode:
		before, isName := dotted(n.Node)
		property, isText := n.Property.(*ast.StringNode)
		if isName && isText {
			return before + "." + property.Value, true
		}
	}
	return "", false
}

func (g *guard) variable(name string) {
	known := slices.Contains(g.vars.names, name)
	for _, open := range g.vars.open {
		rest, under := strings.CutPrefix(name, open)
		known = known || under && rest != "" && !strings.Contains(rest, ".")
	}
	if blanks := g.vars.blanks; blanks != "" && strings.HasPrefix(name, blanks+".") {
		g.refuse("a %s stands alone, as in ${%s.NAME}", blanks, blanks)
		return
	}
	if !known {
		g.refuse("variable %s is not known: %s", name, nearest.Hint(name, g.vars.known()))
		return
	}
	g.names = append(g.names, name)
}

// known are the names for a message.
func (v *Vars) known() []string {
	known := slices.Clone(v.names)
	for _, open := range v.open {
		known = append(known, open+"NAME")
	}
	return known
}

func (g *guard) refuse(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

// goTypes are the words for types in the library's messages, and ours.
var goTypes = strings.NewReplacer(
	"template.Instant", "instant", "template.Raw", "value as asked for", "template.Encoded", "encoded text",
	"template.plainText", "plain text", "template.segments", "path", "template.jsonList", "JSON",
	"[]string", "list", "interface {}", "anything", "string", "text", "int64", "number", "int", "number",
)

// plainly is an error of the library in one line.
func plainly(err error) error {
	if e, is := errors.AsType[*file.Error](err); is {
		return errors.New(goTypes.Replace(e.Message))
	}
	return err
}
