-- +goose Up

-- Faults that are alike, counted as they come: one row however many pages fail. Beside the count stands what was done about them by itself, and what people decided.
CREATE TABLE ing_error_group (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_code VARCHAR(64) NOT NULL,
  endpoint_name VARCHAR(64) NOT NULL,
  level_code VARCHAR(64) NOT NULL CHECK (level_code IN ('L1','L2','L3','L4')),
  error_code VARCHAR(64) NOT NULL,
  field_path VARCHAR(255) NOT NULL,
  faults BIGINT NOT NULL CHECK (faults > 0),
  queued_again BIGINT NOT NULL DEFAULT 0,
  walked_again BIGINT NOT NULL DEFAULT 0,
  cut_smaller BIGINT NOT NULL DEFAULT 0,
  left_gap BIGINT NOT NULL DEFAULT 0,
  put_aside BIGINT NOT NULL DEFAULT 0,
  source_stopped BIGINT NOT NULL DEFAULT 0,
  sample MEDIUMTEXT NULL,
  batch_id BIGINT NULL,
  first_at DATETIME(6) NOT NULL,
  last_at DATETIME(6) NOT NULL,
  state_code VARCHAR(64) NOT NULL DEFAULT 'OPEN' CHECK (state_code IN ('OPEN','ACKNOWLEDGED','MUTED','RESOLVED','CAME_BACK')),
  state_at DATETIME(6) NOT NULL,
  state_by VARCHAR(255) NULL,
  state_reason MEDIUMTEXT NULL,
  muted_until DATETIME(6) NULL,
  UNIQUE KEY uk_error_group (provenance_code, endpoint_name, level_code, error_code, field_path),
  KEY idx_error_group_last (last_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The same faults by operation and hour, for a month.
CREATE TABLE ing_error_hour (
  group_id BIGINT NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  hour_at DATETIME(6) NOT NULL,
  faults BIGINT NOT NULL CHECK (faults > 0),
  first_at DATETIME(6) NOT NULL,
  last_at DATETIME(6) NOT NULL,
  PRIMARY KEY (group_id, hour_at, operation_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- An item that somebody discarded keeps its hash, and loses its bytes: the same item is not put before people again.
ALTER TABLE ing_quarantine ADD COLUMN discarded_at DATETIME(6) NULL;
CREATE INDEX idx_quarantine_open ON ing_quarantine (discarded_at, provenance_code, id);
CREATE INDEX idx_quarantine_ext ON ing_quarantine (provenance_code, ext_id);
