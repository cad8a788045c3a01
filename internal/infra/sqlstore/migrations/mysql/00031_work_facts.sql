-- +goose Up

-- What is known of a record that matters for its work, packed: its fields are not read again for every record that shares a number with it. NULL or empty: read
-- them. Queue and blocks have it too, and beside the numbers of likeness a mark that tells most records apart at a glance.
ALTER TABLE ing_work_record ADD COLUMN facts MEDIUMBLOB;

-- All records that are there are gone through once by the next linking; works, links and decisions stay meanwhile.
DELETE FROM ing_work_queue;
DELETE FROM ing_work_block;
DELETE FROM ing_work_record;
DELETE FROM ing_meta WHERE name='work_position';
INSERT INTO ing_meta (name, value) SELECT 'work_position', CONCAT('{"rules":4,"scanned":0,"scan_to":', COALESCE(MAX(id), 0), '}') FROM ing_record;
