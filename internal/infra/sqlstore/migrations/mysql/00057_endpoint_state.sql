-- +goose Up

-- An endpoint of a source that is paused by itself. There is a row for each that was ever planned for, which whoever stores
-- a page holds for reading, so that a pause waits for it.
CREATE TABLE ing_endpoint_state (
  provenance_code VARCHAR(64) NOT NULL,
  endpoint_name VARCHAR(64) NOT NULL,
  paused BIGINT NOT NULL DEFAULT 0 CHECK (paused IN (0,1)),
  reason MEDIUMTEXT NULL,
  since DATETIME(6) NULL,
  updated_at DATETIME(6) NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO ing_endpoint_state (provenance_code, endpoint_name, updated_at)
  SELECT provenance_code, endpoint_name, MAX(updated_at) FROM ing_plan GROUP BY provenance_code, endpoint_name;
