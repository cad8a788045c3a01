-- +goose Up

-- When slices of a source are cut while they are walked, to spare it. What is NULL is as
-- the platform has it.
CREATE TABLE reg_prov_cut_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  pages_soft BIGINT NULL,
  pages_hard BIGINT NULL,
  page_bytes VARCHAR(255) NULL,
  throttled BIGINT NULL,
  throttled_within VARCHAR(255) NULL,
  failed_percent BIGINT NULL,
  failed_over BIGINT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_cut_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How the rate of a source gives way when it complains or fails, and how it comes back, as
-- JSON. What is not in it is as the platform has it.
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN adapt_settings MEDIUMTEXT NULL;
