-- +goose Up

-- A fatal fault stopped the endpoint, and not its source, which has others. A person lets it go on.
ALTER TABLE ing_endpoint_state ADD COLUMN stopped BIGINT NOT NULL DEFAULT 0;
