package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
)

// mostLink is what linking may cost at most, as a share of the harvest's CPU time.
const mostLink = 0.10

// linked is what a harvest and the linking of what it brought cost.
type linked struct {
	HarvestCPU float64 `json:"harvest_cpu_s"`
	LinkCPU    float64 `json:"link_cpu_s"`
	// Works are those of several records, Suggestions what may be the same.
	Works       int64 `json:"works"`
	Suggestions int64 `json:"suggestions"`
}

// links measures the linking of records of which many are of papers that other sources
// have too, and of records of one source.
func (r *report) links(ctx context.Context, o options) error {
	records := 100_000
	if o.quick {
		records = 6_000
	}
	if o.records > 0 {
		records = o.records
	}
	for _, sources := range []string{"crossref,pubmed,europepmc", "crossref"} {
		j := job{Source: sources, Records: records / len(strings.Split(sources, ","))}
		f, err := linkOnce(ctx, o, j)
		if err != nil {
			return err
		}
		r.Links = append(r.Links, f)
	}
	return nil
}

// linkOnce harvests into a store and links what came, in two processes, so that what
// each takes can be told apart.
func linkOnce(ctx context.Context, o options, j job) (f figures, err error) {
	dir, err := os.MkdirTemp(o.dir, "linked-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	j.db = filepath.Join(dir, "bench.db")
	var filled figures
	err = withOracle(ctx, j, func(base string) error {
		filled, err = run(ctx, o, "fill", j, base)
		return err
	})
	if err != nil {
		return f, err
	}
	f, err = run(ctx, o, "link", j, "")
	if err != nil {
		return f, err
	}
	f.Records = filled.Records
	f.Linked.HarvestCPU = filled.CPU
	return f, nil
}

// fillUnderTest harvests from all sources of the job into one store.
func fillUnderTest(ctx context.Context, j job, m *meter) (f figures, err error) {
	codes := strings.Split(j.Source, ",")
	n, _, err := assemble(ctx, j)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := m.start(); err != nil {
		return f, err
	}
	for _, code := range codes {
		base := strings.TrimSuffix(j.base, "/"+codes[0]) + "/" + code
		rep, err := n.Control.Harvest(ctx, control.HarvestRequest{Source: code, BaseURL: base, From: born.Add(-span - margin)})
		if err != nil {
			return f, err
		}
		if rep.Slices.Failed+rep.Slices.Open > 0 {
			return f, fmt.Errorf("harvest of %s is not whole: slices %+v", code, rep.Slices)
		}
		f.Records += rep.Records.Inserted
	}
	return f, m.stop(&f)
}

// linkUnderTest links what a harvest has left in a store.
func linkUnderTest(ctx context.Context, j job, m *meter) (f figures, err error) {
	n, store, err := assemble(ctx, j)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := m.start(); err != nil {
		return f, err
	}
	if err := n.Control.LinkWorks(ctx); err != nil {
		return f, err
	}
	if err := m.stop(&f); err != nil {
		return f, err
	}
	f.Linked = &linked{LinkCPU: f.CPU}
	if err := f.countWorks(ctx, j); err != nil {
		return f, err
	}
	findings, err := store.Verify(ctx)
	if err == nil && len(findings) > 0 {
		err = fmt.Errorf("store breaks %d invariants, the first: %+v", len(findings), findings[0])
	}
	return f, err
}

// assemble opens the store of a job with the packs of its sources.
func assemble(ctx context.Context, j job) (*node.Node, *sqlstore.Store, error) {
	reg, err := unlimitedPacks(strings.Split(j.Source, ",")...)
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlstore.Open(ctx, "sqlite:"+j.db, sqlstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	return node.Assemble(node.Config{}, store, reg, nil), store, nil
}

// judgeLinks says whether linking was cheap enough.
func (r *report) judgeLinks(verdict func(ok bool, format string, args ...any)) {
	for _, f := range r.Links {
		share := f.Linked.LinkCPU / f.Linked.HarvestCPU
		verdict(share <= mostLink, "linking %d records into %d works of several, %d suggestions: %.2f s CPU beside %.2f s of harvest, %.1f %% (at most %.0f %%), peak %.0f MiB",
			f.Records, f.Linked.Works, f.Linked.Suggestions, f.Linked.LinkCPU, f.Linked.HarvestCPU, 100*share, 100*mostLink, f.PeakMiB)
	}
}

// printLinks prints what linking took alone.
func (r *report) printLinks(out io.Writer) error {
	r.judgeLinks(verdicts(out))
	return json.NewEncoder(out).Encode(r.Links)
}
