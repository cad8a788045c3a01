-- +goose Up

-- What is stored of runs by the names of the design, for those who look by them. Nothing is
-- stored twice: they are read off the columns that patra writes.
ALTER TABLE ing_task ADD COLUMN lease_count BIGINT GENERATED ALWAYS AS (attempts + renewals) VIRTUAL;
ALTER TABLE ing_task_run ADD COLUMN created_at DATETIME(6) GENERATED ALWAYS AS (started_at) VIRTUAL;
ALTER TABLE ing_task_run_batch
  ADD COLUMN page_no BIGINT GENERATED ALWAYS AS (JSON_EXTRACT(before_position, '$.page')) VIRTUAL,
  ADD COLUMN before_token TEXT GENERATED ALWAYS AS (JSON_UNQUOTE(JSON_EXTRACT(before_position, '$.token'))) VIRTUAL,
  ADD COLUMN after_token TEXT GENERATED ALWAYS AS (JSON_UNQUOTE(JSON_EXTRACT(after_position, '$.token'))) VIRTUAL,
  ADD COLUMN before_url TEXT GENERATED ALWAYS AS (JSON_UNQUOTE(JSON_EXTRACT(before_position, '$.url'))) VIRTUAL,
  ADD COLUMN next_url TEXT GENERATED ALWAYS AS (JSON_UNQUOTE(JSON_EXTRACT(after_position, '$.url'))) VIRTUAL,
  ADD COLUMN record_count BIGINT GENERATED ALWAYS AS (items) VIRTUAL,
  ADD COLUMN has_next TINYINT GENERATED ALWAYS AS (JSON_UNQUOTE(JSON_EXTRACT(stats, '$.hasNext')) = 'true') VIRTUAL,
  ADD COLUMN created_at DATETIME(6) GENERATED ALWAYS AS (opened_at) VIRTUAL,
  ADD COLUMN request_digest VARCHAR(64) GENERATED ALWAYS AS (request_sha256) VIRTUAL,
  ADD COLUMN idempotent_key VARCHAR(160) GENERATED ALWAYS AS (CONCAT(run_id, '/', batch_no)) VIRTUAL;
ALTER TABLE ing_cursor_event
  ADD COLUMN prev_numeric BIGINT GENERATED ALWAYS AS (CASE WHEN operation_code = 'UPDATE' THEN CAST(prev_value AS SIGNED) END) VIRTUAL,
  ADD COLUMN new_numeric BIGINT GENERATED ALWAYS AS (CASE WHEN operation_code = 'UPDATE' THEN CAST(new_value AS SIGNED) END) VIRTUAL;
