package decode

import (
	"fmt"
	"sync"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Cache compiles the decoder of each endpoint once per spec. Its zero value is
// ready, and safe for concurrent use.
type Cache struct {
	// Drifted, if set, is told of each reply that has not the shape its source
	// declares: at which path, and what is wrong there. It must be quick.
	Drifted func(path, detail string)

	mu sync.Mutex
	m  map[cacheKey]*Decoder // guarded by mu
}

type cacheKey struct {
	spec    *source.Spec
	purpose source.Purpose
}

// cached bounds how many decoders are kept: specs come and go with their plans.
const cached = 256

// Of is the decoder of the endpoint that a spec has for a purpose.
func (c *Cache) Of(spec *source.Spec, p source.Purpose) (*Decoder, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := cacheKey{spec, p}
	if dec := c.m[k]; dec != nil {
		return dec, nil
	}
	ep := spec.Endpoint(p)
	cal, err := spec.Window.Calendar()
	if err != nil {
		return nil, err
	}
	dec, err := compileFor(spec, ep, cal)
	if err != nil {
		return nil, fmt.Errorf("decoder of %s %s: %w", spec.Source, ep.Name, err)
	}
	dec.drifted = c.Drifted
	if c.m == nil || len(c.m) > cached {
		c.m = make(map[cacheKey]*Decoder)
	}
	c.m[k] = dec
	return dec, nil
}

// compileFor makes the decoder of an endpoint, with the mapping if the spec maps
// what it answers.
func compileFor(spec *source.Spec, ep *source.Endpoint, cal harvest.Calendar) (*Decoder, error) {
	var m *source.Mapping
	if spec.Maps(ep) {
		m = &spec.Mapping
	}
	return Compile(ep, spec.ID, m, cal)
}
