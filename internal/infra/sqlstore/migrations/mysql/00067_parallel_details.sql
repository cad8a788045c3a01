-- +goose Up

-- How many requests for details a slice makes side by side. NULL means one.
ALTER TABLE reg_prov_batching_cfg ADD COLUMN max_parallel_requests BIGINT NULL;
