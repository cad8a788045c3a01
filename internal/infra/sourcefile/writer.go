package sourcefile

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/domain/source"
)

// Format writes a definition as a pack. Parsing it again gives the same
// definition; comments and the choice of short forms are not kept.
func Format(def source.Definition) []byte {
	var b strings.Builder
	write(&b, tree(reflect.ValueOf(def.Canonical())), 0)
	return []byte(strings.TrimPrefix(b.String(), "\n") + "\n")
}

// A tree is text, a list of trees, a mapping or null; nil is left out.
type (
	text    string
	null    struct{}
	list    []any
	mapping []member
	member  struct {
		key   string
		value any
	}
)

func (m *mapping) add(key string, value any) {
	switch v := value.(type) {
	case nil:
		return
	case text:
		if v == "" {
			return
		}
	case list:
		if len(v) == 0 {
			return
		}
	}
	*m = append(*m, member{key, value})
}

// tree makes a tree of a value; what is zero is not given and so left out. Some
// types are written in a form of their own, the others by their kind.
func tree(v reflect.Value) any {
	if t, own := ownForm(v); own {
		return t
	}
	switch v.Kind() {
	case reflect.Pointer:
		return pointerTree(v)
	case reflect.Struct:
		return structTree(v)
	case reflect.Slice:
		return sliceTree(v)
	case reflect.Map:
		return mapTree(v)
	}
	if v.IsZero() {
		return nil
	}
	if v.Kind() == reflect.Float64 {
		return text(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	}
	return text(fmt.Sprint(v.Interface()))
}

// ownForm makes the tree of a value whose type has a form of its own, such as a
// list that is written as a mapping from the names of its elements.
func ownForm(v reflect.Value) (_ any, own bool) {
	switch x := v.Interface().(type) {
	case []source.Endpoint:
		return endpointsTree(x), true
	case tasks:
		return tasksTree(x), true
	case source.Headers:
		return headersTree(x), true
	case source.Pick:
		return pickTree(x, ""), true
	case source.DatedPick:
		return pickTree(x.Pick, x.Key), true
	case source.Presence:
		if x.In == nil && !x.Self {
			return text(x.Path), true
		}
	case []source.Field:
		return fieldsTree(x), true
	case []source.Entry:
		return entriesTree(x), true
	case encoding.TextMarshaler:
		return marshalled(v, x), true
	}
	return nil, false
}

func endpointsTree(all []source.Endpoint) any {
	var m mapping
	for _, e := range all {
		m.add(e.Name, orEmpty(tree(reflect.ValueOf(e))))
	}
	return nilIfEmpty(m)
}

func tasksTree(all tasks) any {
	var m mapping
	for _, op := range source.Operations {
		if o := all[op]; o != nil {
			m.add(strings.ToLower(string(op)), orEmpty(tree(reflect.ValueOf(*o))))
		}
	}
	return nilIfEmpty(m)
}

// headersTree keeps a header that is given as nothing: it is not to be sent.
func headersTree(all source.Headers) any {
	var m mapping
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if all[k] == nil {
			m = append(m, member{k, null{}})
		} else {
			m = append(m, member{k, text(*all[k])})
		}
	}
	return nilIfEmpty(m)
}

func fieldsTree(all []source.Field) any {
	var m mapping
	for _, f := range all {
		m.add(f.Name, fieldTree(f))
	}
	return nilIfEmpty(m)
}

func entriesTree(all []source.Entry) any {
	var m mapping
	for _, e := range all {
		m.add(e.Key, tree(reflect.ValueOf(e.From)))
	}
	return nilIfEmpty(m)
}

// marshalled is a value that knows its own text.
func marshalled(v reflect.Value, x encoding.TextMarshaler) any {
	if v.IsZero() {
		return nil
	}
	b, err := x.MarshalText()
	if err != nil { // durations and sizes
		panic(fmt.Sprintf("sourcefile: write %T: %v", x, err))
	}
	return text(b)
}

// pointerTree makes the tree of what a pointer points to. What is zero there was
// given nevertheless, and is written.
func pointerTree(v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	if !v.Elem().IsZero() {
		return tree(v.Elem())
	}
	switch v.Elem().Interface().(type) {
	case source.Duration:
		return text("0s")
	case int:
		return text("0")
	case bool:
		return text("false")
	}
	return mapping{}
}

func structTree(v reflect.Value) any {
	var m mapping
	for _, f := range fieldsOf(v.Type()) {
		m.add(f.name, tree(v.Field(f.index)))
	}
	return nilIfEmpty(m)
}

func sliceTree(v reflect.Value) any {
	var l list
	for i := range v.Len() {
		l = append(l, tree(v.Index(i)))
	}
	return l
}

