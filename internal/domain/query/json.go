package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The JSON form, one object per node:
//
//	{"op":"AND","of":[...]}   {"op":"OR","of":[...]}   {"op":"NOT","of":[one]}   {"op":"ALL"}
//	{"op":"TERM","field":"tiab","match":"PHRASE","text":"breast cancer","caseSensitive":true}
//	{"op":"IN","field":"type","values":["review","article"],"caseSensitive":true}
//	{"op":"RANGE","field":"year","type":"YEAR","from":{"value":"2020"},"to":{"value":"2024","open":true}}
//	{"op":"EXISTS","field":"ab"}
//	{"op":"TOKEN","source":"pubmed","text":"..."}
//
// Codes are read in any case. "match", "type" and "caseSensitive" may be left out,
// so may one bound of a range; numbers and booleans may stand for values. A key
// that is not known, or comes twice, is refused.

// node is the written form. The order of its fields is part of every hash.
type node struct {
	Op            Op         `json:"op"`
	Field         string     `json:"field,omitempty"`
	Source        string     `json:"source,omitempty"`
	Type          Type       `json:"type,omitempty"`
	Match         Match      `json:"match,omitempty"`
	Text          string     `json:"text,omitempty"`
	Values        []string   `json:"values,omitempty"`
	CaseSensitive bool       `json:"caseSensitive,omitempty"`
	From          *nodeBound `json:"from,omitempty"`
	To            *nodeBound `json:"to,omitempty"`
	Of            []node     `json:"of,omitempty"`
}

type nodeBound struct {
	Value string `json:"value"`
	Open  bool   `json:"open,omitempty"`
}

