package registry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Listed is a source in a list.
type Listed struct {
	Code, Name, Origin string
	// Applied: it has rows. A pack that has none yet is applied when its source
	// is first asked for.
	Applied bool
	// Newer: what comes with this build is not what was applied of it.
	Newer bool
	// InForce counts the rows in force by scope, NextChange is when the next
	// of them begins or ends, zero if none does.
	InForce    map[source.Scope]int
	NextChange time.Time
}

// List lists the sources: those of the store and those that could be applied.
func (l *Registry) List(ctx context.Context) ([]Listed, error) {
	have, err := l.store.Sources(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{} // whether it was applied
	for _, code := range l.packs.Codes() {
		all[code] = false
	}
	for _, p := range have {
		all[p.Code] = true
	}
	var out []Listed
	for _, code := range slices.Sorted(maps.Keys(all)) {
		p, _, err := l.packs.Pack(code)
		if err != nil {
			return nil, err
		}
		var c source.Contents
		if all[code] {
			c, err = l.store.LoadSource(ctx, code)
		}
		if !all[code] || errors.Is(err, harvest.ErrNotFound) {
			out = append(out, Listed{Code: code, Name: p.Definition.Name, Origin: p.Origin, InForce: map[source.Scope]int{}})
			continue
		}
		if err != nil {
			return nil, err
		}
		e := Listed{Code: code, Name: c.Provenance.Name, Origin: c.Provenance.Origin, Applied: true, InForce: map[source.Scope]int{}}
		e.Newer = e.Origin == Shipped && p.Origin == Shipped && c.Provenance.OriginHash != p.Hash
		for _, r := range c.Rows {
			if r.InForce(c.ReadAt) {
				e.InForce[r.Scope]++
			}
		}
		e.NextChange = c.NextChange(c.ReadAt)
		out = append(out, e)
	}
	return out, nil
}
