-- +goose Up

-- Small facts about the store itself.
CREATE TABLE ing_meta (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- One trigger: who asked for a plan, and what came of it.
CREATE TABLE ing_schedule_instance (
  id INTEGER PRIMARY KEY,
  scheduler_code TEXT,
  scheduler_job_id TEXT,
  scheduler_log_id TEXT,
  trigger_type_code TEXT NOT NULL,
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL CHECK (operation_code IN ('HARVEST','BACKFILL','UPDATE')),
  trigger_params TEXT NOT NULL,
  expr_proto_hash TEXT,
  expr_proto_snapshot TEXT,
  outcome_code TEXT NOT NULL CHECK (outcome_code IN ('PLANNED','EXISTING','NOOP','FAILED')),
  plan_id INTEGER,
  record_remarks TEXT,
  triggered_at TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_sched_src ON ing_schedule_instance (scheduler_code, scheduler_job_id, scheduler_log_id);
CREATE INDEX idx_sched_prov ON ing_schedule_instance (provenance_code, operation_code, triggered_at);

-- A frozen description and the window it is to fill.
CREATE TABLE ing_plan (
  id INTEGER PRIMARY KEY,
  schedule_instance_id INTEGER NOT NULL,
  plan_key TEXT NOT NULL,
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  operation_code TEXT NOT NULL CHECK (operation_code IN ('HARVEST','BACKFILL','UPDATE')),
  cursor_id INTEGER NOT NULL,
  namespace_scope_code TEXT NOT NULL CHECK (namespace_scope_code IN ('GLOBAL','EXPR','CUSTOM')),
  namespace_key TEXT NOT NULL,
  activity_id TEXT NOT NULL,
  window_from TEXT NOT NULL,
  window_to TEXT NOT NULL,
  sliced_to TEXT NOT NULL,
  slice_strategy_code TEXT NOT NULL,
  slice_params TEXT NOT NULL,
  expr_proto_hash TEXT NOT NULL,
  expr_proto_snapshot TEXT NOT NULL,
  provenance_config_hash TEXT NOT NULL,
  spec_version INTEGER NOT NULL DEFAULT 0,
  spec_fingerprint TEXT NOT NULL,
  spec_snapshot TEXT NOT NULL,
  base_url TEXT,
  status_code TEXT NOT NULL CHECK (status_code IN ('DRAFT','SLICING','READY','PARTIAL','FAILED','COMPLETED','CANCELLED')),
  record_remarks TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK (window_from < window_to)
) STRICT;
CREATE UNIQUE INDEX uk_plan_key_live ON ing_plan (plan_key) WHERE status_code NOT IN ('CANCELLED','FAILED');
CREATE INDEX idx_plan_prov_op ON ing_plan (provenance_code, operation_code, created_at);
CREATE INDEX idx_plan_cursor ON ing_plan (cursor_id, window_to);

-- The smallest thing that can be proven complete.
CREATE TABLE ing_plan_slice (
  id INTEGER PRIMARY KEY,
  plan_id INTEGER NOT NULL,
  parent_id INTEGER,
  cursor_id INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  slice_no INTEGER NOT NULL,
  slice_signature_hash TEXT NOT NULL,
  slice_spec TEXT NOT NULL,
  window_from TEXT NOT NULL,
  window_to TEXT NOT NULL,
  expr_hash TEXT NOT NULL,
  expr_snapshot TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('PENDING','READY','FAILED','DONE','RESLICED','CANCELLED')),
  gap_accepted INTEGER NOT NULL DEFAULT 0 CHECK (gap_accepted IN (0,1)),
  fail_count INTEGER NOT NULL DEFAULT 0,
  reason TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK (window_from < window_to)
) STRICT;
CREATE UNIQUE INDEX uk_slice_sig ON ing_plan_slice (plan_id, slice_signature_hash);
CREATE INDEX idx_slice_status ON ing_plan_slice (plan_id, status_code);
CREATE INDEX idx_slice_cursor_from ON ing_plan_slice (cursor_id, window_from);
CREATE INDEX idx_slice_cursor_to ON ing_plan_slice (cursor_id, window_to);

-- The queue: one task per slice, ever.
CREATE TABLE ing_task (
  id INTEGER PRIMARY KEY,
  schedule_instance_id INTEGER NOT NULL,
  plan_id INTEGER NOT NULL,
  slice_id INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  credential_ref TEXT,
  params TEXT NOT NULL,
  expr_hash TEXT NOT NULL,
  idempotent_key TEXT NOT NULL,
  spec_version INTEGER NOT NULL DEFAULT 0,
  status_code TEXT NOT NULL CHECK (status_code IN ('QUEUED','DISPATCHED','EXECUTING','SUCCEEDED','FAILED','PARTIAL','CANCELLED')),
  priority INTEGER NOT NULL DEFAULT 0,
  scheduled_at TEXT NOT NULL,
  lease_owner TEXT,
  leased_until TEXT,
  fence INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  renewals INTEGER NOT NULL DEFAULT 0,
  walk_no INTEGER NOT NULL,
  walks INTEGER NOT NULL DEFAULT 0,
  barren INTEGER NOT NULL DEFAULT 0,
  spent_runs INTEGER NOT NULL DEFAULT 0,
  error_code TEXT,
  error TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_task_slice ON ing_task (slice_id);
CREATE UNIQUE INDEX uk_task_idem ON ing_task (idempotent_key);
CREATE INDEX idx_task_queue ON ing_task (status_code, priority, scheduled_at, id);
CREATE INDEX idx_task_plan ON ing_task (plan_id, status_code);

-- One attempt at a task.
CREATE TABLE ing_task_run (
  id INTEGER PRIMARY KEY,
  task_id INTEGER NOT NULL,
  attempt_no INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  lease_owner TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('RUNNING','SUCCEEDED','PARTIAL','FAILED','CANCELLED')),
  window_from TEXT NOT NULL,
  window_to TEXT NOT NULL,
  checkpoint TEXT,
  stats TEXT,
  error_code TEXT,
  error TEXT,
  started_at TEXT NOT NULL,
  finished_at TEXT
) STRICT;
CREATE UNIQUE INDEX uk_run_attempt ON ing_task_run (task_id, attempt_no);
CREATE INDEX idx_run_task_status ON ing_task_run (task_id, status_code);

-- One page: what was asked for, what came, what it did.
CREATE TABLE ing_task_run_batch (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL,
  task_id INTEGER NOT NULL,
  slice_id INTEGER NOT NULL,
  plan_id INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  batch_no INTEGER NOT NULL,
  walk_no INTEGER NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('SEARCH','DETAIL')),
  ordinal INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('RUNNING','SUCCEEDED','FAILED')),
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
  reply_sha256 TEXT,
  stats TEXT,
  error_code TEXT,
  error TEXT,
  opened_at TEXT NOT NULL,
  committed_at TEXT
) STRICT;
CREATE UNIQUE INDEX uk_run_batch_no ON ing_task_run_batch (run_id, batch_no);
CREATE UNIQUE INDEX uk_batch_done ON ing_task_run_batch (task_id, walk_no, phase, ordinal) WHERE status_code = 'SUCCEEDED';
CREATE INDEX idx_batch_task ON ing_task_run_batch (task_id, status_code, walk_no, phase, ordinal);
CREATE INDEX idx_batch_plan ON ing_task_run_batch (plan_id, status_code);
CREATE INDEX idx_batch_prov ON ing_task_run_batch (provenance_code, operation_code, status_code, committed_at);

