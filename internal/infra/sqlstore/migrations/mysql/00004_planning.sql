-- +goose Up

-- How a window is cut.
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN slice_strategy_code VARCHAR(64) NULL, ADD COLUMN split_dimension MEDIUMTEXT NULL,
  ADD COLUMN max_requests INTEGER NULL, ADD COLUMN max_records BIGINT NULL, ADD COLUMN max_duration VARCHAR(255) NULL,
  ADD COLUMN max_open_slices INTEGER NULL, ADD COLUMN pages_per_slice BIGINT NULL;

-- When a source is harvested, filled back and refreshed by itself.
CREATE TABLE reg_prov_schedule_cfg (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  scope_code VARCHAR(64) NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key VARCHAR(64) NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from DATETIME(6) NOT NULL,
  effective_to DATETIME(6) NULL,
  supersedes_id BIGINT NULL,
  harvest_cron VARCHAR(255) NULL,
  update_cron VARCHAR(255) NULL,
  update_older_than VARCHAR(255) NULL,
  timezone VARCHAR(255) NULL,
  quiet_hours MEDIUMTEXT NULL,
  sentinel TINYINT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  KEY idx_schedule_cfg_pick (provenance_id, scope_code, task_type_key, effective_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The ids an UPDATE plan froze, in the order in which they are checked (R9).
CREATE TABLE ing_plan_candidate (
  plan_id BIGINT NOT NULL,
  ordinal BIGINT NOT NULL,
  ext_id VARBINARY(512) NOT NULL,
  PRIMARY KEY (plan_id, ordinal)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What became of a record upstream (R31): the record it went on as, since when
-- it is not found, and how many checks have said so.
ALTER TABLE ing_record ADD COLUMN merged_into VARBINARY(512) NULL, ADD COLUMN missing_since DATETIME(6) NULL, ADD COLUMN missing_checks INTEGER NOT NULL DEFAULT 0;

-- Signs in one record that another has changed: retraction and correction notices.
CREATE TABLE ing_signal (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_code VARCHAR(64) NOT NULL,
  record_type VARCHAR(64) NOT NULL,
  ext_id VARBINARY(512) NOT NULL,
  kind_code VARCHAR(64) NOT NULL CHECK (kind_code IN ('RETRACTION','CORRECTION')),
  batch_id BIGINT NOT NULL,
  plan_id BIGINT NULL,
  created_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_signal (provenance_code, record_type, ext_id, kind_code),
  KEY idx_signal_open (provenance_code, plan_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- New versions a page brought, and how many of them came late (R11): NULL where
-- the page did not look back.
ALTER TABLE ing_task_run_batch ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0, ADD COLUMN late INTEGER NULL;

-- The HARVEST cursor whose window a sentinel's plan walks again (R11).
ALTER TABLE ing_plan ADD COLUMN watches_cursor_id BIGINT NULL, ADD KEY idx_plan_watches (watches_cursor_id, created_at);

-- Records an UPDATE did not find, found gone, and found gone on as another one (R31).
ALTER TABLE ing_task_run_batch ADD COLUMN missing INTEGER NOT NULL DEFAULT 0, ADD COLUMN gone INTEGER NOT NULL DEFAULT 0, ADD COLUMN merged INTEGER NOT NULL DEFAULT 0;

-- What patra has tuned by itself: runtime state, never configuration (C13). A
-- tuned lag stands for the declared one it began with and for no other.
CREATE TABLE ing_tuning (
  provenance_code VARCHAR(64) NOT NULL,
  namespace_key VARCHAR(255) NOT NULL,
  declared_lag_us BIGINT NULL,
  safety_lag_us BIGINT NULL,
  late_rate DOUBLE NULL,
  tuned_at DATETIME(6) NULL,
  sentinel_at DATETIME(6) NULL,
  updated_at DATETIME(6) NOT NULL,
  PRIMARY KEY (provenance_code, namespace_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
