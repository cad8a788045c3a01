-- +goose Up

-- The links that join a record with those of smaller numbers in its work, packed. Those of works that were linked before are in ing_work_edge until their
-- work is looked at again. NULL or empty: there are none here.
ALTER TABLE ing_work_member ADD COLUMN links MEDIUMBLOB;

-- Entries of blocks have one length now. All records that are there are gone through once by the next linking; works, links and decisions stay meanwhile.
DELETE FROM ing_work_queue;
DELETE FROM ing_work_block;
DELETE FROM ing_work_record;
DELETE FROM ing_meta WHERE name='work_position';
INSERT INTO ing_meta (name, value) SELECT 'work_position', CONCAT('{"rules":4,"scanned":0,"scan_to":', COALESCE(MAX(id), 0), '}') FROM ing_record;
