package control

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// PlanRow is a plan in a list.
type PlanRow struct {
	ID        harvest.PlanID    `json:"id"`
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Status    harvest.PlanState `json:"status"`
	Activity  string            `json:"activity,omitempty"`
	From      harvest.Place     `json:"from"`
	To        harvest.Place     `json:"to"`
	SlicedTo  harvest.Place     `json:"sliced_to"`
	// Unsliced: what lies beyond SlicedTo is not cut yet.
	Unsliced  bool      `json:"-"`
	Strategy  string    `json:"strategy"`
	CreatedAt time.Time `json:"created_at"`
	Key       string    `json:"plan_key"`
	// Query is the selection in the text form, empty for everything.
	Query string `json:"query,omitempty"`
}

// PlanQuery says which plans are listed.
type PlanQuery struct {
	Source string // empty: of all sources
	// Before is the number of a plan, and only older ones are listed: the next page.
	Before harvest.PlanID
	Limit  int
}

// PlanList is a page of plans, the newest first.
type PlanList struct {
	Plans []PlanRow `json:"plans"`
}

// Plans lists plans.
func (c *Control) Plans(ctx context.Context, q PlanQuery) (PlanList, error) {
	if err := c.known(ctx, q.Source); err != nil {
		return PlanList{}, err
	}
	rows, err := c.store.Plans(ctx, q.Source, q.Before, q.Limit)
	return PlanList{Plans: rows}, err
}
