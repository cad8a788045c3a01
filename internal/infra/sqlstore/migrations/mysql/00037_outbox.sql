-- +goose Up

-- Who wants to be told of revisions of records, and how far each has come: the targets of events, and the feed as one of them.
CREATE TABLE ing_outbox_target (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  target_name VARCHAR(64) NOT NULL,
  kind_code VARCHAR(64) NOT NULL CHECK (kind_code IN ('feed','file','stdout','nats','kafka','webhook')),
  -- The place in the stream up to which all was sent; of the feed the one that it begins behind.
  position BIGINT NOT NULL,
  -- The record up to which everything held was sent, while that is under way.
  snapshot_after BIGINT,
  fence BIGINT NOT NULL DEFAULT 0,
  lease_owner VARCHAR(255),
  leased_until DATETIME(6),
  sent BIGINT NOT NULL DEFAULT 0,
  sent_at DATETIME(6),
  -- How often in a row it took nothing, what it said last, and until when it is left alone.
  failures BIGINT NOT NULL DEFAULT 0,
  error MEDIUMTEXT,
  next_at DATETIME(6) NOT NULL,
  -- Of the feed: when somebody last asked for it.
  asked_at DATETIME(6),
  created_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_outbox_target (target_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What a target refused, and what waits behind it.
CREATE TABLE ing_outbox_held (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  target_id BIGINT NOT NULL,
  record_id BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  state_code VARCHAR(64) NOT NULL CHECK (state_code IN ('WAITING','PARKED')),
  attempts BIGINT NOT NULL DEFAULT 0,
  error MEDIUMTEXT,
  next_at DATETIME(6) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  UNIQUE KEY uk_outbox_held (target_id, record_id, revision),
  KEY idx_outbox_held_due (target_id, state_code, next_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A feed that was read goes on. Where nobody asked for it, nobody needs the rows: they are removed little by little.
INSERT INTO ing_outbox_target (target_name, kind_code, position, next_at, asked_at, created_at)
  SELECT 'feed', 'feed', 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) FROM ing_meta WHERE name='feed_no';

INSERT INTO ing_meta (name, value) SELECT 'outbox', CASE WHEN EXISTS (SELECT 1 FROM ing_outbox_target) THEN '1' ELSE '0' END;

-- Rows of the outbox hold what was stored and in which order it was seen; how far each target has come is kept above.
ALTER TABLE ing_outbox DROP INDEX idx_outbox_pick, DROP COLUMN published, DROP COLUMN parked, DROP COLUMN attempts, DROP COLUMN fence,
  DROP COLUMN lease_owner, DROP COLUMN leased_until, DROP COLUMN error, DROP COLUMN published_at;
