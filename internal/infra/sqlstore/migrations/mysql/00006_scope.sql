-- +goose Up

-- What the limits are counted for: the source, each credential, each endpoint (C16).
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN bucket_scope_code VARCHAR(255) NULL;
