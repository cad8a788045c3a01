package sqlstore

import (
	"strings"
	"unicode"

	"github.com/papertrace/patra/internal/domain/source"
)

// dimensionTable names the table of each dimension.
var dimensionTable = map[source.Dimension]string{
	source.DimHTTP:       "reg_prov_http_cfg",
	source.DimAuth:       "reg_prov_auth_cfg",
	source.DimRateLimit:  "reg_prov_rate_limit_cfg",
	source.DimRetry:      "reg_prov_retry_cfg",
	source.DimWindow:     "reg_prov_window_offset_cfg",
	source.DimPagination: "reg_prov_pagination_cfg",
	source.DimBatching:   "reg_prov_batching_cfg",
	source.DimEndpoint:   "reg_prov_endpoint_def",
	source.DimFaults:     "reg_prov_fault_cfg",
	source.DimMapping:    "reg_prov_mapping_cfg",
	source.DimCapability: "reg_prov_expr_capability",
	source.DimRenderRule: "reg_prov_expr_render_rule",
	source.DimParamMap:   "reg_prov_api_param_map",
	source.DimSchedule:   "reg_prov_schedule_cfg",
	source.DimCuts:       "reg_prov_cut_cfg",
}

// Table is where the rows of a dimension are.
func (s *Store) Table(d source.Dimension) string { return dimensionTable[d] }

// nameColumns are the columns that hold the names of named dimensions.
var nameColumns = map[source.Dimension]string{
	source.DimEndpoint:   "endpoint_name",
	source.DimCapability: "field_key",
	source.DimRenderRule: "rule_key",
	source.DimParamMap:   "std_key",
}

func nameColumn(d source.Dimension) string {
	if c, ok := nameColumns[d]; ok {
		return c
	}
	return "''"
}

// columnOf are the columns that are not simply the key in snake case: the
// design's own words, and names that SQL wants for itself.
var columnOf = map[source.Dimension]map[string]string{
	source.DimHTTP: {
		"baseUrl": "base_url_override", "headers": "default_headers_json",
		"connectTimeout": "timeout_connect", "readTimeout": "timeout_read", "totalTimeout": "timeout_total",
	},
	source.DimAuth: {
		"type": "auth_type_code", "in": "inbound_location_code", "name": "field_name", "prefix": "value_prefix", "pool": "credential_pool",
		"open": "allow_anonymous", "restricted": "restricted_endpoints", "rateLimit": "rate_with_credential",
		"pageSize": "page_size_with_credential", "token": "token_grant", "hook": "signing_hook", "options": "signing_options", "also": "further_secrets",
	},
	source.DimRateLimit: {
		"limit": "provider_limit", "window": "provider_window", "qps": "rate_tokens_per_second", "burst": "burst_capacity",
		"concurrency": "max_concurrent_requests", "key": "bucket_key", "scope": "bucket_scope_code", "budget": "budget_headers", "adapt": "adapt_settings",
	},
	source.DimRetry: {
		"maxAttempts": "max_retry_times", "base": "initial_delay", "max": "max_delay", "retryOn": "retry_http_status_json", "giveUpOn": "giveup_http_status_json",
		"breakAfter": "circuit_break_threshold", "breakRest": "circuit_cooldown", "breakMost": "circuit_cooldown_most",
	},
	source.DimWindow: {
		"key": "default_date_field_name", "precision": "time_precision_code", "bound": "bound_style_code", "updatedAt": "updated_at_code",
		"align": "align_to", "step": "window_size", "minStep": "window_min_size", "overlap": "overlap_size", "baseline": "initial_lookback",
		"target": "target_records", "zone": "timezone", "strategy": "slice_strategy_code", "split": "split_dimension",
		"maxOpen": "max_open_slices", "pages": "pages_per_slice", "perDay": "records_per_day",
		"mode": "window_mode_code", "offset": "offset_type_code",
	},
	source.DimBatching: {"idsParam": "ids_param_name", "idsSeparator": "ids_join_delimiter", "parallel": "max_parallel_requests"},
	source.DimPagination: {
		"type": "pagination_mode_code", "pageSize": "page_size_value", "firstPage": "start_page_number",
		"total": "total_code", "order": "sort_order", "end": "end_proofs",
		"pageParam": "page_number_param_name", "sizeParam": "page_size_param_name", "cursorParam": "cursor_param_name", "nextToken": "next_cursor_jsonpath",
	},
	source.DimEndpoint: {
		"usage": "endpoint_usage_code", "method": "http_method_code", "path": "path_template", "query": "default_query_params",
		"form": "default_body_payload", "headers": "default_headers_json", "format": "response_format_code", "response": "response_paths",
		"body": "body_template", "next": "following_pages", "cost": "request_cost", "hook": "reply_hook",
		"pageParam": "page_param_name", "sizeParam": "page_size_param_name", "cursorParam": "cursor_param_name", "authRequired": "is_auth_required",
		"default": "is_default", "of": "search_endpoint",
	},
	source.DimFaults: {"rules": "fault_rules"},
	source.DimRenderRule: {
		"field": "field_key", "op": "op_code", "match": "match_type_code", "valueType": "value_type_code",
		"emit": "emit_type_code", "values": "value_table",
	},
	source.DimParamMap: {"name": "provider_param_name", "transform": "transform_code", "repeat": "repeat_param"},
	source.DimSchedule: {"harvest": "harvest_cron", "update": "update_cron", "olderThan": "update_older_than", "zone": "timezone", "quiet": "quiet_hours"},
	source.DimMapping:  {"fields": "output_fields", "volatile": "volatile_paths", "retracted": "retracted_paths", "required": "required_fields"},
}

// column is where the value of a key is kept.
func column(d source.Dimension, key string) string {
	if c, ok := columnOf[d][key]; ok {
		return c
	}
	var b strings.Builder
	for _, r := range key {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
