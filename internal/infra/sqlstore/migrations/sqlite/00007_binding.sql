-- +goose Up

-- Where a credential may be sent: the origins of its source when it was set. NULL: set before this was asked;
-- bound at first sight.
ALTER TABLE reg_prov_credential ADD COLUMN origins_json TEXT;

-- What others may do with a source's credentials and rate limit, by an operator's word.
CREATE TABLE reg_prov_grant (
  id INTEGER PRIMARY KEY,
  provenance_id INTEGER NOT NULL,
  kind_code TEXT NOT NULL CHECK (kind_code IN ('ORIGIN','POOL','RATE')),
  granted TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  CONSTRAINT uk_prov_grant UNIQUE (provenance_id, kind_code, granted)
) STRICT;
