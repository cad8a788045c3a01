-- +goose Up

-- Gaps are listed in pages along an index of their own. Most slices are none, and are not in it.
ALTER TABLE ing_plan_slice ADD COLUMN gap_of TEXT GENERATED ALWAYS AS (CASE WHEN status_code IN ('FAILED','CANCELLED') THEN provenance_code END) VIRTUAL;
CREATE INDEX idx_slice_gap ON ing_plan_slice (gap_of, gap_accepted, cursor_id, window_from) WHERE gap_of IS NOT NULL;

-- The newest runs of a source, or in a state, are found without reading the others.
CREATE INDEX idx_run_list ON ing_task_run (status_code, provenance_code);

-- The newest plans of a source, likewise.
CREATE INDEX idx_plan_list ON ing_plan (provenance_code);