-- How far a namespace is proven complete.
CREATE TABLE ing_cursor (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  cursor_key TEXT NOT NULL,
  namespace_scope_code TEXT NOT NULL,
  namespace_key TEXT NOT NULL,
  direction_code TEXT NOT NULL CHECK (direction_code IN ('FORWARD','BACKFILL')),
  cursor_type_code TEXT NOT NULL CHECK (cursor_type_code IN ('TIME','ID','TOKEN')),
  cursor_value TEXT NOT NULL,
  normalized_instant TEXT,
  normalized_numeric INTEGER,
  init_value TEXT NOT NULL,
  observed_max_value TEXT,
  plan_id INTEGER,
  slice_id INTEGER,
  task_id INTEGER,
  run_id INTEGER,
  batch_id INTEGER,
  version INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_cursor_ns ON ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key);

-- Every move of a cursor, with what proved it.
CREATE TABLE ing_cursor_event (
  id INTEGER PRIMARY KEY,
  cursor_id INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  cursor_key TEXT NOT NULL,
  namespace_scope_code TEXT NOT NULL,
  namespace_key TEXT NOT NULL,
  direction_code TEXT NOT NULL,
  kind_code TEXT NOT NULL CHECK (kind_code IN ('INIT','ADVANCE','CHECKPOINT')),
  prev_value TEXT,
  new_value TEXT NOT NULL,
  prev_instant TEXT,
  new_instant TEXT,
  observed_max_value TEXT,
  idempotent_key TEXT NOT NULL,
  plan_id INTEGER,
  slice_id INTEGER,
  task_id INTEGER,
  run_id INTEGER,
  batch_id INTEGER,
  expr_hash TEXT,
  record_remarks TEXT,
  event_time TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_cur_evt_idem ON ing_cursor_event (idempotent_key);
CREATE INDEX idx_cur_evt_timeline ON ing_cursor_event (cursor_id, id);

-- The newest accepted state of each record.
CREATE TABLE ing_record (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  record_type TEXT NOT NULL,
  ext_id TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('ACTIVE','RETRACTED','MERGED','GONE')),
  revision INTEGER NOT NULL,
  updated_at TEXT,
  provider_version INTEGER NOT NULL DEFAULT 0,
  observed_at TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  raw_sha256 BLOB NOT NULL,
  mapping_version TEXT NOT NULL,
  created_at TEXT NOT NULL,
  changed_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_record_key ON ing_record (provenance_code, record_type, ext_id);

-- Every accepted version, with the batch that brought it. raw is zstd.
CREATE TABLE ing_record_version (
  id INTEGER PRIMARY KEY,
  record_id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  effect_code TEXT NOT NULL CHECK (effect_code IN ('inserted','updated','remapped')),
  status_code TEXT NOT NULL,
  updated_at TEXT,
  provider_version INTEGER NOT NULL DEFAULT 0,
  observed_at TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  raw_sha256 BLOB NOT NULL,
  mapping_version TEXT NOT NULL,
  batch_id INTEGER NOT NULL,
  raw BLOB NOT NULL,
  fields TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_record_version ON ing_record_version (record_id, revision);

-- One row per revision, to be published at least once.
CREATE TABLE ing_outbox (
  id INTEGER PRIMARY KEY,
  record_id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  published INTEGER NOT NULL DEFAULT 0 CHECK (published IN (0,1)),
  parked INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0,1)),
  attempts INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT,
  leased_until TEXT,
  error TEXT,
  created_at TEXT NOT NULL,
  published_at TEXT
) STRICT;
CREATE UNIQUE INDEX uk_outbox_rev ON ing_outbox (record_id, revision);
CREATE INDEX idx_outbox_pick ON ing_outbox (published, parked, id);

