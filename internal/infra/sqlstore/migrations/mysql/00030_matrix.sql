-- +goose Up

-- The slices of a plan in the order of their windows, with all that a drawing of them shows: many are summed up without a look at the slices themselves.
CREATE INDEX idx_slice_window ON ing_plan_slice (plan_id, window_from, id, status_code, window_to);

-- Plans in a state, of a source and operation, the newest last.
CREATE INDEX idx_plan_state ON ing_plan (status_code, provenance_code, operation_code, id);
