package sqlstore_test

import (
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// countsProven: only windows that the watermark has passed count as proven, those
// that were accepted unread never; and of the records in a window those that the
// upstream would still count.
func countsProven(l *Lab) {
	l.Plan(0, 4)
	jobs := l.Lease(4)
	gone := Rec("gone", hour(0), hour(9), "gone")
	gone.Status = harvest.RecordGone
	retracted := Rec("retracted", hour(0), hour(9), "retracted")
	retracted.Status = harvest.RecordRetracted
	l.Walk(jobs[0], Rec("a", hour(0), hour(9), "a"), gone, retracted, Rec("edge", hour(1), hour(9), "edge"))
	l.Walk(jobs[2], Rec("b", hour(2), hour(9), "b"))
	proven := func(want ...harvest.Window) {
		l.Helper()
		got, unread, err := l.Store.Proven(l.ctx(), ns, endpoint, selection)
		if err != nil || !slices.Equal(got, want) {
			l.Errorf("proven are %v, %v, want %v", got, err, want)
		}
		if second := (harvest.Window{From: hour(1), To: hour(2)}); len(want) < 2 && len(unread) != 0 || len(want) > 1 && !slices.Equal(unread, []harvest.Window{second}) {
			l.Errorf("accepted unread are %v", unread)
		}
	}
	first, third := harvest.Window{From: hour(0), To: hour(1)}, harvest.Window{From: hour(2), To: hour(3)}
	proven(first)
	l.Refuse(jobs[1])
	if _, err := l.Store.AcceptGap(l.ctx(), jobs[1].Slice, accepted); err != nil {
		l.Fatal(err)
	}
	proven(first, third)
	got, err := l.Store.CountUpdated(l.ctx(), prov, recordType, []harvest.Window{first, third})
	if err != nil || !slices.Equal(got, []int64{3, 1}) { // its tombstone is listed
		l.Errorf("counted %v, %v", got, err)
	}
	l.Exec(`UPDATE ing_record SET missing_checks=2 WHERE status_code='GONE'`) // as if not found
	got, err = l.Store.CountUpdated(l.ctx(), prov, recordType, []harvest.Window{first, third})
	if err != nil || !slices.Equal(got, []int64{2, 1}) {
		l.Errorf("counted %v, %v", got, err)
	}
}

// countsBackfilled: what a BACKFILL of the same selection has passed is proven too,
// from its upper end down, and nothing of another selection is; and a window that
// differs is explained by what came with it and could not be stored.
func countsBackfilled(l *Lab) {
	l.Plan(4, 5)
	l.Walk(l.LeaseOne())
	back := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "history")
	l.Save(Draft(back, 0, 4))
	other := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "some"), -4, 0)
	other.SelHash = harvest.HashKey("some")
	l.Save(other)
	for _, j := range l.Lease(8) {
		if from := j.Spec.Window.From; from.Equal(hour(1)) {
			l.Refuse(j)
			continue
		}
		l.Walk(j, Rec("r"+j.Spec.Window.From.Format("15"), j.Spec.Window.From, hour(9), "x"))
	}
	proven := func(want ...int) {
		l.Helper()
		got, _, err := l.Store.Proven(l.ctx(), ns, endpoint, selection)
		if err != nil || !slices.EqualFunc(got, want, func(w harvest.Window, h int) bool {
			return w == harvest.Window{From: hour(h), To: hour(h + 1)}
		}) {
			l.Errorf("proven are %v, %v, want the hours %v", got, err, want)
		}
	}
	proven(2, 3, 4) // the hour that was refused holds the cursor
	if _, err := l.Store.AcceptGap(l.ctx(), harvest.SliceID(l.Int(`SELECT id FROM ing_plan_slice WHERE status_code='FAILED'`)), accepted); err != nil {
		l.Fatal(err)
	}
	proven(0, 2, 3, 4)

	batch := l.Int(`SELECT b.id FROM ing_task_run_batch b JOIN ing_plan_slice s ON s.id=b.slice_id WHERE s.window_from=? AND b.operation_code='BACKFILL'`, sqlTime(hour(3)))
	// One was put aside for two causes, another is stored since.
	for i, q := range []struct{ id, code string }{{"bad", "bad_date"}, {"bad", "too_large"}, {"r03", "bad_date"}} {
		l.Exec(`INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, raw, raw_sha256, created_at, seen_at) VALUES (?,?,?,?,?,?,?,?,?)`,
			batch, prov, recordType, q.id, q.code, []byte("x"), []byte(q.id), sqlTime(hour(i)), sqlTime(hour(i)))
	}
	l.Exec(`INSERT INTO ing_bad_id (provenance_code, record_type, ext_id, batch_id, reason, first_seen_at, last_seen_at, check_after) VALUES (?,?,'none',?,'x',?,?,?)`,
		prov, recordType, batch, sqlTime(hour(9)), sqlTime(hour(9)), sqlTime(hour(9)))
	l.Exec(`UPDATE ing_record SET missing_checks=1, missing_since=? WHERE ext_id='r02'`, sqlTime(hour(9)))
	for h, want := range map[int]harvest.Unstored{2: {Missing: 1}, 3: {Quarantined: 1, BadIDs: 1}, 9: {}} {
		got, err := l.Store.Unstored(l.ctx(), prov, recordType, harvest.Window{From: hour(h), To: hour(h + 1)})
		if read := !got.ReadAt.IsZero(); err != nil || read != (h < 9) {
			l.Errorf("hour %d was read at %s, %v", h, got.ReadAt, err)
		}
		got.ReadAt = want.ReadAt
		if got != want {
			l.Errorf("hour %d: %+v, want %+v", h, got, want)
		}
	}
}
