-- +goose Up

-- How many slices of a plan are in which state, and what their runs came to, by where their windows begin: place is as much of the stored instant as all slices of a group share. Each change of a
-- slice counts here in its own transaction, so that a plan of many slices is shown as fast as one of few. group_digits is how many characters a place has; 0 for plans that
-- were there before, of which the slices themselves are counted. What was expected moves with a slice from state to state; what came stays where it was counted.
CREATE TABLE ing_plan_group (
  plan_id BIGINT NOT NULL,
  place VARCHAR(26) NOT NULL,
  status_code VARCHAR(32) NOT NULL CHECK (status_code IN ('PENDING','READY','FAILED','DONE','RESLICED','CANCELLED')),
  slices BIGINT NOT NULL,
  expected BIGINT NOT NULL DEFAULT 0,
  estimated BIGINT NOT NULL DEFAULT 0,
  records BIGINT NOT NULL DEFAULT 0,
  pages_asked BIGINT NOT NULL DEFAULT 0,
  latency_ms BIGINT NOT NULL DEFAULT 0,
  http_429 BIGINT NOT NULL DEFAULT 0,
  first_from DATETIME(6) NOT NULL,
  last_to DATETIME(6) NOT NULL,
  PRIMARY KEY (plan_id, place, status_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE ing_plan ADD COLUMN group_digits BIGINT NOT NULL DEFAULT 0;

-- Of few slices a drawing may read the rows: what every run changes need not be in an index.
DROP INDEX idx_slice_window ON ing_plan_slice;
CREATE INDEX idx_slice_window ON ing_plan_slice (plan_id, window_from, id, status_code, window_to);