// JSON writes e in the JSON form. For the form that hashes are made of, write the
// [Canonical] expression.
func JSON(e Expr) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(nodeOf(e)); err != nil { // strings only
		panic(fmt.Sprintf("write query as JSON: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func nodeOf(e Expr) node {
	n := node{Op: e.Op()}
	for _, k := range kids(e) {
		n.Of = append(n.Of, nodeOf(k))
	}
	switch e := e.(type) {
	case Term:
		n.Field = e.Field
		n.Match = e.Match
		n.Text = e.Text
		n.CaseSensitive = e.CaseSensitive
	case In:
		n.Field, n.CaseSensitive = e.Field, e.CaseSensitive
		for _, v := range e.Values {
			n.Values = append(n.Values, v.Text)
		}
	case Range:
		n.Field, n.Type = e.Field, e.Type
		n.From, n.To = boundOf(e.From), boundOf(e.To)
	case Exists:
		n.Field = e.Field
	case Token:
		n.Source, n.Text = e.Source, e.Text
	}
	return n
}

func boundOf(b Bound) *nodeBound {
	if b.Absent() {
		return nil
	}
	return &nodeBound{b.Value, b.Open}
}

// StoredSelection reads the JSON of a selection as it was stored. It was checked before
// it was, perhaps against a dictionary of other fields: nothing is checked again.
func StoredSelection(data []byte) (Selection, error) {
	var n node
	if err := json.Unmarshal(data, &n); err != nil {
		return Selection{}, fmt.Errorf("read stored selection: %w", err)
	}
	e, err := n.expr()
	if err != nil {
		return Selection{}, fmt.Errorf("read stored selection: %w", err)
	}
	return NewSelection(e), nil
}

// expr is the expression that a node was written from.
func (n node) expr() (Expr, error) {
	of := make([]Expr, len(n.Of))
	for i := range n.Of {
		e, err := n.Of[i].expr()
		if err != nil {
			return nil, err
		}
		of[i] = e
	}
	switch n.Op {
	case OpAnd:
		return And{Of: of}, nil
	case OpOr:
		return Or{Of: of}, nil
	case OpNot:
		if len(of) != 1 {
			return nil, fmt.Errorf("NOT of %d parts", len(of))
		}
		return Not{Of: of[0]}, nil
	case OpTerm:
		return Term{Field: n.Field, Text: n.Text, Match: n.Match, CaseSensitive: n.CaseSensitive}, nil
	case OpIn:
		in := In{Field: n.Field, CaseSensitive: n.CaseSensitive}
		for _, v := range n.Values {
			in.Values = append(in.Values, Value{Text: v})
		}
		return in, nil
	case OpRange:
		return Range{Field: n.Field, Type: n.Type, From: n.From.bound(), To: n.To.bound()}, nil
	case OpExists:
		return Exists{Field: n.Field}, nil
	case OpToken:
		return Token{Source: n.Source, Text: n.Text}, nil
	case OpAll:
		return All{}, nil
	}
	return nil, fmt.Errorf("op %q is not known", n.Op)
}

func (b *nodeBound) bound() Bound {
	if b == nil {
		return Bound{}
	}
	return Bound{Value: b.Value, Open: b.Open}
}

// ParseJSON reads the JSON form. The error wraps [Problems], each with its path.
func ParseJSON(data []byte, dict *FieldDict) (Expr, error) {
	r := &jsonReader{builder: builder{dict: dict}}
	return r.finish(r.read(data))
}

type jsonReader struct{ builder }

func (r *jsonReader) read(data []byte) Expr {
	root := Place{Path: "$"}
	switch {
	case len(data) > MaxJSON:
		r.problems.add(root, "ask in several queries", "the query is longer than %d bytes", MaxJSON)
		return nil
	case !utf8.Valid(data):
		r.problems.add(root, "", "the query is not valid UTF-8")
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readJSON(d, "$", 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = jsonError{"$", "there is more behind the query"}
		}
	}
	if err != nil {
		if e, ok := errors.AsType[jsonError](err); ok {
			r.problems.add(Place{Path: e.path}, "", "%s", e.message)
		} else {
			r.problems.add(root, "", "the query is no JSON: %v, near byte %d", err, d.InputOffset())
		}
		return nil
	}
	return r.expr(v, "$")
}

type jsonError struct{ path, message string }

func (e jsonError) Error() string { return e.path + ": " + e.message }

// member of an object.
type member struct {
	key   string
	value any
}

// readJSON reads one value: string, json.Number, bool, nil, []any or []member.
func readJSON(d *json.Decoder, path string, depth int) (any, error) {
	if depth > 2*MaxDepth+4 { // an object and an array for each level
		return nil, jsonError{path, fmt.Sprintf("the query is nested deeper than %d", MaxDepth)}
	}
	t, err := d.Token()
	if err != nil {
		return nil, noEOF(err)
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := readJSON(d, path+"["+strconv.Itoa(len(list))+"]", depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, noEOF(err)
	case json.Delim('{'):
		object := []member{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, noEOF(err)
			}
			key, _ := k.(string)
			if slices.ContainsFunc(object, func(m member) bool { return m.key == key }) {
				return nil, jsonError{path, "key " + quoted(key) + " comes twice"}
			}
			if len(object) > 32 {
				return nil, jsonError{path, "the object has too many keys"}
			}
			v, err := readJSON(d, path+"."+clipRight(key, 40), depth+1)
			if err != nil {
				return nil, err
			}
			object = append(object, member{key, v})
		}
		_, err = d.Token()
		return object, noEOF(err)
	}
	return t, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Keys of each kind of node besides "op".
var nodeKeys = map[Op][]string{
	OpAnd:    {"of"},
	OpOr:     {"of"},
	OpNot:    {"of"},
	OpTerm:   {"field", "match", "text", "caseSensitive"},
	OpIn:     {"field", "values", "caseSensitive"},
	OpRange:  {"field", "type", "from", "to"},
	OpExists: {"field"},
	OpToken:  {"source", "text"},
	OpAll:    {},
}

// object takes the keys out of v, noting those that are not known.
func (r *jsonReader) object(v any, path string, keys []string) (map[string]any, bool) {
	list, ok := v.([]member)
	if !ok {
		r.problems.add(Place{Path: path}, "", "an object is wanted here")
		return nil, false
	}
	got := make(map[string]any, len(list))
	for _, m := range list {
		if keys != nil && !slices.Contains(keys, m.key) {
			r.problems.add(Place{Path: path}, suggest(m.key, keys), "key %s is not known", quoted(m.key))
			continue
		}
		got[m.key] = m.value
	}
	return got, true
}

func (r *jsonReader) expr(v any, path string) Expr {
	at := Place{Path: path}
	open, ok := r.object(v, path, nil)
	if !ok {
		return bad(at)
	}
	name, _ := open["op"].(string)
	op := Op(strings.ToUpper(name))
	keys, ok := nodeKeys[op]
	if !ok {
		known := []string{"AND", "OR", "NOT", "TERM", "IN", "RANGE", "EXISTS", "TOKEN", "ALL"}
		r.problems.add(Place{Path: path + ".op"}, suggest(name, known), "op %s is not known", quoted(name))
		return bad(at)
	}
	got, _ := r.object(v, path, append([]string{"op"}, keys...))
	switch op {
	case OpAnd, OpOr, OpNot:
		return r.group(op, got, path)
	case OpAll:
		r.full(at, 1)
		return All{At: at}
	case OpToken:
		source, ok1 := r.str(got, "source", path)
		text, ok2 := r.str(got, "text", path)
		if !ok1 || !ok2 {
			return bad(at)
		}
		return r.token(source, text, at)
	}
	name, ok = r.str(got, "field", path)
	if !ok {
		return bad(at)
	}
	f, ok := r.field(name, Place{Path: path + ".field"})
	if !ok {
		return bad(at)
	}
	switch op {
	case OpExists:
		return r.exists(f, at)
	case OpIn:
		return r.list(f, got, path)
	case OpRange:
		return r.bounds(f, got, path)
	}
	return r.text1(f, got, path)
}

func (r *jsonReader) group(op Op, got map[string]any, path string) Expr {
	at := Place{Path: path}
	list, ok := got["of"].([]any)
	if !ok || len(list) == 0 || op == OpNot && len(list) != 1 {
		want := "a list of nodes"
		if op == OpNot {
			want = "a list of one node"
		}
		r.problems.add(Place{Path: path + ".of"}, "", "%s is wanted here", want)
		return bad(at)
	}
	if r.full(at, 1) {
		return bad(at)
	}
	var of []Expr
	for i, v := range list {
		of = append(of, r.expr(v, path+".of["+strconv.Itoa(i)+"]"))
	}
	switch op {
	case OpAnd:
		return And{Of: of, At: at}
	case OpOr:
		return Or{Of: of, At: at}
	}
	return Not{Of: of[0], At: at}
}

func (r *jsonReader) text1(f Field, got map[string]any, path string) Expr {
	at := Place{Path: path}
	match := MatchWords
	if _, given := got["match"]; given {
		name, ok := r.str(got, "match", path)
		if !ok {
			return bad(at)
		}
		match = Match(strings.ToUpper(name))
		known := []string{string(MatchWords), string(MatchPhrase), string(MatchExact), string(MatchPrefix)}
		if !slices.Contains(known, string(match)) {
			r.problems.add(Place{Path: path + ".match"}, suggest(name, known), "match %s is not known", quoted(name))
			return bad(at)
		}
	}
	text, ok1 := r.scalar(got["text"], path+".text")
	cs, ok2 := r.flag(got, "caseSensitive", path)
	if !ok1 || !ok2 {
		return bad(at)
	}
	return r.term(f, rawValue{text: text, cs: cs, at: Place{Path: path + ".text"}}, match, at)
}

func (r *jsonReader) list(f Field, got map[string]any, path string) Expr {
	at := Place{Path: path}
	list, ok := got["values"].([]any)
	if !ok {
		r.problems.add(Place{Path: path + ".values"}, "", "a list of values is wanted here")
		return bad(at)
	}
	if len(list) > MaxNodes {
		list = list[:MaxNodes] // one node and this many values are too many
	}
	var values []rawValue
	for i, v := range list {
		p := path + ".values[" + strconv.Itoa(i) + "]"
		text, ok := r.scalar(v, p)
		if !ok {
			return bad(at)
		}
		values = append(values, rawValue{text: text, at: Place{Path: p}})
	}
	cs, ok := r.flag(got, "caseSensitive", path)
	if !ok {
		return bad(at)
	}
	return r.in(f, values, cs, at)
}

func (r *jsonReader) bounds(f Field, got map[string]any, path string) Expr {
	at := Place{Path: path}
	if _, given := got["type"]; given {
		name, ok := r.str(got, "type", path)
		if !ok {
			return bad(at)
		}
		if Type(strings.ToUpper(name)) != f.Type() {
			r.problems.add(Place{Path: path + ".type"}, "leave it out or write "+string(f.Type()), "%s is no field of type %s", f.Key, quoted(name))
			return bad(at)
		}
	}
	from, ok1 := r.bound(got, "from", path)
	to, ok2 := r.bound(got, "to", path)
	if !ok1 || !ok2 {
		return bad(at)
	}
	return r.ranged(f, from, to, at)
}

func (r *jsonReader) bound(got map[string]any, key, path string) (Bound, bool) {
	v, given := got[key]
	if !given {
		return Bound{}, true
	}
	path += "." + key
	m, ok := r.object(v, path, []string{"value", "open"})
	if !ok {
		return Bound{}, false
	}
	value, ok1 := r.scalar(m["value"], path+".value")
	open, ok2 := r.flag(m, "open", path)
	if ok1 && plainText(value) == "" {
		r.problems.add(Place{Path: path + ".value"}, "leave the bound out if there is none", "the value is empty")
		ok1 = false
	}
	return Bound{Value: value, Open: open, At: Place{Path: path}}, ok1 && ok2
}

// str takes a string that must be there.
func (r *jsonReader) str(got map[string]any, key, path string) (string, bool) {
	s, ok := got[key].(string)
	if !ok {
		r.problems.add(Place{Path: path + "." + key}, "", "a string is wanted here")
	}
	return s, ok
}

// flag takes a boolean that may be left out.
func (r *jsonReader) flag(got map[string]any, key, path string) (bool, bool) {
	v, given := got[key]
	if !given {
		return false, true
	}
	b, ok := v.(bool)
	if !ok {
		r.problems.add(Place{Path: path + "." + key}, "", "true or false is wanted here")
	}
	return b, ok
}

// scalar takes a string, a number or a boolean as text.
func (r *jsonReader) scalar(v any, path string) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	r.problems.add(Place{Path: path}, "", "a text, a number or a boolean is wanted here")
	return "", false
}
