-- +goose Up

-- Who wants to be told of revisions of records, and how far each has come: the targets of events, and the feed as one of them.
CREATE TABLE ing_outbox_target (
  id INTEGER PRIMARY KEY,
  target_name TEXT NOT NULL,
  kind_code TEXT NOT NULL CHECK (kind_code IN ('feed','file','stdout','nats','kafka','webhook')),
  -- The place in the stream up to which all was sent; of the feed the one that it begins behind.
  position INTEGER NOT NULL,
  -- The record up to which everything held was sent, while that is under way.
  snapshot_after INTEGER,
  fence INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT,
  leased_until TEXT,
  sent INTEGER NOT NULL DEFAULT 0,
  sent_at TEXT,
  -- How often in a row it took nothing, what it said last, and until when it is left alone.
  failures INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  next_at TEXT NOT NULL,
  -- Of the feed: when somebody last asked for it.
  asked_at TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_outbox_target ON ing_outbox_target (target_name);

-- What a target refused, and what waits behind it.
CREATE TABLE ing_outbox_held (
  id INTEGER PRIMARY KEY,
  target_id INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  state_code TEXT NOT NULL CHECK (state_code IN ('WAITING','PARKED')),
  attempts INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  next_at TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_outbox_held ON ing_outbox_held (target_id, record_id, revision);

CREATE INDEX idx_outbox_held_due ON ing_outbox_held (target_id, state_code, next_at);

-- Rows of the outbox hold what was stored and in which order it was seen; how far each target has come is kept above.
CREATE TABLE ing_outbox_new (
  id INTEGER PRIMARY KEY,
  record_id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  feed_no INTEGER
) STRICT;

-- A feed that was read goes on. Where nobody asked for it, nobody needs the rows.
INSERT INTO ing_outbox_new (id, record_id, revision, created_at, feed_no) SELECT id, record_id, revision, created_at, feed_no FROM ing_outbox
  WHERE EXISTS (SELECT 1 FROM ing_meta WHERE name='feed_no');

INSERT INTO ing_outbox_target (target_name, kind_code, position, next_at, asked_at, created_at)
  SELECT 'feed', 'feed', 0, strftime('%Y-%m-%d %H:%M:%f000', 'now'), strftime('%Y-%m-%d %H:%M:%f000', 'now'), strftime('%Y-%m-%d %H:%M:%f000', 'now')
  FROM ing_meta WHERE name='feed_no';

INSERT INTO ing_meta (name, value) SELECT 'outbox', CASE WHEN EXISTS (SELECT 1 FROM ing_meta WHERE name='feed_no') THEN '1' ELSE '0' END;

DROP TABLE ing_outbox;

ALTER TABLE ing_outbox_new RENAME TO ing_outbox;

CREATE UNIQUE INDEX uk_outbox_rev ON ing_outbox (record_id, revision);

CREATE UNIQUE INDEX uk_outbox_feed ON ing_outbox (feed_no);
