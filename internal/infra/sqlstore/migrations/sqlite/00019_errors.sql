-- +goose Up

-- Faults that are alike, counted as they come: one row however many pages fail. Beside the count stands what was done about them by itself, and what people decided.
CREATE TABLE ing_error_group (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  level_code TEXT NOT NULL CHECK (level_code IN ('L1','L2','L3','L4')),
  error_code TEXT NOT NULL,
  field_path TEXT NOT NULL,
  faults INTEGER NOT NULL CHECK (faults > 0),
  queued_again INTEGER NOT NULL DEFAULT 0,
  walked_again INTEGER NOT NULL DEFAULT 0,
  cut_smaller INTEGER NOT NULL DEFAULT 0,
  left_gap INTEGER NOT NULL DEFAULT 0,
  put_aside INTEGER NOT NULL DEFAULT 0,
  source_stopped INTEGER NOT NULL DEFAULT 0,
  sample TEXT,
  batch_id INTEGER,
  first_at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  state_code TEXT NOT NULL DEFAULT 'OPEN' CHECK (state_code IN ('OPEN','ACKNOWLEDGED','MUTED','RESOLVED','CAME_BACK')),
  state_at TEXT NOT NULL,
  state_by TEXT,
  state_reason TEXT,
  muted_until TEXT
) STRICT;

CREATE UNIQUE INDEX uk_error_group ON ing_error_group (provenance_code, endpoint_name, level_code, error_code, field_path);
CREATE INDEX idx_error_group_last ON ing_error_group (last_at);

-- The same faults by operation and hour, for a month.
CREATE TABLE ing_error_hour (
  group_id INTEGER NOT NULL,
  operation_code TEXT NOT NULL,
  hour_at TEXT NOT NULL,
  faults INTEGER NOT NULL CHECK (faults > 0),
  first_at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  PRIMARY KEY (group_id, hour_at, operation_code)
) STRICT, WITHOUT ROWID;

-- An item that somebody discarded keeps its hash, and loses its bytes: the same item is not put before people again.
ALTER TABLE ing_quarantine ADD COLUMN discarded_at TEXT;
CREATE INDEX idx_quarantine_open ON ing_quarantine (discarded_at, provenance_code, id);
CREATE INDEX idx_quarantine_ext ON ing_quarantine (provenance_code, ext_id);
