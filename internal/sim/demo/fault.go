package demo

import (
	"fmt"

	"github.com/papertrace/patra/internal/sim"
)

// shownBy says which source a fault is shown on, of those that it can befall.
var shownBy = map[sim.Fault]string{
	sim.Viewer400:         sim.PubMed,
	sim.WebEnvLost:        sim.PubMed,
	sim.DetailMissing:     sim.PubMed,
	sim.DetailExtra:       sim.PubMed,
	sim.DetailBadItem:     sim.PubMed,
	sim.Errorlist:         sim.PubMed,
	sim.EmptyMiddlePage:   Archive,
	sim.RepeatedPage:      Archive,
	sim.CursorExpired:     Archive,
	sim.TotalWrong:        Archive,
	sim.TokenDropped:      Archive,
	sim.TokenDroppedShort: Archive,
}

// Kinds are the faults that can be switched on.
func (s *Stage) Kinds() []string {
	out := make([]string, len(sim.AllFaults))
	for i, f := range sim.AllFaults {
		out[i] = string(f)
	}
	return out
}

// SourceOf is the source that a fault befalls.
func (s *Stage) SourceOf(kind string) string {
	if code, known := shownBy[sim.Fault(kind)]; known {
		return code
	}
	return Repository
}

// IsOn reports whether a fault is switched on.
func (s *Stage) IsOn(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on[kind]
}

// Served is how many requests a fault has befallen.
func (s *Stage) Served(kind string) int {
	p := s.players[s.SourceOf(kind)]
	return p.sim.Stats().Sources[p.upstream].Faults[sim.Fault(kind)]
}

// Switch turns a fault on or off. While it is on it befalls every request that it can
// befall.
func (s *Stage) Switch(kind string, on bool) error {
	known := false
	for _, f := range sim.AllFaults {
		known = known || string(f) == kind
	}
	if !known {
		return fmt.Errorf("the simulator knows no fault %q", kind)
	}
	s.set(kind, on)
	if !on || s.ask == nil {
		return nil
	}
	return s.ask(s.SourceOf(kind))
}

// set plays exactly the faults that are on.
func (s *Stage) set(kind string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on[kind] = on
	for _, one := range s.sims() {
		one.ClearScripts()
	}
	for _, f := range sim.AllFaults {
		if s.on[string(f)] {
			p := s.players[s.SourceOf(string(f))]
			p.sim.Script(sim.Script{Fault: f, Source: p.upstream, Times: -1})
		}
	}
}
