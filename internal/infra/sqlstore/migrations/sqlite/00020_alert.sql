-- +goose Up

-- What people are to be told: one row for a rule and what it is about, however often it comes again. PENDING holds but not yet for long enough, FIRING is told, CLEARED is over.
-- told_code is what was last sent about it, calm_since since when a firing one no longer holds, flaps how often it came again soon after it was over.
CREATE TABLE ing_alert (
  id INTEGER PRIMARY KEY,
  rule_code TEXT NOT NULL,
  subject TEXT NOT NULL,
  provenance_code TEXT,
  state_code TEXT NOT NULL CHECK (state_code IN ('PENDING','FIRING','CLEARED')),
  severity_code TEXT NOT NULL CHECK (severity_code IN ('critical','warning','notice')),
  message TEXT NOT NULL,
  measured TEXT NOT NULL,
  threshold TEXT NOT NULL,
  next_step TEXT NOT NULL,
  since TEXT NOT NULL,
  fired_at TEXT,
  calm_since TEXT,
  cleared_at TEXT,
  firings INTEGER NOT NULL DEFAULT 0,
  flaps INTEGER NOT NULL DEFAULT 0,
  told_code TEXT CHECK (told_code IN ('FIRING','CLEARED')),
  notified_at TEXT,
  acked_by TEXT,
  acked_at TEXT,
  ack_reason TEXT,
  snoozed_until TEXT,
  snoozed_by TEXT,
  updated_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_alert ON ing_alert (rule_code, subject);

CREATE INDEX idx_alert_state ON ing_alert (state_code, id);

-- What is to be sent, to one target each: written with the change of the alert that it tells of, so that neither is there without the other. ended_at without sent_at: it was given up.
CREATE TABLE ing_alert_delivery (
  id INTEGER PRIMARY KEY,
  alert_id INTEGER NOT NULL,
  target_name TEXT NOT NULL,
  payload TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at TEXT NOT NULL,
  sent_at TEXT,
  ended_at TEXT,
  error TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX idx_alert_delivery_due ON ing_alert_delivery (ended_at, target_name, id);

CREATE INDEX idx_alert_delivery_alert ON ing_alert_delivery (alert_id, id);

-- How long the queue of a source and operation was in each hour of the last day: how often it was looked at, the sum of what waited and the sum of its squares.
CREATE TABLE ing_queue_history (
  provenance_code TEXT NOT NULL,
  operation_code TEXT NOT NULL,
  hour_at TEXT NOT NULL,
  looks INTEGER NOT NULL,
  total INTEGER NOT NULL,
  squares INTEGER NOT NULL,
  PRIMARY KEY (provenance_code, operation_code, hour_at)
) STRICT;
