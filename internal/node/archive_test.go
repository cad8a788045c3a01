package node_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestRetention_AHarvestBesideStaysExact: while one process archives whatever is done, as
// soon as it is, in small steps, another harvests day after day. The store is what the
// oracle has, the integrity check is clean, and rows were archived while it went on.
func TestRetention_AHarvestBesideStaysExact(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		t.Parallel()
		r := patratest.NewRig(t, patratest.RigConfig{DSN: e.SpareDSN(t), Sim: sim.Config{
			Records: 150, Seed: 5, LimitRPS: -1, Sources: []string{"crossref"}, Churn: &sim.Churn{New: 20, Changed: 20, Volatile: 5},
		}})
		rep := r.MustHarvest("crossref")
		ctx, stop := context.WithCancel(t.Context())
		archived := make(chan int64, 1)
		begun := make(chan struct{})
		tellBegun := sync.OnceFunc(func() { close(begun) })
		go func() {
			defer tellBegun()
			var rows int64
			defer func() { archived <- rows }()
			dir := archive.New(t.TempDir())
			keeper := retention.New(retention.Config{Pause: time.Nanosecond, RowsPerStep: 3, UnitsPerFile: 2}, r.Node.Store, dir, slog.New(slog.DiscardHandler))
			for ctx.Err() == nil {
				soon := time.Now().Add(1000 * 24 * time.Hour)
				done, err := keeper.Archive(ctx, retention.Cut{Trail: soon, Versions: soon}, source.Audit{Actor: "test", Reason: "to see it go"})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				rows += done.Rows
				tellBegun()
			}
		}()
		<-begun
		for range 5 {
			r.Sim.Advance(24 * time.Hour)
			rep = r.MustHarvest("crossref")
		}
		stop()
		if rows := <-archived; rows == 0 {
			t.Error("nothing was archived")
		}
		patratest.MustVerify(t, r.Node.Store)
		r.MustBeExact("crossref", rep)
	})
}
