-- +goose Up

-- Of several endpoints of one usage, the one that is asked unless another is named, and which SEARCH endpoint another
-- belongs to.
ALTER TABLE reg_prov_endpoint_def ADD COLUMN is_default INTEGER;
ALTER TABLE reg_prov_endpoint_def ADD COLUMN search_endpoint TEXT;
