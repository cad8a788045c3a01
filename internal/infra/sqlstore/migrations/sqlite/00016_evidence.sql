-- +goose Up

-- A page that was claimed and never asked for is SKIPPED. Every page keeps the headers of its reply that matter, and one that is not stored the beginning of the reply too.
-- Beside it stand the trigger and the expression that it was asked for, and the name of the key it went with. SQLite changes no CHECK in place.
CREATE TABLE ing_task_run_batch_new (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL,
  task_id INTEGER NOT NULL,
  slice_id INTEGER NOT NULL,
  plan_id INTEGER NOT NULL,
  schedule_instance_id INTEGER,
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  expr_hash TEXT,
  credential_ref TEXT,
  batch_no INTEGER NOT NULL,
  walk_no INTEGER NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('SEARCH','DETAIL')),
  ordinal INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('RUNNING','SUCCEEDED','FAILED','SKIPPED')),
  before_position TEXT NOT NULL,
  after_position TEXT,
  items INTEGER NOT NULL DEFAULT 0,
  inserted INTEGER NOT NULL DEFAULT 0,
  updated INTEGER NOT NULL DEFAULT 0,
  remapped INTEGER NOT NULL DEFAULT 0,
  unchanged INTEGER NOT NULL DEFAULT 0,
  stale INTEGER NOT NULL DEFAULT 0,
  filtered INTEGER NOT NULL DEFAULT 0,
  quarantined INTEGER NOT NULL DEFAULT 0,
  missing INTEGER NOT NULL DEFAULT 0,
  gone INTEGER NOT NULL DEFAULT 0,
  merged INTEGER NOT NULL DEFAULT 0,
  fresh INTEGER NOT NULL DEFAULT 0,
  late INTEGER,
  asked INTEGER NOT NULL DEFAULT 0,
  bad_ids INTEGER NOT NULL DEFAULT 0,
  id_list TEXT,
  id_hashes BLOB,
  end_proof TEXT,
  observed_max TEXT,
  sent INTEGER NOT NULL DEFAULT 0,
  retried INTEGER NOT NULL DEFAULT 0,
  http_429 INTEGER NOT NULL DEFAULT 0,
  http_5xx INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  http_status INTEGER,
  request TEXT,
  request_sha256 TEXT,
  response_digest TEXT,
  reply_sha256 TEXT,
  reply_sample BLOB,
  stats TEXT,
  error_code TEXT,
  error TEXT,
  opened_at TEXT NOT NULL,
  committed_at TEXT
) STRICT;

INSERT INTO ing_task_run_batch_new (id, run_id, task_id, slice_id, plan_id, provenance_code, operation_code, batch_no, walk_no, phase, ordinal, fence, status_code,
  before_position, after_position, items, inserted, updated, remapped, unchanged, stale, filtered, quarantined, missing, gone, merged, fresh, late, asked, bad_ids,
  id_list, id_hashes, end_proof, observed_max, sent, retried, http_429, http_5xx, bytes, http_status, request, request_sha256, reply_sha256, stats,
  error_code, error, opened_at, committed_at)
SELECT id, run_id, task_id, slice_id, plan_id, provenance_code, operation_code, batch_no, walk_no, phase, ordinal, fence, status_code,
  before_position, after_position, items, inserted, updated, remapped, unchanged, stale, filtered, quarantined, missing, gone, merged, fresh, late, asked, bad_ids,
  id_list, id_hashes, end_proof, observed_max, sent, retried, http_429, http_5xx, bytes, http_status, request, request_sha256, reply_sha256, stats,
  error_code, error, opened_at, committed_at
FROM ing_task_run_batch;
DROP TABLE ing_task_run_batch;
ALTER TABLE ing_task_run_batch_new RENAME TO ing_task_run_batch;

CREATE UNIQUE INDEX uk_run_batch_no ON ing_task_run_batch (run_id, batch_no);
CREATE UNIQUE INDEX uk_batch_done ON ing_task_run_batch (task_id, walk_no, phase, ordinal) WHERE status_code = 'SUCCEEDED';
CREATE INDEX idx_batch_task ON ing_task_run_batch (task_id, status_code, walk_no, phase, ordinal);
CREATE INDEX idx_batch_plan ON ing_task_run_batch (plan_id, status_code);
CREATE INDEX idx_batch_prov ON ing_task_run_batch (provenance_code, operation_code, status_code, committed_at);

-- The trigger and the expression along the way from slice to cursor.
ALTER TABLE ing_plan_slice ADD COLUMN schedule_instance_id INTEGER;
ALTER TABLE ing_cursor ADD COLUMN schedule_instance_id INTEGER;
ALTER TABLE ing_cursor ADD COLUMN expr_hash TEXT;
ALTER TABLE ing_cursor_event ADD COLUMN schedule_instance_id INTEGER;

-- Where a run goes on is told by its pages; nothing was ever written here.
ALTER TABLE ing_task_run DROP COLUMN checkpoint;
