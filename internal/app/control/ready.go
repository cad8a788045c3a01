package control

import (
	"context"

	"github.com/papertrace/patra/internal/app/role"
)

// Build is which program this is.
type Build struct {
	Arch    string `json:"arch"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Version string `json:"version"`
}

// Readiness tells whether a process that serves does what it is there for. It names
// no place and repeats no error: whoever may not look at anything else sees it.
type Readiness struct {
	Ready  bool `json:"ready"`
	Store  bool `json:"store"`  // the database answers
	Schema bool `json:"schema"` // and has the tables this patra works with
	// Roles are those that run in this process, and whether they do.
	Roles []RoleState `json:"roles"`
}

// RoleState is whether something that runs by itself does.
type RoleState struct {
	Role string `json:"role"`
	Runs bool   `json:"runs"`
}

// Readiness looks whether the store answers, its schema is current, and everything
// on the board runs.
func (c *Control) Readiness(ctx context.Context, board *role.Board) Readiness {
	out := Readiness{Roles: []RoleState{}}
	have, need, err := c.store.Schema(ctx)
	out.Store = err == nil
	out.Schema = out.Store && have == need
	out.Ready = out.Schema
	for _, s := range board.States() {
		out.Roles = append(out.Roles, RoleState{Role: s.Name, Runs: s.Runs})
		out.Ready = out.Ready && s.Runs
	}
	return out
}
