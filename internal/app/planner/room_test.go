package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/sim"
)

// TestR69_SlicesStopAtHowManyMayBeOpen: with the platform's bound and with a source's own,
// the last slice before it is planned, and the plan waits; at the bound none is.
func TestR69_SlicesStopAtHowManyMayBeOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ own, bound int }{"the platform's": {0, 10_000}, "its own": {6, 6}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, sim.Config{}, func(s *source.Spec) {
					s.Window.Target = 20
					s.Paging.Size = 20
					if c.own > 0 {
						s.Window.MaxOpen = c.own
					}
				})
				plan := func(query string) int {
					before := b.ask(`SELECT COUNT(*) FROM ing_task`)
					trigger := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", Query: query, BaseURL: b.Base + "/crossref"}
					if _, err := b.Node.Planner.Plan(t.Context(), trigger); err != nil {
						t.Fatal(err)
					}
					return b.ask(`SELECT COUNT(*) FROM ing_task`) - before
				}
				if plan("type:dataset") == 0 {
					t.Fatal("nothing to begin with")
				}
				b.exec(`UPDATE ing_task SET status_code='FAILED'`)
				for _, step := range []struct {
					open, want int
					query      string
				}{{c.bound - 1, 1, "type:book"}, {c.bound, 0, "type:monograph"}} {
					b.openTasks(step.open)
					if n := plan(step.query); n != step.want {
						t.Errorf("with %d slices open of %d that may be, %d were planned, want %d", step.open, c.bound, n, step.want)
					}
				}
				var said string
				b.scan(&said, `SELECT record_remarks FROM ing_schedule_instance ORDER BY id DESC LIMIT 1`)
				if want := fmt.Sprintf("%d slices are open, the bound is %d", c.bound, c.bound); !strings.Contains(said, want) {
					t.Errorf("the trigger says %q, want %q", said, want)
				}
			})
		})
	}
}

// openTasks makes the first task many, so that so many slices are open.
func (b *bench) openTasks(n int) {
	b.t.Helper()
	b.exec(`DELETE FROM ing_task WHERE id<>(SELECT MIN(id) FROM ing_task)`)
	b.exec(`UPDATE ing_task SET status_code='QUEUED'`)
	b.exec(fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i<%d)
		INSERT INTO ing_task (schedule_instance_id, plan_id, slice_id, provenance_code, endpoint_name, operation_code, params, expr_hash, idempotent_key, status_code,
			priority, scheduled_at, fence, walk_no, created_at, updated_at)
		SELECT schedule_instance_id, plan_id, -i, provenance_code, endpoint_name, operation_code, params, expr_hash, 'copy ' || i, status_code,
			priority, scheduled_at, fence, walk_no, created_at, updated_at FROM ing_task, n`, n))
}
