package sourcefile

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/papertrace/patra/internal/domain/source"
)

type shortReader func(*reader, ast.Node, string, reflect.Value)

// shortForm is the reader of a kind that people write in more than one way, nil
// for all others.
func shortForm(t reflect.Type) shortReader {
	switch t {
	case reflect.TypeFor[[]source.Endpoint]():
		return short((*reader).endpoints)
	case reflect.TypeFor[tasks]():
		return short((*reader).tasks)
	case reflect.TypeFor[source.Pick]():
		return short((*reader).pick)
	case reflect.TypeFor[source.DatedPick]():
		return short((*reader).datedPick)
	case reflect.TypeFor[source.DateParts]():
		return short((*reader).dateParts)
	case reflect.TypeFor[source.Presence]():
		return short((*reader).presence)
	case reflect.TypeFor[[]source.Field]():
		return short((*reader).fields)
	case reflect.TypeFor[[]source.Entry]():
		return short((*reader).mapEntries)
	}
	return nil
}

func short[T any](read func(*reader, ast.Node, string) T) shortReader {
	return func(r *reader, n ast.Node, path string, v reflect.Value) {
		v.Set(reflect.ValueOf(read(r, n, path)))
	}
}

// into reads a node into a value of its own.
func into[T any](r *reader, n ast.Node, path string) T {
	var out T
	r.value(n, path, reflect.ValueOf(&out).Elem())
	return out
}

// endpoints are a map by name.
func (r *reader) endpoints(n ast.Node, path string) []source.Endpoint {
	entries, _ := r.entries(n, path)
	var out []source.Endpoint
	for _, e := range entries {
		cfg := source.Endpoint{Name: e.key}
		at := join(path, e.key)
		if e.value.Type() == ast.NullType {
			r.fail(e.place, at, "is empty")
			continue
		}
		if r.plain(e.value, at) {
			r.structure(e.value, at, reflect.ValueOf(&cfg).Elem())
		}
		r.pack.places[at] = e.place
		out = append(out, cfg)
	}
	return out
}

func isScalar(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		return false
	}
	return true
}

// pick is a path, or {path | date, format, clean}.
func (r *reader) pick(n ast.Node, path string) source.Pick {
	p, _ := r.pickWith(n, path, "")
	return p
}

// datedPick is a pick with the name of its date under key.
func (r *reader) datedPick(n ast.Node, path string) source.DatedPick {
	p, key := r.pickWith(n, path, "key")
	return source.DatedPick{Pick: p, Key: key}
}

func (r *reader) pickWith(n ast.Node, path, extra string) (p source.Pick, value string) {
	if isScalar(n) {
		p.Path, _ = r.scalar(n, path)
		return p, ""
	}
	entries, _ := r.entries(n, path)
	for _, e := range entries {
		at := join(path, e.key)
		switch {
		case e.key == "path":
			p.Path, _ = r.scalar(e.value, at)
		case e.key == "all":
			p.All = into[[]string](r, e.value, at)
		case e.key == "sep":
			p.Sep, _ = r.scalar(e.value, at)
		case e.key == "date":
			p.Parts = new(into[source.DateParts](r, e.value, at))
		case e.key == "format":
			p.Format, _ = r.scalar(e.value, at)
		case e.key == "clean":
			p.Clean = into[[]string](r, e.value, at)
		case extra != "" && e.key == extra:
			value, _ = r.scalar(e.value, at)
		default:
			known := []string{"path", "all", "sep", "date", "format", "clean"}
			if extra != "" {
				known = append(known, extra)
			}
			r.unknown(e, path, known)
		}
	}
	return p, value
}

// dateParts is the path of an array, or {year, month, day}.
func (r *reader) dateParts(n ast.Node, path string) source.DateParts {
	var d source.DateParts
	if isScalar(n) {
		d.List, _ = r.scalar(n, path)
		return d
	}
	r.structure(n, path, reflect.ValueOf(&d).Elem())
	return d
}

// presence is a path, or {path, in | self}.
func (r *reader) presence(n ast.Node, path string) source.Presence {
	var p source.Presence
	if isScalar(n) {
		p.Path, _ = r.scalar(n, path)
		return p
	}
	r.structure(n, path, reflect.ValueOf(&p).Elem())
	return p
}

