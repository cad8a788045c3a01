-- +goose Up

-- Between what the safety lag of a source is tuned. What is NULL is as the platform has it.
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN lag_least VARCHAR(255) NULL;
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN lag_most VARCHAR(255) NULL;
