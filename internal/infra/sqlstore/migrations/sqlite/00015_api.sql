-- +goose Up

-- Who may come by HTTP. Of a token only its hash is kept; a name stands for one token at a time.
CREATE TABLE sys_api_token (
  id INTEGER PRIMARY KEY,
  token_name TEXT NOT NULL,
  token_hash TEXT NOT NULL,
  role_code TEXT NOT NULL CHECK (role_code IN ('viewer','operator','admin')),
  expires_at TEXT,
  revoked_at TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_api_token_hash ON sys_api_token (token_hash);

CREATE UNIQUE INDEX uk_api_token_live ON sys_api_token (token_name) WHERE revoked_at IS NULL;

-- What was answered to a change that came with a key of its own, so that the same change sent again is not done again. A status of 0: it is in hand.
CREATE TABLE sys_api_reply (
  id INTEGER PRIMARY KEY,
  actor TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  http_status INTEGER NOT NULL DEFAULT 0,
  body BLOB,
  created_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX uk_api_reply ON sys_api_reply (actor, idempotency_key);

CREATE INDEX idx_api_reply_age ON sys_api_reply (created_at);

-- The place of a revision in the feed of changes. It is given after the commit, by one at a time: ids are given before it, and a smaller one may be committed later.
ALTER TABLE ing_outbox ADD COLUMN feed_no INTEGER;

CREATE UNIQUE INDEX uk_outbox_feed ON ing_outbox (feed_no);
