-- +goose Up

-- How often a credential was refused in a row, and until when it rests for that. It changes while sources are asked, and
-- whoever asks writes no description: reg_prov_credential keeps refused_count and refused_until as they were here, for
-- processes of before, which go on with them.
CREATE TABLE ing_credential_state (
  credential_id INTEGER PRIMARY KEY,
  refused_count INTEGER NOT NULL DEFAULT 0,
  refused_until TEXT,
  updated_at TEXT NOT NULL
) STRICT;
INSERT INTO ing_credential_state (credential_id, refused_count, refused_until, updated_at)
  SELECT id, refused_count, refused_until, updated_at FROM reg_prov_credential WHERE refused_count > 0;
