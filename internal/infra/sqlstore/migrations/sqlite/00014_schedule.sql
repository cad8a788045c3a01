-- +goose Up

-- What is asked for by itself, besides what packs suggest. A row that was removed stays, for the history it has.
CREATE TABLE ing_schedule (
  id INTEGER PRIMARY KEY,
  schedule_name TEXT NOT NULL,
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL CHECK (operation_code IN ('HARVEST','BACKFILL','UPDATE')),
  query_text TEXT NOT NULL,
  cron_line TEXT NOT NULL,
  zone_name TEXT NOT NULL,
  priority INTEGER NOT NULL CHECK (priority >= 0),
  params TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0,1)),
  since TEXT NOT NULL,
  removed_at TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_schedule_name ON ing_schedule (schedule_name);
