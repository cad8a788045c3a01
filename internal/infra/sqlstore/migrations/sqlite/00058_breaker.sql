-- +goose Up

-- How many failures in a row, each after its repetitions, make a part of a source rest, for
-- how long at first and at most. What is NULL is as the platform has it. The rest is kept in
-- milliseconds too, as the design has it.
ALTER TABLE reg_prov_retry_cfg ADD COLUMN circuit_break_threshold INTEGER;
ALTER TABLE reg_prov_retry_cfg ADD COLUMN circuit_cooldown TEXT;
ALTER TABLE reg_prov_retry_cfg ADD COLUMN circuit_cooldown_millis INTEGER;
ALTER TABLE reg_prov_retry_cfg ADD COLUMN circuit_cooldown_most TEXT;

-- How many failures it takes, as the source of the partition said with the last one.
ALTER TABLE ing_breaker ADD COLUMN break_after INTEGER NOT NULL DEFAULT 3;
