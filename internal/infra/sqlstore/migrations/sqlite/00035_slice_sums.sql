-- +goose Up

-- What a slice was expected to have when it was cut, if anything told; and what its runs that have ended came to: records read, pages that were asked for, how long
-- these took together, and refusals for asking too fast.
ALTER TABLE ing_plan_slice ADD COLUMN expected INTEGER;
ALTER TABLE ing_plan_slice ADD COLUMN records INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ing_plan_slice ADD COLUMN pages_asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ing_plan_slice ADD COLUMN latency_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ing_plan_slice ADD COLUMN http_429 INTEGER NOT NULL DEFAULT 0;

-- A drawing of many slices still reads nothing but this index.
DROP INDEX idx_slice_window;
CREATE INDEX idx_slice_window ON ing_plan_slice (plan_id, window_from, id, status_code, window_to, expected, records, pages_asked, latency_ms, http_429);

UPDATE ing_plan_slice SET expected=COALESCE(JSON_EXTRACT(slice_spec, '$.hints.expectedRecords')+0, 0)
WHERE JSON_EXTRACT(slice_spec, '$.hints.expectedRecords') IS NOT NULL OR JSON_EXTRACT(slice_spec, '$.hints.estimatedBy') IS NOT NULL;
UPDATE ing_plan_slice SET records=k.records, pages_asked=k.pages_asked, latency_ms=k.latency_ms, http_429=k.http_429 FROM (
  SELECT b.slice_id,
    SUM(CASE WHEN b.status_code='SUCCEEDED' THEN b.inserted+b.updated+b.remapped+b.unchanged+b.stale ELSE 0 END) AS records,
    SUM(CASE WHEN b.sent>0 THEN 1 ELSE 0 END) AS pages_asked,
    COALESCE(SUM(CASE WHEN b.sent>0 THEN JSON_EXTRACT(b.stats, '$.latencyMs')+0 END),0) AS latency_ms,
    SUM(b.http_429) AS http_429
  FROM ing_task_run_batch b JOIN ing_task_run r ON r.id=b.run_id WHERE r.status_code<>'RUNNING' GROUP BY b.slice_id) k
WHERE k.slice_id=ing_plan_slice.id;
