-- +goose Up

-- When slices of a source are cut while they are walked, to spare it. What is NULL is as
-- the platform has it.
CREATE TABLE reg_prov_cut_cfg (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type_key TEXT NOT NULL CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;
CREATE INDEX idx_cut_cfg_pick ON reg_prov_cut_cfg (provenance_id, scope_code, task_type_key, effective_from);

-- How the rate of a source gives way when it complains or fails, and how it comes back, as
-- JSON. What is not in it is as the platform has it.
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN adapt_settings TEXT;