// fields are a map by name, in the order written.
func (r *reader) fields(n ast.Node, path string) []source.Field {
	entries, _ := r.entries(n, path)
	var out []source.Field
	for _, e := range entries {
		at := join(path, e.key)
		r.pack.places[at] = e.place
		if !r.plain(e.value, at) {
			continue
		}
		if e.value.Type() == ast.NullType {
			r.fail(e.place, at, "is empty")
			continue
		}
		f := r.field(e.value, at)
		f.Name = e.key
		out = append(out, f)
	}
	return out
}

// Keys of a field that say where its value comes from; they exclude each other
// and decide its kind.
var fieldSources = map[string]string{
	"path": source.FieldText, "first": source.FieldText, "date": source.FieldText,
	"list": source.FieldList, "number": source.FieldNumber, "bool": source.FieldBool, "count": source.FieldNumber,
	"each": source.FieldObjects, "entries": source.FieldMap,
}

// field is a path; a list of paths of which the first that yields wins; or a
// map with one of the keys of fieldSources.
func (r *reader) field(n ast.Node, path string) source.Field {
	f := source.Field{Kind: source.FieldText}
	if isScalar(n) {
		p, _ := r.scalar(n, path)
		f.From = []source.Pick{{Path: p}}
		return f
	}
	if _, ok := n.(*ast.SequenceNode); ok {
		f.From = into[[]source.Pick](r, n, path)
		return f
	}
	entries, _ := r.entries(n, path)
	var (
		from   []string
		clean  []string
		format string
	)
	for _, e := range entries {
		at := join(path, e.key)
		if kind, ok := fieldSources[e.key]; ok {
			from = append(from, e.key)
			f.Kind = kind
		}
		switch e.key {
		case "path":
			s, _ := r.scalar(e.value, at)
			f.From = []source.Pick{{Path: s}}
		case "date":
			f.From = []source.Pick{{Parts: new(into[source.DateParts](r, e.value, at))}}
		case "first", "list", "number", "bool":
			f.From = into[[]source.Pick](r, e.value, at)
		case "each":
			f.Each = into[[]string](r, e.value, at)
		case "split":
			f.Split, _ = r.scalar(e.value, at)
		case "count":
			f.Count = into[[]string](r, e.value, at)
		case "fields":
			f.Fields = into[[]source.Field](r, e.value, at)
		case "entries":
			f.Entries = into[[]source.Entry](r, e.value, at)
		case "join":
			f.Join, _ = r.scalar(e.value, at)
		case "label":
			f.Label, _ = r.scalar(e.value, at)
		case "allowed":
			f.Allowed = into[[]string](r, e.value, at)
		case "pattern":
			f.Pattern, _ = r.scalar(e.value, at)
		case "clean":
			clean = into[[]string](r, e.value, at)
		case "format":
			format, _ = r.scalar(e.value, at)
		default:
			r.unknown(e, path, []string{"path", "first", "list", "number", "bool", "count", "date", "each", "split", "fields", "entries", "join", "label", "clean", "format", "allowed", "pattern"})
		}
	}
	if len(from) != 1 {
		r.fail(start(n), path, "needs exactly one of path, first, list, number, bool, count, date, each, entries; has %s",
			strings.Join(append(from, []string{"none"}[min(len(from), 1):]...), " and "))
		return f
	}
	for i := range f.From {
		if f.From[i].Clean == nil {
			f.From[i].Clean = slices.Clone(clean)
		}
		if f.From[i].Format == "" {
			f.From[i].Format = format
		}
	}
	if len(f.From) == 0 && (clean != nil || format != "") {
		r.fail(start(n), path, "clean and format belong to the fields inside, not to %s", from[0])
	}
	return f
}

// mapEntries are a map of keys to picks.
func (r *reader) mapEntries(n ast.Node, path string) []source.Entry {
	entries, _ := r.entries(n, path)
	var out []source.Entry
	for _, e := range entries {
		at := join(path, e.key)
		r.pack.places[at] = e.place
		out = append(out, source.Entry{Key: e.key, From: into[[]source.Pick](r, e.value, at)})
	}
	return out
}
