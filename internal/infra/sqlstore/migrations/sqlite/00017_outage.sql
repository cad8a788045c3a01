-- +goose Up

-- What an upstream said in place of an answer, since when and how often in a row, for each source, endpoint and operation. One whose last request was answered has no row.
CREATE TABLE ing_outage (
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  error_code TEXT NOT NULL,
  error TEXT NOT NULL,
  faults INTEGER NOT NULL CHECK (faults > 0),
  first_at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  retry_at TEXT,
  told INTEGER NOT NULL CHECK (told IN (0,1)),
  PRIMARY KEY (provenance_code, endpoint_name, operation_code)
) STRICT;
