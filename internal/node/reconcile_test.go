package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestReconcile_FindsAndMendsWhatWasShownLate: records that a source shows long
// after their date lie in windows proven before. The counts tell of them, the
// window is read again in an activity of its own, and then the counts agree.
func TestReconcile_FindsAndMendsWhatWasShownLate(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	for _, code := range []string{"crossref", "pubmed"} {
		t.Run(code, func(t *testing.T) {
			r := patratest.NewRig(t, patratest.RigConfig{
				DSN: patratest.SQLite.SpareDSN(t),
				Sim: sim.Config{Records: 300, Seed: 21, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
			})
			rep := r.MustHarvest(code)
			req := reconcile.Request{Source: code, BaseURL: r.Base + "/" + code}
			compare := func() reconcile.Result {
				t.Helper()
				res, err := r.Node.Control.Differences(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			clean := compare()
			if len(clean.Differing()) != 0 || len(clean.Windows) < 29 || len(clean.Windows) > 32 || clean.Traffic.Sent != len(clean.Windows) {
				t.Fatalf("%d windows, %d requests, differing %v", len(clean.Windows), clean.Traffic.Sent, clean.Differing())
			}
			late := r.Sim.Now().Add(-10 * 24 * time.Hour)
			for range 2 {
				if _, err := r.Sim.AddLate(code, late, r.Sim.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if rep := r.MustHarvest(code); rep.Records.Inserted != 0 {
				t.Fatalf("the harvest saw them: %+v", rep.Records)
			}
			diff := compare().Differing()
			if len(diff) != 1 || diff[0].Upstream != diff[0].Stored+2 || late.Before(diff[0].From) || !late.Before(diff[0].To) {
				t.Fatalf("differing %+v", diff)
			}
			again, err := r.Node.Control.Rereads(t.Context(), diff)
			if err != nil {
				t.Fatal(err)
			}
			by := control.By{Actor: "tester", Reason: "shown late"}
			for i := range 2 { // the same finding is planned once
				if err := r.Node.Control.PlanRereads(t.Context(), code, req.BaseURL, again, by); err != nil {
					t.Fatal(err)
				}
				if again[0].Planned.Noop != (i == 1) {
					t.Errorf("planned %+v", again[0].Planned)
				}
			}
			fill, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{
				Source: code, Operation: harvest.Backfill, Activity: again[0].Activity, From: again[0].From, To: again[0].To, BaseURL: req.BaseURL,
			})
			if err != nil || fill.Records.Inserted != 2 {
				t.Fatalf("%+v, %v", fill, err)
			}
			if d := compare().Differing(); len(d) != 0 {
				t.Errorf("still differing: %+v", d)
			}
			r.MustBeExact(code, rep)
			if lines, err := r.Node.Store.Audits(t.Context(), "source/"+code, 10); err != nil || len(lines) != 1 || !strings.Contains(lines[0].After, again[0].Activity) {
				t.Errorf("audit %+v, %v", lines, err)
			}
		})
	}
}

// TestReconcile_SaysWhyNot: what cannot be counted, and what is not there yet.
func TestReconcile_SaysWhyNot(t *testing.T) {
	t.Parallel()
	tweak := func(f func(*source.Spec)) registry.Pack {
		return patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
			patratest.Fast(s)
			f(s)
		})
	}
	for name, c := range map[string]struct {
		tweak func(*source.Spec)
		req   reconcile.Request
		is    func(error) bool
		says  string
	}{
		"no update time":       {func(s *source.Spec) { s.Window.UpdatedAt = "WINDOW" }, reconcile.Request{}, cannotCount, "window.updatedAt is WINDOW"},
		"no total":             {func(s *source.Spec) { s.Count, s.Paging.TotalExact = nil, false }, reconcile.Request{}, cannotCount, "no COUNT endpoint"},
		"nothing yet":          {func(*source.Spec) {}, reconcile.Request{}, func(err error) bool { return errors.Is(err, reconcile.ErrNothingProven) }, "nothing of it is proven"},
		"odd step":             {func(*source.Spec) {}, reconcile.Request{Step: 36 * time.Hour}, isStep, "whole days"},
		"step below the grain": {func(s *source.Spec) { s.Window.Precision = harvest.PrecisionDay }, reconcile.Request{Step: time.Hour}, isStep, "counts in days"},
	} {
		t.Run(name, func(t *testing.T) {
			r := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 10, LimitRPS: -1}, Packs: map[string]registry.Pack{"crossref": tweak(c.tweak)}})
			c.req.Source, c.req.BaseURL = "crossref", r.Base+"/crossref"
			_, err := r.Node.Control.Differences(t.Context(), c.req)
			if err == nil || !c.is(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
			if n := len(r.Sim.Requests()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

func cannotCount(err error) bool {
	_, ok := errors.AsType[*reconcile.CannotCountError](err)
	return ok
}

func isStep(err error) bool {
	_, ok := errors.AsType[*reconcile.StepError](err)
	return ok
}

// TestReconcile_FirstPageCountsToo: a source without a COUNT endpoint is counted
// by the exact total of its first page, in windows of any length.
func TestReconcile_FirstPageCountsToo(t *testing.T) {
	t.Parallel()
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t),
		Sim: sim.Config{Records: 200, Seed: 5, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
		Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
			patratest.Fast(s)
			s.Count = nil
		})},
	})
	r.MustHarvest("crossref")
	end := time.Date(2026, 3, 10, 14, 0, 0, 0, time.UTC)
	for step, want := range map[time.Duration]int{24 * time.Hour: 3, 7 * 24 * time.Hour: 1, 6 * time.Hour: 9} {
		res, err := r.Node.Control.Differences(t.Context(), reconcile.Request{
			Source: "crossref", BaseURL: r.Base + "/crossref", Step: step, From: end.Add(-2 * 24 * time.Hour), To: end,
		})
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for i, w := range res.Windows {
			total += w.Upstream
			if i > 0 && !res.Windows[i-1].To.Equal(w.From) {
				t.Errorf("step %s: %s after %s", step, w, res.Windows[i-1])
			}
		}
		if len(res.Windows) < want || len(res.Windows) > want+1 || len(res.Differing()) != 0 || total == 0 {
			t.Errorf("step %s: %d windows, %d records, differing %v", step, len(res.Windows), total, res.Differing())
		}
	}
}

