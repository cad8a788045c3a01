-- +goose Up

-- What is remembered of a partition, the requests of one source, endpoint and operation, while they fail one after the other. One whose last request went well has no row.
CREATE TABLE ing_breaker (
  provenance_code VARCHAR(64) NOT NULL,
  endpoint_name VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  failures BIGINT NOT NULL CHECK (failures > 0),
  rests_until DATETIME(6) NULL,
  trying TINYINT NOT NULL DEFAULT 0 CHECK (trying IN (0,1)),
  updated_at DATETIME(6) NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name, operation_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Before they lay as JSON beside the rate keys, under breaker/SOURCE/ENDPOINT/OPERATION. An endpoint may have a slash in its name.
INSERT INTO ing_breaker (provenance_code, endpoint_name, operation_code, failures, rests_until, trying, updated_at)
SELECT SUBSTRING_INDEX(b.name, '/', 1),
  SUBSTRING(b.name, LOCATE('/', b.name) + 1, CHAR_LENGTH(b.name) - LOCATE('/', b.name) - CHAR_LENGTH(b.operation) - 1),
  b.operation, b.failures,
  CAST(b.until AS DATETIME(6)),
  b.trying, b.updated_at
FROM (
  SELECT SUBSTRING(gate_key, 9) AS name,
    SUBSTRING_INDEX(gate_key, '/', -1) AS operation,
    CAST(JSON_UNQUOTE(JSON_EXTRACT(state, '$.spent')) AS SIGNED) AS failures,
    REPLACE(REPLACE(JSON_UNQUOTE(JSON_EXTRACT(state, '$.until')), 'T', ' '), 'Z', '') AS until,
    CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(state, '$.trying')) = 'true' THEN 1 ELSE 0 END AS trying,
    updated_at
  FROM ing_rate_gate WHERE gate_key LIKE 'breaker/%/%/%'
) b WHERE b.failures > 0;
DELETE FROM ing_rate_gate WHERE gate_key LIKE 'breaker/%/%/%';
