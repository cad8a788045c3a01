package control

import (
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
)

// queryFilter holds records that are stored against a query, each by what the records
// of its source show.
type queryFilter struct {
	expr query.Expr
	of   map[string]*source.Filter
	// undecided are those written that cannot tell whether they fit.
	undecided int64
}

// filterBy reads a query and what the sources show that are asked for.
func (c *Control) filterBy(ctx context.Context, text string, codes []string) (*queryFilter, error) {
	e, err := query.Parse(text, query.Default())
	if err != nil {
		return nil, &badQueryError{text: text, err: err}
	}
	f := &queryFilter{expr: query.NewSelection(e).Expr(), of: map[string]*source.Filter{}}
	names, err := c.namesOfSources(ctx, codes)
	if err != nil {
		return nil, err
	}
	if c.sources != nil {
		ctx = c.sources.Preview(ctx)
	}
	for code := range names {
		contract, err := c.contractFor(ctx, code, text)
		if err != nil {
			return nil, err
		}
		f.of[code] = source.FilterFor(f.expr, contract.Spec)
	}
	return f, nil
}

// contractFor is what a source is like for who asks for a query, or for all where the source cannot be
// asked for it.
func (c *Control) contractFor(ctx context.Context, code, text string) (contract source.Contract, err error) {
	for _, asked := range []string{text, ""} {
		// One that has no dates of change has no HARVEST.
		for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill} {
			contract, err = c.contracts.Select(ctx, code, op, asked)
			if err == nil {
				return contract, nil
			}
		}
	}
	return contract, err
}

// takes reports whether a record fits, or cannot tell.
func (f *queryFilter) takes(e *Exported) bool {
	of := f.of[e.Provenance]
	if of == nil {
		of = source.FilterFor(f.expr, nil)
		f.of[e.Provenance] = of
	}
	record := harvest.Record{ID: e.ID, Fields: e.Fields, Status: e.Status, Version: harvest.Version{UpdatedAt: e.UpdatedAt}}
	switch of.Judge(&record) {
	case query.False:
		return false
	case query.Unknown:
		f.undecided++
	}
	return true
}
