package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// recordsInPages: a list of records looks at so many rows of the key's index for each
// answer and no more, whatever is wanted, and goes on where it stopped.
func recordsInPages(l *Lab) {
	l.Plan(0, 1)
	var recs []harvest.Record
	for i := range 25 {
		r := Rec(fmt.Sprintf("10.1/%02d", i), hour(0), hour(1), fmt.Sprint(i))
		if i%10 == 3 {
			r.Status = harvest.RecordRetracted
		}
		recs = append(recs, r)
	}
	recs = append(recs, Rec("20.1/x", hour(0), hour(1), "x"))
	l.Walk(l.LeaseOne(), recs...)
	read := func(q control.RecordQuery, lookAt int) (ids []string, pages int) {
		l.Helper()
		p := control.RecordPage{RecordQuery: q, LookAt: lookAt}
		for pages = 1; pages < 100; pages++ {
			rows, last, more, err := l.Store.Records(l.ctx(), p)
			if err != nil {
				l.Fatal(err)
			}
			for _, r := range rows {
				ids = append(ids, r.ID)
			}
			if !more {
				return ids, pages
			}
			p.Behind = last
		}
		return ids, pages
	}
	all, pages := read(control.RecordQuery{Page: control.Page{Limit: 4}}, 1000)
	if len(all) != 26 || !slices.IsSorted(all) || pages != 7 {
		l.Errorf("%d records in %d pages: %v", len(all), pages, all)
	}
	retracted := control.RecordQuery{Source: prov, Status: harvest.RecordRetracted, Page: control.Page{Limit: 10}}
	if ids, pages := read(retracted, 5); len(ids) != 3 || ids[0] != "10.1/03" || pages != 6 {
		l.Errorf("retracted are %v in %d pages", ids, pages)
	}
	begin := control.RecordQuery{Source: prov, Prefix: "10.1/1", Page: control.Page{Limit: 100}}
	if ids, pages := read(begin, 10); len(ids) != 10 || ids[9] != "10.1/19" || pages != 1 {
		l.Errorf("those that begin so are %v in %d pages", ids, pages)
	}
	if ids, _ := read(control.RecordQuery{Source: "another", Page: control.Page{Limit: 100}}, 10); len(ids) != 0 {
		l.Errorf("another source has %v", ids)
	}
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	if ids, _ := read(control.RecordQuery{Source: prov, Since: now, Page: control.Page{Limit: 100}}, 1000); len(ids) != 0 {
		l.Errorf("changed since now are %v", ids)
	}
	if _, _, _, err := l.Store.Records(l.ctx(), control.RecordPage{Behind: 1 << 40, LookAt: 1}); !errors.Is(err, harvest.ErrNotFound) {
		l.Errorf("a place that is not there: %v", err)
	}
}

// recordWithItsHistory: a record is found by its id, with every revision that was made
// of it and the page that brought each.
func recordWithItsHistory(l *Lab) {
	l.Plan(0, 2)
	l.Walk(l.LeaseOne(), Rec("a", hour(0), hour(1), "first"))
	l.Walk(l.LeaseOne(), Rec("a", hour(1), hour(2), "second"))
	r, err := l.Store.Record(l.ctx(), prov, "a")
	if err != nil || r.Revision != 2 || r.Type != recordType {
		l.Fatalf("%+v %v", r, err)
	}
	if _, err := l.Store.Record(l.ctx(), prov, "b"); !errors.Is(err, harvest.ErrNotFound) {
		l.Errorf("what is not there: %v", err)
	}
	versions, err := l.Store.RecordVersions(l.ctx(), r.Number, 3, 10)
	if err != nil || len(versions) != 2 || versions[0].Revision != 2 || versions[1].Effect != "inserted" {
		l.Fatalf("%+v %v", versions, err)
	}
	o := versions[0].Origin
	if o.Plan == 0 || o.Task == 0 || o.Batch <= versions[1].Origin.Batch || o.Operation != harvest.Harvest || o.Request == "" || o.FetchedAt == nil {
		l.Errorf("%+v", o)
	}
	if o, err := l.Store.Origin(l.ctx(), 1<<40); err != nil || o.Plan != 0 || o.Batch != 1<<40 {
		l.Errorf("a page that is not kept: %+v %v", o, err)
	}
}

