-- +goose Up

-- How often a credential was refused in a row, and until when it rests for that. It changes while sources are asked, and
-- whoever asks writes no description: reg_prov_credential keeps refused_count and refused_until as they were here, for
-- processes of before, which go on with them.
CREATE TABLE ing_credential_state (
  credential_id BIGINT NOT NULL,
  refused_count BIGINT NOT NULL DEFAULT 0,
  refused_until DATETIME(6) NULL,
  updated_at DATETIME(6) NOT NULL,
  PRIMARY KEY (credential_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO ing_credential_state (credential_id, refused_count, refused_until, updated_at)
  SELECT id, refused_count, refused_until, updated_at FROM reg_prov_credential WHERE refused_count > 0;
