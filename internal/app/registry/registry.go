// Package registry knows the sources and tells the contract of each in force.
package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// Registry holds packs by source code.
type Registry struct {
	packs map[string]Pack
	vars  map[string]string
}

// New returns a registry. vars are the instance's own values (contact, tool)
// that packs may refer to.
func New(packs map[string]Pack, vars map[string]string) *Registry {
	return &Registry{packs: packs, vars: vars}
}

// Codes lists the known sources.
func (r *Registry) Codes() []string { return slices.Sorted(maps.Keys(r.packs)) }

// UnknownSourceError names the sources there are.
type UnknownSourceError struct {
	Code  string
	Known []string
}

func (e *UnknownSourceError) Error() string {
	return fmt.Sprintf("there is no source %q; known: %s", e.Code, strings.Join(e.Known, ", "))
}

// Contract compiles the description of a source for an operation.
func (r *Registry) Contract(ctx context.Context, code string, op harvest.Operation) (source.Contract, error) {
	return r.Select(ctx, code, op, "")
}

// Select is Contract for a part of the source.
func (r *Registry) Select(_ context.Context, code string, op harvest.Operation, query string) (source.Contract, error) {
	p, ok := r.packs[code]
	if !ok {
		return source.Contract{}, &UnknownSourceError{Code: code, Known: r.Codes()}
	}
	spec, warnings, err := p.Compile(source.Trigger{Operation: op, Query: query, Vars: r.vars})
	if err != nil {
		return source.Contract{}, fmt.Errorf("source %s: %w", code, err)
	}
	return source.Contract{Spec: spec, ConfigHash: p.Hash(), Warnings: warnings}, nil
}
