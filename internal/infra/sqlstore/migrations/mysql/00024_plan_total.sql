-- +goose Up

-- What the pages of a plan have come to, of runs that have ended. A run adds its own with its end; while it runs they are read from its pages.
CREATE TABLE ing_plan_total (
  plan_id BIGINT NOT NULL PRIMARY KEY,
  sent BIGINT NOT NULL DEFAULT 0,
  retried BIGINT NOT NULL DEFAULT 0,
  http_429 BIGINT NOT NULL DEFAULT 0,
  http_5xx BIGINT NOT NULL DEFAULT 0,
  bytes BIGINT NOT NULL DEFAULT 0,
  inserted BIGINT NOT NULL DEFAULT 0,
  updated BIGINT NOT NULL DEFAULT 0,
  remapped BIGINT NOT NULL DEFAULT 0,
  unchanged BIGINT NOT NULL DEFAULT 0,
  stale BIGINT NOT NULL DEFAULT 0,
  filtered BIGINT NOT NULL DEFAULT 0,
  quarantined BIGINT NOT NULL DEFAULT 0,
  missing BIGINT NOT NULL DEFAULT 0,
  gone BIGINT NOT NULL DEFAULT 0,
  merged BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The slices of a plan, and the items in quarantine, are listed by their numbers.
ALTER TABLE ing_plan_slice ADD KEY idx_slice_plan (plan_id);
ALTER TABLE ing_quarantine ADD KEY idx_quarantine_list (discarded_at);

INSERT INTO ing_plan_total (plan_id, sent, retried, http_429, http_5xx, bytes, inserted, updated, remapped, unchanged, stale, filtered, quarantined, missing, gone, merged)
  SELECT b.plan_id, SUM(b.sent), SUM(b.retried), SUM(b.http_429), SUM(b.http_5xx), SUM(b.bytes), SUM(b.inserted), SUM(b.updated), SUM(b.remapped), SUM(b.unchanged),
    SUM(b.stale), SUM(b.filtered), SUM(b.quarantined), SUM(b.missing), SUM(b.gone), SUM(b.merged)
  FROM ing_task_run r JOIN ing_task_run_batch b ON b.run_id=r.id WHERE r.status_code<>'RUNNING' AND b.status_code='SUCCEEDED' GROUP BY b.plan_id;
