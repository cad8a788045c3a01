-- +goose Up

-- An endpoint of a source that is paused by itself. There is a row for each that was ever planned for, which whoever stores
-- a page holds for reading, so that a pause waits for it.
CREATE TABLE ing_endpoint_state (
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0,1)),
  reason TEXT,
  since TEXT,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name)
) STRICT, WITHOUT ROWID;
INSERT INTO ing_endpoint_state (provenance_code, endpoint_name, updated_at)
  SELECT provenance_code, endpoint_name, MAX(updated_at) FROM ing_plan GROUP BY provenance_code, endpoint_name;
