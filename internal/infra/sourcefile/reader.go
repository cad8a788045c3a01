package sourcefile

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/papertrace/patra/internal/domain/source"
)

// Bounds on the shape of a file, so that nesting cannot exhaust the stack, and
// on its tokens: the parser's time grows with the square of the keys of a map.
// The largest shipped pack has a tenth of them.
const (
	maxLine   = 8192
	maxDepth  = 32
	maxTokens = 30_000
	// maxProblems is how many mistakes of one file are listed.
	maxProblems = 100
)

// reader fills a definition from a syntax tree. Struct fields are found by
// their yaml or json tag; kinds with a short form have a reader of their own.
type reader struct {
	pack *Pack
}

// fail notes a mistake. Past the bound only the fact that there are more is noted.
func (r *reader) fail(at place, path, format string, args ...any) {
	switch len(r.pack.problems) {
	case maxProblems + 1:
		return
	case maxProblems:
		path = ""
		format = "there are more mistakes than the %d listed here; mend these first"
		args = []any{maxProblems}
	}
	r.pack.problems = append(r.pack.problems, Problem{
		File: r.pack.File, Line: max(1, at.line), Column: max(1, at.column), Path: path, Text: fmt.Sprintf(format, args...),
	})
}

// plainLines is a text without the byte order mark and the line ends of some editors: the parser
// takes the mark for a part of the first key, and counts such lines twice.
func plainLines(data []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
}

func (r *reader) document(data []byte) {
	data = plainLines(data)
	if err := checkShape(data); err != nil {
		r.fail(err.place, "", "%s", err.text)
		return
	}
	file, err := parse(data)
	if err != nil {
		if syntax, ok := errors.AsType[yaml.Error](err); ok && syntax.GetToken() != nil {
			at := placeOf(syntax.GetToken())
			r.fail(at, "", "%s%s", syntax.GetMessage(), quoteHint(data, at.line))
			return
		}
		r.fail(place{}, "", "%v", err)
		return
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil || d.Body.Type() == ast.CommentType })
	switch len(docs) {
	case 0:
		r.fail(place{}, "", "the file is empty")
	case 1:
		r.value(docs[0].Body, "", reflect.ValueOf(&r.pack.Definition).Elem())
	default:
		r.fail(placeOf(docs[1].Body.GetToken()), "", "a pack is one document")
	}
	slices.SortStableFunc(r.pack.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// quoteHint says what is wrong with a line whose value begins with a character
// that YAML keeps for itself, as cron lines do.
func quoteHint(data []byte, line int) string {
	all := strings.Split(string(data), "\n")
	if line < 1 || line > len(all) {
		return ""
	}
	if _, value, _ := strings.Cut(all[line-1], ": "); strings.HasPrefix(value, "@") || strings.HasPrefix(value, "*") {
		return fmt.Sprintf("; a value that begins with %s is written in quotes", value[:1])
	}
	return ""
}

type shapeError struct {
	place
	text string
}

// checkShape refuses what the parser should not be asked to read.
func checkShape(data []byte) *shapeError {
	if len(data) > MaxSize {
		return &shapeError{text: fmt.Sprintf("the file has more than %d bytes", MaxSize)}
	}
	if !utf8.Valid(data) {
		return &shapeError{text: "the file is not UTF-8"}
	}
	for i, line := range strings.Split(string(data), "\n") {
		if len(line) > maxLine {
			return &shapeError{place{i + 1, maxLine}, fmt.Sprintf("the line is longer than %d bytes", maxLine)}
		}
		// Block nesting grows with indentation, checked below, and with dashes.
		lead := line[:len(line)-len(strings.TrimLeft(line, " -?"))]
		if strings.Count(lead, "- ")+strings.Count(lead, "? ") > maxDepth {
			return &shapeError{place{i + 1, 1}, "nested too deep"}
		}
	}
	depth := 0
	tokens := lexer.Tokenize(string(data))
	if len(tokens) > maxTokens {
		return &shapeError{placeOf(tokens[maxTokens]), fmt.Sprintf("the file says too much from here on: it has %d words and marks, more than %d", len(tokens), maxTokens)}
	}
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxDepth || t.Position != nil && t.Position.IndentNum > 8*maxDepth {
			return &shapeError{placeOf(t), "nested too deep"}
		}
	}
	return nil
}

// parse runs the parser, which may give up in its own way on broken input.
func parse(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("not readable as YAML: %v", p)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{t.Position.Line, t.Position.Column}
}

// start is where a node begins; a block map's own token is its first colon.
func start(n ast.Node) place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return placeOf(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return placeOf(n.Key.GetToken())
	}
	return placeOf(n.GetToken())
}

