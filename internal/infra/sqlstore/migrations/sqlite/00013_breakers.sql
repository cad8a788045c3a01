-- +goose Up

-- What is remembered of a partition, the requests of one source, endpoint and operation, while they fail one after the other. One whose last request went well has no row.
CREATE TABLE ing_breaker (
  provenance_code TEXT NOT NULL,
  endpoint_name TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  failures INTEGER NOT NULL CHECK (failures > 0),
  rests_until TEXT,
  trying INTEGER NOT NULL DEFAULT 0 CHECK (trying IN (0,1)),
  updated_at TEXT NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name, operation_code)
) STRICT;

-- Before they lay as JSON beside the rate keys, under breaker/SOURCE/ENDPOINT/OPERATION. An endpoint may have a slash in its name.
INSERT INTO ing_breaker (provenance_code, endpoint_name, operation_code, failures, rests_until, trying, updated_at)
SELECT substr(b.name, 1, instr(b.name, '/') - 1),
  substr(b.name, instr(b.name, '/') + 1, length(b.name) - instr(b.name, '/') - length(b.operation) - 1),
  b.operation, b.failures,
  CASE WHEN length(b.until) = 19 THEN b.until || '.000000' ELSE substr(b.until || '000000', 1, 26) END,
  b.trying, b.updated_at
FROM (
  SELECT substr(gate_key, 9) AS name,
    replace(gate_key, rtrim(gate_key, replace(gate_key, '/', '')), '') AS operation, -- what is behind the last slash
    json_extract(state, '$.spent') AS failures,
    replace(replace(json_extract(state, '$.until'), 'T', ' '), 'Z', '') AS until,
    COALESCE(json_extract(state, '$.trying'), 0) AS trying,
    updated_at
  FROM ing_rate_gate WHERE gate_key LIKE 'breaker/%/%/%'
) b WHERE b.failures > 0;
DELETE FROM ing_rate_gate WHERE gate_key LIKE 'breaker/%/%/%';
