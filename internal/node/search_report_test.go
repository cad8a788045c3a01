package node_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestSearchReport_AddsUpOverRuns: a search is run and updated, so that some records are
// received twice and many do not fit. What was received of each source is filtered, received
// again, put aside or kept; the boxes of the flow add up to what was received; and what is
// left to screen is what an export without doubles writes.
func TestSearchReport_AddsUpOverRuns(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		r := &searchRig{t: t, Rig: patratest.NewRig(t, patratest.RigConfig{
			DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 200, Seed: 5, LimitRPS: -1, Churn: &sim.Churn{New: 20, Changed: 20, Deleted: 1}},
		})}
		r.save("tiab:insulin AND year:1990..2030", "pubmed", "crossref")
		r.run()
		time.Sleep(10 * 24 * time.Hour)
		r.Sim.Advance(10 * 24 * time.Hour)
		last := r.run()
		if last.Status != control.SearchCompleted || last.New == 0 {
			t.Fatalf("%+v", last)
		}
		v, err := r.Node.Control.SearchReport(t.Context(), "review")
		if err != nil {
			t.Fatal(err)
		}
		var received, filtered, again int64
		for _, s := range v.Sources {
			if s.Plans != 2 || s.Received != s.Filtered+s.ReadAgain+s.Quarantined+s.Kept || s.Uncounted != 0 {
				t.Errorf("what %s sent does not add up: %+v", s.Source, s)
			}
			if v.Identified[s.Source] != s.Received+s.BadIDs {
				t.Errorf("%d records of %s are identified of %d that were received", v.Identified[s.Source], s.Source, s.Received)
			}
			received += s.Received
			filtered += s.Filtered
			again += s.ReadAgain
		}
		if filtered == 0 || again == 0 {
			t.Fatalf("the test shows nothing: %d filtered, %d received again", filtered, again)
		}
		if f := v.Flow; f.Identified != received || f.Ineligible != filtered || f.ReadAgain != again || v.Duplicates.ReadAgain != again {
			t.Errorf("%d received, %d filtered and %d received again; the flow has %+v", received, filtered, again, f)
		}
		if n := r.exported(); v.Flow.Screened != n || v.Works != n {
			t.Errorf("%d are left to screen and %d works, an export writes %d", v.Flow.Screened, v.Works, n)
		}
	})
}

// TestSearchReport_TellsOfPagesThatAreArchived: records whose plans were archived before the
// search was run for the first time are identified all the same.
func TestSearchReport_TellsOfPagesThatAreArchived(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		r := newSearchRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 120, Seed: 5, LimitRPS: -1}})
		for range 2 { // the last plan of a cursor is not archived
			if _, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "pubmed", Query: searched, BaseURL: r.BaseOf("pubmed")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(48 * time.Hour)
			r.Sim.Advance(48 * time.Hour)
		}
		soon := time.Now().Add(24 * time.Hour)
		keeper := retention.New(retention.Config{Pause: time.Nanosecond}, r.Node.Store, archive.New(t.TempDir()), slog.New(slog.DiscardHandler))
		if _, err := keeper.Archive(t.Context(), retention.Cut{Trail: soon, Versions: soon}, source.Audit{Actor: "test", Reason: "old"}); err != nil {
			t.Fatal(err)
		}
		r.run()
		v, err := r.Node.Control.SearchReport(t.Context(), "review")
		if err != nil {
			t.Fatal(err)
		}
		s := v.Sources[0]
		if s.Uncounted == 0 || s.Received+s.Uncounted != s.Filtered+s.ReadAgain+s.Quarantined+s.Kept || v.Identified["pubmed"] != s.Received+s.Uncounted {
			t.Errorf("what was read before and archived is not told: %+v", s)
		}
	})
}

// exported is how many records an export of the search writes of each work once.
func (r *searchRig) exported() int64 {
	r.t.Helper()
	x, err := r.Node.Control.Export(r.t.Context(), control.ExportOrder{Search: "review", Dedupe: control.DedupeExact})
	if err != nil {
		r.t.Fatal(err)
	}
	sum, err := x.Write(r.t.Context(), func(control.ExportFile) (io.Writer, error) { return io.Discard, nil })
	if err != nil {
		r.t.Fatal(err)
	}
	return sum.Records
}
