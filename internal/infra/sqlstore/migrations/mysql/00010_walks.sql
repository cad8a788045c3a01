-- +goose Up

-- How many tasks of the source may be in hand at a time, 0 for no bound: no more than requests may be in flight.
ALTER TABLE ing_source_state ADD COLUMN max_walks INT NOT NULL DEFAULT 0;
