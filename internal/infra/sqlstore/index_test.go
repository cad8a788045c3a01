package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// TestSchema_MovesAreFoundByTheirPlan: whether a move names a plan is asked of each plan
// that might be archived, and is answered by an index alone.
func TestSchema_MovesAreFoundByTheirPlan(t *testing.T) {
	dsn := patratest.SQLite.DSN(t)
	patratest.Open(t, dsn, sqlstore.Options{})
	plan := explain(t, patratest.Raw(t, dsn), "EXPLAIN QUERY PLAN "+sqlstore.DuePlansSQL(), []any{"2026-01-01"})
	if !strings.Contains(plan, "COVERING INDEX idx_cur_evt_lineage (plan_id=? AND cursor_id=?)") {
		t.Error(plan)
	}
}
