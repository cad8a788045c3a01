-- +goose Up

-- Files to which rows were moved that are older than is kept here. WRITTEN: the file is whole and synced, and what it holds is being removed; units tells what is still to go.
CREATE TABLE ing_archive (
  id INTEGER PRIMARY KEY,
  file_name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  contents TEXT NOT NULL,
  units TEXT NOT NULL,
  status_code TEXT NOT NULL CHECK (status_code IN ('WRITTEN','DONE')),
  trail_before TEXT,
  versions_before TEXT,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_at TEXT NOT NULL,
  done_at TEXT
) STRICT;

CREATE UNIQUE INDEX uk_archive_file ON ing_archive (file_name);
CREATE INDEX idx_archive_status ON ing_archive (status_code, id);

-- Plans and pages that are archived and still named by a row that is not: by a version of a record, an item in quarantine, a signal. It tells where they are, and of a page what it belonged to.
-- A plan that is listed and still there is being removed.
CREATE TABLE ing_archived (
  kind_code TEXT NOT NULL CHECK (kind_code IN ('plan','batch')),
  object_id INTEGER NOT NULL,
  archive_id INTEGER NOT NULL,
  plan_id INTEGER,
  slice_id INTEGER,
  task_id INTEGER,
  run_id INTEGER,
  window_from TEXT,
  window_to TEXT,
  PRIMARY KEY (kind_code, object_id)
) STRICT, WITHOUT ROWID;

-- What archived plans have proven, in intervals: the watermark of a cursor stands on it as on slices.
CREATE TABLE ing_coverage (
  cursor_id INTEGER NOT NULL,
  window_from TEXT NOT NULL,
  window_to TEXT NOT NULL,
  proven_at TEXT NOT NULL,
  PRIMARY KEY (cursor_id, window_from),
  CHECK (window_from < window_to)
) STRICT, WITHOUT ROWID;

-- The oldest revision of a record that is kept here; those before it are archived.
ALTER TABLE ing_record ADD COLUMN first_revision INTEGER NOT NULL DEFAULT 1;

CREATE INDEX idx_bad_id_batch ON ing_bad_id (batch_id);
CREATE INDEX idx_signal_batch ON ing_signal (batch_id);
CREATE INDEX idx_sched_plan ON ing_schedule_instance (plan_id);
