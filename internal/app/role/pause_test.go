package role

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestHealing_PlanningPausesForTheDatabase: while the database is slow nothing is planned,
// ten minutes at a stretch at most, and it is told once.
func TestHealing_PlanningPausesForTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := ""
		told := 0
		p := &Pause{Strained: func() string { return slow }, Began: func() { told++ }, Log: slog.New(slog.DiscardHandler)}
		may := func(want bool, told1 int, when string) {
			t.Helper()
			if got := p.Why() == ""; got != want || told != told1 {
				t.Errorf("%s: may plan %v, told %d times", when, got, told)
			}
		}
		may(true, 0, "before")
		slow = "writes take 5s"
		may(false, 1, "slow")
		time.Sleep(longestPause - 1)
		may(false, 1, "just before the longest pause is over")
		time.Sleep(time.Nanosecond)
		may(true, 1, "after the longest pause")
		slow = ""
		may(true, 1, "quick again")
		slow = "writes take 5s"
		may(false, 2, "slow again")
	})
}
