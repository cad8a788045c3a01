package control

import (
	"context"
	"time"
)

// Reply is what was answered to a change that came with a key of its own. Its status
// is 0 while the change is in hand.
type Reply struct {
	Hash   string // of what was asked for
	Status int
	Body   []byte
	At     time.Time
}

// RepliesKept is how long a reply is remembered.
const RepliesKept = 24 * time.Hour

// ReplyStore remembers replies.
type ReplyStore interface {
	// ClaimReply takes a key for a change. If it is taken, it returns what is known of
	// that change and false. What is older than kept is forgotten.
	ClaimReply(ctx context.Context, actor, key, hash string, kept time.Duration) (Reply, bool, error)
	// KeepReply remembers what was answered, DropReply that nothing was done.
	KeepReply(ctx context.Context, actor, key string, status int, body []byte) error
	DropReply(ctx context.Context, actor, key string) error
}

// ClaimReply takes a key for a change of a caller. If the change was made or is in
// hand, it returns what is known of it, and false.
func (c *Control) ClaimReply(ctx context.Context, actor, key, hash string) (Reply, bool, error) {
	return c.store.ClaimReply(ctx, actor, key, hash, RepliesKept)
}

// KeepReply remembers what was answered to the change of a key.
func (c *Control) KeepReply(ctx context.Context, actor, key string, status int, body []byte) error {
	return c.store.KeepReply(ctx, actor, key, status, body)
}

// DropReply frees a key whose change was refused.
func (c *Control) DropReply(ctx context.Context, actor, key string) error {
	return c.store.DropReply(ctx, actor, key)
}
