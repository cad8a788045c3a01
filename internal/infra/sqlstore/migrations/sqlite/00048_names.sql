-- +goose Up

-- Descriptions by the names of the registry's design: its INSERTs run as they are printed. A row
-- says under task_type, in any case, which operation it is for, and task_type_key follows from
-- that. What only patra asks for has a default. The design's columns stand beside those of patra's
-- own that say the same: rows of packs have both, and where both are given the design's is read.
-- The tables are made anew: SQLite changes no column that is there.

CREATE TABLE reg_provenance_named (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  provenance_name TEXT,
  homepage TEXT,
  base_url_default TEXT,
  timezone_default TEXT,
  record_type TEXT,
  identity_code TEXT,
  origin_code TEXT NOT NULL DEFAULT 'SQL',
  origin_hash TEXT,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now'))
) STRICT;
INSERT INTO reg_provenance_named (id, provenance_code, provenance_name, homepage, base_url_default, timezone_default, record_type, identity_code, origin_code, origin_hash, created_at, updated_at)
  SELECT id, provenance_code, provenance_name, homepage, base_url_default, timezone_default, record_type, identity_code, origin_code, origin_hash, created_at, updated_at FROM reg_provenance;
DROP TABLE reg_provenance;
ALTER TABLE reg_provenance_named RENAME TO reg_provenance;
CREATE UNIQUE INDEX uk_prov_code ON reg_provenance (provenance_code);

CREATE TABLE reg_prov_api_param_map_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  std_key TEXT NOT NULL,
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  provider_param_name TEXT,
  transform_code TEXT,
  joiner TEXT,
  repeat_param INTEGER,
  name_mark TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_api_param_map_named (id, provenance_id, scope_code, std_key, effective_from, effective_to, supersedes_id, provider_param_name, transform_code, joiner, repeat_param, name_mark, created_by, created_at, updated_at, task_type)
  SELECT id, provenance_id, scope_code, std_key, effective_from, effective_to, supersedes_id, provider_param_name, transform_code, joiner, repeat_param, name_mark, created_by, created_at, updated_at, NULLIF(task_type_key, 'ALL') FROM reg_prov_api_param_map;
DROP TABLE reg_prov_api_param_map;
ALTER TABLE reg_prov_api_param_map_named RENAME TO reg_prov_api_param_map;
CREATE INDEX idx_api_param_map_pick ON reg_prov_api_param_map (provenance_id, scope_code, task_type_key, std_key, effective_from);

CREATE TABLE reg_prov_auth_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  auth_type_code TEXT,
  inbound_location_code TEXT,
  field_name TEXT,
  value_prefix TEXT,
  credential_pool TEXT,
  allow_anonymous INTEGER,
  restricted_endpoints TEXT,
  rate_with_credential TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  page_size_with_credential INTEGER,
  token_grant TEXT,
  signing_hook TEXT,
  signing_options TEXT,
  further_secrets TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_auth_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, auth_type_code, inbound_location_code, field_name, value_prefix, credential_pool, allow_anonymous, restricted_endpoints, rate_with_credential, created_by, created_at, updated_at, page_size_with_credential, token_grant, signing_hook, signing_options, further_secrets, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, auth_type_code, inbound_location_code, field_name, value_prefix, credential_pool, allow_anonymous, restricted_endpoints, rate_with_credential, created_by, created_at, updated_at, page_size_with_credential, token_grant, signing_hook, signing_options, further_secrets, NULLIF(task_type_key, 'ALL') FROM reg_prov_auth_cfg;
DROP TABLE reg_prov_auth_cfg;
ALTER TABLE reg_prov_auth_cfg_named RENAME TO reg_prov_auth_cfg;
CREATE INDEX idx_auth_cfg_pick ON reg_prov_auth_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_batching_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  id_batch_size INTEGER,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  ids_param_name TEXT,
  ids_join_delimiter TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_batching_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, id_batch_size, created_by, created_at, updated_at, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, id_batch_size, created_by, created_at, updated_at, NULLIF(task_type_key, 'ALL') FROM reg_prov_batching_cfg;