// mapTree keeps texts that are empty: in a map every key was given.
func mapTree(v reflect.Value) any {
	var m mapping
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		value := v.MapIndex(k)
		if value.Kind() == reflect.String {
			m = append(m, member{k.String(), text(value.String())})
		} else {
			m = append(m, member{k.String(), tree(value)})
		}
	}
	return nilIfEmpty(m)
}

func nilIfEmpty(m mapping) any {
	if len(m) == 0 {
		return nil
	}
	return m
}

func orEmpty(v any) any {
	if v == nil {
		return mapping{}
	}
	return v
}

func pickTree(p source.Pick, key string) any {
	if p.Parts == nil && p.All == nil && p.Format == "" && p.Clean == nil && key == "" {
		return text(p.Path)
	}
	var m mapping
	m.add("key", text(key))
	pickMembers(&m, p)
	return m
}

func pickMembers(m *mapping, p source.Pick) {
	m.add("path", text(p.Path))
	m.add("all", tree(reflect.ValueOf(p.All)))
	m.add("sep", text(p.Sep))
	if p.Parts != nil {
		if d := *p.Parts; d.Year == "" && d.Month == "" && d.Day == "" {
			m.add("date", text(d.List))
		} else {
			m.add("date", tree(reflect.ValueOf(d)))
		}
	}
	m.add("format", text(p.Format))
	m.add("clean", tree(reflect.ValueOf(p.Clean)))
}

func fieldTree(f source.Field) any {
	var m mapping
	picks := tree(reflect.ValueOf(f.From))
	switch f.Kind {
	case source.FieldObjects:
		m.add("each", tree(reflect.ValueOf(f.Each)))
		m.add("split", text(f.Split))
		m.add("fields", tree(reflect.ValueOf(f.Fields)))
		return m
	case source.FieldMap:
		m.add("entries", tree(reflect.ValueOf(f.Entries)))
		return m
	case source.FieldList:
		m.add("list", picks)
	case source.FieldNumber:
		m.add("number", picks)
		m.add("count", tree(reflect.ValueOf(f.Count)))
	case source.FieldBool:
		m.add("bool", picks)
	default:
		if len(f.From) == 1 && f.From[0].All == nil {
			pickMembers(&m, f.From[0])
		} else {
			m.add("first", picks)
		}
	}
	m.add("join", text(f.Join))
	m.add("label", text(f.Label))
	m.add("allowed", tree(reflect.ValueOf(f.Allowed)))
	m.add("pattern", text(f.Pattern))
	if len(m) == 1 && m[0].key == "path" {
		return m[0].value
	}
	return m
}

// plainText needs no quotes; it is narrow, so that nothing is taken for a
// number, a truth or a null that was a text.
var plainText = regexp.MustCompile(`^[A-Za-z/$][A-Za-z0-9_/.@()\-]*$`)

var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"}

func quoted(s string) string {
	if plainText.MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// number is written bare where a number is meant; reading takes both.
var number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

func scalar(s text) string {
	if number.MatchString(string(s)) || s == "true" || s == "false" {
		return string(s)
	}
	return quoted(string(s))
}

// flow is the one-line form, if v is made of short parts.
func flow(v any) (string, bool) {
	switch v := v.(type) {
	case text:
		return scalar(v), true
	case null:
		return "null", true
	case list:
		parts := make([]string, len(v))
		for i := range v {
			t, ok := v[i].(text)
			if !ok {
				return "", false
			}
			parts[i] = scalar(t)
		}
		s := "[" + strings.Join(parts, ", ") + "]"
		return s, len(s) <= 80
	case mapping:
		if len(v) == 0 {
			return "{}", true
		}
	}
	return "", false
}

func (m member) write(b *strings.Builder, depth int) {
	b.WriteString(quoted(m.key) + ":")
	if t, ok := m.value.(text); ok && (m.key == "format" || m.key == "sep") {
		b.WriteString(" " + quoted(string(t))) // 20060102 is no number here
		return
	}
	write(b, m.value, depth)
}

func write(b *strings.Builder, v any, depth int) {
	indent := "\n" + strings.Repeat("  ", depth)
	if s, ok := flow(v); ok {
		b.WriteString(" " + s)
		return
	}
	switch v := v.(type) {
	case mapping:
		for _, m := range v {
			b.WriteString(indent)
			m.write(b, depth+1)
		}
	case list:
		for _, item := range v {
			b.WriteString(indent + "-")
			if m, ok := item.(mapping); ok {
				for i, e := range m {
					if i > 0 {
						b.WriteString(indent + "  ")
					} else {
						b.WriteString(" ")
					}
					e.write(b, depth+2)
				}
				continue
			}
			write(b, item, depth+1)
		}
	}
}
