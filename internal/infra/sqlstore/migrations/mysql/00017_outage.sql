-- +goose Up

-- What an upstream said in place of an answer, since when and how often in a row, for each source, endpoint and operation. One whose last request was answered has no row.
CREATE TABLE ing_outage (
  provenance_code VARCHAR(64) NOT NULL,
  endpoint_name VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  error_code VARCHAR(64) NOT NULL,
  error MEDIUMTEXT NOT NULL,
  faults BIGINT NOT NULL CHECK (faults > 0),
  first_at DATETIME(6) NOT NULL,
  last_at DATETIME(6) NOT NULL,
  retry_at DATETIME(6) NULL,
  told TINYINT NOT NULL CHECK (told IN (0,1)),
  PRIMARY KEY (provenance_code, endpoint_name, operation_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
