package control

import (
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// ErrNotOpen says that there is nothing left that could be given up.
var ErrNotOpen = problem.New("is not open any more", problem.Problem{
	Code: "not_open", Kind: problem.Conflict, Next: "`patra plan show PLAN` shows its state; nothing was changed",
})

// CancelScope is what is to be given up: a plan, or one slice of it.
type CancelScope struct {
	Plan  harvest.PlanID
	Slice harvest.SliceID
}

// object names it in the audit.
func (s CancelScope) object() string {
	if s.Slice != 0 {
		return fmt.Sprintf("slice/%d", s.Slice)
	}
	return fmt.Sprintf("plan/%d", s.Plan)
}

// CancelPreview is what would be given up.
type CancelPreview struct {
	Applied bool   `json:"applied"`
	Object  string `json:"object"`
	Slices  int64  `json:"slices"`
	Status  string `json:"status"` // of the plan or the slice, as it is now
	// Done counts the slices of a plan that would stay.
	Done int64 `json:"-"`
	// Token lets [Control.Cancel] give up exactly this.
	Token string `json:"token,omitempty"`
}

// Cancelled is what was given up.
type Cancelled struct {
	Applied bool   `json:"applied"`
	Object  string `json:"object"`
	Slices  int64  `json:"slices"`
}

// Cancel gives up what is not done yet of a plan, or one slice. What was done stays,
// and nothing of a page in flight is stored.
func (c *Control) Cancel(ctx context.Context, scope CancelScope, by By) (Cancelled, error) {
	if by.Token != "" {
		shown, err := c.cancelPreview(ctx, scope)
		if err != nil {
			return Cancelled{}, err
		}
		if err := c.checkSeen(ctx, by.Token, "PLAN_CANCEL", scope.object(), shown); err != nil {
			return Cancelled{}, err
		}
	}
	n, err := c.store.Cancel(ctx, scope, by.line("PLAN_CANCEL", scope.object()))
	if err != nil {
		return Cancelled{}, err
	}
	return Cancelled{Applied: true, Object: scope.object(), Slices: n}, nil
}

// PreviewCancel tells what [Control.Cancel] would give up, or why it would be
// refused.
func (c *Control) PreviewCancel(ctx context.Context, scope CancelScope) (CancelPreview, error) {
	out, err := c.cancelPreview(ctx, scope)
	if err != nil {
		return out, err
	}
	out.Token, err = c.seenToken(ctx, "PLAN_CANCEL", scope.object(), out)
	return out, err
}

func (c *Control) cancelPreview(ctx context.Context, scope CancelScope) (CancelPreview, error) {
	out := CancelPreview{Object: scope.object()}
	n, err := c.store.TryCancel(ctx, scope, By{}.line("PLAN_CANCEL", scope.object()))
	if err != nil {
		return out, err
	}
	out.Slices = n
	if scope.Slice != 0 {
		s, err := c.store.Slice(ctx, scope.Slice)
		out.Status = string(s.Status)
		return out, err
	}
	p, err := c.store.Plan(ctx, scope.Plan)
	if err != nil {
		return out, err
	}
	out.Status = string(p.Status)
	sum, err := c.store.PlanTotals(ctx, scope.Plan)
	out.Done = sum.Slices.Done
	return out, err
}
