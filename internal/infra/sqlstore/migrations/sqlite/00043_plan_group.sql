-- +goose Up

-- How many slices of a plan are in which state, and what their runs came to, by where their windows begin: place is as much of the stored instant as all slices of a group share. Each change of a
-- slice counts here in its own transaction, so that a plan of many slices is shown as fast as one of few. group_digits is how many characters a place has; 0 for plans that
-- were there before, of which the slices themselves are counted. What was expected moves with a slice from state to state; what came stays where it was counted.
CREATE TABLE ing_plan_group (
  plan_id INTEGER NOT NULL,
  place TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('PENDING','READY','FAILED','DONE','RESLICED','CANCELLED')),
  slices INTEGER NOT NULL,
  expected INTEGER NOT NULL DEFAULT 0,
  estimated INTEGER NOT NULL DEFAULT 0,
  records INTEGER NOT NULL DEFAULT 0,
  pages_asked INTEGER NOT NULL DEFAULT 0,
  latency_ms INTEGER NOT NULL DEFAULT 0,
  http_429 INTEGER NOT NULL DEFAULT 0,
  first_from TEXT NOT NULL,
  last_to TEXT NOT NULL,
  PRIMARY KEY (plan_id, place, status_code)
) STRICT, WITHOUT ROWID;

ALTER TABLE ing_plan ADD COLUMN group_digits INTEGER NOT NULL DEFAULT 0;

-- Of few slices a drawing may read the rows: what every run changes need not be in an index.
DROP INDEX idx_slice_window;
CREATE INDEX idx_slice_window ON ing_plan_slice (plan_id, window_from, id, status_code, window_to);
