package source

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

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
)

// dimensions in the order in which people read them.
var dimensions = []struct {
	dim   Dimension
	body  reflect.Type
	named bool
}{
	{DimHTTP, reflect.TypeFor[HTTP](), false},
	{DimAuth, reflect.TypeFor[AuthConfig](), false},
	{DimRateLimit, reflect.TypeFor[Rate](), false},
	{DimRetry, reflect.TypeFor[Retry](), false},
	{DimWindow, reflect.TypeFor[WindowConfig](), false},
	{DimPagination, reflect.TypeFor[PaginationConfig](), false},
	{DimBatching, reflect.TypeFor[Batching](), false},
	{DimEndpoint, reflect.TypeFor[EndpointConfig](), true},
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

// Column is one value of a row's body. A nil value is NULL: the platform's default.
type Column struct {
	Name  string
	Value any // nil, string, int64, float64 or bool
}

// ColumnNames lists the columns of a dimension's body, in the order of [Columns].
func ColumnNames(d Dimension) ([]string, error) {
	t, err := d.body()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range fieldsOf(d, t) {
		out = append(out, f.column)
	}
	return out, nil
}

type bodyField struct {
	index  int
	column string
}

// fieldsOf lists the fields of a body that are columns: those with a yaml or
// json name.
func fieldsOf(d Dimension, t reflect.Type) []bodyField {
	var out []bodyField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		}
		if name == "" || name == "-" {
			continue
		}
		if col := column(d, name); col != "-" { // the row's name
			out = append(out, bodyField{i, col})
		}
	}
	return out
}

// columnOf are the columns that are not simply the name in snake case: the
// design's own words, and names that SQL wants for itself.
var columnOf = map[Dimension]map[string]string{
	DimHTTP: {"baseUrl": "base_url_override", "headers": "default_headers_json", "connectTimeout": "timeout_connect", "readTimeout": "timeout_read", "totalTimeout": "timeout_total"},
	DimAuth: {
		"type": "auth_type_code", "in": "inbound_location_code", "name": "field_name", "prefix": "value_prefix", "pool": "credential_pool",
		"open": "allow_anonymous", "restricted": "restricted_endpoints", "rateLimit": "rate_with_credential",
		"pageSize": "page_size_with_credential", "token": "token_grant", "hook": "signing_hook", "options": "signing_options", "also": "further_secrets",
	},
	DimRateLimit: {"limit": "provider_limit", "window": "provider_window", "qps": "rate_tokens_per_second", "burst": "burst_capacity", "concurrency": "max_concurrent_requests", "key": "bucket_key", "scope": "bucket_scope_code", "budget": "budget_headers"},
	DimRetry:     {"maxAttempts": "max_retry_times", "base": "initial_delay", "max": "max_delay"},
	DimWindow: {
		"key": "default_date_field_name", "precision": "time_precision_code", "bound": "bound_style_code", "updatedAt": "updated_at_code", "align": "align_to",
		"step": "window_size", "minStep": "window_min_size", "overlap": "overlap_size", "baseline": "initial_lookback", "target": "target_records", "zone": "timezone",
		"strategy": "slice_strategy_code", "split": "split_dimension", "maxOpen": "max_open_slices", "pages": "pages_per_slice", "perDay": "records_per_day",
	},
	DimPagination: {"type": "pagination_mode_code", "pageSize": "page_size_value", "firstPage": "start_page_number", "total": "total_code", "order": "sort_order", "end": "end_proofs"},
	DimEndpoint: {
		"usage": "endpoint_usage_code", "method": "http_method_code", "path": "path_template", "query": "default_query_params",
		"form": "default_body_payload", "headers": "default_headers_json", "format": "response_format_code", "response": "response_paths",
		"body": "body_template", "next": "following_pages", "cost": "request_cost", "hook": "reply_hook",
	},
	DimFaults:     {"rules": "fault_rules"},
	DimCapability: {"field": "-"},
	DimRenderRule: {
		"field": "field_key", "op": "op_code", "match": "match_type_code", "valueType": "value_type_code", "emit": "emit_type_code", "values": "value_table",
	},
	DimParamMap: {"stdKey": "-", "name": "provider_param_name", "transform": "transform_code", "repeat": "repeat_param"},
	DimSchedule: {"harvest": "harvest_cron", "update": "update_cron", "olderThan": "update_older_than", "zone": "timezone", "quiet": "quiet_hours"},
	DimMapping:  {"fields": "output_fields", "volatile": "volatile_paths", "retracted": "retracted_paths", "required": "required_fields"},
}

func column(d Dimension, name string) string {
	if c, ok := columnOf[d][name]; ok {
		return c
	}
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Columns takes a body apart.
func Columns(d Dimension, body any) ([]Column, error) {
	v := reflect.ValueOf(body)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var out []Column
	for _, f := range fieldsOf(d, v.Type()) {
		val, err := columnValue(v.Field(f.index))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.column, err)
		}
		out = append(out, Column{f.column, val})
	}
	return out, nil
}

func columnValue(v reflect.Value) (any, error) {
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

// FromColumns puts a body together again from text, as a database gives it;
// absent and nil are the zero value. It returns a pointer to the body.
func FromColumns(d Dimension, get map[string]*string) (any, error) {
	t, err := d.body()
	if err != nil {
		return nil, err
	}
	p := reflect.New(t)
	for _, f := range fieldsOf(d, t) {
		s := get[f.column]
		if s == nil {
			continue
		}
		if err := setColumn(p.Elem().Field(f.index), *s); err != nil {
			return nil, fmt.Errorf("%s: column %s: %w", d, f.column, err)
		}
	}
	return p.Interface(), nil
}

func setColumn(v reflect.Value, s string) error {
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
