-- +goose Up

-- How a window is cut.
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN slice_strategy_code TEXT;
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN split_dimension TEXT;
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN max_requests INTEGER;
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN max_records INTEGER;
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN max_duration TEXT;
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN max_open_slices INTEGER;
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN pages_per_slice INTEGER;

-- When a source is harvested, filled back and refreshed by itself.
CREATE TABLE reg_prov_schedule_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  harvest_cron TEXT,
  update_cron TEXT,
  update_older_than TEXT,
  timezone TEXT,
  quiet_hours TEXT,
  sentinel INTEGER,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_schedule_cfg_pick ON reg_prov_schedule_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- The ids an UPDATE plan froze, in the order in which they are checked (R9).
CREATE TABLE ing_plan_candidate (
  plan_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  ext_id TEXT NOT NULL,
  PRIMARY KEY (plan_id, ordinal)
) STRICT, WITHOUT ROWID;

-- What became of a record upstream (R31): the record it went on as, since when
-- it is not found, and how many checks have said so.
ALTER TABLE ing_record ADD COLUMN merged_into TEXT;
ALTER TABLE ing_record ADD COLUMN missing_since TEXT;
ALTER TABLE ing_record ADD COLUMN missing_checks INTEGER NOT NULL DEFAULT 0;

-- Signs in one record that another has changed: retraction and correction notices.
CREATE TABLE ing_signal (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  record_type TEXT NOT NULL,
  ext_id TEXT NOT NULL,
  kind_code TEXT NOT NULL CHECK (kind_code IN ('RETRACTION','CORRECTION')),
  batch_id INTEGER NOT NULL,
  plan_id INTEGER,
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_signal ON ing_signal (provenance_code, record_type, ext_id, kind_code);
CREATE INDEX idx_signal_open ON ing_signal (provenance_code, plan_id);

-- New versions a page brought, and how many of them came late (R11): NULL where
-- the page did not look back.
ALTER TABLE ing_task_run_batch ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ing_task_run_batch ADD COLUMN late INTEGER;

-- The HARVEST cursor whose window a sentinel's plan walks again (R11).
ALTER TABLE ing_plan ADD COLUMN watches_cursor_id INTEGER;
CREATE INDEX idx_plan_watches ON ing_plan (watches_cursor_id, created_at);

-- Records an UPDATE did not find, found gone, and found gone on as another one (R31).
ALTER TABLE ing_task_run_batch ADD COLUMN missing INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ing_task_run_batch ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ing_task_run_batch ADD COLUMN merged INTEGER NOT NULL DEFAULT 0;

-- What patra has tuned by itself: runtime state, never configuration (C13). A
-- tuned lag stands for the declared one it began with and for no other.
CREATE TABLE ing_tuning (
  provenance_code TEXT NOT NULL,
  namespace_key TEXT NOT NULL,
  declared_lag_us INTEGER,
  safety_lag_us INTEGER,
  late_rate REAL,
  tuned_at TEXT,
  sentinel_at TEXT,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (provenance_code, namespace_key)
) STRICT;
