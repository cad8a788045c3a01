-- +goose Up

-- A trigger is written down before anything is done for it, as RECEIVED, and answered later; what was asked wrongly is
-- REFUSED. Until it is answered, wish holds all that it takes to plan it, wish_hash what it is about, and claimed_until and
-- fence who is at it: a planner whose fence is no longer the row's answers nothing. claims counts the planners in a row that
-- left it unanswered. SQLite changes no CHECK in place.
CREATE TABLE ing_schedule_instance_new (
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
INSERT INTO ing_schedule_instance_new (id, scheduler_code, scheduler_job_id, scheduler_log_id, trigger_type_code, provenance_code,
    operation_code, trigger_params, expr_proto_hash, expr_proto_snapshot, outcome_code, plan_id, record_remarks, triggered_at, answered_at, created_at)
  SELECT id, scheduler_code, scheduler_job_id, scheduler_log_id, trigger_type_code, provenance_code,
    operation_code, trigger_params, expr_proto_hash, expr_proto_snapshot, outcome_code, plan_id, record_remarks, triggered_at, triggered_at, created_at
  FROM ing_schedule_instance;
DROP TABLE ing_schedule_instance;
ALTER TABLE ing_schedule_instance_new RENAME TO ing_schedule_instance;
CREATE UNIQUE INDEX uk_sched_src ON ing_schedule_instance (scheduler_code, scheduler_job_id, scheduler_log_id);
CREATE INDEX idx_sched_prov ON ing_schedule_instance (provenance_code, operation_code, triggered_at);
CREATE INDEX idx_sched_plan ON ing_schedule_instance (plan_id);
CREATE INDEX idx_sched_open ON ing_schedule_instance (outcome_code, claimed_until);