DROP TABLE reg_prov_batching_cfg;
ALTER TABLE reg_prov_batching_cfg_named RENAME TO reg_prov_batching_cfg;
CREATE INDEX idx_batching_cfg_pick ON reg_prov_batching_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_credential_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  endpoint_name TEXT,
  credential_name TEXT NOT NULL,
  secret_kind_code TEXT NOT NULL CHECK (secret_kind_code IN ('ENV','FILE','SEALED')),
  secret_ref TEXT,
  secret_sealed BLOB,
  secret_mac TEXT,
  is_default_preferred INTEGER NOT NULL DEFAULT 0,
  weight INTEGER NOT NULL DEFAULT 1,
  lifecycle_status_code TEXT NOT NULL DEFAULT 'ACTIVE' CHECK (lifecycle_status_code IN ('ACTIVE','DISABLED')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  refused_count INTEGER NOT NULL DEFAULT 0,
  refused_until TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  origins_json TEXT,
  endpoint_id INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  CHECK ((secret_kind_code = 'SEALED') = (secret_sealed IS NOT NULL)),
  CHECK ((secret_kind_code = 'SEALED') = (secret_ref IS NULL))
) STRICT;
INSERT INTO reg_prov_credential_named (id, provenance_id, scope_code, endpoint_name, credential_name, secret_kind_code, secret_ref, secret_sealed, secret_mac, is_default_preferred, weight, lifecycle_status_code, effective_from, effective_to, supersedes_id, refused_count, refused_until, created_by, created_at, updated_at, origins_json, task_type)
  SELECT id, provenance_id, scope_code, endpoint_name, credential_name, secret_kind_code, secret_ref, secret_sealed, secret_mac, is_default_preferred, weight, lifecycle_status_code, effective_from, effective_to, supersedes_id, refused_count, refused_until, created_by, created_at, updated_at, origins_json, NULLIF(task_type_key, 'ALL') FROM reg_prov_credential;
DROP TABLE reg_prov_credential;
ALTER TABLE reg_prov_credential_named RENAME TO reg_prov_credential;
CREATE INDEX idx_cred_pick ON reg_prov_credential (provenance_id, credential_name);

CREATE TABLE reg_prov_cut_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  pages_soft INTEGER,
  pages_hard INTEGER,
  page_bytes TEXT,
  throttled INTEGER,
  throttled_within TEXT,
  failed_percent INTEGER,
  failed_over INTEGER,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_cut_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, pages_soft, pages_hard, page_bytes, throttled, throttled_within, failed_percent, failed_over, created_by, created_at, updated_at, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, pages_soft, pages_hard, page_bytes, throttled, throttled_within, failed_percent, failed_over, created_by, created_at, updated_at, NULLIF(task_type_key, 'ALL') FROM reg_prov_cut_cfg;
DROP TABLE reg_prov_cut_cfg;
ALTER TABLE reg_prov_cut_cfg_named RENAME TO reg_prov_cut_cfg;
CREATE INDEX idx_cut_cfg_pick ON reg_prov_cut_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_endpoint_def_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  endpoint_name TEXT NOT NULL,
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  endpoint_usage_code TEXT,
  http_method_code TEXT,
  path_template TEXT,
  default_query_params TEXT,
  default_body_payload TEXT,
  default_headers_json TEXT,
  response_format_code TEXT,
  response_paths TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  body_template TEXT,
  content_type TEXT,
  following_pages TEXT,
  post_over INTEGER,
  request_cost INTEGER,
  reply_hook TEXT,
  id_pattern TEXT,
  request_content_type TEXT,
  is_auth_required INTEGER,
  page_param_name TEXT,
  page_size_param_name TEXT,
  cursor_param_name TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_endpoint_def_named (id, provenance_id, scope_code, endpoint_name, effective_from, effective_to, supersedes_id, endpoint_usage_code, http_method_code, path_template, default_query_params, default_body_payload, default_headers_json, response_format_code, response_paths, created_by, created_at, updated_at, body_template, content_type, following_pages, post_over, request_cost, reply_hook, id_pattern, task_type)
  SELECT id, provenance_id, scope_code, endpoint_name, effective_from, effective_to, supersedes_id, endpoint_usage_code, http_method_code, path_template, default_query_params, default_body_payload, default_headers_json, response_format_code, response_paths, created_by, created_at, updated_at, body_template, content_type, following_pages, post_over, request_cost, reply_hook, id_pattern, NULLIF(task_type_key, 'ALL') FROM reg_prov_endpoint_def;
