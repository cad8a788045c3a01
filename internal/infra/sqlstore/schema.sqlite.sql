-- Generated from migrations/sqlite by go test ./internal/infra/sqlstore -run SchemaFiles -update. Do not edit.

CREATE TABLE ing_alert (
  id INTEGER PRIMARY KEY,
  rule_code TEXT NOT NULL,
  subject TEXT NOT NULL,
  provenance_code TEXT,
  state_code TEXT NOT NULL CHECK (state_code IN ('PENDING','FIRING','CLEARED')),
  severity_code TEXT NOT NULL CHECK (severity_code IN ('critical','warning','notice')),
  message TEXT NOT NULL,
  measured TEXT NOT NULL,
  threshold TEXT NOT NULL,
  next_step TEXT NOT NULL,
  since TEXT NOT NULL,
  fired_at TEXT,
  calm_since TEXT,
  cleared_at TEXT,
  firings INTEGER NOT NULL DEFAULT 0,
  flaps INTEGER NOT NULL DEFAULT 0,
  told_code TEXT CHECK (told_code IN ('FIRING','CLEARED')),
  notified_at TEXT,
  acked_by TEXT,
  acked_at TEXT,
  ack_reason TEXT,
  snoozed_until TEXT,
  snoozed_by TEXT,
  updated_at TEXT NOT NULL
) STRICT;

CREATE INDEX idx_alert_state ON ing_alert (state_code, id);

CREATE UNIQUE INDEX uk_alert ON ing_alert (rule_code, subject);

CREATE TABLE ing_alert_delivery (
  id INTEGER PRIMARY KEY,
  alert_id INTEGER NOT NULL,
  target_name TEXT NOT NULL,
  payload TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at TEXT NOT NULL,
  sent_at TEXT,
  ended_at TEXT,
  error TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX idx_alert_delivery_alert ON ing_alert_delivery (alert_id, id);

CREATE INDEX idx_alert_delivery_due ON ing_alert_delivery (ended_at, target_name, id);

CREATE TABLE ing_archive (
  id INTEGER PRIMARY KEY,
  file_name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  contents TEXT NOT NULL,
  units TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('WRITTEN','DONE')),
  trail_before TEXT,
  versions_before TEXT,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_at TEXT NOT NULL,
  done_at TEXT
) STRICT;

CREATE INDEX idx_archive_status ON ing_archive (status_code, id);

CREATE UNIQUE INDEX uk_archive_file ON ing_archive (file_name);

CREATE TABLE ing_archived (
  kind_code TEXT NOT NULL CHECK (kind_code IN ('plan','batch')),
  object_id INTEGER NOT NULL,
  archive_id INTEGER NOT NULL,
  plan_id INTEGER,
  slice_id INTEGER,
  task_id INTEGER,
  run_id INTEGER,
  window_from TEXT,
  window_to TEXT, selection_id INTEGER,
  PRIMARY KEY (kind_code, object_id)
) STRICT, WITHOUT ROWID;

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

CREATE INDEX idx_bad_id_batch ON ing_bad_id (batch_id);

CREATE INDEX idx_bad_id_due ON ing_bad_id (check_after);

CREATE UNIQUE INDEX uk_bad_id ON ing_bad_id (provenance_code, record_type, ext_id);

CREATE TABLE ing_breaker (
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  failures INTEGER NOT NULL CHECK (failures > 0),
  rests_until TEXT,
  trying INTEGER NOT NULL DEFAULT 0 CHECK (trying IN (0,1)),
  updated_at TEXT NOT NULL, break_after INTEGER NOT NULL DEFAULT 3,
  PRIMARY KEY (provenance_code, endpoint_name, operation_code)
) STRICT;

CREATE TABLE ing_coverage (
  cursor_id INTEGER NOT NULL,
  window_from TEXT NOT NULL,
  window_to TEXT NOT NULL,
  proven_at TEXT NOT NULL,
  PRIMARY KEY (cursor_id, window_from),
  CHECK (window_from < window_to)
) STRICT, WITHOUT ROWID;

CREATE TABLE ing_credential_state (
  credential_id INTEGER PRIMARY KEY,
  refused_count INTEGER NOT NULL DEFAULT 0,
  refused_until TEXT,
  updated_at TEXT NOT NULL
, origins_json TEXT) STRICT;

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
, schedule_instance_id INTEGER, expr_hash TEXT) STRICT;