// plain reports whether a node is something a pack may hold.
func (r *reader) plain(n ast.Node, path string) bool {
	what := ""
	switch n.(type) {
	case *ast.AnchorNode:
		what = "an anchor"
	case *ast.AliasNode:
		what = "an alias"
	case *ast.TagNode:
		what = "a tag"
	case *ast.MergeKeyNode:
		what = "a merge key"
	case *ast.MappingKeyNode:
		what = "a complex key"
	default:
		return true
	}
	r.fail(start(n), path, "%s is not allowed in a pack", what)
	return false
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// value reads n into v. A null leaves v as it is: not given.
func (r *reader) value(n ast.Node, path string, v reflect.Value) {
	if n == nil || !r.plain(n, path) || n.Type() == ast.NullType {
		return
	}
	r.pack.places[path] = start(n)
	if read := shortForm(v.Type()); read != nil {
		read(r, n, path, v)
		return
	}
	if v.CanAddr() && v.Addr().Type().Implements(textUnmarshaler) {
		if s, ok := r.scalar(n, path); ok {
			if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil {
				r.fail(start(n), path, "%v", err)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(n, path, v.Elem())
	case reflect.Struct:
		r.structure(n, path, v)
	case reflect.Slice:
		r.list(n, path, v)
	case reflect.Map:
		r.texts(n, path, v)
	default:
		r.basic(n, path, v)
	}
}

func (r *reader) basic(n ast.Node, path string, v reflect.Value) {
	s, ok := r.scalar(n, path)
	if !ok {
		return
	}
	plain := strings.ReplaceAll(s, "_", "")
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		b, isBool := n.(*ast.BoolNode)
		if !isBool {
			r.fail(start(n), path, "%q is neither true nor false", s)
			return
		}
		v.SetBool(b.Value)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(plain, 10, 64)
		if err != nil || v.OverflowInt(i) {
			r.fail(start(n), path, "%q is not a whole number", s)
			return
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(plain, 64)
		if err != nil {
			r.fail(start(n), path, "%q is not a number", s)
			return
		}
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("sourcefile: no way to read %s", v.Type()))
	}
}

// scalar is the text of a scalar, as written.
func (r *reader) scalar(n ast.Node, path string) (string, bool) {
	if !r.plain(n, path) {
		return "", false
	}
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		r.fail(start(n), path, "expected a single value, found %s", kindOf(n))
		return "", false
	case *ast.NullNode:
		return "", false
	}
	return n.GetToken().Value, true
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", n.GetToken().Value)
}

type entry struct {
	key   string
	place place
	value ast.Node
}

// entries are the keys of a map, each once.
func (r *reader) entries(n ast.Node, path string) ([]entry, bool) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.fail(start(n), path, "expected a map, found %s", kindOf(n))
		return nil, false
	}
	var out []entry
	seen := map[string]place{}
	for _, mv := range values {
		if !r.plain(mv.Key, path) {
			continue
		}
		var key string
		if s, ok := mv.Key.(*ast.StringNode); ok {
			key = s.Value
		} else {
			key = mv.Key.GetToken().Value
		}
		at := placeOf(mv.Key.GetToken())
		if first, twice := seen[key]; twice {
			r.fail(at, join(path, key), "is given twice, first on line %d", first.line)
			continue
		}
		seen[key] = at
		out = append(out, entry{key, at, mv.Value})
	}
	return out, true
}

func (r *reader) structure(n ast.Node, path string, v reflect.Value) {
	entries, ok := r.entries(n, path)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	for _, e := range entries {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == e.key })
		if i < 0 {
			r.unknown(e, path, names(fields))
			continue
		}
		r.member(e, path, v.Field(fields[i].index))
	}
}

// member reads the value of a key; its place is the key's.
func (r *reader) member(e entry, path string, v reflect.Value) {
	at := join(path, e.key)
	r.value(e.value, at, v)
	r.pack.places[at] = e.place
}

func (r *reader) unknown(e entry, path string, known []string) {
	r.fail(e.place, join(path, e.key), "key is not known%s", source.Suggest(e.key, known))
}

// list reads a sequence; one value alone is a list of one.
func (r *reader) list(n ast.Node, path string, v reflect.Value) {
	nodes := []ast.Node{n}
	if seq, ok := n.(*ast.SequenceNode); ok {
		nodes = seq.Values
	}
	out := reflect.MakeSlice(v.Type(), len(nodes), len(nodes))
	for i, item := range nodes {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item == nil || item.Type() == ast.NullType {
			r.fail(r.pack.places[path], at, "is empty")
			continue
		}
		r.value(item, at, out.Index(i))
	}
	if len(nodes) > 0 {
		v.Set(out)
	}
}

// texts reads a map of texts. A null value is a key not given, unless the map
// has pointers, which are then nil.
func (r *reader) texts(n ast.Node, path string, v reflect.Value) {
	entries, ok := r.entries(n, path)
	if !ok {
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, e := range entries {
		at := join(path, e.key)
		r.pack.places[at] = e.place
		if v.Type().Elem().Kind() != reflect.String {
			elem := reflect.New(v.Type().Elem()).Elem()
			r.value(e.value, at, elem)
			out.SetMapIndex(reflect.ValueOf(e.key), elem)
		} else if s, ok := r.scalar(e.value, at); ok {
			out.SetMapIndex(reflect.ValueOf(e.key), reflect.ValueOf(s))
		}
	}
	if out.Len() > 0 {
		v.Set(out)
	}
}

type field struct {
	name  string
	index int
}

// fieldsOf lists the fields of a struct by the name people write.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(cmp.Or(f.Tag.Get("yaml"), f.Tag.Get("json")), ",")
		if name != "" && name != "-" {
			out = append(out, field{name, i})
		}
	}
	return out
}

func names(fields []field) []string {
	out := make([]string, len(fields))
	for i := range fields {
		out[i] = fields[i].name
	}
	return out
}

// join adds a name to a path as source.Compile writes it.
func join(path, name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, ".[] :"):
		return fmt.Sprintf("%s[%q]", path, name)
	case path == "":
		return name
	}
	return path + "." + name
}
