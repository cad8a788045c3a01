-- +goose Up

-- What a source finds for a condition compared with what is asked, and how far its records show a field: by these a query is divided into what is sent and what is decided here.
ALTER TABLE reg_prov_expr_render_rule ADD COLUMN finds TEXT;
ALTER TABLE reg_prov_expr_capability ADD COLUMN accents INTEGER;
ALTER TABLE reg_prov_expr_capability ADD COLUMN shown TEXT;

-- Of the records of a page those that do not tell whether they are what the plan's query asks for.
ALTER TABLE ing_task_run_batch ADD COLUMN undecided INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ing_plan_total ADD COLUMN undecided INTEGER NOT NULL DEFAULT 0;
