package sourcefile

import (
	"fmt"
	"reflect"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
)

// Values are all values of a definition, or of one part of it, by the paths
// people write, in the order of [Format].
func Values(part any) []control.Value {
	v := reflect.ValueOf(part)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return flatten(nil, "", tree(v))
}

func flatten(out []control.Value, path string, t any) []control.Value {
	switch t := t.(type) {
	case text:
		return append(out, control.Value{Path: path, Text: string(t)})
	case null:
		return append(out, control.Value{Path: path, Text: "(taken away)"})
	case list:
		if s, ok := flow(t); ok {
			return append(out, control.Value{Path: path, Text: s})
		}
		for i, item := range t {
			out = flatten(out, fmt.Sprintf("%s[%d]", path, i), item)
		}
	case mapping:
		if len(t) == 0 {
			return append(out, control.Value{Path: path, Text: "{}"})
		}
		for _, m := range t {
			out = flatten(out, join(path, m.key), m.value)
		}
	}
	return out
}

// Diff lists what differs between two definitions, changed values only.
func Diff(a, b source.Definition) []control.ValueChange {
	before, after := Values(a.Canonical()), Values(b.Canonical())
	was := map[string]string{}
	for _, v := range before {
		was[v.Path] = v.Text
	}
	is := map[string]string{}
	for _, v := range after {
		is[v.Path] = v.Text
	}
	var out []control.ValueChange
	for _, v := range before {
		if _, kept := is[v.Path]; !kept {
			out = append(out, control.ValueChange{Path: v.Path, Old: v.Text})
		}
	}
	for _, v := range after {
		if old, had := was[v.Path]; !had || old != v.Text {
			out = append(out, control.ValueChange{Path: v.Path, Old: old, New: v.Text})
		}
	}
	return out
}
