-- +goose Up

-- Small facts about the store itself.
CREATE TABLE ing_meta (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  value MEDIUMTEXT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One trigger: who asked for a plan, and what came of it.
CREATE TABLE ing_schedule_instance (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  scheduler_code VARCHAR(64) NULL,
  scheduler_job_id VARCHAR(255) NULL,
  scheduler_log_id VARCHAR(255) NULL,
  trigger_type_code VARCHAR(64) NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL CHECK (operation_code IN ('HARVEST','BACKFILL','UPDATE')),
  trigger_params MEDIUMTEXT NOT NULL,
  expr_proto_hash VARCHAR(64) NULL,
  expr_proto_snapshot MEDIUMTEXT NULL,
  outcome_code VARCHAR(64) NOT NULL CHECK (outcome_code IN ('PLANNED','EXISTING','NOOP','FAILED')),
  plan_id BIGINT NULL,
  record_remarks MEDIUMTEXT NULL,
  triggered_at DATETIME(6) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_sched_src (scheduler_code, scheduler_job_id, scheduler_log_id),
  KEY idx_sched_prov (provenance_code, operation_code, triggered_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A frozen description and the window it is to fill.
CREATE TABLE ing_plan (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  schedule_instance_id BIGINT NOT NULL,
  plan_key VARCHAR(64) NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  endpoint_name VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL CHECK (operation_code IN ('HARVEST','BACKFILL','UPDATE')),
  cursor_id BIGINT NOT NULL,
  namespace_scope_code VARCHAR(64) NOT NULL CHECK (namespace_scope_code IN ('GLOBAL','EXPR','CUSTOM')),
  namespace_key VARCHAR(255) NOT NULL,
  activity_id VARCHAR(255) NOT NULL,
  window_from DATETIME(6) NOT NULL,
  window_to DATETIME(6) NOT NULL,
  sliced_to DATETIME(6) NOT NULL,
  slice_strategy_code VARCHAR(64) NOT NULL,
  slice_params MEDIUMTEXT NOT NULL,
  expr_proto_hash VARCHAR(64) NOT NULL,
  expr_proto_snapshot MEDIUMTEXT NOT NULL,
  provenance_config_hash VARCHAR(64) NOT NULL,
  spec_version BIGINT NOT NULL DEFAULT 0,
  spec_fingerprint VARCHAR(64) NOT NULL,
  spec_snapshot MEDIUMTEXT NOT NULL,
  base_url VARCHAR(1000) NULL,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('DRAFT','SLICING','READY','PARTIAL','FAILED','COMPLETED','CANCELLED')),
  record_remarks MEDIUMTEXT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK (window_from < window_to),
  plan_key_live VARCHAR(160) GENERATED ALWAYS AS (CASE WHEN status_code NOT IN ('CANCELLED','FAILED') THEN plan_key END) STORED,
  UNIQUE KEY uk_plan_key_live (plan_key_live),
  KEY idx_plan_prov_op (provenance_code, operation_code, created_at),
  KEY idx_plan_cursor (cursor_id, window_to)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The smallest thing that can be proven complete.
CREATE TABLE ing_plan_slice (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  plan_id BIGINT NOT NULL,
  parent_id BIGINT NULL,
  cursor_id BIGINT NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  slice_no BIGINT NOT NULL,
  slice_signature_hash VARCHAR(64) NOT NULL,
  slice_spec MEDIUMTEXT NOT NULL,
  window_from DATETIME(6) NOT NULL,
  window_to DATETIME(6) NOT NULL,
  expr_hash VARCHAR(64) NOT NULL,
  expr_snapshot MEDIUMTEXT NOT NULL,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('PENDING','READY','FAILED','DONE','RESLICED','CANCELLED')),
  gap_accepted TINYINT NOT NULL DEFAULT 0 CHECK (gap_accepted IN (0,1)),
  fail_count BIGINT NOT NULL DEFAULT 0,
  reason MEDIUMTEXT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  CHECK (window_from < window_to),
  UNIQUE KEY uk_slice_sig (plan_id, slice_signature_hash),
  KEY idx_slice_status (plan_id, status_code),
  KEY idx_slice_cursor_from (cursor_id, window_from),
  KEY idx_slice_cursor_to (cursor_id, window_to)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The queue: one task per slice, ever.
CREATE TABLE ing_task (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  schedule_instance_id BIGINT NOT NULL,
  plan_id BIGINT NOT NULL,
  slice_id BIGINT NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  endpoint_name VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  credential_ref VARCHAR(255) NULL,
  params MEDIUMTEXT NOT NULL,
  expr_hash VARCHAR(64) NOT NULL,
  idempotent_key VARCHAR(64) NOT NULL,
  spec_version BIGINT NOT NULL DEFAULT 0,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('QUEUED','DISPATCHED','EXECUTING','SUCCEEDED','FAILED','PARTIAL','CANCELLED')),
  priority BIGINT NOT NULL DEFAULT 0,
  scheduled_at DATETIME(6) NOT NULL,
  lease_owner VARCHAR(255) NULL,
  leased_until DATETIME(6) NULL,
  fence BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  renewals BIGINT NOT NULL DEFAULT 0,
  walk_no BIGINT NOT NULL,
  walks BIGINT NOT NULL DEFAULT 0,
  barren BIGINT NOT NULL DEFAULT 0,
  spent_runs BIGINT NOT NULL DEFAULT 0,
  error_code VARCHAR(64) NULL,
  error MEDIUMTEXT NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_task_slice (slice_id),
  UNIQUE KEY uk_task_idem (idempotent_key),
  KEY idx_task_queue (status_code, priority, scheduled_at, id),
  KEY idx_task_plan (plan_id, status_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One attempt at a task.
CREATE TABLE ing_task_run (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  task_id BIGINT NOT NULL,
  attempt_no BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  lease_owner VARCHAR(255) NOT NULL,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('RUNNING','SUCCEEDED','PARTIAL','FAILED','CANCELLED')),
  window_from DATETIME(6) NOT NULL,
  window_to DATETIME(6) NOT NULL,
  checkpoint MEDIUMTEXT NULL,
  stats MEDIUMTEXT NULL,
  error_code VARCHAR(64) NULL,
  error MEDIUMTEXT NULL,
  started_at DATETIME(6) NOT NULL,
  finished_at DATETIME(6) NULL,
  UNIQUE KEY uk_run_attempt (task_id, attempt_no),
  KEY idx_run_task_status (task_id, status_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One page: what was asked for, what came, what it did.
CREATE TABLE ing_task_run_batch (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  run_id BIGINT NOT NULL,
  task_id BIGINT NOT NULL,
  slice_id BIGINT NOT NULL,
  plan_id BIGINT NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  batch_no BIGINT NOT NULL,
  walk_no BIGINT NOT NULL,
  phase VARCHAR(64) NOT NULL CHECK (phase IN ('SEARCH','DETAIL')),
  ordinal BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('RUNNING','SUCCEEDED','FAILED')),
  before_position MEDIUMTEXT NOT NULL,
  after_position MEDIUMTEXT NULL,
  items BIGINT NOT NULL DEFAULT 0,
  inserted BIGINT NOT NULL DEFAULT 0,
  updated BIGINT NOT NULL DEFAULT 0,
  remapped BIGINT NOT NULL DEFAULT 0,
  unchanged BIGINT NOT NULL DEFAULT 0,
  stale BIGINT NOT NULL DEFAULT 0,
  filtered BIGINT NOT NULL DEFAULT 0,
  quarantined BIGINT NOT NULL DEFAULT 0,
  asked BIGINT NOT NULL DEFAULT 0,
  bad_ids BIGINT NOT NULL DEFAULT 0,
  id_list MEDIUMTEXT NULL,
  id_hashes LONGBLOB NULL,
  end_proof VARCHAR(64) NULL,
  observed_max DATETIME(6) NULL,
  sent BIGINT NOT NULL DEFAULT 0,
  retried BIGINT NOT NULL DEFAULT 0,
  http_429 BIGINT NOT NULL DEFAULT 0,
  http_5xx BIGINT NOT NULL DEFAULT 0,
  bytes BIGINT NOT NULL DEFAULT 0,
  http_status BIGINT NULL,
  request MEDIUMTEXT NULL,
  request_sha256 VARCHAR(64) NULL,
  reply_sha256 VARCHAR(64) NULL,
  stats MEDIUMTEXT NULL,
  error_code VARCHAR(64) NULL,
  error MEDIUMTEXT NULL,
  opened_at DATETIME(6) NOT NULL,
  committed_at DATETIME(6) NULL,
  batch_done VARCHAR(160) GENERATED ALWAYS AS (CASE WHEN status_code = 'SUCCEEDED' THEN CONCAT_WS('/', task_id, walk_no, phase, ordinal) END) STORED,
  UNIQUE KEY uk_run_batch_no (run_id, batch_no),
  UNIQUE KEY uk_batch_done (batch_done),
  KEY idx_batch_task (task_id, status_code, walk_no, phase, ordinal),
  KEY idx_batch_plan (plan_id, status_code),
  KEY idx_batch_prov (provenance_code, operation_code, status_code, committed_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How far a namespace is proven complete.
CREATE TABLE ing_cursor (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_code VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  cursor_key VARCHAR(64) NOT NULL,
  namespace_scope_code VARCHAR(64) NOT NULL,
  namespace_key VARCHAR(255) NOT NULL,
  direction_code VARCHAR(64) NOT NULL CHECK (direction_code IN ('FORWARD','BACKFILL')),
  cursor_type_code VARCHAR(64) NOT NULL CHECK (cursor_type_code IN ('TIME','ID','TOKEN')),
  cursor_value VARCHAR(255) NOT NULL,
  normalized_instant DATETIME(6) NULL,
  normalized_numeric BIGINT NULL,
  init_value VARCHAR(255) NOT NULL,
  observed_max_value VARCHAR(255) NULL,
  plan_id BIGINT NULL,
  slice_id BIGINT NULL,
  task_id BIGINT NULL,
  run_id BIGINT NULL,
  batch_id BIGINT NULL,
  version BIGINT NOT NULL DEFAULT 0,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_cursor_ns (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Every move of a cursor, with what proved it.
CREATE TABLE ing_cursor_event (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  cursor_id BIGINT NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  cursor_key VARCHAR(64) NOT NULL,
  namespace_scope_code VARCHAR(64) NOT NULL,
  namespace_key VARCHAR(255) NOT NULL,
  direction_code VARCHAR(64) NOT NULL,
  kind_code VARCHAR(64) NOT NULL CHECK (kind_code IN ('INIT','ADVANCE','CHECKPOINT')),
  prev_value VARCHAR(255) NULL,
  new_value VARCHAR(255) NOT NULL,
  prev_instant DATETIME(6) NULL,
  new_instant DATETIME(6) NULL,
  observed_max_value VARCHAR(255) NULL,
  idempotent_key VARCHAR(64) NOT NULL,
  plan_id BIGINT NULL,
  slice_id BIGINT NULL,
  task_id BIGINT NULL,
  run_id BIGINT NULL,
  batch_id BIGINT NULL,
  expr_hash VARCHAR(64) NULL,
  record_remarks MEDIUMTEXT NULL,
  event_time DATETIME(6) NOT NULL,
  UNIQUE KEY uk_cur_evt_idem (idempotent_key),
  KEY idx_cur_evt_timeline (cursor_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The newest accepted state of each record.
CREATE TABLE ing_record (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_code VARCHAR(64) NOT NULL,
  record_type VARCHAR(64) NOT NULL,
  ext_id VARBINARY(512) NOT NULL,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('ACTIVE','RETRACTED','MERGED','GONE')),
  revision BIGINT NOT NULL,
  updated_at DATETIME(6) NULL,
  provider_version BIGINT NOT NULL DEFAULT 0,
  observed_at DATETIME(6) NOT NULL,
  content_hash BINARY(32) NOT NULL,
  raw_sha256 BINARY(32) NOT NULL,
  mapping_version VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  changed_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_record_key (provenance_code, record_type, ext_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Every accepted version, with the batch that brought it. raw is zstd.
CREATE TABLE ing_record_version (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  record_id BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  effect_code VARCHAR(64) NOT NULL CHECK (effect_code IN ('inserted','updated','remapped')),
  status_code VARCHAR(64) NOT NULL,
  updated_at DATETIME(6) NULL,
  provider_version BIGINT NOT NULL DEFAULT 0,
  observed_at DATETIME(6) NOT NULL,
  content_hash BINARY(32) NOT NULL,
  raw_sha256 BINARY(32) NOT NULL,
  mapping_version VARCHAR(255) NOT NULL,
  batch_id BIGINT NOT NULL,
  raw LONGBLOB NOT NULL,
  fields MEDIUMTEXT NOT NULL,
  created_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_record_version (record_id, revision)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One row per revision, to be published at least once.
CREATE TABLE ing_outbox (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  record_id BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  published TINYINT NOT NULL DEFAULT 0 CHECK (published IN (0,1)),
  parked TINYINT NOT NULL DEFAULT 0 CHECK (parked IN (0,1)),
  attempts BIGINT NOT NULL DEFAULT 0,
  fence BIGINT NOT NULL DEFAULT 0,
  lease_owner VARCHAR(255) NULL,
  leased_until DATETIME(6) NULL,
  error MEDIUMTEXT NULL,
  created_at DATETIME(6) NOT NULL,
  published_at DATETIME(6) NULL,
  UNIQUE KEY uk_outbox_rev (record_id, revision),
  KEY idx_outbox_pick (published, parked, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Items that could not be kept as records.
CREATE TABLE ing_quarantine (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  batch_id BIGINT NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  record_type VARCHAR(64) NOT NULL,
  ext_id VARBINARY(512) NULL,
  code VARCHAR(64) NOT NULL,
  path VARCHAR(255) NULL,
  detail MEDIUMTEXT NULL,
  raw LONGBLOB NOT NULL,
  raw_sha256 BINARY(32) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  KEY idx_quarantine_prov (provenance_code, code, created_at),
  KEY idx_quarantine_batch (batch_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Ids that were found but had no details, and when to ask again.
CREATE TABLE ing_bad_id (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_code VARCHAR(64) NOT NULL,
  record_type VARCHAR(64) NOT NULL,
  ext_id VARBINARY(512) NOT NULL,
  batch_id BIGINT NOT NULL,
  reason VARCHAR(64) NOT NULL,
  times BIGINT NOT NULL DEFAULT 0,
  first_seen_at DATETIME(6) NOT NULL,
  last_seen_at DATETIME(6) NOT NULL,
  check_after DATETIME(6) NOT NULL,
  UNIQUE KEY uk_bad_id (provenance_code, record_type, ext_id),
  KEY idx_bad_id_due (check_after)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- State of the rate gate, where every process sees it.
CREATE TABLE ing_rate_gate (
  gate_key VARCHAR(255) NOT NULL PRIMARY KEY,
  state MEDIUMTEXT NOT NULL,
  updated_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What is true of a source right now, apart from its description.
CREATE TABLE ing_source_state (
  provenance_code VARCHAR(64) NOT NULL PRIMARY KEY,
  paused TINYINT NOT NULL DEFAULT 0 CHECK (paused IN (0,1)),
  stopped TINYINT NOT NULL DEFAULT 0 CHECK (stopped IN (0,1)),
  reason MEDIUMTEXT NULL,
  since DATETIME(6) NULL,
  clock_skew_us BIGINT NULL,
  updated_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
