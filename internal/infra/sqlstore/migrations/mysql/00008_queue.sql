-- +goose Up
-- The queue is read by partition: from the first task of one partition and
-- priority the index leads to that of the next, however many lie between.
ALTER TABLE ing_task DROP INDEX idx_task_queue, ADD INDEX idx_task_queue (status_code, provenance_code, endpoint_name, operation_code, priority, scheduled_at, id);
