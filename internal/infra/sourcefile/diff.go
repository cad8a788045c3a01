package sourcefile

import (
	"fmt"
	"reflect"

	"github.com/papertrace/patra/internal/domain/source"
)

// Value is one value of a description, by its path.
type Value struct {
	Path string `json:"path"`
	Text string `json:"value"`
}

// Values are all values of a definition, or of one part of it, by the paths
// people write, in the order of [Format].
func Values(part any) []Value {
	v := reflect.ValueOf(part)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return flatten(nil, "", tree(v))
}

func flatten(out []Value, path string, t any) []Value {
	switch t := t.(type) {
	case text:
		return append(out, Value{path, string(t)})
	case null:
		return append(out, Value{path, "(taken away)"})
	case list:
		if s, ok := flow(t); ok {
			return append(out, Value{path, s})
		}
		for i, item := range t {
			out = flatten(out, fmt.Sprintf("%s[%d]", path, i), item)
		}
	case mapping:
		if len(t) == 0 {
			return append(out, Value{path, "{}"})
		}
		for _, m := range t {
			out = flatten(out, join(path, m.key), m.value)
		}
	}
	return out
}

// Difference is a value that two descriptions do not share; an empty side does
// not have it.
type Difference struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

func (d Difference) String() string {
	show := func(s string) string {
		if s == "" {
			return "(none)"
		}
		return s
	}
	return fmt.Sprintf("%s: %s -> %s", d.Path, show(d.Old), show(d.New))
}

// Diff lists what differs between two definitions, changed values only.
func Diff(a, b source.Definition) []Difference {
	before, after := Values(a.Canonical()), Values(b.Canonical())
	was := map[string]string{}
	for _, v := range before {
		was[v.Path] = v.Text
	}
	is := map[string]string{}
	for _, v := range after {
		is[v.Path] = v.Text
	}
	var out []Difference
	for _, v := range before {
		if _, kept := is[v.Path]; !kept {
			out = append(out, Difference{Path: v.Path, Old: v.Text})
		}
	}
	for _, v := range after {
		if old, had := was[v.Path]; !had || old != v.Text {
			out = append(out, Difference{Path: v.Path, Old: old, New: v.Text})
		}
	}
	return out
}
