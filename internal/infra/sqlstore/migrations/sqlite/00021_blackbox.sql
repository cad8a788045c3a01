-- +goose Up

-- Whose details the request of a page asked for: with them it can be made again.
ALTER TABLE ing_task_run_batch ADD COLUMN asked_ids TEXT;

-- What a page has brought is found by the page.
CREATE INDEX idx_version_batch ON ing_record_version (batch_id);
CREATE INDEX idx_cur_evt_batch ON ing_cursor_event (batch_id);
