-- +goose Up

-- What is known of records that were new, packed, a row for some that came on one page and whose numbers stand side by side: those of one eighth of a number,
-- by the smallest of them. Whoever stores a page writes it once, and linking leaves it where it is; as long as queue_id is a row of ing_work_queue the records
-- wait to be linked. lookup_keys has of each record its number, the numbers under which it is found and its mark, facts what is known of all of them. What was
-- read again later, and what was linked before there was this table, is in ing_work_record, and holds.
CREATE TABLE ing_work_facts (
  first_record BIGINT NOT NULL,
  queue_id BIGINT NOT NULL,
  lookup_keys MEDIUMBLOB NOT NULL,
  facts MEDIUMBLOB NOT NULL,
  PRIMARY KEY (first_record)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
