package source

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/domain/query"
)

// Dimension is one aspect of a source's description. Each has a table of its
// own, and for each exactly one row is in force (R44).
type Dimension string

// The dimensions. Endpoints, capabilities and render rules are named: one row
// per name is in force.
const (
	DimEndpoint   Dimension = "endpoint"
	DimWindow     Dimension = "window"
	DimPagination Dimension = "pagination"
	DimHTTP       Dimension = "http"
	DimAuth       Dimension = "auth"
	DimBatching   Dimension = "batching"
	DimRetry      Dimension = "retry"
	DimRateLimit  Dimension = "rate_limit"
	DimFaults     Dimension = "faults"
	DimMapping    Dimension = "mapping"
	DimCapability Dimension = "capability"
	DimRenderRule Dimension = "render_rule"
	DimParamMap   Dimension = "param_map"
	DimSchedule   Dimension = "schedule"
	DimCuts       Dimension = "cuts"
)

// dimensions in the order in which people read them.
var dimensions = []struct {
	dim   Dimension
	body  reflect.Type
	named bool
}{
	{DimHTTP, reflect.TypeFor[HTTP](), false},
	{DimAuth, reflect.TypeFor[Auth](), false},
	{DimRateLimit, reflect.TypeFor[Rate](), false},
	{DimRetry, reflect.TypeFor[Retry](), false},
	{DimWindow, reflect.TypeFor[WindowConfig](), false},
	{DimPagination, reflect.TypeFor[PaginationConfig](), false},
	{DimBatching, reflect.TypeFor[Batching](), false},
	{DimCuts, reflect.TypeFor[Cuts](), false},
	{DimEndpoint, reflect.TypeFor[Endpoint](), true},
	{DimFaults, reflect.TypeFor[FaultsConfig](), false},
	{DimMapping, reflect.TypeFor[Mapping](), false},
	{DimCapability, reflect.TypeFor[query.Capability](), true},
	{DimRenderRule, reflect.TypeFor[query.Rule](), true},
	{DimParamMap, reflect.TypeFor[query.ParamMap](), true},
	{DimSchedule, reflect.TypeFor[ScheduleConfig](), false},
}

// FaultsConfig is the dimension of what failures mean.
type FaultsConfig struct {
	Rules []FaultRule `yaml:"rules"`
}

// Dimensions lists all of them.
func Dimensions() []Dimension {
	out := make([]Dimension, len(dimensions))
	for i, d := range dimensions {
		out[i] = d.dim
	}
	return out
}

// Named reports whether a dimension has a row per name.
func (d Dimension) Named() bool {
	for _, x := range dimensions {
		if x.dim == d {
			return x.named
		}
	}
	return false
}

func (d Dimension) body() (reflect.Type, error) {
	for _, x := range dimensions {
		if x.dim == d {
			return x.body, nil
		}
	}
	return nil, fmt.Errorf("dimension %q is not known", d)
}

// nameKey is the key of a dimension's body that is the name of its row and no value
// beside it; empty if its bodies have none.
func (d Dimension) nameKey() string {
	switch d {
	case DimCapability:
		return "field"
	case DimParamMap:
		return "stdKey"
	}
	return ""
}

// Value is what a row's body says under one key. A nil value is the platform's
// default.
type Value struct {
	Key   string
	Value any // nil, string, int64, float64 or bool
}

// Keys lists the keys of a dimension's body, in the order of [Values].
func Keys(d Dimension) ([]string, error) {
	t, err := d.body()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range fieldsOf(d, t) {
		out = append(out, f.key)
	}
	return out, nil
}

type bodyField struct {
	index int
	key   string
}

// fieldsOf lists the fields of a body that have a key: a yaml or json name.
func fieldsOf(d Dimension, t reflect.Type) []bodyField {
	var out []bodyField
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" {
			key, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		}
		if key != "" && key != "-" && key != d.nameKey() {
			out = append(out, bodyField{i, key})
		}
	}
	return out
}

// Values takes a body apart.
func Values(d Dimension, body any) ([]Value, error) {
	v := reflect.ValueOf(body)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var out []Value
	for _, f := range fieldsOf(d, v.Type()) {
		val, err := flat(v.Field(f.index))
		if err != nil {
			return nil, fmt.Errorf("%s: key %s: %w", d, f.key, err)
		}
		out = append(out, Value{f.key, val})
	}
	return out, nil
}

// flat is what a field holds as one value: a list or a structure is its JSON.
func flat(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	} else if v.IsZero() {
		return nil, nil
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		return string(b), err
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Int, reflect.Int64:
		return v.Int(), nil
	case reflect.Float64:
		return v.Float(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return nil, nil
		}
	}
	b, err := json.Marshal(v.Interface())
	return string(b), err
}

// FromValues puts a body together again from texts by key, as a database gives
// them; absent and nil are the zero value. It returns a pointer to the body.
func FromValues(d Dimension, get map[string]*string) (any, error) {
	t, err := d.body()
	if err != nil {
		return nil, err
	}
	p := reflect.New(t)
	for _, f := range fieldsOf(d, t) {
		s := get[f.key]
		if s == nil {
			continue
		}
		if err := setFlat(p.Elem().Field(f.index), *s); err != nil {
			return nil, fmt.Errorf("%s: key %s: %w", d, f.key, err)
		}
	}
	return p.Interface(), nil
}

// setFlat is the opposite of flat.
func setFlat(v reflect.Value, s string) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(s))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
		return nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, 64)
		v.SetInt(n)
		return err
	case reflect.Float64:
		n, err := strconv.ParseFloat(s, 64)
		v.SetFloat(n)
		return err
	case reflect.Bool:
		v.SetBool(s == "1" || s == "true")
		return nil
	}
	return json.Unmarshal([]byte(s), v.Addr().Interface())
}
