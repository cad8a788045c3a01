package executor_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// lender is an upstream that looks, whenever it is told that a page is done with, whether
// somebody still has it.
type lender struct {
	willing
	stillHeld int
	givenBack int
}

func (l *lender) Ask(ctx context.Context, spec *source.Spec, c source.Call) (source.Answer, error) {
	ans, err := l.willing.Ask(ctx, spec, c)
	if len(ans.Page.Items) == 0 {
		return ans, err
	}
	body := new([1 << 16]byte)
	copy(body[:], ans.Page.Items[0].ID)
	ans.Page.Items[0].Raw = body[:8]
	watched := weak.Make(body)
	ans.Done = func() {
		l.givenBack++
		runtime.GC()
		if watched.Value() != nil {
			l.stillHeld++
		}
	}
	return ans, err
}

// TestR50_StoredPageIsLetGo: when the memory of a page is given back nobody has the page any
// more, also not of the last one of a walk. The next large page is read into that memory.
func TestR50_StoredPageIsLetGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners["token"], setup{})
		if _, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "generic", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/generic"}); err != nil {
			t.Fatal(err)
		}
		tasks := b.ask(`SELECT COUNT(*) FROM ing_task`)
		const pages = 3
		up := &lender{willing: willing{pages: pages, takes: time.Second}}
		ex := executor.New(executor.Config{
			Workers: 1, Poll: time.Minute,
			Idle: func(context.Context, int) (bool, error) {
				return b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='SUCCEEDED'`) == tasks, nil
			},
		}, b.Node.Store, up, slog.New(slog.DiscardHandler))
		if err := ex.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if up.givenBack < pages*tasks || up.stillHeld > 0 {
			t.Errorf("%d pages given back of %d, %d of them still held", up.givenBack, pages*tasks, up.stillHeld)
		}
	})
}
