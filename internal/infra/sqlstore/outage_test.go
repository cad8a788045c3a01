package sqlstore_test

import "github.com/papertrace/patra/internal/domain/harvest"

// outageEndsRests: what rests after passing faults, queued or given up as a gap, may be
// taken as soon as a source answers that gave no answer for an hour. What rests for
// another reason, or in another partition, goes on resting, and so does all of it after
// a short outage.
func outageEndsRests(l *Lab) {
	bf := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1")
	l.Save(Draft(bf, 0, 4))
	l.Plan(0, 4)
	l.Due()
	refused := l.leaseOf(harvest.Harvest, 1)[0]
	l.end(refused, harvest.RunEnd{Outcome: harvest.Refused, Code: "http_400", Error: "no"})
	l.spend(harvest.Backfill)
	gap := l.leaseOf(harvest.Harvest, 1)[0]
	l.Exec(`UPDATE ing_task SET spent_runs=? WHERE id=?`, harvest.MaxSpentRuns-1, gap.Lease.Task)
	l.endAs(gap, harvest.Spent)
	l.spend(harvest.Harvest)
	const later = "2199-01-01 00:00:00.000000"
	answer := func(since string) (taken int64) {
		l.Helper()
		l.Exec(`UPDATE ing_task SET scheduled_at=?`, later)
		l.Exec(`UPDATE ing_outage SET first_at=? WHERE operation_code='HARVEST'`, since)
		if err := l.Store.NoteAnswer(l.ctx(), harvest.Partition{Provenance: prov, Endpoint: endpoint, Operation: harvest.Harvest}); err != nil {
			l.Fatal(err)
		}
		return l.Int(`SELECT COUNT(*) FROM ing_task WHERE scheduled_at<'` + later + `'`)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_task WHERE status_code='FAILED'`); n != 2 {
		l.Fatalf("%d gaps", n)
	}
	if n := answer("2024-01-01 00:00:00.000000"); n != 2 {
		l.Errorf("after a long outage %d tasks may be taken, not the two that it kept", n)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_task WHERE scheduled_at<'` + later + `' AND spent_runs>0 AND operation_code='HARVEST'`); n != 2 {
		l.Errorf("%d of those that may be taken rested for the outage", n)
	}
	if err := l.Store.NoteUnanswered(l.ctx(), harvest.Partition{Provenance: prov, Endpoint: endpoint, Operation: harvest.Harvest}, harvest.Unanswered{Code: "http_503", Requests: 1}); err != nil {
		l.Fatal(err)
	}
	if n := answer(l.Text(`SELECT last_at FROM ing_outage WHERE operation_code='HARVEST'`)); n != 0 {
		l.Errorf("after a short outage %d tasks may be taken", n)
	}
}
