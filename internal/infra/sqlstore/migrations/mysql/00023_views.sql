-- +goose Up

-- Gaps are listed in pages along an index of their own.
ALTER TABLE ing_plan_slice
  ADD COLUMN gap_of VARCHAR(64) GENERATED ALWAYS AS (CASE WHEN status_code IN ('FAILED','CANCELLED') THEN provenance_code END) STORED,
  ADD KEY idx_slice_gap (gap_of, gap_accepted, cursor_id, window_from);

-- The newest runs of a source, or in a state, are found without reading the others.
ALTER TABLE ing_task_run ADD KEY idx_run_list (status_code, provenance_code);

-- The newest plans of a source, likewise.
ALTER TABLE ing_plan ADD KEY idx_plan_list (provenance_code);
