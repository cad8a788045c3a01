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
	Before  string    `json:"before,omitempty"`
	After   string    `json:"after,omitempty"`
	Preview string    `json:"preview,omitempty"`
}

// AuditQuery says which lines are listed.
type AuditQuery struct {
	Object string // empty: about everything
	// All lists also what patra did by itself.
	All bool
	// Before is the number of a line, and only older ones are listed: the next page.
	Before int64
	Limit  int
}

// AuditList are lines of the audit, the newest first.
type AuditList struct {
	Audit []AuditLine `json:"audit"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Audit lists who changed what, when and why.
func (c *Control) Audit(ctx context.Context, q AuditQuery) (AuditList, error) {
	wanted := q.Limit
	q.Limit++ // to see whether there are more
	lines, err := c.store.AuditPage(ctx, q)
	out := AuditList{}
	out.Audit, out.Next = firstOf(lines, wanted, func(l AuditLine) int64 { return l.ID })
	return out, err
}
