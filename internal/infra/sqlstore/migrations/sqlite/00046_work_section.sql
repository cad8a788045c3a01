-- +goose Up

-- Blocks of the index of keys that stand side by side: with which key each begins, and a filter that tells of a key that it is in none of them. Runs that have no
-- section yet get theirs when they are merged with others.
CREATE TABLE ing_work_section (
  id INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  first_key INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX idx_work_section ON ing_work_section (run_no, first_key);
