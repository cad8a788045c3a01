-- +goose Up

-- A selection is one query of one source. Plans with the same query of the same source belong to the same.
CREATE TABLE ing_selection (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  provenance_code VARCHAR(64) NOT NULL,
  selection_hash VARCHAR(64) NOT NULL,
  query_text MEDIUMTEXT NOT NULL,
  created_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_selection (provenance_code, selection_hash)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE ing_plan ADD COLUMN selection_id BIGINT NULL, ADD KEY idx_plan_selection (selection_id, id);
ALTER TABLE ing_archived ADD COLUMN selection_id BIGINT NULL;

-- Which records a selection has seen: first and last by which page, also where the record was held before.
CREATE TABLE ing_selection_record (
  selection_id BIGINT NOT NULL,
  record_id BIGINT NOT NULL,
  first_batch_id BIGINT NOT NULL,
  last_batch_id BIGINT NOT NULL,
  first_seen_at DATETIME(6) NOT NULL,
  last_seen_at DATETIME(6) NOT NULL,
  PRIMARY KEY (selection_id, record_id),
  KEY idx_selection_seen (selection_id, first_seen_at, record_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Which items in quarantine a selection has seen. One that is read after all becomes a member.
CREATE TABLE ing_selection_item (
  selection_id BIGINT NOT NULL,
  item_id BIGINT NOT NULL,
  PRIMARY KEY (selection_id, item_id),
  KEY idx_selection_item (item_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A saved search: one query over several sources. Another query, or other sources, are another version of it.
CREATE TABLE ing_search (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  search_name VARCHAR(128) NOT NULL,
  version_no INT NOT NULL,
  query_text MEDIUMTEXT NOT NULL,
  begins_at DATETIME(6) NULL,
  superseded_at DATETIME(6) NULL,
  removed_at DATETIME(6) NULL,
  created_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_search_version (search_name, version_no)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE ing_search_source (
  search_id BIGINT NOT NULL,
  ordinal INT NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  selection_id BIGINT NOT NULL,
  PRIMARY KEY (search_id, ordinal),
  UNIQUE KEY uk_search_source (search_id, provenance_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What came of a search each time it was run, and of each of its sources.
CREATE TABLE ing_search_run (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  search_id BIGINT NOT NULL,
  run_no INT NOT NULL,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('RUNNING','COMPLETED','PARTIAL','FAILED')),
  program_version VARCHAR(255) NOT NULL,
  started_at DATETIME(6) NOT NULL,
  ended_at DATETIME(6) NULL,
  UNIQUE KEY uk_search_run (search_id, run_no)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE ing_search_outcome (
  run_id BIGINT NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('COMPLETED','PARTIAL','FAILED')),
  reason MEDIUMTEXT NULL,
  members BIGINT NOT NULL,
  first_seen BIGINT NOT NULL,
  facts LONGTEXT NOT NULL,
  PRIMARY KEY (run_id, provenance_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
