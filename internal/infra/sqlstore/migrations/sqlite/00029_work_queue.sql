-- +goose Up

-- What was stored and is not linked yet: a row for a page, taken away by whoever links it. Of each record its number, how many keys it has and one more (0: it
-- has to be read), and the keys.
CREATE TABLE ing_work_queue (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  provenance_code TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;

-- The numbers under which records are found that may be of one work, in sorted runs of blocks: a row for each number of each record cost more than all else of
-- linking. Of each entry the distance from the number before, and the record with its source.
CREATE TABLE ing_work_block (
  id INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  first_key INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX idx_work_block ON ing_work_block (run_no, first_key);

DROP TABLE ing_work_key;
DROP TABLE ing_work_crowd;

-- All records that are there are gone through once by the next linking; works, links and decisions stay meanwhile.
DELETE FROM ing_work_record;
DELETE FROM ing_meta WHERE name='work_position';
INSERT INTO ing_meta (name, value) SELECT 'work_position', '{"rules":3,"scanned":0,"scan_to":' || COALESCE(MAX(id), 0) || '}' FROM ing_record;