DROP TABLE reg_prov_endpoint_def;
ALTER TABLE reg_prov_endpoint_def_named RENAME TO reg_prov_endpoint_def;
CREATE INDEX idx_endpoint_def_pick ON reg_prov_endpoint_def (provenance_id, scope_code, task_type_key, endpoint_name, effective_from);

CREATE TABLE reg_prov_expr_capability_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  field_key TEXT NOT NULL,
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  ops TEXT,
  negatable_ops TEXT,
  supports_not INTEGER,
  term_matches TEXT,
  term_case_sensitive INTEGER,
  term_min_len INTEGER,
  term_max_len INTEGER,
  term_pattern TEXT,
  prefix_min_len INTEGER,
  in_max_size INTEGER,
  in_case_sensitive INTEGER,
  range_precision TEXT,
  range_open_start INTEGER,
  range_open_end INTEGER,
  range_exclusive INTEGER,
  range_min TEXT,
  range_max TEXT,
  token_pattern TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  accents INTEGER,
  shown TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_expr_capability_named (id, provenance_id, scope_code, field_key, effective_from, effective_to, supersedes_id, ops, negatable_ops, supports_not, term_matches, term_case_sensitive, term_min_len, term_max_len, term_pattern, prefix_min_len, in_max_size, in_case_sensitive, range_precision, range_open_start, range_open_end, range_exclusive, range_min, range_max, token_pattern, created_by, created_at, updated_at, accents, shown, task_type)
  SELECT id, provenance_id, scope_code, field_key, effective_from, effective_to, supersedes_id, ops, negatable_ops, supports_not, term_matches, term_case_sensitive, term_min_len, term_max_len, term_pattern, prefix_min_len, in_max_size, in_case_sensitive, range_precision, range_open_start, range_open_end, range_exclusive, range_min, range_max, token_pattern, created_by, created_at, updated_at, accents, shown, NULLIF(task_type_key, 'ALL') FROM reg_prov_expr_capability;
DROP TABLE reg_prov_expr_capability;
ALTER TABLE reg_prov_expr_capability_named RENAME TO reg_prov_expr_capability;
CREATE INDEX idx_expr_capability_pick ON reg_prov_expr_capability (provenance_id, scope_code, task_type_key, field_key, effective_from);

CREATE TABLE reg_prov_expr_render_rule_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  rule_key TEXT NOT NULL,
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  field_key TEXT,
  op_code TEXT,
  match_type_code TEXT,
  value_type_code TEXT,
  negated INTEGER,
  emit_type_code TEXT,
  template TEXT,
  item_template TEXT,
  joiner TEXT,
  wrap_group INTEGER,
  params TEXT,
  value_table TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  finds TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_expr_render_rule_named (id, provenance_id, scope_code, rule_key, effective_from, effective_to, supersedes_id, field_key, op_code, match_type_code, value_type_code, negated, emit_type_code, template, item_template, joiner, wrap_group, params, value_table, created_by, created_at, updated_at, finds, task_type)
  SELECT id, provenance_id, scope_code, rule_key, effective_from, effective_to, supersedes_id, field_key, op_code, match_type_code, value_type_code, negated, emit_type_code, template, item_template, joiner, wrap_group, params, value_table, created_by, created_at, updated_at, finds, NULLIF(task_type_key, 'ALL') FROM reg_prov_expr_render_rule;
DROP TABLE reg_prov_expr_render_rule;
ALTER TABLE reg_prov_expr_render_rule_named RENAME TO reg_prov_expr_render_rule;
CREATE INDEX idx_expr_render_rule_pick ON reg_prov_expr_render_rule (provenance_id, scope_code, task_type_key, rule_key, effective_from);

