package sourcefile

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/source"
)

// Schema is the JSON Schema of packs, for editors. It is made from the same
// declaration that the reader follows; what a pack means is still for
// [source.Compile] to judge.
func Schema() []byte {
	s := &schema{defs: object{}}
	root := s.structure(reflect.TypeFor[source.Definition]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "patra source pack"
	root["description"] = "How a literature source is asked and read. Codes are read in any case; durations are written 90s, 30d, PT10M or P1D."
	root["required"] = []string{"source", "recordType"}
	root["$defs"] = s.defs
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil { // maps, lists and texts
		panic(fmt.Sprintf("sourcefile: write schema: %v", err))
	}
	return b.Bytes()
}

type object = map[string]any

type schema struct{ defs object }

var (
	schemaText     = object{"type": "string"}
	schemaScalar   = object{"type": []string{"string", "number", "boolean"}}
	schemaDuration = object{"anyOf": []any{
		object{"type": "string", "pattern": `^(0|([0-9.]+(ns|us|µs|ms|s|m|h))+|[0-9]+d|P([0-9]+W)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9.]+S)?)?)$`},
		object{"const": 0},
	}}
	schemaSize = object{"anyOf": []any{
		object{"type": "string", "pattern": `^[0-9]+ *(GiB|MiB|KiB|B)?$`},
		object{"type": "integer", "minimum": 0},
	}}
)

// of is the schema of a type, as the reader reads it.
func (s *schema) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[source.Duration]():
		return schemaDuration
	case reflect.TypeFor[source.Size]():
		return schemaSize
	case reflect.TypeFor[source.TotalWorth]():
		return anyOf(codes(source.DictTotal), object{"type": "string", "pattern": "^" + anyCase("ABOUT") + " *[0-9]+ *%$"})
	case reflect.TypeFor[[]source.Endpoint]():
		return byName(s.of(reflect.TypeFor[source.Endpoint]()))
	case reflect.TypeFor[source.Headers]():
		return byName(object{"type": []string{"string", "number", "boolean", "null"}})
	case reflect.TypeFor[tasks]():
		parts := s.of(reflect.TypeFor[source.Overrides]())
		props, any := object{}, object{}
		for _, name := range taskNames() {
			props[name] = parts
			any["^"+anyCase(name)+"$"] = parts
		}
		return object{"type": "object", "properties": props, "patternProperties": any, "additionalProperties": false}
	case reflect.TypeFor[source.Pick]():
		return s.named("Pick", func() object { return anyOf(schemaText, s.picked(nil)) })
	case reflect.TypeFor[source.DatedPick]():
		return s.named("DatedPick", func() object {
			return anyOf(schemaText, s.picked(object{"key": described(schemaText, "name of the date found there")}))
		})
	case reflect.TypeFor[source.DateParts]():
		return s.named("DateParts", func() object { return anyOf(schemaText, s.structure(t)) })
	case reflect.TypeFor[source.Presence]():
		return s.named("Presence", func() object { return anyOf(schemaText, s.structure(t)) })
	case reflect.TypeFor[[]source.Field]():
		return byName(s.field())
	case reflect.TypeFor[[]source.Entry]():
		return byName(s.of(reflect.TypeFor[[]source.Pick]()))
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return schemaText
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.named(t.Name(), func() object { return s.structure(t) })
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String { // read as written, like the values of a map
			return listOf(schemaScalar)
		}
		return listOf(s.of(t.Elem()))
	case reflect.Map:
		if t.Elem().Kind() != reflect.String {
			return byName(s.of(t.Elem()))
		}
		return byName(schemaScalar)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	return schemaText
}

// named keeps the schema of a type that occurs in several places.
func (s *schema) named(name string, make func() object) object {
	if s.defs[name] == nil {
		s.defs[name] = true // while it is made: types may hold themselves
		s.defs[name] = make()
	}
	return object{"$ref": "#/$defs/" + name}
}

func (s *schema) structure(t reflect.Type) object {
	props := object{}
	for _, f := range fieldsOf(t) {
		tag := t.Field(f.index).Tag
		p := s.of(t.Field(f.index).Type)
		if kind := tag.Get("dict"); kind != "" {
			p = codes(source.Dict(kind))
			if t.Field(f.index).Type.Kind() == reflect.Slice {
				p = listOf(p)
			}
		}
		props[f.name] = described(p, tag.Get("doc"))
	}
	return object{"type": "object", "properties": props, "additionalProperties": false}
}

// picked is the long form of a pick.
func (s *schema) picked(more object) object {
	props := object{
		"path":   schemaText,
		"all":    described(listOf(schemaText), "paths of parts that are put together, with sep between"),
		"sep":    schemaText,
		"date":   s.of(reflect.TypeFor[source.DateParts]()),
		"format": described(schemaText, "RFC3339, EPOCH_S, EPOCH_MS, YEAR or a layout such as 2006-01-02"),
		"clean":  listOf(schemaText),
	}
	maps.Copy(props, more)
	return object{"type": "object", "properties": props, "additionalProperties": false}
}

// field is a field of the standard record: a path, a list of paths of which the
// first that yields wins, or a map.
func (s *schema) field() object {
	return s.named("Field", func() object {
		picks := s.of(reflect.TypeFor[[]source.Pick]())
		paths := listOf(schemaText)
		props := object{
			"path": schemaText, "first": picks, "list": picks, "number": picks, "bool": picks, "count": paths,
			"date": s.of(reflect.TypeFor[source.DateParts]()), "each": paths, "split": schemaText,
			"fields": s.of(reflect.TypeFor[[]source.Field]()), "entries": s.of(reflect.TypeFor[[]source.Entry]()),
			"join": schemaText, "label": schemaText, "clean": paths, "format": schemaText,
			"allowed": described(paths, "values that a text, or each of a list, may have; an item with another goes to quarantine"),
			"pattern": described(schemaText, "regular expression that the whole of a value must match; an item with another goes to quarantine"),
		}
		var one []any
		for _, k := range slices.Sorted(maps.Keys(fieldSources)) {
			one = append(one, object{"required": []string{k}})
		}
		long := object{"type": "object", "properties": props, "additionalProperties": false, "oneOf": one}
		return anyOf(schemaText, object{"type": "array", "items": s.of(reflect.TypeFor[source.Pick]())}, long)
	})
}

func anyOf(s ...any) object { return object{"anyOf": s} }

// listOf: one value alone is a list of one.
func listOf(item object) object {
	return anyOf(item, object{"type": "array", "items": item})
}

func byName(item object) object {
	return object{"type": "object", "additionalProperties": item}
}

func described(s object, doc string) object {
	if doc == "" {
		return s
	}
	out := object{"description": doc}
	maps.Copy(out, s)
	return out
}

// codes offers the canonical words and takes every word that is read.
func codes(kind source.Dict) object {
	var words []string
	for _, t := range source.Dictionary() {
		if t.Code != kind {
			continue
		}
		for _, it := range t.Items {
			words = append(words, anyCase(it.Code))
			for _, a := range it.Aliases {
				words = append(words, anyCase(a))
			}
		}
	}
	return anyOf(object{"enum": kind.Codes()}, object{"type": "string", "pattern": "^(" + strings.Join(words, "|") + ")$"})
}

// anyCase is a pattern for a word in any case: schemas know no such flag.
func anyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		lower, upper := strings.ToLower(string(r)), strings.ToUpper(string(r))
		if lower == upper {
			b.WriteString(lower)
		} else {
			b.WriteString("[" + lower + upper + "]")
		}
	}
	return b.String()
}
