-- +goose Up

-- An item is put aside once for each cause, however often it comes: batch_id is the page that brought it last, seen_at when that was.
ALTER TABLE ing_quarantine ADD COLUMN seen_at TEXT NOT NULL DEFAULT '';
UPDATE ing_quarantine SET seen_at=created_at;
DELETE FROM ing_quarantine WHERE id NOT IN (SELECT MAX(id) FROM ing_quarantine GROUP BY provenance_code, record_type, raw_sha256, code);
CREATE UNIQUE INDEX uk_quarantine_item ON ing_quarantine (provenance_code, record_type, raw_sha256, code);
