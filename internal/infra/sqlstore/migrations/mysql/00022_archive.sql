-- +goose Up

-- Files to which rows were moved that are older than is kept here. WRITTEN: the file is whole and synced, and what it holds is being removed; units tells what is still to go.
CREATE TABLE ing_archive (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  file_name VARCHAR(255) NOT NULL,
  sha256 VARCHAR(64) NOT NULL,
  bytes BIGINT NOT NULL,
  row_count BIGINT NOT NULL,
  contents MEDIUMTEXT NOT NULL,
  units LONGTEXT NOT NULL,
  status_code VARCHAR(64) NOT NULL CHECK (status_code IN ('WRITTEN','DONE')),
  trail_before DATETIME(6) NULL,
  versions_before DATETIME(6) NULL,
  actor VARCHAR(255) NOT NULL,
  reason MEDIUMTEXT NOT NULL,
  created_at DATETIME(6) NOT NULL,
  done_at DATETIME(6) NULL,
  UNIQUE KEY uk_archive_file (file_name),
  KEY idx_archive_status (status_code, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Plans and pages that are archived and still named by a row that is not: by a version of a record, an item in quarantine, a signal. It tells where they are, and of a page what it belonged to.
-- A plan that is listed and still there is being removed.
CREATE TABLE ing_archived (
  kind_code VARCHAR(64) NOT NULL CHECK (kind_code IN ('plan','batch')),
  object_id BIGINT NOT NULL,
  archive_id BIGINT NOT NULL,
  plan_id BIGINT,
  slice_id BIGINT,
  task_id BIGINT,
  run_id BIGINT,
  window_from DATETIME(6) NULL,
  window_to DATETIME(6) NULL,
  PRIMARY KEY (kind_code, object_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What archived plans have proven, in intervals: the watermark of a cursor stands on it as on slices.
CREATE TABLE ing_coverage (
  cursor_id BIGINT NOT NULL,
  window_from DATETIME(6) NOT NULL,
  window_to DATETIME(6) NOT NULL,
  proven_at DATETIME(6) NOT NULL,
  PRIMARY KEY (cursor_id, window_from),
  CHECK (window_from < window_to)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The oldest revision of a record that is kept here; those before it are archived.
ALTER TABLE ing_record ADD COLUMN first_revision BIGINT NOT NULL DEFAULT 1;

CREATE INDEX idx_bad_id_batch ON ing_bad_id (batch_id);
CREATE INDEX idx_signal_batch ON ing_signal (batch_id);
CREATE INDEX idx_sched_plan ON ing_schedule_instance (plan_id);
