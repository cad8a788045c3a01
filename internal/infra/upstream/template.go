package upstream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Limits of templates: what one may hold, and what it may render to.
const (
	maxTemplate  = 16 << 10
	maxNodes     = 200
	memoryBudget = 10_000
	maxRendered  = 1 << 20
)

// errControl refuses text that could end a header line or a string in C.
var errControl = errors.New("holds CR, LF or NUL")

// scope is all a template can see. Instants are opaque: without methods or
// fields, they can only be handed to the functions of the white list.
type scope struct {
	Window scopeWindow `expr:"window"`
	Range  scopeRange  `expr:"range"`
	// Bucket of so many Buckets of the ids is wanted; 0 of 1 is all.
	Bucket  int64             `expr:"bucket"`
	Buckets int64             `expr:"buckets"`
	Page    scopePage         `expr:"page"`
	IDs     []string          `expr:"ids"`
	Vars    map[string]string `expr:"vars"`
	// Query is the selection in the source's words, by standard key.
	Query map[string]string `expr:"query"`
}

type scopeWindow struct {
	From instant `expr:"from"`
	To   instant `expr:"to"`
	// Last is the upper bound as sent: To, less a grain if the source's bound
	// includes itself (R12).
	Last instant `expr:"last"`
}

type scopeRange struct {
	// On: only a part of the ids is wanted, those from From to Last.
	On   bool  `expr:"on"`
	From int64 `expr:"from"`
	Last int64 `expr:"last"`
}

type scopePage struct {
	Size   int               `expr:"size"`
	Offset int64             `expr:"offset"`
	No     int               `expr:"no"`
	Token  string            `expr:"token"`
	First  bool              `expr:"first"`
	Held   map[string]string `expr:"held"`
}

type instant struct{ t time.Time }

// segments is a text whose slashes part a path.
type segments string

// jsonList is a list as JSON writes it.
type jsonList string

// newScope binds the variables for one call.
func newScope(spec *source.Spec, cal harvest.Calendar, call source.Call) *scope {
	zone, window := cal.Zone, cal.Grains(call.Window)
	last := window.To
	if spec.Window.Closed {
		last = cal.Step(last, -1)
	}
	p := call.Position
	wanted := map[string]string{}
	if spec.Query != nil {
		wanted = spec.Query.Values
	}
	bucket, buckets := call.Range.Bucket()
	return &scope{
		Window: scopeWindow{
			From: instant{window.From.In(zone)},
			To:   instant{window.To.In(zone)},
			Last: instant{last.In(zone)},
		},
		Range:  newScopeRange(spec, call.Range),
		Bucket: bucket, Buckets: buckets,
		Page: scopePage{
			Size: cmp.Or(call.PageSize, spec.Paging.Size), Offset: p.Offset, No: spec.Paging.PageBase + p.Page, Token: p.Token,
			First: p.Pages == 0 && p.Offset == 0 && p.Page == 0 && p.Token == "" && p.URL == "",
			Held:  p.Held,
		},
		IDs: call.IDs, Vars: spec.Vars, Query: wanted,
	}
}

func newScopeRange(spec *source.Spec, r harvest.Range) scopeRange {
	out := scopeRange{On: !r.Whole() && r.Key != harvest.RangePage && r.Of == 0, From: r.From, Last: r.To - 1}
	if r.To == 0 && spec.Window.Split != nil {
		out.Last = spec.Window.Split.Max
	}
	return out
}

// template is literal text with expressions between.
type template struct {
	parts []part
}

// part is an expression, the place of a secret, or else literal text.
type part struct {
	text   string
	prog   *vm.Program
	secret bool // text is its name
}

// parseBody compiles the template of a body, where ${secret.NAME} stands for a
// secret that is put in when the request is sent.
func parseBody(s string) (*template, error) {
	t, err := parse(s, func(expr string) (part, error) {
		if name, is := strings.CutPrefix(strings.TrimSpace(expr), "secret."); is && word(name) {
			return part{text: name, secret: true}, nil
		}
		return parseExpr(expr)
	})
	if err == nil && slices.ContainsFunc(t.parts, func(p part) bool { return strings.Contains(p.text, "\x00") }) {
		return nil, errControl // which stands around a secret's name
	}
	return t, err
}

