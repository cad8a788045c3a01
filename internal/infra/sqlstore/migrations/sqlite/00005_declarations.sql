-- +goose Up

-- How long a token, a next link or a held session can be used (R23).
ALTER TABLE reg_prov_pagination_cfg ADD COLUMN token_lifetime TEXT;

-- Where further secrets of a credential go.
ALTER TABLE reg_prov_auth_cfg ADD COLUMN further_secrets TEXT;

-- What to reckon with where nothing tells how much a window holds.
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN records_per_day INTEGER;

-- Which ids a list can hold; others are looked up one by one.
ALTER TABLE reg_prov_endpoint_def ADD COLUMN id_pattern TEXT;