CREATE TABLE reg_prov_fault_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  fault_rules TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_fault_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, fault_rules, created_by, created_at, updated_at, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, fault_rules, created_by, created_at, updated_at, NULLIF(task_type_key, 'ALL') FROM reg_prov_fault_cfg;
DROP TABLE reg_prov_fault_cfg;
ALTER TABLE reg_prov_fault_cfg_named RENAME TO reg_prov_fault_cfg;
CREATE INDEX idx_fault_cfg_pick ON reg_prov_fault_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_http_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  base_url_override TEXT,
  default_headers_json TEXT,
  timeout_connect TEXT,
  timeout_read TEXT,
  timeout_total TEXT,
  allow_http INTEGER,
  allow_private INTEGER,
  max_body TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  proxy TEXT,
  redirects TEXT,
  timeout_connect_millis INTEGER,
  timeout_read_millis INTEGER,
  timeout_total_millis INTEGER,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_http_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, base_url_override, default_headers_json, timeout_connect, timeout_read, timeout_total, allow_http, allow_private, max_body, created_by, created_at, updated_at, proxy, redirects, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, base_url_override, default_headers_json, timeout_connect, timeout_read, timeout_total, allow_http, allow_private, max_body, created_by, created_at, updated_at, proxy, redirects, NULLIF(task_type_key, 'ALL') FROM reg_prov_http_cfg;
DROP TABLE reg_prov_http_cfg;
ALTER TABLE reg_prov_http_cfg_named RENAME TO reg_prov_http_cfg;
CREATE INDEX idx_http_cfg_pick ON reg_prov_http_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_mapping_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  output_fields TEXT,
  volatile_paths TEXT,
  retracted_paths TEXT,
  required_fields TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_mapping_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, output_fields, volatile_paths, retracted_paths, required_fields, created_by, created_at, updated_at, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, output_fields, volatile_paths, retracted_paths, required_fields, created_by, created_at, updated_at, NULLIF(task_type_key, 'ALL') FROM reg_prov_mapping_cfg;
DROP TABLE reg_prov_mapping_cfg;
ALTER TABLE reg_prov_mapping_cfg_named RENAME TO reg_prov_mapping_cfg;
CREATE INDEX idx_mapping_cfg_pick ON reg_prov_mapping_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_pagination_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  pagination_mode_code TEXT,
  page_size_value INTEGER,
  start_page_number INTEGER,
  token_repeat TEXT,
  token_stateful INTEGER,
  total_code TEXT,
  snapshot INTEGER,
  sort_order TEXT,
  end_proofs TEXT,
  max_items INTEGER,
  max_pages INTEGER,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  token_lifetime TEXT,
  page_number_param_name TEXT,
  page_size_param_name TEXT,
  cursor_param_name TEXT,
  next_cursor_jsonpath TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_pagination_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, pagination_mode_code, page_size_value, start_page_number, token_repeat, token_stateful, total_code, snapshot, sort_order, end_proofs, max_items, max_pages, created_by, created_at, updated_at, token_lifetime, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, pagination_mode_code, page_size_value, start_page_number, token_repeat, token_stateful, total_code, snapshot, sort_order, end_proofs, max_items, max_pages, created_by, created_at, updated_at, token_lifetime, NULLIF(task_type_key, 'ALL') FROM reg_prov_pagination_cfg;
DROP TABLE reg_prov_pagination_cfg;
ALTER TABLE reg_prov_pagination_cfg_named RENAME TO reg_prov_pagination_cfg;
CREATE INDEX idx_pagination_cfg_pick ON reg_prov_pagination_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_rate_limit_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  provider_limit INTEGER,
  provider_window TEXT,
  rate_tokens_per_second REAL,
  burst_capacity INTEGER,
  max_concurrent_requests INTEGER,
  bucket_key TEXT,
  limit_headers TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  quotas TEXT,
  budget_headers TEXT,
  retry_after_on TEXT,
  bucket_scope_code TEXT,
  jitter TEXT,
  adapt_settings TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_rate_limit_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, provider_limit, provider_window, rate_tokens_per_second, burst_capacity, max_concurrent_requests, bucket_key, limit_headers, created_by, created_at, updated_at, quotas, budget_headers, retry_after_on, bucket_scope_code, jitter, adapt_settings, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, provider_limit, provider_window, rate_tokens_per_second, burst_capacity, max_concurrent_requests, bucket_key, limit_headers, created_by, created_at, updated_at, quotas, budget_headers, retry_after_on, bucket_scope_code, jitter, adapt_settings, NULLIF(task_type_key, 'ALL') FROM reg_prov_rate_limit_cfg;