-- Items that could not be kept as records.
CREATE TABLE ing_quarantine (
  id INTEGER PRIMARY KEY,
  batch_id INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  record_type TEXT NOT NULL,
  ext_id TEXT,
  code TEXT NOT NULL,
  path TEXT,
  detail TEXT,
  raw BLOB NOT NULL,
  raw_sha256 BLOB NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX idx_quarantine_prov ON ing_quarantine (provenance_code, code, created_at);
CREATE INDEX idx_quarantine_batch ON ing_quarantine (batch_id);

-- Ids that were found but had no details, and when to ask again.
CREATE TABLE ing_bad_id (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  record_type TEXT NOT NULL,
  ext_id TEXT NOT NULL,
  batch_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  times INTEGER NOT NULL DEFAULT 0,
  first_seen_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  check_after TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_bad_id ON ing_bad_id (provenance_code, record_type, ext_id);
CREATE INDEX idx_bad_id_due ON ing_bad_id (check_after);

-- State of the rate gate, where every process sees it.
CREATE TABLE ing_rate_gate (
  gate_key TEXT NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

-- What is true of a source right now, apart from its description.
CREATE TABLE ing_source_state (
  provenance_code TEXT NOT NULL PRIMARY KEY,
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0,1)),
  stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0,1)),
  reason TEXT,
  since TEXT,
  clock_skew_us INTEGER,
  updated_at TEXT NOT NULL
) STRICT;
