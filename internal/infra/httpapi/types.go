package httpapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// describeTypes tells the document about types that write themselves.
func describeTypes(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[control.Time](), reflect.TypeFor[instant]())
	r.RegisterTypeAlias(reflect.TypeFor[harvest.Mark](), reflect.TypeFor[mark]())
	r.RegisterTypeAlias(reflect.TypeFor[control.Counted](), reflect.TypeFor[int64]())
	r.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[anyJSON]())
}

// instant stands for a time that writes itself.
type instant struct{}

// Schema implements huma.SchemaProvider.
func (instant) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Description: "UTC, with Z"}
}

// mark stands for a place on the axis of a cursor.
type mark struct{}

// Schema implements huma.SchemaProvider.
func (mark) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: "An instant in UTC with Z; of an UPDATE the number of a candidate"}
}

// anyJSON stands for a value that is passed on as it is.
type anyJSON struct{}

// Schema implements huma.SchemaProvider.
func (anyJSON) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Description: "Any value"} }

// schemaPrefix is where the document keeps its types.
const schemaPrefix = "#/components/schemas/"

// exactTypes mends what the library does not see of the types of answers: that a
// pointer may be null also where its type writes itself, and that what comes from an
// embedded pointer is there only if that is.
func exactTypes(r huma.Registry) {
	for name, schema := range r.Map() {
		t := r.TypeFromRef(schemaPrefix + name)
		if t == nil || schema.Properties == nil {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			property := schema.Properties[key]
			if property == nil {
				continue
			}
			if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
				may := *property
				may.Nullable = true
				schema.Properties[key] = &may
			}
			if throughPointer(t, f.Index) {
				schema.Required = slices.DeleteFunc(schema.Required, func(s string) bool { return s == key })
			}
		}
	}
}

// throughPointer reports whether a field is reached through an embedded pointer.
func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}
