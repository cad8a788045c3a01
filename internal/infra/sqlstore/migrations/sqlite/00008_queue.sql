-- +goose Up
-- The queue is read by partition: from the first task of one partition and
-- priority the index leads to that of the next, however many lie between.
DROP INDEX idx_task_queue;
CREATE INDEX idx_task_queue ON ing_task (status_code, provenance_code, endpoint_name, operation_code, priority, scheduled_at, id);
