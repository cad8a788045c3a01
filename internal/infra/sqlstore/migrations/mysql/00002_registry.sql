-- +goose Up

-- The sources.
CREATE TABLE reg_provenance (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_code VARCHAR(64) NOT NULL,
  provenance_name VARCHAR(255) NULL,
  homepage VARCHAR(255) NULL,
  base_url_default VARCHAR(255) NULL,
  timezone_default VARCHAR(64) NULL,
  record_type VARCHAR(64) NULL,
  identity_code VARCHAR(64) NULL,
  origin_code VARCHAR(64) NOT NULL,
  origin_hash VARCHAR(64) NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_prov_code (provenance_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How a source is reached.
CREATE TABLE reg_prov_http_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  base_url_override VARCHAR(255) NULL,
  default_headers_json MEDIUMTEXT NULL,
  timeout_connect VARCHAR(255) NULL,
  timeout_read VARCHAR(255) NULL,
  timeout_total VARCHAR(255) NULL,
  allow_http TINYINT NULL,
  allow_private TINYINT NULL,
  max_body VARCHAR(255) NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_http_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How a request says who is asking; the secrets are in reg_prov_credential.
CREATE TABLE reg_prov_auth_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  auth_type_code VARCHAR(64) NULL,
  inbound_location_code VARCHAR(64) NULL,
  field_name VARCHAR(255) NULL,
  value_prefix VARCHAR(255) NULL,
  credential_pool VARCHAR(64) NULL,
  allow_anonymous TINYINT NULL,
  restricted_endpoints MEDIUMTEXT NULL,
  rate_with_credential MEDIUMTEXT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_auth_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What the provider allows, and our share of it.
CREATE TABLE reg_prov_rate_limit_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  provider_limit BIGINT NULL,
  provider_window VARCHAR(255) NULL,
  rate_tokens_per_second DOUBLE NULL,
  burst_capacity BIGINT NULL,
  max_concurrent_requests BIGINT NULL,
  bucket_key VARCHAR(255) NULL,
  limit_headers MEDIUMTEXT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_rate_limit_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How patiently a request is repeated.
CREATE TABLE reg_prov_retry_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  max_retry_times BIGINT NULL,
  initial_delay VARCHAR(255) NULL,
  max_delay VARCHAR(255) NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_retry_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How a source understands time.
CREATE TABLE reg_prov_window_offset_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  default_date_field_name VARCHAR(255) NULL,
  filters MEDIUMTEXT NULL,
  time_precision_code VARCHAR(255) NULL,
  timezone VARCHAR(255) NULL,
  bound_style_code VARCHAR(255) NULL,
  updated_at_code VARCHAR(255) NULL,
  safety_lag VARCHAR(255) NULL,
  align_to VARCHAR(255) NULL,
  overlap_size VARCHAR(255) NULL,
  initial_lookback VARCHAR(255) NULL,
  window_size VARCHAR(255) NULL,
  window_min_size VARCHAR(255) NULL,
  target_records BIGINT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_window_offset_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How a source is walked.
CREATE TABLE reg_prov_pagination_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  pagination_mode_code VARCHAR(255) NULL,
  page_size_value BIGINT NULL,
  start_page_number BIGINT NULL,
  token_repeat VARCHAR(255) NULL,
  token_stateful TINYINT NULL,
  total_code VARCHAR(255) NULL,
  snapshot TINYINT NULL,
  sort_order VARCHAR(255) NULL,
  end_proofs MEDIUMTEXT NULL,
  max_items BIGINT NULL,
  max_pages BIGINT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_pagination_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How details are asked for.
CREATE TABLE reg_prov_batching_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  id_batch_size BIGINT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_batching_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The ways to ask.
CREATE TABLE reg_prov_endpoint_def (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  endpoint_name VARCHAR(64) NOT NULL,
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  endpoint_usage_code VARCHAR(255) NULL,
  http_method_code VARCHAR(255) NULL,
  path_template VARCHAR(255) NULL,
  default_query_params MEDIUMTEXT NULL,
  default_body_payload MEDIUMTEXT NULL,
  default_headers_json MEDIUMTEXT NULL,
  response_format_code VARCHAR(255) NULL,
  response_paths MEDIUMTEXT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_endpoint_def_pick (provenance_id, scope_code, task_type_key, endpoint_name, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What failures mean where the status alone would mislead.
CREATE TABLE reg_prov_fault_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  fault_rules MEDIUMTEXT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_fault_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How items become standard records.
CREATE TABLE reg_prov_mapping_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  output_fields MEDIUMTEXT NULL,
  volatile_paths MEDIUMTEXT NULL,
  retracted_paths MEDIUMTEXT NULL,
  required_fields MEDIUMTEXT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_mapping_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Secrets, sealed or by reference; never in plain.
CREATE TABLE reg_prov_credential (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  endpoint_name VARCHAR(64) NULL,
  credential_name VARCHAR(64) NOT NULL,
  secret_kind_code VARCHAR(64) NOT NULL CHECK (secret_kind_code IN ('ENV','FILE','SEALED')),
  secret_ref VARCHAR(255) NULL,
  secret_sealed LONGBLOB NULL,
  secret_mac VARCHAR(64) NULL,
  is_default_preferred TINYINT NOT NULL DEFAULT 0,
  weight BIGINT NOT NULL DEFAULT 1,
  lifecycle_status_code VARCHAR(64) NOT NULL CHECK (lifecycle_status_code IN ('ACTIVE','DISABLED')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  refused_count BIGINT NOT NULL DEFAULT 0,
  refused_until DATETIME(6) NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  CHECK ((secret_kind_code = 'SEALED') = (secret_sealed IS NOT NULL)),
  CHECK ((secret_kind_code = 'SEALED') = (secret_ref IS NULL)),
  KEY idx_cred_pick (provenance_id, credential_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Who changed what, when and why.
CREATE TABLE sys_audit (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  actor VARCHAR(255) NOT NULL,
  action_code VARCHAR(64) NOT NULL,
  object VARCHAR(255) NOT NULL,
  reason MEDIUMTEXT NULL,
  before_state MEDIUMTEXT NULL,
  after_state MEDIUMTEXT NULL,
  preview_hash VARCHAR(64) NULL,
  created_at DATETIME(6) NOT NULL,
  KEY idx_audit_object (object, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Kinds of codes.
CREATE TABLE sys_dict_type (
  type_code VARCHAR(64) NOT NULL PRIMARY KEY,
  type_name VARCHAR(255) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Codes.
CREATE TABLE sys_dict_item (
  type_code VARCHAR(64) NOT NULL,
  item_code VARCHAR(64) NOT NULL,
  item_name VARCHAR(255) NOT NULL,
  PRIMARY KEY (type_code, item_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Other words for codes.
CREATE TABLE sys_dict_item_alias (
  type_code VARCHAR(64) NOT NULL,
  alias_code VARCHAR(64) NOT NULL,
  item_code VARCHAR(64) NOT NULL,
  PRIMARY KEY (type_code, alias_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What a source can do with each field.
CREATE TABLE reg_prov_expr_capability (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  field_key VARCHAR(255) NOT NULL,
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  ops MEDIUMTEXT NULL,
  negatable_ops MEDIUMTEXT NULL,
  supports_not TINYINT NULL,
  term_matches MEDIUMTEXT NULL,
  term_case_sensitive TINYINT NULL,
  term_min_len BIGINT NULL,
  term_max_len BIGINT NULL,
  term_pattern MEDIUMTEXT NULL,
  prefix_min_len BIGINT NULL,
  in_max_size BIGINT NULL,
  in_case_sensitive TINYINT NULL,
  range_precision VARCHAR(255) NULL,
  range_open_start TINYINT NULL,
  range_open_end TINYINT NULL,
  range_exclusive TINYINT NULL,
  range_min VARCHAR(255) NULL,
  range_max VARCHAR(255) NULL,
  token_pattern MEDIUMTEXT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_expr_capability_pick (provenance_id, scope_code, task_type_key, field_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How each kind of condition is written for a source.
CREATE TABLE reg_prov_expr_render_rule (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  rule_key VARCHAR(255) NOT NULL,
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  field_key VARCHAR(255) NULL,
  op_code VARCHAR(255) NULL,
  match_type_code VARCHAR(255) NULL,
  value_type_code VARCHAR(255) NULL,
  negated TINYINT NULL,
  emit_type_code VARCHAR(255) NULL,
  template MEDIUMTEXT NULL,
  item_template MEDIUMTEXT NULL,
  joiner VARCHAR(255) NULL,
  wrap_group TINYINT NULL,
  params MEDIUMTEXT NULL,
  value_table MEDIUMTEXT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_expr_render_rule_pick (provenance_id, scope_code, task_type_key, rule_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What a source calls the parts of a request.
CREATE TABLE reg_prov_api_param_map (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  std_key VARCHAR(255) NOT NULL,
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  provider_param_name VARCHAR(255) NULL,
  transform_code VARCHAR(255) NULL,
  joiner VARCHAR(255) NULL,
  repeat_param TINYINT NULL,
  name_mark VARCHAR(255) NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_api_param_map_pick (provenance_id, scope_code, task_type_key, std_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The unified fields that queries name.
CREATE TABLE reg_expr_field_dict (
  field_key VARCHAR(64) NOT NULL PRIMARY KEY,
  display_name VARCHAR(255) NOT NULL,
  description MEDIUMTEXT NULL,
  data_type_code VARCHAR(64) NOT NULL,
  is_multi TINYINT NOT NULL DEFAULT 0,
  exposable TINYINT NOT NULL DEFAULT 1,
  is_date TINYINT NOT NULL DEFAULT 0,
  aliases MEDIUMTEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
