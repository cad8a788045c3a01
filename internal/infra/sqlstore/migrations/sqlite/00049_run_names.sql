-- +goose Up

-- What is stored of runs by the names of the design, for those who look by them. Nothing is
-- stored twice: they are read off the columns that patra writes.
ALTER TABLE ing_task ADD COLUMN lease_count INTEGER GENERATED ALWAYS AS (attempts + renewals) VIRTUAL;
ALTER TABLE ing_task_run ADD COLUMN created_at TEXT GENERATED ALWAYS AS (started_at) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN page_no INTEGER GENERATED ALWAYS AS (json_extract(before_position, '$.page')) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN before_token TEXT GENERATED ALWAYS AS (json_extract(before_position, '$.token')) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN after_token TEXT GENERATED ALWAYS AS (json_extract(after_position, '$.token')) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN before_url TEXT GENERATED ALWAYS AS (json_extract(before_position, '$.url')) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN next_url TEXT GENERATED ALWAYS AS (json_extract(after_position, '$.url')) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN record_count INTEGER GENERATED ALWAYS AS (items) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN has_next INTEGER GENERATED ALWAYS AS (json_extract(stats, '$.hasNext')) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN created_at TEXT GENERATED ALWAYS AS (opened_at) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN request_digest TEXT GENERATED ALWAYS AS (request_sha256) VIRTUAL;
ALTER TABLE ing_task_run_batch ADD COLUMN idempotent_key TEXT GENERATED ALWAYS AS (run_id || '/' || batch_no) VIRTUAL;
ALTER TABLE ing_cursor_event ADD COLUMN prev_numeric INTEGER GENERATED ALWAYS AS (CASE WHEN operation_code = 'UPDATE' THEN CAST(prev_value AS INTEGER) END) VIRTUAL;
ALTER TABLE ing_cursor_event ADD COLUMN new_numeric INTEGER GENERATED ALWAYS AS (CASE WHEN operation_code = 'UPDATE' THEN CAST(new_value AS INTEGER) END) VIRTUAL;
