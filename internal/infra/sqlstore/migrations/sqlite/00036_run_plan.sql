-- +goose Up

-- The plan that a run is for, so that the runs of a plan are listed along an index, one state after the other.
ALTER TABLE ing_task_run ADD COLUMN plan_id INTEGER NOT NULL DEFAULT 0;
UPDATE ing_task_run SET plan_id=t.plan_id FROM ing_task t WHERE t.id=ing_task_run.task_id;
CREATE INDEX idx_run_plan ON ing_task_run (plan_id, status_code);
