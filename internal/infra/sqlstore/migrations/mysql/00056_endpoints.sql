-- +goose Up

-- Of several endpoints of one usage, the one that is asked unless another is named, and which SEARCH endpoint another
-- belongs to.
ALTER TABLE reg_prov_endpoint_def ADD COLUMN is_default BIGINT NULL, ADD COLUMN search_endpoint VARCHAR(64) NULL;
