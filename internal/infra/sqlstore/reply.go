package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// ClaimReply takes a key for a change: of two that come at once one gets it. If it
// is taken, what is known of the change is returned, and false.
func (s *Store) ClaimReply(ctx context.Context, actor, key, hash string, kept time.Duration) (out control.Reply, mine bool, err error) {
	err = s.write(ctx, "claim reply", func(x *tx) error {
		mine = false
		if _, err := x.exec(`DELETE FROM sys_api_reply WHERE created_at < ?`, ts(x.now.Add(-kept))); err != nil {
			return err
		}
		var at ts
		err := x.row(`SELECT request_hash, http_status, body, created_at FROM sys_api_reply
			WHERE actor=? AND idempotency_key=?`, actor, key).
			Scan(&out.Hash, &out.Status, &out.Body, &at)
		if !errors.Is(err, sql.ErrNoRows) {
			out.At = at.time()
			return err
		}
		mine = true
		_, err = x.insertInto("sys_api_reply", []col{
			{"actor", actor},
			{"idempotency_key", key},
			{"request_hash", hash},
			{"created_at", ts(x.now)},
		})
		return x.orLostRace(err)
	})
	return out, mine, err
}

// KeepReply remembers what was answered.
func (s *Store) KeepReply(ctx context.Context, actor, key string, status int, body []byte) error {
	return s.write(ctx, "keep reply", func(x *tx) error {
		_, err := x.exec(`UPDATE sys_api_reply SET http_status=?, body=? WHERE actor=? AND idempotency_key=?`, status, body, actor, key)
		return err
	})
}

// DropReply frees a key.
func (s *Store) DropReply(ctx context.Context, actor, key string) error {
	return s.write(ctx, "drop reply", func(x *tx) error {
		_, err := x.exec(`DELETE FROM sys_api_reply WHERE actor=? AND idempotency_key=?`, actor, key)
		return err
	})
}
