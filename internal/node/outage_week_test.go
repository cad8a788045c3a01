package node_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR68_AWeekOfOutageIsAFewPlans: a source that is harvested every quarter of an hour
// does not answer for a week. A plan waits for it, and only when that was tried ten
// times over, is given up and becomes a gap is another made, of all that came due
// meanwhile: a few plans in place of 672. An hour and a half after the source is back it
// is on time, every window between is read once and none is missing, and what is stored
// is what the source has.
func TestR68_AWeekOfOutageIsAFewPlans(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		const day = 24 * time.Hour
		s := newServed(t, "5", everyQuarter, sim.Config{Records: 100, Churn: &sim.Churn{New: 40, Changed: 10}})
		stop := s.begin(role.All...)
		time.Sleep(time.Hour + time.Minute)
		stop()
		plans := s.count(`SELECT COUNT(*) FROM ing_plan`)
		s.oracle.Script(sim.Script{Fault: sim.HTTP503, Source: sim.Generic, Times: -1})
		s.poll = time.Hour // a week passes sooner if nobody looks often
		s.assemble(patratest.Open(t, s.dsn, sqlstore.Options{}))
		stop = s.begin(role.All...)
		for d := range 7 {
			time.Sleep(day)
			if n := s.count(`SELECT COUNT(*) FROM ing_plan`) - plans; n < 1 || n > d+2 {
				t.Errorf("day %d: %d plans wait", d+1, n)
			}
		}
		stop()
		s.oracle.ClearScripts()
		s.poll = 20 * time.Second
		s.assemble(patratest.Open(t, s.dsn, sqlstore.Options{}))
		stop = s.begin(role.All...)
		defer func() { stop() }()
		time.Sleep(90 * time.Minute)
		is, needs := s.statusOf(sim.Generic)
		if is.Freshness != control.FreshOnTime || is.Cause != nil || len(needs) != 0 {
			t.Errorf("an hour and a half later: %s, needs %+v", show(is), needs)
		}
		s.eachWindowOnce()
		patratest.MustEqual(t, s.Store, s.oracle, sim.Generic, time.Time(*is.Watermark))
		patratest.MustVerify(t, s.Store)
	})
}

// eachWindowOnce fails the test unless the windows that were read stand side by side,
// each beginning where the one before ends.
func (s *served) eachWindowOnce() {
	s.t.Helper()
	const done = `SELECT window_from, window_to, LAG(window_to) OVER (ORDER BY window_from, window_to) AS before_to FROM ing_plan_slice WHERE status_code='DONE'`
	if n := s.count(`SELECT COUNT(*) FROM (` + done + `) w WHERE before_to IS NOT NULL AND before_to<>window_from`); n != 0 {
		s.t.Errorf("%d windows do not begin where the one before ends", n)
	}
	longest := s.count(`SELECT CAST(MAX(julianday(window_to)-julianday(window_from)) AS INTEGER) FROM (` + done + `) w WHERE before_to IS NOT NULL`)
	if longest < 1 {
		s.t.Errorf("the longest window after the first has %d days", longest)
	}
}
