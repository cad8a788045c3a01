-- +goose Up

-- A fatal fault stopped the endpoint, and not its source, which has others. A person lets it go on.
ALTER TABLE ing_endpoint_state ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0,1));
