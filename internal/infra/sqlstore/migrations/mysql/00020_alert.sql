-- +goose Up

-- What people are to be told: one row for a rule and what it is about, however often it comes again. PENDING holds but not yet for long enough, FIRING is told, CLEARED is over.
-- told_code is what was last sent about it, calm_since since when a firing one no longer holds, flaps how often it came again soon after it was over.
CREATE TABLE ing_alert (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  rule_code VARCHAR(64) NOT NULL,
  subject VARCHAR(255) NOT NULL,
  provenance_code VARCHAR(64) NULL,
  state_code VARCHAR(64) NOT NULL CHECK (state_code IN ('PENDING','FIRING','CLEARED')),
  severity_code VARCHAR(64) NOT NULL CHECK (severity_code IN ('critical','warning','notice')),
  message MEDIUMTEXT NOT NULL,
  measured VARCHAR(255) NOT NULL,
  threshold VARCHAR(255) NOT NULL,
  next_step MEDIUMTEXT NOT NULL,
  since DATETIME(6) NOT NULL,
  fired_at DATETIME(6) NULL,
  calm_since DATETIME(6) NULL,
  cleared_at DATETIME(6) NULL,
  firings BIGINT NOT NULL DEFAULT 0,
  flaps BIGINT NOT NULL DEFAULT 0,
  told_code VARCHAR(64) NULL CHECK (told_code IN ('FIRING','CLEARED')),
  notified_at DATETIME(6) NULL,
  acked_by VARCHAR(255) NULL,
  acked_at DATETIME(6) NULL,
  ack_reason MEDIUMTEXT NULL,
  snoozed_until DATETIME(6) NULL,
  snoozed_by VARCHAR(255) NULL,
  updated_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_alert (rule_code, subject),
  KEY idx_alert_state (state_code, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What is to be sent, to one target each: written with the change of the alert that it tells of, so that neither is there without the other. ended_at without sent_at: it was given up.
CREATE TABLE ing_alert_delivery (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  alert_id BIGINT NOT NULL,
  target_name VARCHAR(64) NOT NULL,
  payload MEDIUMTEXT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  next_at DATETIME(6) NOT NULL,
  sent_at DATETIME(6) NULL,
  ended_at DATETIME(6) NULL,
  error MEDIUMTEXT NULL,
  created_at DATETIME(6) NOT NULL,
  KEY idx_alert_delivery_due (ended_at, target_name, id),
  KEY idx_alert_delivery_alert (alert_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How long the queue of a source and operation was in each hour of the last day: how often it was looked at, the sum of what waited and the sum of its squares.
CREATE TABLE ing_queue_history (
  provenance_code VARCHAR(64) NOT NULL,
  operation_code VARCHAR(64) NOT NULL,
  hour_at DATETIME(6) NOT NULL,
  looks BIGINT NOT NULL,
  total BIGINT NOT NULL,
  squares BIGINT NOT NULL,
  PRIMARY KEY (provenance_code, operation_code, hour_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
