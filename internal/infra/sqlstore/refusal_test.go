package sqlstore_test

import (
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// end closes a leased task's run with an outcome.
func (l *Lab) end(j harvest.Job, e harvest.RunEnd) {
	l.Helper()
	e.Run = l.Start(j).Run
	if err := l.Store.EndRun(l.ctx(), j.Lease, e); err != nil {
		l.Fatalf("end run: %v", err)
	}
}

// forbidden: one 403 is the slice's own, and so is a second; with one slice in
// between that went well the count begins again; the third in a row stops the
// source (R42).
func forbidden(l *Lab) {
	l.Plan(0, 6)
	refuse := func() {
		l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Refused, Code: harvest.CodeForbidden, Error: "no"})
	}
	stopped := func() int64 { return l.Int(`SELECT COUNT(*) FROM ing_source_state WHERE stopped=1`) }
	refuse()
	refuse()
	l.Walk(l.LeaseOne())
	refuse()
	refuse()
	if stopped() != 0 {
		l.Fatal("stopped although a slice went well in between")
	}
	refuse()
	if stopped() != 1 {
		l.Fatal("three forbidden slices in a row did not stop the source")
	}
	l.MustVerify()
}

// unreadableKey: whoever cannot read the credential gives the task back. The source is stopped when that went on for
// long enough and nobody stored a page meanwhile (R42).
func unreadableKey(l *Lab) {
	l.Plan(0, 2)
	cannot := func() {
		l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Released, Code: harvest.CodeCredentialUnreadable, Error: "no key"})
	}
	stopped := func() int64 { return l.Int(`SELECT COUNT(*) FROM ing_source_state WHERE stopped=1`) }
	longAgo := func() {
		at := l.Text(`SELECT MIN(started_at) FROM ing_task_run`)
		earlier, err := time.Parse("2006-01-02 15:04:05.999999", at)
		if err != nil {
			l.Fatal(err)
		}
		l.Exec(`UPDATE ing_task_run SET started_at=? WHERE error_code='credential_unreadable'`, earlier.Add(-harvest.UnreadableFor).Format("2006-01-02 15:04:05.000000"))
	}
	cannot()
	cannot()
	if stopped() != 0 {
		l.Fatal("stopped at once")
	}
	longAgo()
	l.Walk(l.Lease(2)[1])
	for _, id := range []string{`SELECT MIN(id) FROM ing_task`, `SELECT MAX(id) FROM ing_task`} {
		l.Expire(harvest.TaskID(l.Int(id)))
	}
	cannot()
	if stopped() != 0 {
		l.Fatal("stopped although somebody has stored a page")
	}
	l.Exec(`UPDATE ing_task_run_batch SET committed_at='2000-01-01 00:00:00.000000' WHERE status_code='SUCCEEDED'`)
	cannot()
	if stopped() != 1 {
		l.Fatal("not stopped")
	}
}

// stayAway: a wait of up to a day is sat out by the task, a longer one pauses
// the source (R39).
func stayAway(l *Lab) {
	l.Plan(0, 2)
	paused := func() int64 { return l.Int(`SELECT COUNT(*) FROM ing_source_state WHERE paused=1`) }
	l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Spent, Code: "http_429", Delay: harvest.LongestWait})
	if paused() != 0 {
		l.Fatal("a day's wait paused the source")
	}
	l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Spent, Code: "http_429", Delay: harvest.LongestWait + time.Second})
	if paused() != 1 {
		l.Fatal("a wait of more than a day did not pause the source")
	}
	l.MustVerify()
}
