-- +goose Up

-- Numbers under which records are found that may be of one work: of identifiers they have or point to, of how their titles begin. A row with record 0 marks a
-- number that too many have; those stand in ing_work_crowd, so that nobody reads them again and again.
CREATE TABLE ing_work_key (
  key_no BIGINT NOT NULL,
  record_id BIGINT NOT NULL,
  PRIMARY KEY (key_no, record_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE ing_work_crowd (
  key_no BIGINT NOT NULL,
  record_id BIGINT NOT NULL,
  PRIMARY KEY (key_no, record_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Records that were looked at: in which revision, and under which numbers they are found, eight bytes each.
CREATE TABLE ing_work_record (
  record_id BIGINT NOT NULL PRIMARY KEY,
  revision BIGINT NOT NULL,
  lookup_keys VARBINARY(4000) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Works of several records. The number of a work is the smallest number of its records; a record without a row is a work of its own.
CREATE TABLE ing_work_member (
  record_id BIGINT NOT NULL PRIMARY KEY,
  work_id BIGINT NOT NULL,
  since DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE INDEX idx_work_member ON ing_work_member (work_id, record_id);

-- What is known of pairs of records: ID edges follow from identifiers, of whole works at a time; PAIR edges from the two records alone.
CREATE TABLE ing_work_edge (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  from_record BIGINT NOT NULL,
  to_record BIGINT NOT NULL,
  basis_code VARCHAR(8) NOT NULL CHECK (basis_code IN ('ID','PAIR')),
  polarity_code VARCHAR(8) NOT NULL CHECK (polarity_code IN ('LINK','SUGGEST','FAMILY')),
  rule_no INT NOT NULL,
  rules_version INT NOT NULL,
  relation_name VARCHAR(32) NOT NULL,
  evidence VARCHAR(700) NOT NULL,
  why VARCHAR(700) NOT NULL,
  score INT NOT NULL,
  found_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE INDEX idx_work_edge_from ON ing_work_edge (from_record);
CREATE INDEX idx_work_edge_to ON ing_work_edge (to_record);
CREATE INDEX idx_work_edge_list ON ing_work_edge (polarity_code, id);

-- Identifiers that are not believed, and why.
CREATE TABLE ing_work_value (
  key_no BIGINT NOT NULL PRIMARY KEY,
  value_text VARCHAR(700) NOT NULL,
  holders BIGINT NOT NULL,
  why VARCHAR(700) NOT NULL,
  found_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What people decided about works, by records. To revoke is a row of its own.
CREATE TABLE ing_work_decision (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  kind_code VARCHAR(8) NOT NULL CHECK (kind_code IN ('JOIN','SPLIT','REVOKE')),
  revokes_id BIGINT,
  actor VARCHAR(255) NOT NULL,
  reason TEXT NOT NULL,
  decided_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE UNIQUE INDEX uk_work_revoke ON ing_work_decision (revokes_id);

CREATE TABLE ing_work_decision_record (
  decision_id BIGINT NOT NULL,
  part_no INT NOT NULL,
  record_id BIGINT NOT NULL,
  PRIMARY KEY (decision_id, part_no, record_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE INDEX idx_work_decision_record ON ing_work_decision_record (record_id);

-- Records that went from one work to another.
CREATE TABLE ing_work_event (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  record_id BIGINT NOT NULL,
  from_work BIGINT NOT NULL,
  to_work BIGINT NOT NULL,
  happened_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE INDEX idx_work_event_record ON ing_work_event (record_id, id);
