-- +goose Up

-- The sources.
CREATE TABLE reg_provenance (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  provenance_name TEXT,
  homepage TEXT,
  base_url_default TEXT,
  timezone_default TEXT,
  record_type TEXT,
  identity_code TEXT,
  origin_code TEXT NOT NULL,
  origin_hash TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_prov_code ON reg_provenance (provenance_code);

-- How a source is reached.
CREATE TABLE reg_prov_http_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_http_cfg_pick ON reg_prov_http_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- How a request says who is asking; the secrets are in reg_prov_credential.
CREATE TABLE reg_prov_auth_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_auth_cfg_pick ON reg_prov_auth_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- What the provider allows, and our share of it.
CREATE TABLE reg_prov_rate_limit_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_rate_limit_cfg_pick ON reg_prov_rate_limit_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- How patiently a request is repeated.
CREATE TABLE reg_prov_retry_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  max_retry_times INTEGER,
  initial_delay TEXT,
  max_delay TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_retry_cfg_pick ON reg_prov_retry_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- How a source understands time.
CREATE TABLE reg_prov_window_offset_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_window_offset_cfg_pick ON reg_prov_window_offset_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- How a source is walked.
CREATE TABLE reg_prov_pagination_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_pagination_cfg_pick ON reg_prov_pagination_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- How details are asked for.
CREATE TABLE reg_prov_batching_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  id_batch_size INTEGER,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_batching_cfg_pick ON reg_prov_batching_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- The ways to ask.
CREATE TABLE reg_prov_endpoint_def (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_endpoint_def_pick ON reg_prov_endpoint_def (provenance_id, scope_code, task_type_key, endpoint_name, effective_from);

-- What failures mean where the status alone would mislead.
CREATE TABLE reg_prov_fault_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  fault_rules TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_fault_cfg_pick ON reg_prov_fault_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- How items become standard records.
CREATE TABLE reg_prov_mapping_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  output_fields TEXT,
  volatile_paths TEXT,
  retracted_paths TEXT,
  required_fields TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_mapping_cfg_pick ON reg_prov_mapping_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- Secrets, sealed or by reference; never in plain.
CREATE TABLE reg_prov_credential (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  endpoint_name TEXT,
  credential_name TEXT NOT NULL,
  secret_kind_code TEXT NOT NULL CHECK (secret_kind_code IN ('ENV','FILE','SEALED')),
  secret_ref TEXT,
  secret_sealed BLOB,
  secret_mac TEXT,
  is_default_preferred INTEGER NOT NULL DEFAULT 0,
  weight INTEGER NOT NULL DEFAULT 1,
  lifecycle_status_code TEXT NOT NULL CHECK (lifecycle_status_code IN ('ACTIVE','DISABLED')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  refused_count INTEGER NOT NULL DEFAULT 0,
  refused_until TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  CHECK ((secret_kind_code = 'SEALED') = (secret_sealed IS NOT NULL)),
  CHECK ((secret_kind_code = 'SEALED') = (secret_ref IS NULL))
) STRICT;
CREATE INDEX idx_cred_pick ON reg_prov_credential (provenance_id, credential_name);

-- Who changed what, when and why.
CREATE TABLE sys_audit (
  id INTEGER PRIMARY KEY,
  actor TEXT NOT NULL,
  action_code TEXT NOT NULL,
  object TEXT NOT NULL,
  reason TEXT,
  before_state TEXT,
  after_state TEXT,
  preview_hash TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX idx_audit_object ON sys_audit (object, id);

-- Kinds of codes.
CREATE TABLE sys_dict_type (
  type_code TEXT NOT NULL PRIMARY KEY,
  type_name TEXT NOT NULL
) STRICT;

-- Codes.
CREATE TABLE sys_dict_item (
  type_code TEXT NOT NULL,
  item_code TEXT NOT NULL,
  item_name TEXT NOT NULL,
  PRIMARY KEY (type_code, item_code)
) STRICT;

-- Other words for codes.
CREATE TABLE sys_dict_item_alias (
  type_code TEXT NOT NULL,
  alias_code TEXT NOT NULL,
  item_code TEXT NOT NULL,
  PRIMARY KEY (type_code, alias_code)
) STRICT;

-- What a source can do with each field.
CREATE TABLE reg_prov_expr_capability (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_expr_capability_pick ON reg_prov_expr_capability (provenance_id, scope_code, task_type_key, field_key, effective_from);

-- How each kind of condition is written for a source.
CREATE TABLE reg_prov_expr_render_rule (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_expr_render_rule_pick ON reg_prov_expr_render_rule (provenance_id, scope_code, task_type_key, rule_key, effective_from);

-- What a source calls the parts of a request.
CREATE TABLE reg_prov_api_param_map (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  std_key TEXT NOT NULL,
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  provider_param_name TEXT,
  transform_code TEXT,
  joiner TEXT,
  repeat_param INTEGER,
  name_mark TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_api_param_map_pick ON reg_prov_api_param_map (provenance_id, scope_code, task_type_key, std_key, effective_from);

-- The unified fields that queries name.
CREATE TABLE reg_expr_field_dict (
  field_key TEXT NOT NULL PRIMARY KEY,
  display_name TEXT NOT NULL,
  description TEXT,
  data_type_code TEXT NOT NULL,
  is_multi INTEGER NOT NULL DEFAULT 0,
  exposable INTEGER NOT NULL DEFAULT 1,
  is_date INTEGER NOT NULL DEFAULT 0,
  aliases TEXT
) STRICT;
