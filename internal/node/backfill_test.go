package node_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
)

// TestR8_BackfillRunsBackwards: an activity falls from its upper end, goes on
// over several plans, reads the same window again only under another name, and
// leaves every row of the harvest as it was (I9).
func TestR8_BackfillRunsBackwards(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.SpareDSN(t)
	small := func(s *source.Spec) {
		patratest.Fast(s)
		s.Window.Target, s.Paging.Size = 60, 25
	}
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN:   dsn,
		Sim:   sim.Config{Records: 500, Seed: 11, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC), Span: 60 * 24 * time.Hour},
		Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", small)},
	})
	first := r.MustHarvest("crossref") // 30 days back from now
	before := harvestRows(t, dsn)
	to := first.Window.From.Time()
	fill := func(activity string, from time.Time) *control.Report {
		t.Helper()
		rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{
			Source: "crossref", Operation: harvest.Backfill, Activity: activity, From: from, To: to, BaseURL: r.Base + "/crossref",
		})
		if err != nil {
			t.Fatal(err)
		}
		patratest.MustVerify(t, r.Node.Store)
		return rep
	}
	mid := to.Add(-15 * 24 * time.Hour)
	a := fill("history", mid)
	if a.Status != "COMPLETED" || a.Slices.Done < 2 || !a.Watermark.Time().Equal(mid) {
		t.Fatalf("first part: %+v", a)
	}
	old := to.Add(-40 * 24 * time.Hour)
	b := fill("history", old)
	if b.Namespace != a.Namespace || !b.Window.To.Time().Equal(mid) || !b.Watermark.Time().Equal(old) || b.Records.Inserted == 0 {
		t.Fatalf("second part: %+v", b)
	}
	if again := fill("history", old); !again.Noop {
		t.Errorf("nothing is left of the activity, yet %+v", again)
	}
	if other := fill("again", old); other.Records.Inserted != 0 || other.Records.Unchanged == 0 || other.Namespace == a.Namespace {
		t.Errorf("another activity reads it again: %+v", other)
	}
	if after := harvestRows(t, dsn); after != before {
		t.Errorf("rows of the harvest changed:\n%s\n%s", before, after)
	}
	r.MustBeExact("crossref", first)
}

// harvestRows prints every row that belongs to the HARVEST.
func harvestRows(t *testing.T, dsn string) string {
	t.Helper()
	db, err := sql.Open("sqlite", strings.TrimPrefix(dsn, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	for _, table := range []string{"ing_plan", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_cursor", "ing_cursor_event"} {
		rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" WHERE operation_code='HARVEST' ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		cols, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			vals := make([]any, len(cols))
			for i := range vals {
				vals[i] = new(any)
			}
			if err := rows.Scan(vals...); err != nil {
				t.Fatal(err)
			}
			for i := range vals {
				fmt.Fprintf(&out, "%s.%s=%v ", table, cols[i], *vals[i].(*any))
			}
			out.WriteByte('\n')
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}
