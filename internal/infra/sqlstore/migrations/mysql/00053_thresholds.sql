-- +goose Up

-- Further thresholds at which slices are cut, and how waits before a repetition grow and are
-- spread. What is NULL is as the platform has it.
ALTER TABLE reg_prov_cut_cfg ADD COLUMN retry_after_sum VARCHAR(255) NULL;
ALTER TABLE reg_prov_cut_cfg ADD COLUMN walk_time VARCHAR(255) NULL;
ALTER TABLE reg_prov_retry_cfg ADD COLUMN factor DOUBLE NULL;
ALTER TABLE reg_prov_retry_cfg ADD COLUMN jitter BIGINT NULL;
