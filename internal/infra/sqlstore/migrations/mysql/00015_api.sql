-- +goose Up

-- Who may come by HTTP. Of a token only its hash is kept; a name stands for one token at a time.
CREATE TABLE sys_api_token (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  token_name VARCHAR(64) NOT NULL,
  token_hash VARCHAR(64) NOT NULL,
  role_code VARCHAR(64) NOT NULL CHECK (role_code IN ('viewer','operator','admin')),
  expires_at DATETIME(6),
  revoked_at DATETIME(6),
  created_by VARCHAR(255) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  live_name VARCHAR(64) GENERATED ALWAYS AS (CASE WHEN revoked_at IS NULL THEN token_name END) STORED
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE UNIQUE INDEX uk_api_token_hash ON sys_api_token (token_hash);

CREATE UNIQUE INDEX uk_api_token_live ON sys_api_token (live_name);

-- What was answered to a change that came with a key of its own, so that the same change sent again is not done again. A status of 0: it is in hand.
CREATE TABLE sys_api_reply (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  actor VARCHAR(255) NOT NULL,
  idempotency_key VARCHAR(255) NOT NULL,
  request_hash VARCHAR(64) NOT NULL,
  http_status BIGINT NOT NULL DEFAULT 0,
  body MEDIUMBLOB,
  created_at DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE UNIQUE INDEX uk_api_reply ON sys_api_reply (actor, idempotency_key);

CREATE INDEX idx_api_reply_age ON sys_api_reply (created_at);

-- The place of a revision in the feed of changes. It is given after the commit, by one at a time: ids are given before it, and a smaller one may be committed later.
ALTER TABLE ing_outbox ADD COLUMN feed_no BIGINT;

CREATE UNIQUE INDEX uk_outbox_feed ON ing_outbox (feed_no);
