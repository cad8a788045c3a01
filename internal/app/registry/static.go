package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Pack is a source as described in a file.
type Pack interface {
	// Compile checks the description whole and freezes it.
	Compile(t source.Trigger) (*source.Spec, []source.Warning, error)
	// Hash identifies the description as written.
	Hash() string
}

// Static tells contracts straight from packs, without a store: what benchmarks
// and tests bend a source with.
type Static struct {
	packs map[string]Pack
	vars  map[string]string
}

// NewStatic returns a registry. vars are the instance's own values (contact, tool)
// that packs may refer to.
func NewStatic(packs map[string]Pack, vars map[string]string) *Static {
	return &Static{packs: packs, vars: vars}
}

// Codes lists the known sources.
func (r *Static) Codes() []string { return slices.Sorted(maps.Keys(r.packs)) }

// Contract compiles the description of a source for an operation.
func (r *Static) Contract(ctx context.Context, code string, op harvest.Operation) (source.Contract, error) {
	return r.Select(ctx, code, op, "")
}

// Select is Contract for a part of the source.
func (r *Static) Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error) {
	return r.Through(ctx, code, op, "", query)
}

// Through is Select for an operation that goes through an endpoint which was named.
func (r *Static) Through(_ context.Context, code string, op harvest.Operation, endpoint, query string) (source.Contract, error) {
	p, ok := r.packs[code]
	if !ok {
		return source.Contract{}, &UnknownSourceError{Code: code, Known: r.Codes()}
	}
	spec, warnings, err := p.Compile(source.Trigger{Operation: op, Endpoint: endpoint, Query: query, Vars: r.vars})
	if err != nil {
		return source.Contract{}, fmt.Errorf("source %s: %w", code, err)
	}
	return source.Contract{Spec: spec, ConfigHash: p.Hash(), Warnings: warnings}, nil
}
