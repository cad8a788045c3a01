-- +goose Up

-- What is stored of runs by the names of the design, for those who look by them. Nothing is
-- stored twice: they are read off the columns that patra writes. None of them can fail: a
-- generated column is worked out when a row is written, too.
ALTER TABLE ing_task ADD COLUMN lease_count INTEGER GENERATED ALWAYS AS (attempts + renewals) VIRTUAL;
ALTER TABLE ing_task_run ADD COLUMN created_at TEXT GENERATED ALWAYS AS (started_at) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN record_count INTEGER GENERATED ALWAYS AS (items) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN created_at TEXT GENERATED ALWAYS AS (opened_at) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN request_digest TEXT GENERATED ALWAYS AS (request_sha256) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN idempotent_key TEXT GENERATED ALWAYS AS (run_id || '/' || batch_no) VIRTUAL;
