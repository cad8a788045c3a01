-- +goose Up

-- What is asked for by itself, besides what packs suggest. A row that was removed stays, for the history it has.
CREATE TABLE ing_schedule (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  schedule_name VARCHAR(128) NOT NULL,
  provenance_code VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL CHECK (operation_code IN ('HARVEST','BACKFILL','UPDATE')),
  query_text MEDIUMTEXT NOT NULL,
  cron_line VARCHAR(255) NOT NULL,
  zone_name VARCHAR(64) NOT NULL,
  priority INT NOT NULL CHECK (priority >= 0),
  params MEDIUMTEXT NOT NULL,
  enabled TINYINT NOT NULL CHECK (enabled IN (0,1)),
  since DATETIME(6) NOT NULL,
  removed_at DATETIME(6) NULL,
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_schedule_name (schedule_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
