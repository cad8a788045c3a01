package control

import (
	"context"
	"slices"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
)

// Parts are what a [Control] is made of.
type Parts struct {
	Store Store
	// Sources knows which sources there are; nil if that is not known, and then
	// every name is taken for one.
	Sources Sources
}

// Control is what an operator may see and do.
type Control struct {
	store   Store
	sources Sources
}

// New makes a Control.
func New(p Parts) *Control {
	return &Control{store: p.Store, sources: p.Sources}
}

// By is who decides on something, and why: what the audit remembers of it.
type By struct {
	Actor  string
	Reason string
}

// line is the line of the audit about what was decided.
func (b By) line(action, object string) source.Audit {
	return source.Audit{Actor: b.Actor, Reason: b.Reason, Action: action, Object: object}
}

// known refuses a source that is nowhere described. An empty name stands for all of
// them.
func (c *Control) known(ctx context.Context, code string) error {
	if code == "" || c.sources == nil {
		return nil
	}
	codes, err := c.sources.Codes(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(codes, code) {
		return &registry.UnknownSourceError{Code: code, Known: codes}
	}
	return nil
}
