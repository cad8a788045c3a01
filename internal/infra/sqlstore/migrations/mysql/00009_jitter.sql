-- +goose Up

-- How unevenly requests may arrive at the provider.
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN jitter VARCHAR(255) NULL;