// TestReconcile_OnlyWhatIsProven: a window that is planned and not yet walked is
// not held against anything.
func TestReconcile_OnlyWhatIsProven(t *testing.T) {
	t.Parallel()
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t),
		Sim: sim.Config{Records: 100, Seed: 5, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
	})
	rep := r.MustHarvest("crossref")
	r.Sim.Advance(3 * 24 * time.Hour)
	if _, err := r.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: r.Base + "/crossref"}); err != nil {
		t.Fatal(err)
	}
	res, err := r.Node.Control.Differences(t.Context(), reconcile.Request{Source: "crossref", BaseURL: r.Base + "/crossref"})
	if err != nil {
		t.Fatal(err)
	}
	if end := res.Windows[len(res.Windows)-1].To; !end.Equal(rep.Watermark.Time()) {
		t.Errorf("compared up to %s, proven up to %s", end, rep.Watermark)
	}
}

// TestReconcile_SeesBackfilledHistory: what a BACKFILL has read is compared like
// what was harvested, but for what it was told to leave unread, and a difference
// says what is known of it.
func TestReconcile_SeesBackfilledHistory(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.SpareDSN(t)
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: dsn,
		Sim: sim.Config{Records: 300, Seed: 21, LimitRPS: -1, Span: 90 * 24 * time.Hour, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
	})
	rep := r.MustHarvest("crossref")
	first := rep.Window.From.Time()
	day := 24 * time.Hour
	from := first.Add(-20 * day).Truncate(day)
	req := reconcile.Request{Source: "crossref", BaseURL: r.Base + "/crossref", From: from, To: first.Truncate(day)}
	if _, err := r.Node.Control.Differences(t.Context(), req); !errors.Is(err, reconcile.ErrNothingProven) {
		t.Fatalf("before it was read: %v", err)
	}
	fill := control.HarvestRequest{Source: "crossref", Operation: harvest.Backfill, Activity: "history", From: from, To: first, BaseURL: req.BaseURL}
	if rep, err := r.Node.Control.Harvest(t.Context(), fill); err != nil || rep.Status != "COMPLETED" || rep.Records.Inserted == 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	res, err := r.Node.Control.Differences(t.Context(), req)
	if err != nil || len(res.Windows) != 20 || len(res.Differing()) != 0 {
		t.Fatalf("%d windows, differing %v, %v", len(res.Windows), res.Differing(), err)
	}
	req.To = time.Time{}
	res, err = r.Node.Control.Differences(t.Context(), req)
	if err != nil || len(res.Windows) < 50 || len(res.Differing()) != 0 {
		t.Fatalf("both together: %d windows, differing %v, %v", len(res.Windows), res.Differing(), err)
	}

	// One of three that came late is known to be in quarantine.
	late := from.Add(5*day + time.Hour)
	for range 3 {
		if _, err := r.Sim.AddLate("crossref", late, r.Sim.Now()); err != nil {
			t.Fatal(err)
		}
	}
	db := patratest.Raw(t, dsn)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, raw, raw_sha256, created_at)
		SELECT b.id, b.provenance_code, r.record_type, '10.1/bad', 'bad_date', x'00', x'00', b.committed_at FROM ing_task_run_batch b JOIN ing_plan_slice s ON s.id=b.slice_id, (SELECT record_type FROM ing_record LIMIT 1) r
		WHERE s.window_from<=? AND s.window_to>? LIMIT 1`, late.Format("2006-01-02 15:04:05.000000"), late.Format("2006-01-02 15:04:05.000000")); err != nil {
		t.Fatal(err)
	}
	res, err = r.Node.Control.Differences(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	diff := res.Differing()
	if len(diff) != 1 || diff[0].Unexplained() != 2 || !strings.HasPrefix(diff[0].Why(), "1 in quarantine, 2 missing here, though the window was read to its end at ") {
		t.Errorf("differing %+v: %s", diff, diff[0].Why())
	}
}
