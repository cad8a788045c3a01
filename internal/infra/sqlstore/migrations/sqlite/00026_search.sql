-- +goose Up

-- A selection is one query of one source. Plans with the same query of the same source belong to the same.
CREATE TABLE ing_selection (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  selection_hash TEXT NOT NULL,
  query_text TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_selection ON ing_selection (provenance_code, selection_hash);

ALTER TABLE ing_plan ADD COLUMN selection_id INTEGER;
CREATE INDEX idx_plan_selection ON ing_plan (selection_id, id);
ALTER TABLE ing_archived ADD COLUMN selection_id INTEGER;

-- Which records a selection has seen: first and last by which page, also where the record was held before.
CREATE TABLE ing_selection_record (
  selection_id INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  first_batch_id INTEGER NOT NULL,
  last_batch_id INTEGER NOT NULL,
  first_seen_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  PRIMARY KEY (selection_id, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_selection_seen ON ing_selection_record (selection_id, first_seen_at, record_id);

-- Which items in quarantine a selection has seen. One that is read after all becomes a member.
CREATE TABLE ing_selection_item (
  selection_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL,
  PRIMARY KEY (selection_id, item_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_selection_item ON ing_selection_item (item_id);

-- A saved search: one query over several sources. Another query, or other sources, are another version of it.
CREATE TABLE ing_search (
  id INTEGER PRIMARY KEY,
  search_name TEXT NOT NULL,
  version_no INTEGER NOT NULL,
  query_text TEXT NOT NULL,
  begins_at TEXT,
  superseded_at TEXT,
  removed_at TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_search_version ON ing_search (search_name, version_no);

CREATE TABLE ing_search_source (
  search_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  selection_id INTEGER NOT NULL,
  PRIMARY KEY (search_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX uk_search_source ON ing_search_source (search_id, provenance_code);

-- What came of a search each time it was run, and of each of its sources.
CREATE TABLE ing_search_run (
  id INTEGER PRIMARY KEY,
  search_id INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('RUNNING','COMPLETED','PARTIAL','FAILED')),
  program_version TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT
) STRICT;
CREATE UNIQUE INDEX uk_search_run ON ing_search_run (search_id, run_no);

CREATE TABLE ing_search_outcome (
  run_id INTEGER NOT NULL,
  provenance_code TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('COMPLETED','PARTIAL','FAILED')),
  reason TEXT,
  members INTEGER NOT NULL,
  first_seen INTEGER NOT NULL,
  facts TEXT NOT NULL,
  PRIMARY KEY (run_id, provenance_code)
) STRICT, WITHOUT ROWID;
