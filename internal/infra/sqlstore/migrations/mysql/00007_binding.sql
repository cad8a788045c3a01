-- +goose Up

-- Where a credential may be sent: the origins of its source when it was set. NULL: set before this was asked;
-- bound at first sight.
ALTER TABLE reg_prov_credential ADD COLUMN origins_json MEDIUMTEXT NULL;

-- What others may do with a source's credentials and rate limit, by an operator's word.
CREATE TABLE reg_prov_grant (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_id BIGINT NOT NULL,
  kind_code VARCHAR(64) NOT NULL CHECK (kind_code IN ('ORIGIN','POOL','RATE')),
  granted VARCHAR(255) NOT NULL,
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_prov_grant (provenance_id, kind_code, granted)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
