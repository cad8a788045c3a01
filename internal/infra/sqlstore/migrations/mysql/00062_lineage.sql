-- +goose Up

-- What archives plans asks of each whether a move of its cursor names it; without this it would go through all of them.
CREATE INDEX idx_cur_evt_lineage ON ing_cursor_event (plan_id, cursor_id, event_time);