// quarantineHasNames: items in quarantine are listed by name and cause with the page
// that brought them last, and an item whose record was read since says so.
func quarantineHasNames(l *Lab) {
	l.Plan(0, 2)
	j := l.LeaseOne()
	b := Last(l.Open(j, l.Start(j)))
	nameless := badItem("", harvest.ProblemNoID, "id")
	b.Quarantined = []harvest.Quarantined{badItem("a", harvest.ProblemMissingField, "title"), badItem("b", harvest.ProblemBadDate, "updated"), nameless}
	l.Commit(j, b)
	rows, err := l.Store.QuarantineRows(l.ctx(), control.QuarantineQuery{Source: prov, Limit: 10})
	if err != nil || len(rows) != 3 || rows[2].Record != "a" || rows[1].Record != "b" || rows[0].Record != "" {
		l.Fatalf("%+v %v", rows, err)
	}
	if a := rows[2]; a.Code != harvest.ProblemMissingField || a.Path != "title" || a.Detail != "nothing there" || a.Batch != b.ID || a.ReadSince {
		l.Errorf("%+v", a)
	}
	row, raw, err := l.Store.QuarantineItem(l.ctx(), rows[0].ID)
	if err != nil || string(raw) != string(nameless.Raw) || row.Code != harvest.ProblemNoID {
		l.Errorf("%+v %q %v", row, raw, err)
	}
	if _, _, err := l.Store.QuarantineItem(l.ctx(), 1<<40); !errors.Is(err, harvest.ErrNotFound) {
		l.Errorf("what is not there: %v", err)
	}
	for _, c := range []struct {
		q    control.QuarantineQuery
		want int
	}{
		{control.QuarantineQuery{Code: harvest.ProblemBadDate, Limit: 10}, 1},
		{control.QuarantineQuery{Source: prov, Record: "a", Limit: 10}, 1},
		{control.QuarantineQuery{Source: "another", Limit: 10}, 0},
		{control.QuarantineQuery{Discarded: true, Limit: 10}, 0},
		{control.QuarantineQuery{Before: rows[1].ID, Limit: 10}, 1},
		{control.QuarantineQuery{Items: []int64{rows[0].ID, rows[2].ID, 1 << 40}, Limit: 10}, 2},
		{control.QuarantineQuery{Source: prov, Code: harvest.ProblemNoID, Limit: 1}, 1},
	} {
		if rows, err := l.Store.QuarantineRows(l.ctx(), c.q); err != nil || len(rows) != c.want {
			l.Errorf("%+v: %d rows, want %d (%v)", c.q, len(rows), c.want, err)
		}
	}
	later := Rec("a", hour(1), hour(1), "mended")
	later.Version.ObservedAt = b.OpenedAt.AddDate(1, 0, 0)
	l.Walk(l.LeaseOne(), later)
	rows, err = l.Store.QuarantineRows(l.ctx(), control.QuarantineQuery{Source: prov, Record: "a", Limit: 10})
	if err != nil || len(rows) != 1 || !rows[0].ReadSince {
		l.Errorf("%+v %v", rows, err)
	}
}

// discardedStaysAway: an item that somebody discarded has lost its bytes, is no longer
// listed or counted or read again, and stays away when the source sends it once more.
func discardedStaysAway(l *Lab) {
	l.Plan(0, 2)
	send := func() {
		j := l.LeaseOne()
		b := Last(l.Open(j, l.Start(j)))
		b.Quarantined = []harvest.Quarantined{badItem("a", harvest.ProblemMissingField, "title")}
		l.Commit(j, b)
	}
	waiting := func() int {
		l.Helper()
		rows, err := l.Store.QuarantineRows(l.ctx(), control.QuarantineQuery{Source: prov, Limit: 10})
		if err != nil {
			l.Fatal(err)
		}
		facts, err := l.Store.SourceFacts(l.ctx(), []string{prov})
		if err != nil || facts[prov].Quarantined.Count != int64(len(rows)) {
			l.Errorf("%d are listed and %+v counted: %v", len(rows), facts[prov].Quarantined, err)
		}
		ids, err := l.Store.Candidates(l.ctx(), prov, recordType, "m", harvest.CandidatePick{Signals: true})
		if err != nil || len(ids) != len(rows) {
			l.Errorf("%d are listed and %v would be read again: %v", len(rows), ids, err)
		}
		return len(rows)
	}
	send()
	if n := waiting(); n != 1 {
		l.Fatalf("%d items", n)
	}
	id := l.Int(`SELECT id FROM ing_quarantine`)
	a := source.Audit{Actor: "me", Action: "QUARANTINE_DISCARD", Object: "quarantine/1", Reason: "junk"}
	lines := l.Int(`SELECT COUNT(*) FROM sys_audit`)
	if err := l.Store.Discard(l.ctx(), id, a); err != nil {
		l.Fatal(err)
	}
	if err := l.Store.Discard(l.ctx(), id, a); !errors.Is(err, harvest.ErrNotFound) {
		l.Errorf("discarded twice: %v", err)
	}
	if n := l.Int(`SELECT COUNT(*) FROM sys_audit`) - lines; n != 1 {
		l.Errorf("%d lines of the audit", n)
	}
	send()
	if n := waiting(); n != 0 {
		l.Errorf("%d items wait after one was discarded", n)
	}
	row, raw, err := l.Store.QuarantineItem(l.ctx(), id)
	if err != nil || len(raw) != 0 || row.DiscardedAt == nil || l.Int(`SELECT COUNT(*) FROM ing_quarantine`) != 1 {
		l.Errorf("%+v, %d bytes: %v", row, len(raw), err)
	}
}
