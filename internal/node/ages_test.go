package node_test

// The tests that take longest stand in the file whose name comes first: they are begun
// first, and none is left to run alone when the others are done.

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR68_ThirtyDaysOfSchedules: three selections of one source, a BACKFILL line of a
// fixed window, one whose window moves on, and an UPDATE line, over thirty days with
// two outages, one of them three days long. Each is exact at the end, each has a
// cursor of its own, nothing is asked beyond the one limit, and at no time are there
// two plans of a selection of which nothing is stored, or two of an activity line.
func TestR68_ThirtyDaysOfSchedules(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a harvest of many records or days")
	servedBubble(t, func(t *testing.T) {
		s := newStanding(t)
		began := time.Now()
		day := 24 * time.Hour
		s.schedule(control.ScheduleOrder{Name: "articles", Query: selections["articles"], Cron: "0 */6 * * *"})
		s.schedule(control.ScheduleOrder{Name: "preprints", Query: selections["preprints"], Cron: "30 */8 * * *", Zone: "America/New_York"})
		s.schedule(control.ScheduleOrder{Name: "chapters", Query: selections["chapters"], Cron: "@daily", Priority: harvest.Backfill.Priority()})
		s.schedule(control.ScheduleOrder{
			Name: "history", Operation: harvest.Backfill, Cron: "@daily",
			From: began.Add(-60 * day).Format(time.RFC3339), To: began.Add(-10 * day).Format(time.RFC3339),
		})
		s.schedule(control.ScheduleOrder{Name: "reread", Operation: harvest.Backfill, Cron: "0 5 * * *", Query: "type:report", From: "-2d", To: "-1d"})
		s.schedule(control.ScheduleOrder{Name: "stale", Operation: harvest.Update, Cron: "0 2 * * *", OlderThan: "6d", Signals: true})
		stop := s.begin(role.All...)
		outages := map[int]bool{5: true, 6: true, 7: true, 15: true}
		for d := range 30 {
			rates := map[sim.Fault]float64{}
			if outages[d] {
				rates[sim.HTTP503] = 1
			}
			if err := s.oracle.SetFaults(sim.Faults{Rates: rates}); err != nil {
				t.Fatal(err)
			}
			for hour := 2; hour <= 24; hour += 2 {
				time.Sleep(time.Until(began.Add(time.Duration(d)*day + time.Duration(hour)*time.Hour)))
				if outages[d] || outages[d-1] {
					s.noPile(fmt.Sprintf("day %d, hour %d", d, hour))
				}
			}
		}
		time.Sleep(8 * time.Hour)
		stop()
		s.oneLimit()
		s.thirtyDays(began)
		patratest.MustVerify(t, s.Store)
	})
}

// TestYear_OperationsSideBySide: hourly harvests, two backfills of what lay
// before, and a nightly update, worked on at once by a served node, over a life
// with daily changes, 1 % late data, outages of days, one of them in the middle
// of both backfills, a day on which everything is indexed anew, deletions and
// retractions. At the end the store is what the oracle has, all that was planned
// is done, nothing but the harvest has moved the harvest's cursor, and the late
// rate is the true one. PATRA_SOAK=1 lives a whole year.
func TestYear_OperationsSideBySide(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a harvest of many records or days")
	days := 11
	outages := []int{6}
	reindex := 9
	outage := 3
	if os.Getenv("PATRA_SOAK") != "" {
		days = 365
		outages = []int{6, 90, 240}
		reindex = 180
	}
	servedBubble(t, func(t *testing.T) {
		y := newYear(t)
		stop := y.begin(role.Planner, role.Executor)
		start := time.Now()
		for day := range days {
			if day%30 == 29 {
				t.Logf("%s: %d harvests, watermark %s", time.Now().UTC(), y.done[harvest.Harvest], y.line().Watermark)
			}
			for _, o := range outages {
				switch day {
				case o:
					y.faults(map[sim.Fault]float64{sim.HTTP503: 1})
				case o + outage:
					y.faults(nil)
				}
			}
			if day == reindex {
				y.touchAll()
			}
			for hour := range 24 {
				y.until(start.Add(time.Duration(day*24+hour+1) * time.Hour))
				y.trigger(harvest.Trigger{})
				if day == outages[0]-1 && hour == 22 {
					y.backfill("first", start)
					y.backfill("again", start)
				}
				if hour == 22 {
					y.trigger(harvest.Trigger{
						Operation: harvest.Update, Activity: "night-" + time.Now().UTC().Format("20060102"),
						Pick: harvest.CandidatePick{SeenBefore: time.Now().Add(-5 * 24 * time.Hour)},
					})
				}
			}
		}
		y.settle()
		if took := stop(); took > 10*time.Second {
			t.Errorf("took %s to stop", took)
		}
		y.compare()
	})
}
