-- +goose Up

-- The plan that a run is for, so that the runs of a plan are listed along an index, one state after the other.
ALTER TABLE ing_task_run ADD COLUMN plan_id BIGINT NOT NULL DEFAULT 0;
UPDATE ing_task_run r JOIN ing_task t ON t.id=r.task_id SET r.plan_id=t.plan_id;
CREATE INDEX idx_run_plan ON ing_task_run (plan_id, status_code);
