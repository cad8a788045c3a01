package control

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// ErrorDecision is the state into which somebody puts an error group.
type ErrorDecision struct {
	ID    int64
	State harvest.ErrorState
	// MutedUntil is when a mute ends by itself.
	MutedUntil time.Time
}

// ErrorOrder says what is decided about an error group.
type ErrorOrder struct {
	By
	ID int64
	// For is how long a group is muted.
	For    time.Duration
	DryRun bool
}

// ErrorChange is what becomes of an error group.
type ErrorChange struct {
	Applied bool       `json:"applied"`
	Changes bool       `json:"changes"`
	Before  ErrorGroup `json:"before"`
	After   ErrorGroup `json:"after"`
	// Token makes exactly this change.
	Token string `json:"token,omitempty"`
}

// longestMute is how long a group may be muted: what is to be quiet for longer is
// resolved, or its cause mended.
const longestMute = 90 * 24 * time.Hour

// errMuteLength says that a mute is no length of time that one may have.
var errMuteLength = problem.New("a mute lasts from one minute to 90 days", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "say for how long, such as 8h or 7d; nothing was changed",
})

// AckError notes that somebody knows of a group and looks after it.
func (c *Control) AckError(ctx context.Context, o ErrorOrder) (ErrorChange, error) {
	return c.decideError(ctx, o, ErrorDecision{State: harvest.ErrorAcknowledged}, "ERROR_ACK")
}

// MuteError keeps a group out of the list for a while. The mute ends by itself.
func (c *Control) MuteError(ctx context.Context, o ErrorOrder) (ErrorChange, error) {
	if o.For < time.Minute || o.For > longestMute {
		return ErrorChange{}, errMuteLength
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return ErrorChange{}, err
	}
	return c.decideError(ctx, o, ErrorDecision{State: harvest.ErrorMuted, MutedUntil: now.Add(o.For)}, "ERROR_MUTE")
}

// ResolveError says that the cause of a group is mended. If it is seen again it has
// come back.
func (c *Control) ResolveError(ctx context.Context, o ErrorOrder) (ErrorChange, error) {
	return c.decideError(ctx, o, ErrorDecision{State: harvest.ErrorResolved}, "ERROR_RESOLVE")
}

// shownError is what of a group a decision about it has seen. That it is seen more
// often meanwhile changes nothing about the decision.
type shownError struct {
	State harvest.ErrorState
	Since Time
	For   time.Duration
}

func (c *Control) decideError(ctx context.Context, o ErrorOrder, d ErrorDecision, action string) (ErrorChange, error) {
	d.ID = o.ID
	now, err := c.store.Now(ctx)
	if err != nil {
		return ErrorChange{}, err
	}
	g, err := c.store.ErrorGroup(ctx, o.ID)
	if err != nil {
		return ErrorChange{}, err
	}
	c.explainGroup(&g, now)
	object := fmt.Sprintf("error/%d", o.ID)
	shown := shownError{State: g.State, Since: g.Since, For: o.For}
	if err := c.checkSeen(ctx, o.Token, action, object, shown); err != nil {
		return ErrorChange{}, err
	}
	out := ErrorChange{Before: g, After: g}
	out.Changes = g.State != d.State || d.State == harvest.ErrorMuted
	if !out.Changes {
		return out, nil
	}
	out.After.State = d.State
	out.After.MutedUntil = optional(d.MutedUntil)
	if o.DryRun {
		out.Token, err = c.seenToken(ctx, action, object, shown)
		return out, err
	}
	if err := c.store.DecideError(ctx, d, o.line(action, object)); err != nil {
		return out, err
	}
	out.Applied = true
	out.After, err = c.store.ErrorGroup(ctx, o.ID)
	c.explainGroup(&out.After, now)
	return out, err
}
