-- +goose Up

-- Numbers under which records are found that may be of one work: of identifiers they have or point to, of how their titles begin. A row with record 0 marks a
-- number that too many have; those stand in ing_work_crowd, so that nobody reads them again and again.
CREATE TABLE ing_work_key (
  key_no INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  PRIMARY KEY (key_no, record_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ing_work_crowd (
  key_no INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  PRIMARY KEY (key_no, record_id)
) STRICT, WITHOUT ROWID;

-- Records that were looked at: in which revision, and under which numbers they are found, eight bytes each.
CREATE TABLE ing_work_record (
  record_id INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL,
  lookup_keys BLOB NOT NULL
) STRICT;

-- Works of several records. The number of a work is the smallest number of its records; a record without a row is a work of its own.
CREATE TABLE ing_work_member (
  record_id INTEGER PRIMARY KEY,
  work_id INTEGER NOT NULL,
  since TEXT NOT NULL
) STRICT;
CREATE INDEX idx_work_member ON ing_work_member (work_id, record_id);

-- What is known of pairs of records: ID edges follow from identifiers, of whole works at a time; PAIR edges from the two records alone.
CREATE TABLE ing_work_edge (
  id INTEGER PRIMARY KEY,
  from_record INTEGER NOT NULL,
  to_record INTEGER NOT NULL,
  basis_code TEXT NOT NULL CHECK (basis_code IN ('ID','PAIR')),
  polarity_code TEXT NOT NULL CHECK (polarity_code IN ('LINK','SUGGEST','FAMILY')),
  rule_no INTEGER NOT NULL,
  rules_version INTEGER NOT NULL,
  relation_name TEXT NOT NULL,
  evidence TEXT NOT NULL,
  why TEXT NOT NULL,
  score INTEGER NOT NULL,
  found_at TEXT NOT NULL
) STRICT;
CREATE INDEX idx_work_edge_from ON ing_work_edge (from_record);
CREATE INDEX idx_work_edge_to ON ing_work_edge (to_record);
CREATE INDEX idx_work_edge_list ON ing_work_edge (polarity_code, id);

-- Identifiers that are not believed, and why.
CREATE TABLE ing_work_value (
  key_no INTEGER PRIMARY KEY,
  value_text TEXT NOT NULL,
  holders INTEGER NOT NULL,
  why TEXT NOT NULL,
  found_at TEXT NOT NULL
) STRICT;

-- What people decided about works, by records. To revoke is a row of its own.
CREATE TABLE ing_work_decision (
  id INTEGER PRIMARY KEY,
  kind_code TEXT NOT NULL CHECK (kind_code IN ('JOIN','SPLIT','REVOKE')),
  revokes_id INTEGER,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  decided_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_work_revoke ON ing_work_decision (revokes_id);

CREATE TABLE ing_work_decision_record (
  decision_id INTEGER NOT NULL,
  part_no INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  PRIMARY KEY (decision_id, part_no, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_work_decision_record ON ing_work_decision_record (record_id);

-- Records that went from one work to another.
CREATE TABLE ing_work_event (
  id INTEGER PRIMARY KEY,
  record_id INTEGER NOT NULL,
  from_work INTEGER NOT NULL,
  to_work INTEGER NOT NULL,
  happened_at TEXT NOT NULL
) STRICT;
CREATE INDEX idx_work_event_record ON ing_work_event (record_id, id);
