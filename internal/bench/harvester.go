package main

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
)

// harvester harvests the same records again and again.
type harvester struct {
	control *control.Control
	base    string
}

func newHarvester(store *sqlstore.Store, base string, packs func(...string) (*registry.Static, error)) (*harvester, error) {
	reg, err := packs("crossref")
	if err != nil {
		return nil, err
	}
	return &harvester{node.Assemble(node.Config{}, store, reg, nil).Control, base}, nil
}

// again harvests, and tells how many seconds it took by the clock and of the processors.
func (h *harvester) again(ctx context.Context) (took, cpu float64, err error) {
	before, err := cpuTime()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	rep, err := h.control.Harvest(ctx, control.HarvestRequest{
		Source: "crossref", Operation: harvest.Backfill, Activity: fmt.Sprintf("round-%d", began.UnixNano()), BaseURL: h.base,
		From: born.Add(-span - margin), To: born.Add(margin / 2),
	})
	if err == nil && rep.Slices.Failed+rep.Slices.Open > 0 {
		err = fmt.Errorf("harvest is not whole: %+v", rep.Slices)
	}
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(began).Seconds()
	after, err := cpuTime()
	return took, (after - before).Seconds(), err
}
