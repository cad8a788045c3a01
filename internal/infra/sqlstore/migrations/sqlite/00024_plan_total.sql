-- +goose Up

-- What the pages of a plan have come to, of runs that have ended. A run adds its own with its end; while it runs they are read from its pages.
CREATE TABLE ing_plan_total (
  plan_id INTEGER PRIMARY KEY,
  sent INTEGER NOT NULL DEFAULT 0,
  retried INTEGER NOT NULL DEFAULT 0,
  http_429 INTEGER NOT NULL DEFAULT 0,
  http_5xx INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  inserted INTEGER NOT NULL DEFAULT 0,
  updated INTEGER NOT NULL DEFAULT 0,
  remapped INTEGER NOT NULL DEFAULT 0,
  unchanged INTEGER NOT NULL DEFAULT 0,
  stale INTEGER NOT NULL DEFAULT 0,
  filtered INTEGER NOT NULL DEFAULT 0,
  quarantined INTEGER NOT NULL DEFAULT 0,
  missing INTEGER NOT NULL DEFAULT 0,
  gone INTEGER NOT NULL DEFAULT 0,
  merged INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The slices of a plan, and the items in quarantine, are listed by their numbers.
CREATE INDEX idx_slice_plan ON ing_plan_slice (plan_id);
CREATE INDEX idx_quarantine_list ON ing_quarantine (discarded_at);

INSERT INTO ing_plan_total (plan_id, sent, retried, http_429, http_5xx, bytes, inserted, updated, remapped, unchanged, stale, filtered, quarantined, missing, gone, merged)
  SELECT b.plan_id, SUM(b.sent), SUM(b.retried), SUM(b.http_429), SUM(b.http_5xx), SUM(b.bytes), SUM(b.inserted), SUM(b.updated), SUM(b.remapped), SUM(b.unchanged),
    SUM(b.stale), SUM(b.filtered), SUM(b.quarantined), SUM(b.missing), SUM(b.gone), SUM(b.merged)
  FROM ing_task_run r JOIN ing_task_run_batch b ON b.run_id=r.id WHERE r.status_code<>'RUNNING' AND b.status_code='SUCCEEDED' GROUP BY b.plan_id;
