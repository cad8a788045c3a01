-- +goose Up

-- What the items of a source have in common, by which their bodies are packed small. Rows name the dictionary they were packed with and cannot be read without it:
-- none is ever changed or removed. trained_from: of how many items it was chosen.
CREATE TABLE ing_dictionary (
  id INTEGER PRIMARY KEY,
  provenance_code TEXT NOT NULL,
  record_type TEXT NOT NULL,
  content BLOB NOT NULL,
  content_sha256 BLOB NOT NULL,
  trained_from INTEGER NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_dictionary_key ON ing_dictionary (provenance_code, record_type);

-- How raw is packed. apart: raw is the item as it came in a zstd frame, and fields are its fields, as all rows were before. zstd, s2, zstd_dict: raw is one body that
-- holds both, and fields is empty; the last two with the dictionary that is named beside.
ALTER TABLE ing_record_version ADD COLUMN codec_code TEXT NOT NULL DEFAULT 'apart';
ALTER TABLE ing_record_version ADD COLUMN dictionary_id INTEGER;