func word(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// parseTemplate compiles "text ${expression} text". "$${" stands for "${".
func parseTemplate(s string) (*template, error) { return parse(s, parseExpr) }

func parseExpr(s string) (part, error) {
	prog, err := compileExpr(s)
	return part{prog: prog}, err
}

func parse(s string, inner func(expr string) (part, error)) (*template, error) {
	if len(s) > maxTemplate {
		return nil, fmt.Errorf("template is longer than %d bytes", maxTemplate)
	}
	t := new(template)
	var text strings.Builder
	for s != "" {
		before, rest, found := strings.Cut(s, "${")
		if !found {
			text.WriteString(s)
			break
		}
		if b, escaped := strings.CutSuffix(before, "$"); escaped {
			text.WriteString(b + "${")
			s = rest
			continue
		}
		text.WriteString(before)
		end := closing(rest)
		if end < 0 {
			return nil, fmt.Errorf("${%.40s: closing } is missing", rest)
		}
		p, err := inner(rest[:end])
		if err != nil {
			return nil, fmt.Errorf("${%.80s}: %w", rest[:end], err)
		}
		t.parts = append(t.parts, part{text: text.String()}, p)
		text.Reset()
		s = rest[end+1:]
	}
	if text.Len() > 0 {
		t.parts = append(t.parts, part{text: text.String()})
	}
	return t, nil
}

// closing finds the brace that ends an expression: outside of quotes, and not
// that of an inner pair.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\'', '`':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' && c != '`' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

func compileExpr(s string) (*vm.Program, error) {
	g := new(guard)
	opts := []expr.Option{
		expr.Env(scope{}), expr.DisableAllBuiltins(), expr.MaxNodes(maxNodes), expr.Optimize(false), expr.Patch(g),
	}
	for name, f := range functions {
		opts = append(opts, expr.Function(name, f.call, f.types...))
	}
	prog, err := expr.Compile(s, opts...)
	if g.err != nil {
		return nil, g.err
	}
	return prog, err
}

// eval runs the expression of a part.
func (p part) eval(s *scope) (any, error) {
	return (&vm.VM{MemoryBudget: memoryBudget}).Run(p.prog, s)
}

// render evaluates the template. The result holds no CR, LF or NUL.
func (t *template) render(s *scope) (string, error) {
	out, err := t.put(s, func(text string, _ bool, _ string) (string, error) { return text, nil })
	if err == nil && strings.ContainsAny(out, "\r\n\x00") {
		return "", errControl
	}
	return out, err
}

// put writes literal text as it is and each value as write says, which is told
// whether the value is a text and what stands before it.
func (t *template) put(s *scope, write func(text string, isText bool, before string) (string, error)) (string, error) {
	var out strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.secret {
			text = blank(p.text)
		}
		if p.prog != nil {
			v, err := p.eval(s)
			if err != nil {
				return "", err
			}
			if text, err = toText(v); err != nil {
				return "", err
			}
			if text, err = write(text, isText(v), out.String()); err != nil {
				return "", err
			}
		}
		if out.Len()+len(text) > maxRendered {
			return "", fmt.Errorf("renders to more than %d bytes", maxRendered)
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// guard refuses every kind of syntax but the plainest: no loops, closures or
// bindings, so that the work is bounded by the number of nodes.
type guard struct{ err error }

var operators = []string{
	"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "&&", "or", "||", "not", "!", "??", "in",
	"contains", "startsWith", "endsWith",
}

func (g *guard) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.NilNode, *ast.IdentifierNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode,
		*ast.ChainNode, *ast.MemberNode, *ast.ConditionalNode, *ast.ArrayNode:
	case *ast.UnaryNode:
		g.operator(n.Operator)
	case *ast.BinaryNode:
		g.operator(n.Operator)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); !ok || functions[id.Value].call == nil {
			g.refuse("only the functions of templates can be called")
		}
	default:
		g.refuse(fmt.Sprintf("%s does not belong in a template", strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast.")))
	}
}

func (g *guard) operator(op string) {
	if !slices.Contains(operators, op) {
		g.refuse(fmt.Sprintf("operator %s does not belong in a template", op))
	}
}

func (g *guard) refuse(why string) {
	if g.err == nil {
		g.err = errors.New(why)
	}
}

// function of the white list; types are for the compiler to check arguments by.
type function struct {
	call  func(args ...any) (any, error)
	types []any
}

var functions = map[string]function{
	// date(t, layout): Go's layout, in the zone of the source.
	"date": {
		func(a ...any) (any, error) { return a[0].(instant).t.Format(a[1].(string)), nil },
		[]any{new(func(instant, string) string)},
	},
	"iso": {
		func(a ...any) (any, error) { return a[0].(instant).t.Format(time.RFC3339), nil },
		[]any{new(func(instant) string)},
	},
	// epoch and epochms: seconds and milliseconds since 1970.
	"epoch": {
		func(a ...any) (any, error) { return a[0].(instant).t.Unix(), nil },
		[]any{new(func(instant) int64)},
	},
	"epochms": {
		func(a ...any) (any, error) { return a[0].(instant).t.UnixMilli(), nil },
		[]any{new(func(instant) int64)},
	},
	"join": {
		func(a ...any) (any, error) { return joinList(a[0].([]string), a[1].(string)) },
		[]any{new(func([]string, string) string)},
	},
	// cut(x, prefix): a text, or each of a list, less what it begins with, such
	// as the address that ids are given under.
	"cut": {cutPrefix, []any{new(func(string, string) string), new(func([]string, string) []string)}},
	"lower": {
		func(a ...any) (any, error) { return strings.ToLower(a[0].(string)), nil },
		[]any{new(func(string) string)},
	},
	"upper": {
		func(a ...any) (any, error) { return strings.ToUpper(a[0].(string)), nil },
		[]any{new(func(string) string)},
	},
	// text(x): a number as text, to be put together with others.
	"text": {coalesce, []any{new(func(any) string)}},
	// path(x): x in a path with its slashes kept, such as a DOI.
	"path": {
		func(a ...any) (any, error) { return segments(a[0].(string)), nil },
		[]any{new(func(string) segments)},
	},
	// json(list): a list of texts as JSON writes it, for bodies.
	"json": {
		func(a ...any) (any, error) {
			list := a[0].([]string)
			if slices.ContainsFunc(list, func(s string) bool { return !utf8.ValidString(s) }) {
				return nil, errors.New("a text of the list is no UTF-8")
			}
			b, err := json.Marshal(list)
			return jsonList(b), err
		},
		[]any{new(func([]string) jsonList)},
	},
	// coalesce(a, b, ...): the first that is not empty. default is the same for two.
	"coalesce": {coalesce, []any{new(func(...any) string)}},
	"default":  {coalesce, []any{new(func(any, any) string)}},
}

func cutPrefix(args ...any) (any, error) {
	prefix := args[1].(string)
	list, is := args[0].([]string)
	if !is {
		return strings.TrimPrefix(args[0].(string), prefix), nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.TrimPrefix(s, prefix)
	}
	return out, nil
}

func coalesce(args ...any) (any, error) {
	for _, a := range args {
		s, err := toText(a)
		if s != "" || err != nil {
			return s, err
		}
	}
	return "", nil
}

func joinList(list []string, sep string) (string, error) {
	n := 0
	for _, s := range list {
		n += len(s) + len(sep)
	}
	if n > maxRendered {
		return "", fmt.Errorf("join gives more than %d bytes", maxRendered)
	}
	return strings.Join(list, sep), nil
}

// isText reports whether a value is a text to a format that knows others.
func isText(v any) bool {
	switch v.(type) {
	case bool, int, int64, float64, jsonList:
		return false
	}
	return true
}

// toText writes a value the way it goes into a request.
func toText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case segments:
		return string(v), nil
	case jsonList:
		return string(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case instant:
		return v.t.Format(time.RFC3339), nil
	}
	return "", fmt.Errorf("a %T has no text of its own: use date(), iso() or join()", v)
}
