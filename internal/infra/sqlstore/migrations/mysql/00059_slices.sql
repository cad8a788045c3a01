-- +goose Up

-- When the tasks of a source have their turn, how many times as much as was expected a slice
-- may bring, and how long its pages may take. What is NULL is as the platform has it.
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN priority BIGINT NULL;
ALTER TABLE reg_prov_cut_cfg ADD COLUMN over_estimate BIGINT NULL;
ALTER TABLE reg_prov_cut_cfg ADD COLUMN slow_page VARCHAR(255) NULL;
