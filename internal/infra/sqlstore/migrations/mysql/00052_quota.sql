-- +goose Up

-- How many percent of every quota of a source are kept back from what can wait, NULL for
-- the platform's, and the least percents of the rest that operations and phases have, as JSON.
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_reserve BIGINT NULL;
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_shares MEDIUMTEXT NULL;
