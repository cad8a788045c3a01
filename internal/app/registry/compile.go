package registry

import (
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// compilations are the contracts that one description gave. Whoever looks at what is
// late asks for the contract of every line each time, and to compile one takes a
// millisecond.
type compilations struct {
	mu  sync.Mutex
	had map[selection]compilation // guarded by mu
}

// selection is what is asked of a source.
type selection struct {
	op       harvest.Operation
	endpoint string // empty for the default
	query    string // empty for everything
}

type compilation struct {
	contract source.Contract
	choices  []source.Choice
	from, to time.Time // between which the same rows are in force; to is zero: for good
}

// mostCompilations bounds what is remembered of one description: queries are of any
// number.
const mostCompilations = 500

// find returns the contract of a part of the source as it is when contents was read.
func (k *compilations) find(contents source.Contents, asked selection, vars map[string]string) (source.Contract, []source.Choice, error) {
	at := contents.ReadAt
	k.mu.Lock()
	had, ok := k.had[asked]
	k.mu.Unlock()
	if ok && !at.Before(had.from) && (had.to.IsZero() || at.Before(had.to)) {
		return had.contract, had.choices, nil
	}
	contract, choices, err := compile(contents, asked, at, vars)
	if err != nil {
		return contract, choices, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.had == nil || len(k.had) >= mostCompilations {
		k.had = map[selection]compilation{}
	}
	k.had[asked] = compilation{contract: contract, choices: choices, from: at, to: contents.NextChange(at)}
	return contract, choices, nil
}

// compile compiles what is in force at an instant.
func compile(c source.Contents, asked selection, at time.Time, vars map[string]string) (source.Contract, []source.Choice, error) {
	def, choices := c.At(asked.op, at)
	spec, warnings, err := source.Compile(def, source.Trigger{Operation: asked.op, Endpoint: asked.endpoint, Query: asked.query, Vars: vars})
	schedule, _ := source.CompileSchedule(def) // what is wrong with it, the compile has said
	return source.Contract{Spec: spec, ConfigHash: c.Hash(at), Warnings: warnings, Schedule: schedule}, choices, err
}
