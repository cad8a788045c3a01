-- +goose Up

-- The largest page that a provider gives, and the most ids that it takes at once. What is NULL is not known.
ALTER TABLE reg_prov_pagination_cfg ADD COLUMN max_page_size INTEGER;
ALTER TABLE reg_prov_batching_cfg ADD COLUMN max_id_batch_size INTEGER;

-- How connections to a source are secured, as JSON: its own authorities (ca), the lowest version (minVersion).
ALTER TABLE reg_prov_http_cfg ADD COLUMN tls TEXT;