DROP TABLE reg_prov_rate_limit_cfg;
ALTER TABLE reg_prov_rate_limit_cfg_named RENAME TO reg_prov_rate_limit_cfg;
CREATE INDEX idx_rate_limit_cfg_pick ON reg_prov_rate_limit_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_retry_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  max_retry_times INTEGER,
  initial_delay TEXT,
  max_delay TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  initial_delay_millis INTEGER,
  max_delay_millis INTEGER,
  retry_http_status_json TEXT,
  giveup_http_status_json TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_retry_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, max_retry_times, initial_delay, max_delay, created_by, created_at, updated_at, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, max_retry_times, initial_delay, max_delay, created_by, created_at, updated_at, NULLIF(task_type_key, 'ALL') FROM reg_prov_retry_cfg;
DROP TABLE reg_prov_retry_cfg;
ALTER TABLE reg_prov_retry_cfg_named RENAME TO reg_prov_retry_cfg;
CREATE INDEX idx_retry_cfg_pick ON reg_prov_retry_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_schedule_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  harvest_cron TEXT,
  update_cron TEXT,
  update_older_than TEXT,
  timezone TEXT,
  quiet_hours TEXT,
  sentinel INTEGER,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_schedule_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, harvest_cron, update_cron, update_older_than, timezone, quiet_hours, sentinel, created_by, created_at, updated_at, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, harvest_cron, update_cron, update_older_than, timezone, quiet_hours, sentinel, created_by, created_at, updated_at, NULLIF(task_type_key, 'ALL') FROM reg_prov_schedule_cfg;
DROP TABLE reg_prov_schedule_cfg;
ALTER TABLE reg_prov_schedule_cfg_named RENAME TO reg_prov_schedule_cfg;
CREATE INDEX idx_schedule_cfg_pick ON reg_prov_schedule_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_window_offset_cfg_named (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  default_date_field_name TEXT,
  filters TEXT,
  time_precision_code TEXT,
  timezone TEXT,
  bound_style_code TEXT,
  updated_at_code TEXT,
  safety_lag TEXT,
  align_to TEXT,
  overlap_size TEXT,
  initial_lookback TEXT,
  window_size TEXT,
  window_min_size TEXT,
  target_records INTEGER,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  slice_strategy_code TEXT,
  split_dimension TEXT,
  max_requests INTEGER,
  max_records INTEGER,
  max_duration TEXT,
  max_open_slices INTEGER,
  pages_per_slice INTEGER,
  records_per_day INTEGER,
  beginning TEXT,
  window_mode_code TEXT,
  window_size_value INTEGER,
  window_size_unit_code TEXT,
  overlap_value INTEGER,
  overlap_unit_code TEXT,
  lookback_value INTEGER,
  lookback_unit_code TEXT,
  offset_type_code TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
INSERT INTO reg_prov_window_offset_cfg_named (id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, default_date_field_name, filters, time_precision_code, timezone, bound_style_code, updated_at_code, safety_lag, align_to, overlap_size, initial_lookback, window_size, window_min_size, target_records, created_by, created_at, updated_at, slice_strategy_code, split_dimension, max_requests, max_records, max_duration, max_open_slices, pages_per_slice, records_per_day, beginning, task_type)
  SELECT id, provenance_id, scope_code, effective_from, effective_to, supersedes_id, default_date_field_name, filters, time_precision_code, timezone, bound_style_code, updated_at_code, safety_lag, align_to, overlap_size, initial_lookback, window_size, window_min_size, target_records, created_by, created_at, updated_at, slice_strategy_code, split_dimension, max_requests, max_records, max_duration, max_open_slices, pages_per_slice, records_per_day, beginning, NULLIF(task_type_key, 'ALL') FROM reg_prov_window_offset_cfg;
DROP TABLE reg_prov_window_offset_cfg;
ALTER TABLE reg_prov_window_offset_cfg_named RENAME TO reg_prov_window_offset_cfg;
CREATE INDEX idx_window_offset_cfg_pick ON reg_prov_window_offset_cfg (provenance_id, scope_code, task_type_key, effective_from);
