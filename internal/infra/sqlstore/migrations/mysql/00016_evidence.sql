-- +goose Up

-- A page that was claimed and never asked for is SKIPPED. Every page keeps the headers of its reply that matter, and one that is not stored the beginning of the reply too.
-- Beside it stand the trigger and the expression that it was asked for, and the name of the key it went with. MariaDB replaces the CHECK of a column that is modified, MySQL adds one to it.
ALTER TABLE ing_task_run_batch /*!80019 DROP CHECK ing_task_run_batch_chk_2, */
  MODIFY COLUMN status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('RUNNING','SUCCEEDED','FAILED','SKIPPED')),
  ADD COLUMN schedule_instance_id BIGINT,
  ADD COLUMN expr_hash VARCHAR(64),
  ADD COLUMN credential_ref VARCHAR(255),
  ADD COLUMN response_digest MEDIUMTEXT,
  ADD COLUMN reply_sample VARBINARY(1024);

-- The trigger and the expression along the way from slice to cursor.
ALTER TABLE ing_plan_slice ADD COLUMN schedule_instance_id BIGINT;
ALTER TABLE ing_cursor ADD COLUMN schedule_instance_id BIGINT, ADD COLUMN expr_hash VARCHAR(64);
ALTER TABLE ing_cursor_event ADD COLUMN schedule_instance_id BIGINT;

-- Where a run goes on is told by its pages; nothing was ever written here.
ALTER TABLE ing_task_run DROP COLUMN checkpoint;
