package control

import (
	"context"
	"time"
)

// AuditLine is one line of the audit.
type AuditLine struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	Action  string    `json:"action"`
	Object  string    `json:"object"`
	Reason  string    `json:"reason,omitempty"`
	After   string    `json:"after,omitempty"`
	Preview string    `json:"preview,omitempty"`
}

// AuditQuery says which lines are listed.
type AuditQuery struct {
	Object string // empty: about everything
	// All lists also what patra did by itself.
	All   bool
	Limit int
}

// AuditList are lines of the audit, the newest first.
type AuditList struct {
	Audit []AuditLine `json:"audit"`
}

// Audit lists who changed what, when and why.
func (c *Control) Audit(ctx context.Context, q AuditQuery) (AuditList, error) {
	read := c.store.Decisions
	if q.All {
		read = c.store.Audits
	}
	lines, err := read(ctx, q.Object, q.Limit)
	return AuditList{Audit: lines}, err
}