CREATE UNIQUE INDEX uk_cursor_ns ON ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key);

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
, schedule_instance_id INTEGER) STRICT;

CREATE INDEX idx_cur_evt_batch ON ing_cursor_event (batch_id);

CREATE INDEX idx_cur_evt_lineage ON ing_cursor_event (plan_id, cursor_id, event_time);

CREATE INDEX idx_cur_evt_timeline ON ing_cursor_event (cursor_id, id);

CREATE UNIQUE INDEX uk_cur_evt_idem ON ing_cursor_event (idempotent_key);

CREATE TABLE ing_dictionary (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  record_type TEXT NOT NULL,
  content BLOB NOT NULL,
  content_sha256 BLOB NOT NULL,
  trained_from INTEGER NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_dictionary_key ON ing_dictionary (provenance_code, record_type);

CREATE TABLE ing_endpoint_state (
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0,1)),
  reason TEXT,
  since TEXT,
  updated_at TEXT NOT NULL, stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0,1)),
  PRIMARY KEY (provenance_code, endpoint_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE ing_error_group (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  level_code TEXT NOT NULL CHECK (level_code IN ('L1','L2','L3','L4')),
  error_code TEXT NOT NULL,
  field_path TEXT NOT NULL,
  faults INTEGER NOT NULL CHECK (faults > 0),
  queued_again INTEGER NOT NULL DEFAULT 0,
  walked_again INTEGER NOT NULL DEFAULT 0,
  cut_smaller INTEGER NOT NULL DEFAULT 0,
  left_gap INTEGER NOT NULL DEFAULT 0,
  put_aside INTEGER NOT NULL DEFAULT 0,
  source_stopped INTEGER NOT NULL DEFAULT 0,
  sample TEXT,
  batch_id INTEGER,
  first_at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  state_code TEXT NOT NULL DEFAULT 'OPEN' CHECK (state_code IN ('OPEN','ACKNOWLEDGED','MUTED','RESOLVED','CAME_BACK')),
  state_at TEXT NOT NULL,
  state_by TEXT,
  state_reason TEXT,
  muted_until TEXT
) STRICT;

CREATE INDEX idx_error_group_last ON ing_error_group (last_at);

CREATE UNIQUE INDEX uk_error_group ON ing_error_group (provenance_code, endpoint_name, level_code, error_code, field_path);

CREATE TABLE ing_error_hour (
  group_id INTEGER NOT NULL,
  operation_code TEXT NOT NULL,
  hour_at TEXT NOT NULL,
  faults INTEGER NOT NULL CHECK (faults > 0),
  first_at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  PRIMARY KEY (group_id, hour_at, operation_code)
) STRICT, WITHOUT ROWID;

CREATE TABLE ing_meta (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE ing_outage (
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  error_code TEXT NOT NULL,
  error TEXT NOT NULL,
  faults INTEGER NOT NULL CHECK (faults > 0),
  first_at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  retry_at TEXT,
  told INTEGER NOT NULL CHECK (told IN (0,1)),
  PRIMARY KEY (provenance_code, endpoint_name, operation_code)
) STRICT;

CREATE TABLE "ing_outbox" (
  id INTEGER PRIMARY KEY,
  record_id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  feed_no INTEGER
) STRICT;

CREATE UNIQUE INDEX uk_outbox_feed ON ing_outbox (feed_no);

CREATE UNIQUE INDEX uk_outbox_rev ON ing_outbox (record_id, revision);

CREATE TABLE ing_outbox_held (
  id INTEGER PRIMARY KEY,
  target_id INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  state_code TEXT NOT NULL CHECK (state_code IN ('WAITING','PARKED')),
  attempts INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  next_at TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX idx_outbox_held_due ON ing_outbox_held (target_id, state_code, next_at);

CREATE UNIQUE INDEX uk_outbox_held ON ing_outbox_held (target_id, record_id, revision);

CREATE TABLE ing_outbox_target (
  id INTEGER PRIMARY KEY,
  target_name TEXT NOT NULL,
  kind_code TEXT NOT NULL CHECK (kind_code IN ('feed','file','stdout','nats','kafka','webhook')),
  -- The place in the stream up to which all was sent; of the feed the one that it begins behind.
  position INTEGER NOT NULL,
  -- The record up to which everything held was sent, while that is under way.
  snapshot_after INTEGER,
  fence INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT,
  leased_until TEXT,
  sent INTEGER NOT NULL DEFAULT 0,
  sent_at TEXT,
  -- How often in a row it took nothing, what it said last, and until when it is left alone.
  failures INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  next_at TEXT NOT NULL,
  -- Of the feed: when somebody last asked for it.
  asked_at TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_outbox_target ON ing_outbox_target (target_name);

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
  updated_at TEXT NOT NULL, watches_cursor_id INTEGER, selection_id INTEGER, group_digits INTEGER NOT NULL DEFAULT 0,
  CHECK (window_from < window_to)
) STRICT;

CREATE INDEX idx_plan_cursor ON ing_plan (cursor_id, window_to);

CREATE INDEX idx_plan_list ON ing_plan (provenance_code);

CREATE INDEX idx_plan_partial ON ing_plan (cursor_id) WHERE status_code='PARTIAL';

CREATE INDEX idx_plan_prov_op ON ing_plan (provenance_code, operation_code, created_at);

CREATE INDEX idx_plan_selection ON ing_plan (selection_id, id);

CREATE INDEX idx_plan_state ON ing_plan (status_code, provenance_code, operation_code, id);

CREATE INDEX idx_plan_watches ON ing_plan (watches_cursor_id, created_at);

CREATE UNIQUE INDEX uk_plan_key_live ON ing_plan (plan_key) WHERE status_code NOT IN ('CANCELLED','FAILED');

CREATE TABLE ing_plan_candidate (
  plan_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  ext_id TEXT NOT NULL,
  PRIMARY KEY (plan_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE ing_plan_group (
  plan_id INTEGER NOT NULL,
  place TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('PENDING','READY','FAILED','DONE','RESLICED','CANCELLED')),
  slices INTEGER NOT NULL,
  expected INTEGER NOT NULL DEFAULT 0,
  estimated INTEGER NOT NULL DEFAULT 0,
  records INTEGER NOT NULL DEFAULT 0,
  pages_asked INTEGER NOT NULL DEFAULT 0,
  latency_ms INTEGER NOT NULL DEFAULT 0,
  http_429 INTEGER NOT NULL DEFAULT 0,
  first_from TEXT NOT NULL,
  last_to TEXT NOT NULL,
  PRIMARY KEY (plan_id, place, status_code)
) STRICT, WITHOUT ROWID;

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
  updated_at TEXT NOT NULL, schedule_instance_id INTEGER, gap_of TEXT GENERATED ALWAYS AS (CASE WHEN status_code IN ('FAILED','CANCELLED') THEN provenance_code END) VIRTUAL, expected INTEGER, records INTEGER NOT NULL DEFAULT 0, pages_asked INTEGER NOT NULL DEFAULT 0, latency_ms INTEGER NOT NULL DEFAULT 0, http_429 INTEGER NOT NULL DEFAULT 0,
  CHECK (window_from < window_to)
) STRICT;

CREATE INDEX idx_slice_cursor_from ON ing_plan_slice (cursor_id, window_from);

CREATE INDEX idx_slice_cursor_to ON ing_plan_slice (cursor_id, window_to);

CREATE INDEX idx_slice_gap ON ing_plan_slice (gap_of, gap_accepted, cursor_id, window_from) WHERE gap_of IS NOT NULL;

CREATE INDEX idx_slice_plan ON ing_plan_slice (plan_id);

CREATE INDEX idx_slice_status ON ing_plan_slice (plan_id, status_code);

CREATE INDEX idx_slice_window ON ing_plan_slice (plan_id, window_from, id, status_code, window_to);

CREATE UNIQUE INDEX uk_slice_sig ON ing_plan_slice (plan_id, slice_signature_hash);

CREATE TABLE ing_plan_total (
  plan_id INTEGER PRIMARY KEY,
  sent INTEGER NOT NULL DEFAULT 0,
  retried INTEGER NOT NULL DEFAULT 0,
  http_429 INTEGER NOT NULL DEFAULT 0,
  http_5xx INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  inserted INTEGER NOT NULL DEFAULT 0,
  updated INTEGER NOT NULL DEFAULT 0,
  remapped INTEGER NOT NULL DEFAULT 0,
  unchanged INTEGER NOT NULL DEFAULT 0,
  stale INTEGER NOT NULL DEFAULT 0,
  filtered INTEGER NOT NULL DEFAULT 0,
  quarantined INTEGER NOT NULL DEFAULT 0,
  missing INTEGER NOT NULL DEFAULT 0,
  gone INTEGER NOT NULL DEFAULT 0,
  merged INTEGER NOT NULL DEFAULT 0
, undecided INTEGER NOT NULL DEFAULT 0) STRICT;

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
, seen_at TEXT NOT NULL DEFAULT '', discarded_at TEXT) STRICT;

CREATE INDEX idx_quarantine_batch ON ing_quarantine (batch_id);

CREATE INDEX idx_quarantine_ext ON ing_quarantine (provenance_code, ext_id);

CREATE INDEX idx_quarantine_list ON ing_quarantine (discarded_at);

CREATE INDEX idx_quarantine_open ON ing_quarantine (discarded_at, provenance_code, id);

CREATE INDEX idx_quarantine_prov ON ing_quarantine (provenance_code, code, created_at);

CREATE UNIQUE INDEX uk_quarantine_item ON ing_quarantine (provenance_code, record_type, raw_sha256, code);

CREATE TABLE ing_queue_history (
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  hour_at TEXT NOT NULL,
  looks INTEGER NOT NULL,
  total INTEGER NOT NULL,
  squares INTEGER NOT NULL,
  PRIMARY KEY (provenance_code, operation_code, hour_at)
) STRICT;

CREATE TABLE ing_rate_gate (
  gate_key TEXT NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

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
, merged_into TEXT, missing_since TEXT, missing_checks INTEGER NOT NULL DEFAULT 0, first_revision INTEGER NOT NULL DEFAULT 1) STRICT;

CREATE UNIQUE INDEX uk_record_key ON ing_record (provenance_code, record_type, ext_id);

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
, codec_code TEXT NOT NULL DEFAULT 'apart', dictionary_id INTEGER) STRICT;

CREATE INDEX idx_version_batch ON ing_record_version (batch_id);

CREATE UNIQUE INDEX uk_record_version ON ing_record_version (record_id, revision);

CREATE TABLE ing_schedule (
  id INTEGER PRIMARY KEY,
  schedule_name TEXT NOT NULL,
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL CHECK (operation_code IN ('HARVEST','BACKFILL','UPDATE')),
  query_text TEXT NOT NULL,
  cron_line TEXT NOT NULL,
  zone_name TEXT NOT NULL,
  priority INTEGER NOT NULL CHECK (priority >= 0),
  params TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0,1)),
  since TEXT NOT NULL,
  removed_at TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_schedule_name ON ing_schedule (schedule_name);

