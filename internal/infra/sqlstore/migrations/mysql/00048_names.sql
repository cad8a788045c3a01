-- +goose Up

-- Descriptions by the names of the registry's design: its INSERTs run as they are printed. A row
-- says under task_type, in any case, which operation it is for, and task_type_key follows from
-- that. What only patra asks for has a default. The design's columns stand beside those of patra's
-- own that say the same: rows of packs have both, and where both are given the design's is read.

ALTER TABLE reg_provenance
  MODIFY COLUMN origin_code VARCHAR(64) NOT NULL DEFAULT 'SQL',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_api_param_map
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_api_param_map SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_api_param_map
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_auth_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_auth_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_auth_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_batching_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code,
  ADD COLUMN ids_param_name VARCHAR(255) NULL,
  ADD COLUMN ids_join_delimiter VARCHAR(255) NULL;
UPDATE reg_prov_batching_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_batching_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_credential
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code,
  ADD COLUMN endpoint_id BIGINT NULL,
  ADD COLUMN deleted TINYINT NOT NULL DEFAULT 0;
UPDATE reg_prov_credential SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_credential
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN lifecycle_status_code VARCHAR(64) NOT NULL DEFAULT 'ACTIVE',
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_cut_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_cut_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_cut_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_endpoint_def
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code,
  ADD COLUMN request_content_type VARCHAR(255) NULL,
  ADD COLUMN is_auth_required TINYINT NULL,
  ADD COLUMN page_param_name VARCHAR(255) NULL,
  ADD COLUMN page_size_param_name VARCHAR(255) NULL,
  ADD COLUMN cursor_param_name VARCHAR(255) NULL;
UPDATE reg_prov_endpoint_def SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_endpoint_def
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_expr_capability
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_expr_capability SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_expr_capability
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_expr_render_rule
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_expr_render_rule SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_expr_render_rule
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_fault_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_fault_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_fault_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_http_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code,
  ADD COLUMN timeout_connect_millis BIGINT NULL,
  ADD COLUMN timeout_read_millis BIGINT NULL,
  ADD COLUMN timeout_total_millis BIGINT NULL;
UPDATE reg_prov_http_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_http_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_mapping_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_mapping_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_mapping_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_pagination_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code,
  ADD COLUMN page_number_param_name VARCHAR(255) NULL,
  ADD COLUMN page_size_param_name VARCHAR(255) NULL,
  ADD COLUMN cursor_param_name VARCHAR(255) NULL,
  ADD COLUMN next_cursor_jsonpath VARCHAR(255) NULL;
UPDATE reg_prov_pagination_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_pagination_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_rate_limit_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_rate_limit_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_rate_limit_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_retry_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code,
  ADD COLUMN initial_delay_millis BIGINT NULL,
  ADD COLUMN max_delay_millis BIGINT NULL,
  ADD COLUMN retry_http_status_json MEDIUMTEXT NULL,
  ADD COLUMN giveup_http_status_json MEDIUMTEXT NULL;
UPDATE reg_prov_retry_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_retry_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_schedule_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code;
UPDATE reg_prov_schedule_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_schedule_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));

ALTER TABLE reg_prov_window_offset_cfg
  ADD COLUMN task_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL AFTER scope_code,
  ADD COLUMN window_mode_code VARCHAR(64) NULL,
  ADD COLUMN window_size_value BIGINT NULL,
  ADD COLUMN window_size_unit_code VARCHAR(64) NULL,
  ADD COLUMN overlap_value BIGINT NULL,
  ADD COLUMN overlap_unit_code VARCHAR(64) NULL,
  ADD COLUMN lookback_value BIGINT NULL,
  ADD COLUMN lookback_unit_code VARCHAR(64) NULL,
  ADD COLUMN offset_type_code VARCHAR(64) NULL;
UPDATE reg_prov_window_offset_cfg SET task_type = NULLIF(task_type_key, 'ALL');
ALTER TABLE reg_prov_window_offset_cfg
  MODIFY COLUMN task_type_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
    GENERATED ALWAYS AS (UPPER(IFNULL(task_type, 'ALL'))) STORED,
  MODIFY COLUMN created_by VARCHAR(255) NOT NULL DEFAULT '(sql)',
  MODIFY COLUMN created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  MODIFY COLUMN updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6));
