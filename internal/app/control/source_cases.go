package control

import (
	"context"

	"github.com/papertrace/patra/internal/app/sourcecases"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// PackCases are a pack and the cases beside it.
type PackCases struct {
	Pack    string // its name
	File    string // of the cases
	Cases   []sourcecases.Case
	Compile func(op harvest.Operation, query string) (*source.Spec, error)
}

// TestedPack is what came of the cases of one pack.
type TestedPack struct {
	Pack    string               `json:"pack"`
	Cases   string               `json:"cases"` // their file
	Results []sourcecases.Result `json:"results"`
}

// TestedPacks is what came of the cases of packs, and how many of them held.
type TestedPacks struct {
	Failed int          `json:"failed"`
	Held   int          `json:"held"`
	Packs  []TestedPack `json:"packs"`
}

// CaseBench is what cases need of the outside: a pack with its cases by its name, or
// by that of the file of cases, and an upstream that gives one reply.
type CaseBench struct {
	Read      func(name string) (PackCases, error)
	Answering func(sourcecases.Reply) sourcecases.Upstream
}

// Test tries packs on the cases beside them, each once. It needs neither a database
// nor a network.
func (b CaseBench) Test(ctx context.Context, names []string) (TestedPacks, error) {
	out := TestedPacks{Packs: []TestedPack{}}
	seen := map[string]bool{}
	for _, name := range names {
		p, err := b.Read(name)
		if err != nil {
			return out, err
		}
		if seen[p.Pack] { // named by its cases as well
			continue
		}
		seen[p.Pack] = true
		bench := sourcecases.Bench{Compile: p.Compile, Answering: b.Answering}
		results, err := bench.Run(ctx, p.Cases)
		if err != nil {
			return out, err
		}
		out.add(TestedPack{Pack: p.Pack, Cases: p.File, Results: results})
	}
	return out, nil
}

func (t *TestedPacks) add(p TestedPack) {
	t.Packs = append(t.Packs, p)
	for _, r := range p.Results {
		if len(r.Differences) == 0 {
			t.Held++
		} else {
			t.Failed++
		}
	}
}