CREATE TABLE "ing_schedule_instance" (
  id INTEGER PRIMARY KEY,
  scheduler_code TEXT,
  scheduler_job_id TEXT,
  scheduler_log_id TEXT,
  trigger_type_code TEXT NOT NULL,
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT,
  operation_code TEXT NOT NULL CHECK (operation_code IN ('HARVEST','BACKFILL','UPDATE')),
  trigger_params TEXT NOT NULL,
  wish TEXT,
  wish_hash TEXT,
  expr_proto_hash TEXT,
  expr_proto_snapshot TEXT,
  outcome_code TEXT NOT NULL CHECK (outcome_code IN ('RECEIVED','PLANNED','EXISTING','NOOP','REFUSED','FAILED')),
  plan_id INTEGER,
  record_remarks TEXT,
  fence INTEGER NOT NULL DEFAULT 0,
  claims INTEGER NOT NULL DEFAULT 0,
  claimed_until TEXT,
  triggered_at TEXT NOT NULL,
  answered_at TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX idx_sched_open ON ing_schedule_instance (outcome_code, claimed_until);

CREATE INDEX idx_sched_plan ON ing_schedule_instance (plan_id);

CREATE INDEX idx_sched_prov ON ing_schedule_instance (provenance_code, operation_code, triggered_at);

CREATE UNIQUE INDEX uk_sched_src ON ing_schedule_instance (scheduler_code, scheduler_job_id, scheduler_log_id);

CREATE TABLE ing_search (
  id INTEGER PRIMARY KEY,
  search_name TEXT NOT NULL,
  version_no INTEGER NOT NULL,
  query_text TEXT NOT NULL,
  begins_at TEXT,
  superseded_at TEXT,
  removed_at TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_search_version ON ing_search (search_name, version_no);

CREATE TABLE ing_search_outcome (
  run_id INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('COMPLETED','PARTIAL','FAILED')),
  reason TEXT,
  members INTEGER NOT NULL,
  first_seen INTEGER NOT NULL,
  facts TEXT NOT NULL,
  PRIMARY KEY (run_id, provenance_code)
) STRICT, WITHOUT ROWID;

CREATE TABLE ing_search_run (
  id INTEGER PRIMARY KEY,
  search_id INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('RUNNING','COMPLETED','PARTIAL','FAILED')),
  program_version TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT
) STRICT;

