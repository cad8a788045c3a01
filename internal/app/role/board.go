package role

import (
	"slices"
	"strings"
	"sync"
)

// Board shows which loops run. Its zero value shows none. It is safe for concurrent
// use.
type Board struct {
	mu   sync.Mutex
	runs map[string]bool // guarded by mu
}

// State is whether a loop runs. One that does not has ended, or rests because it failed.
type State struct {
	Name string
	Runs bool
}

func (b *Board) set(name string, runs bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		b.runs = map[string]bool{}
	}
	b.runs[name] = runs
}

// States lists the loops by name.
func (b *Board) States() []State {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]State, 0, len(b.runs))
	for name, runs := range b.runs {
		out = append(out, State{Name: name, Runs: runs})
	}
	slices.SortFunc(out, func(x, y State) int { return strings.Compare(x.Name, y.Name) })
	return out
}