CREATE UNIQUE INDEX uk_search_run ON ing_search_run (search_id, run_no);

CREATE TABLE ing_search_source (
  search_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  selection_id INTEGER NOT NULL,
  PRIMARY KEY (search_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX uk_search_source ON ing_search_source (search_id, provenance_code);

CREATE TABLE ing_selection (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  selection_hash TEXT NOT NULL,
  query_text TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_selection ON ing_selection (provenance_code, selection_hash);

CREATE TABLE ing_selection_bad_id (
  selection_id INTEGER NOT NULL,
  bad_id INTEGER NOT NULL,
  PRIMARY KEY (selection_id, bad_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_selection_bad_id ON ing_selection_bad_id (bad_id);

CREATE TABLE ing_selection_item (
  selection_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL,
  PRIMARY KEY (selection_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_selection_item ON ing_selection_item (item_id);

CREATE TABLE ing_selection_record (
  selection_id INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  first_batch_id INTEGER NOT NULL,
  last_batch_id INTEGER NOT NULL,
  first_seen_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  PRIMARY KEY (selection_id, record_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_selection_seen ON ing_selection_record (selection_id, first_seen_at, record_id);

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

CREATE INDEX idx_signal_batch ON ing_signal (batch_id);

CREATE INDEX idx_signal_open ON ing_signal (provenance_code, plan_id);

CREATE UNIQUE INDEX uk_signal ON ing_signal (provenance_code, record_type, ext_id, kind_code);

CREATE TABLE ing_source_state (
  provenance_code TEXT NOT NULL PRIMARY KEY,
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0,1)),
  stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0,1)),
  reason TEXT,
  since TEXT,
  clock_skew_us INTEGER,
  updated_at TEXT NOT NULL
, max_walks INTEGER NOT NULL DEFAULT 0) STRICT;

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
  deaths INTEGER NOT NULL DEFAULT 0,
  spent_runs INTEGER NOT NULL DEFAULT 0,
  error_code TEXT,
  error TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
, deaths_in_hand INTEGER NOT NULL DEFAULT 0, reply_fence INTEGER NOT NULL DEFAULT 0, lease_count INTEGER GENERATED ALWAYS AS (attempts + renewals) VIRTUAL) STRICT;

CREATE INDEX idx_task_plan ON ing_task (plan_id, status_code);

CREATE INDEX idx_task_queue ON ing_task (status_code, provenance_code, endpoint_name, operation_code, priority, scheduled_at, id);

CREATE UNIQUE INDEX uk_task_idem ON ing_task (idempotent_key);

CREATE UNIQUE INDEX uk_task_slice ON ing_task (slice_id);

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
  stats TEXT,
  error_code TEXT,
  error TEXT,
  started_at TEXT NOT NULL,
  finished_at TEXT
, plan_id INTEGER NOT NULL DEFAULT 0, created_at TEXT GENERATED ALWAYS AS (started_at) VIRTUAL) STRICT;

CREATE INDEX idx_run_list ON ing_task_run (status_code, provenance_code);

CREATE INDEX idx_run_plan ON ing_task_run (plan_id, status_code);

CREATE INDEX idx_run_task_status ON ing_task_run (task_id, status_code);

CREATE UNIQUE INDEX uk_run_attempt ON ing_task_run (task_id, attempt_no);

CREATE TABLE "ing_task_run_batch" (
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
, asked_ids TEXT, undecided INTEGER NOT NULL DEFAULT 0, record_count INTEGER GENERATED ALWAYS AS (items) VIRTUAL, created_at TEXT GENERATED ALWAYS AS (opened_at) VIRTUAL, request_digest TEXT GENERATED ALWAYS AS (request_sha256) VIRTUAL, idempotent_key TEXT GENERATED ALWAYS AS (run_id || '/' || batch_no) VIRTUAL) STRICT;

CREATE INDEX idx_batch_plan ON ing_task_run_batch (plan_id, status_code);

CREATE INDEX idx_batch_prov ON ing_task_run_batch (provenance_code, operation_code, status_code, committed_at);

CREATE INDEX idx_batch_task ON ing_task_run_batch (task_id, status_code, walk_no, phase, ordinal);

CREATE UNIQUE INDEX uk_batch_done ON ing_task_run_batch (task_id, walk_no, phase, ordinal) WHERE status_code = 'SUCCEEDED';

CREATE UNIQUE INDEX uk_run_batch_no ON ing_task_run_batch (run_id, batch_no);

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

CREATE TABLE ing_work_block (
  id INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  first_key INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;

CREATE INDEX idx_work_block ON ing_work_block (run_no, first_key);

CREATE TABLE ing_work_decision (
  id INTEGER PRIMARY KEY,
  kind_code TEXT NOT NULL CHECK (kind_code IN ('JOIN','SPLIT','REVOKE')),
  revokes_id INTEGER,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  decided_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_work_revoke ON ing_work_decision (revokes_id);

CREATE TABLE ing_work_decision_record (
  decision_id INTEGER NOT NULL,
  part_no INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  PRIMARY KEY (decision_id, part_no, record_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_work_decision_record ON ing_work_decision_record (record_id);

CREATE TABLE ing_work_edge (
  id INTEGER PRIMARY KEY,
  from_record INTEGER NOT NULL,
  to_record INTEGER NOT NULL,
  basis_code TEXT NOT NULL CHECK (basis_code IN ('ID','PAIR')),
  polarity_code TEXT NOT NULL CHECK (polarity_code IN ('LINK','SUGGEST','FAMILY')),
  rule_no INTEGER NOT NULL,
  rules_version INTEGER NOT NULL,
  relation_name TEXT NOT NULL,
  evidence TEXT NOT NULL,
  why TEXT NOT NULL,
  score INTEGER NOT NULL,
  found_at TEXT NOT NULL
) STRICT;

CREATE INDEX idx_work_edge_from ON ing_work_edge (from_record);

CREATE INDEX idx_work_edge_list ON ing_work_edge (polarity_code, id);

CREATE INDEX idx_work_edge_to ON ing_work_edge (to_record);

CREATE TABLE ing_work_event (
  id INTEGER PRIMARY KEY,
  record_id INTEGER NOT NULL,
  from_work INTEGER NOT NULL,
  to_work INTEGER NOT NULL,
  happened_at TEXT NOT NULL
) STRICT;

CREATE INDEX idx_work_event_record ON ing_work_event (record_id, id);

CREATE TABLE ing_work_facts (
  first_record INTEGER PRIMARY KEY,
  queue_id INTEGER NOT NULL,
  lookup_keys BLOB NOT NULL,
  facts BLOB NOT NULL
) STRICT;

CREATE TABLE ing_work_member (
  record_id INTEGER PRIMARY KEY,
  work_id INTEGER NOT NULL,
  since TEXT NOT NULL
, links BLOB) STRICT;

CREATE INDEX idx_work_member ON ing_work_member (work_id, record_id);

CREATE TABLE ing_work_queue (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  provenance_code TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE ing_work_record (
  record_id INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL,
  lookup_keys BLOB NOT NULL
, facts BLOB) STRICT;

CREATE TABLE ing_work_section (
  id INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  first_key INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;

CREATE INDEX idx_work_section ON ing_work_section (run_no, first_key);

CREATE TABLE ing_work_value (
  key_no INTEGER PRIMARY KEY,
  value_text TEXT NOT NULL,
  holders INTEGER NOT NULL,
  why TEXT NOT NULL,
  found_at TEXT NOT NULL
) STRICT;

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

CREATE TABLE "reg_prov_api_param_map" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  std_key TEXT NOT NULL,
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  provider_param_name TEXT,
  transform_code TEXT,
  joiner TEXT,
  repeat_param INTEGER,
  name_mark TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_api_param_map_pick ON reg_prov_api_param_map (provenance_id, scope_code, task_type_key, std_key, effective_from);

CREATE TABLE "reg_prov_auth_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  page_size_with_credential INTEGER,
  token_grant TEXT,
  signing_hook TEXT,
  signing_options TEXT,
  further_secrets TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_auth_cfg_pick ON reg_prov_auth_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_batching_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  id_batch_size INTEGER,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  ids_param_name TEXT,
  ids_join_delimiter TEXT, max_id_batch_size INTEGER, max_parallel_requests INTEGER,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_batching_cfg_pick ON reg_prov_batching_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_credential" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  endpoint_name TEXT,
  credential_name TEXT NOT NULL,
  secret_kind_code TEXT NOT NULL CHECK (secret_kind_code IN ('ENV','FILE','SEALED')),
  secret_ref TEXT,
  secret_sealed BLOB,
  secret_mac TEXT,
  is_default_preferred INTEGER NOT NULL DEFAULT 0,
  weight INTEGER NOT NULL DEFAULT 1,
  lifecycle_status_code TEXT NOT NULL DEFAULT 'ACTIVE' CHECK (lifecycle_status_code IN ('ACTIVE','DISABLED')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  refused_count INTEGER NOT NULL DEFAULT 0,
  refused_until TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  origins_json TEXT,
  endpoint_id INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL')),
  CHECK ((secret_kind_code = 'SEALED') = (secret_sealed IS NOT NULL)),
  CHECK ((secret_kind_code = 'SEALED') = (secret_ref IS NULL))
) STRICT;

CREATE INDEX idx_cred_pick ON reg_prov_credential (provenance_id, credential_name);

CREATE TABLE "reg_prov_cut_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')), retry_after_sum TEXT, walk_time TEXT, over_estimate INTEGER, slow_page TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_cut_cfg_pick ON reg_prov_cut_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_endpoint_def" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  body_template TEXT,
  content_type TEXT,
  following_pages TEXT,
  post_over INTEGER,
  request_cost INTEGER,
  reply_hook TEXT,
  id_pattern TEXT,
  request_content_type TEXT,
  is_auth_required INTEGER,
  page_param_name TEXT,
  page_size_param_name TEXT,
  cursor_param_name TEXT, is_default INTEGER, search_endpoint TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_endpoint_def_pick ON reg_prov_endpoint_def (provenance_id, scope_code, task_type_key, endpoint_name, effective_from);

CREATE TABLE "reg_prov_expr_capability" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  accents INTEGER,
  shown TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_expr_capability_pick ON reg_prov_expr_capability (provenance_id, scope_code, task_type_key, field_key, effective_from);

CREATE TABLE "reg_prov_expr_render_rule" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  finds TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_expr_render_rule_pick ON reg_prov_expr_render_rule (provenance_id, scope_code, task_type_key, rule_key, effective_from);

CREATE TABLE "reg_prov_fault_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  fault_rules TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_fault_cfg_pick ON reg_prov_fault_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE reg_prov_grant (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  kind_code TEXT NOT NULL CHECK (kind_code IN ('ORIGIN','POOL','RATE')),
  granted TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  CONSTRAINT uk_prov_grant UNIQUE (provenance_id, kind_code, granted)
) STRICT;

CREATE TABLE "reg_prov_http_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  proxy TEXT,
  redirects TEXT,
  timeout_connect_millis INTEGER,
  timeout_read_millis INTEGER,
  timeout_total_millis INTEGER, tls TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_http_cfg_pick ON reg_prov_http_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_mapping_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  output_fields TEXT,
  volatile_paths TEXT,
  retracted_paths TEXT,
  required_fields TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_mapping_cfg_pick ON reg_prov_mapping_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_pagination_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  token_lifetime TEXT,
  page_number_param_name TEXT,
  page_size_param_name TEXT,
  cursor_param_name TEXT,
  next_cursor_jsonpath TEXT, max_page_size INTEGER,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_pagination_cfg_pick ON reg_prov_pagination_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_rate_limit_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  quotas TEXT,
  budget_headers TEXT,
  retry_after_on TEXT,
  bucket_scope_code TEXT,
  jitter TEXT,
  adapt_settings TEXT, quota_reserve INTEGER, quota_shares TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_rate_limit_cfg_pick ON reg_prov_rate_limit_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_retry_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  max_retry_times INTEGER,
  initial_delay TEXT,
  max_delay TEXT,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  initial_delay_millis INTEGER,
  max_delay_millis INTEGER,
  retry_http_status_json TEXT,
  giveup_http_status_json TEXT, factor REAL, jitter INTEGER, circuit_break_threshold INTEGER, circuit_cooldown TEXT, circuit_cooldown_millis INTEGER, circuit_cooldown_most TEXT,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_retry_cfg_pick ON reg_prov_retry_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_schedule_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
  effective_from TEXT NOT NULL,
  effective_to TEXT,
  supersedes_id INTEGER,
  harvest_cron TEXT,
  update_cron TEXT,
  update_older_than TEXT,
  timezone TEXT,
  quiet_hours TEXT,
  sentinel INTEGER,
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_schedule_cfg_pick ON reg_prov_schedule_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_prov_window_offset_cfg" (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  scope_code TEXT NOT NULL CHECK (scope_code IN ('SOURCE','TASK')),
  task_type TEXT COLLATE NOCASE,
  task_type_key TEXT COLLATE NOCASE GENERATED ALWAYS AS (upper(ifnull(task_type, 'ALL'))) STORED CHECK (task_type_key IN ('ALL','HARVEST','BACKFILL','UPDATE')),
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
  created_by TEXT NOT NULL DEFAULT '(sql)',
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  slice_strategy_code TEXT,
  split_dimension TEXT,
  max_requests INTEGER,
  max_records INTEGER,
  max_duration TEXT,
  max_open_slices INTEGER,
  pages_per_slice INTEGER,
  records_per_day INTEGER,
  beginning TEXT,
  window_mode_code TEXT,
  window_size_value INTEGER,
  window_size_unit_code TEXT,
  overlap_value INTEGER,
  overlap_unit_code TEXT,
  lookback_value INTEGER,
  lookback_unit_code TEXT,
  offset_type_code TEXT, lag_least TEXT, lag_most TEXT, priority INTEGER,
  CHECK ((scope_code = 'TASK') = (task_type_key <> 'ALL'))
) STRICT;

CREATE INDEX idx_window_offset_cfg_pick ON reg_prov_window_offset_cfg (provenance_id, scope_code, task_type_key, effective_from);

CREATE TABLE "reg_provenance" (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  provenance_name TEXT,
  homepage TEXT,
  base_url_default TEXT,
  timezone_default TEXT,
  record_type TEXT,
  identity_code TEXT,
  origin_code TEXT NOT NULL DEFAULT 'SQL',
  origin_hash TEXT,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now'))
) STRICT;

CREATE UNIQUE INDEX uk_prov_code ON reg_provenance (provenance_code);

CREATE TABLE sys_api_reply (
  id INTEGER PRIMARY KEY,
  actor TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  http_status INTEGER NOT NULL DEFAULT 0,
  body BLOB,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX idx_api_reply_age ON sys_api_reply (created_at);

CREATE UNIQUE INDEX uk_api_reply ON sys_api_reply (actor, idempotency_key);

CREATE TABLE sys_api_token (
  id INTEGER PRIMARY KEY,
  token_name TEXT NOT NULL,
  token_hash TEXT NOT NULL,
  role_code TEXT NOT NULL CHECK (role_code IN ('viewer','operator','admin')),
  expires_at TEXT,
  revoked_at TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_api_token_hash ON sys_api_token (token_hash);

CREATE UNIQUE INDEX uk_api_token_live ON sys_api_token (token_name) WHERE revoked_at IS NULL;

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

CREATE TABLE sys_dict_item (
  type_code TEXT NOT NULL,
  item_code TEXT NOT NULL,
  item_name TEXT NOT NULL,
  PRIMARY KEY (type_code, item_code)
) STRICT;

CREATE TABLE sys_dict_item_alias (
  type_code TEXT NOT NULL,
  alias_code TEXT NOT NULL,
  item_code TEXT NOT NULL,
  PRIMARY KEY (type_code, alias_code)
) STRICT;

CREATE TABLE sys_dict_type (
  type_code TEXT NOT NULL PRIMARY KEY,
  type_name TEXT NOT NULL
) STRICT;

INSERT INTO ing_meta (name, value) VALUES ('outbox', '0');

INSERT INTO ing_meta (name, value) VALUES ('work_position', '{"rules":4,"scanned":0,"scan_to":0}');
