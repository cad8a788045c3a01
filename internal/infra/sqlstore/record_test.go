package sqlstore_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// anyOrder brings the versions of a record in every order, some twice: what is
// held at the end is always the greatest.
func anyOrder(l *Lab) {
	obs := func(n int) time.Time { return t0.AddDate(0, 1, n) }
	ver := func(updated int, provider int64, observed int, content string) harvest.Record {
		r := Rec("", hour(updated), obs(observed), content)
		r.Version.Provider = provider
		r.RawSHA256 = sha256.Sum256(fmt.Append(nil, updated, provider, content))
		return r
	}
	sets := [][]harvest.Record{
		// Two contents under one update time, the older content touched again.
		{ver(1, 0, 1, "a"), ver(1, 0, 2, "b"), ver(2, 0, 1, "a"), ver(0, 0, 4, "c")},
		// A content seen before, after and again: the last sight of it counts.
		{ver(1, 0, 1, "a"), ver(1, 0, 2, "b"), ver(1, 0, 3, "a"), ver(1, 0, 0, "c")},
		// The provider's version decides before the observation.
		{ver(1, 2, 1, "a"), ver(1, 1, 3, "b"), ver(1, 2, 2, "c"), ver(1, 1, 4, "a")},
		// All equal but the content.
		{ver(1, 1, 1, "a"), ver(1, 1, 1, "b"), ver(1, 1, 1, "c"), ver(1, 1, 1, "d")},
	}
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	stride := l.step(3, 7)
	n := 0
	for s, set := range sets {
		want := slices.MaxFunc(set, func(a, b harvest.Record) int { return a.Version.Compare(b.Version) })
		permute(len(set), func(order []int) {
			n++
			if n%stride != 0 {
				return
			}
			id := fmt.Sprintf("%d-%d", s, n)
			seq := append(slices.Clone(order), order[n%len(order)]) // and one of them again
			for _, v := range seq {
				rec := set[v]
				rec.ID = id
				o := l.Open(j, r)
				o.OpenedAt = rec.Version.ObservedAt
				b := Page(o, rec)
				l.Commit(j, b)
				r.BatchNo = r.BatchNo + 1
				r.SearchDone = r.SearchDone + 1
				r.Search = b.After
			}
			var content, raw []byte
			var observed string
			if err := l.DB.QueryRow(`SELECT content_hash, raw_sha256, observed_at FROM ing_record WHERE ext_id=?`, id).Scan(&content, &raw, &observed); err != nil {
				l.Fatal(err)
			}
			if [32]byte(content) != want.Version.ContentHash || [32]byte(raw) != want.RawSHA256 || observed[:19] != want.Version.ObservedAt.Format("2006-01-02 15:04:05") {
				l.Errorf("set %d in order %v: another version won (observed %s)", s, seq, observed)
			}
		})
	}
	l.MustVerify()
}

// undatedVersions brings the versions of a record that has no date of change in
// every order, each by another attempt: the provider's number decides, then when
// it was asked for, then the content (R57).
func undatedVersions(l *Lab) {
	obs := func(n int) time.Time { return t0.AddDate(0, 1, n) }
	ver := func(provider int64, observed int, content string) harvest.Record {
		r := Rec("", time.Time{}, obs(observed), content)
		r.Version.Provider = provider
		r.RawSHA256 = sha256.Sum256(fmt.Append(nil, provider, content))
		return r
	}
	sets := [][]harvest.Record{
		{ver(0, 1, "c"), ver(0, 2, "a"), ver(0, 3, "b"), ver(0, 4, "c")},
		{ver(2, 1, "a"), ver(1, 3, "b"), ver(3, 2, "c"), ver(1, 4, "d")},
		{ver(0, 1, "a"), ver(0, 1, "b"), ver(0, 1, "c"), ver(0, 0, "d")},
	}
	l.Plan(0, 1)
	stride := l.step(3, 7)
	n := 0
	for s, set := range sets {
		want := slices.MaxFunc(set, func(a, b harvest.Record) int {
			x, y := a.Version, b.Version
			return cmp.Or(cmp.Compare(x.Provider, y.Provider), x.ObservedAt.Compare(y.ObservedAt), bytes.Compare(x.ContentHash[:], y.ContentHash[:]))
		})
		permute(len(set), func(order []int) {
			n++
			if n%stride != 0 {
				return
			}
			id := fmt.Sprintf("%d-%d", s, n)
			for _, v := range order {
				rec := set[v]
				rec.ID = id
				j := l.LeaseOne()
				o := l.Open(j, l.Start(j))
				o.OpenedAt = rec.Version.ObservedAt
				l.Commit(j, Page(o, rec))
				l.Expire(j.Lease.Task)
			}
			var content, raw []byte
			if err := l.DB.QueryRow(`SELECT content_hash, raw_sha256 FROM ing_record WHERE ext_id=? AND updated_at IS NULL`, id).Scan(&content, &raw); err != nil {
				l.Fatal(err)
			}
			if [32]byte(content) != want.Version.ContentHash || [32]byte(raw) != want.RawSHA256 {
				l.Errorf("set %d in order %v: another version won", s, order)
			}
		})
	}
	l.MustVerify()
}

// deletedAndAdded brings tombstones and live versions of one record in every
// order, on every division into pages: what is newest by R28 says whether it is
// GONE or there. A tombstone has no content of its own to compare by, and one
// that comes with the same update time as a live version, on the same page or
// another, is decided between like any two versions.
func deletedAndAdded(l *Lab) {
	type event struct {
		at   int
		gone bool
	}
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	stride := l.step(5, 13)
	n := 0
	for _, story := range [][]event{
		{{1, false}, {2, true}, {3, false}, {4, true}},
		{{1, true}, {2, false}, {3, true}, {4, false}},
		{{1, false}, {2, true}, {2, false}},
		{{2, true}, {2, false}, {1, false}, {1, true}},
	} {
		permute(len(story), func(order []int) {
			for cuts := range 1 << (len(order) - 1) {
				n++
				if n%stride != 0 {
					continue
				}
				id := fmt.Sprint("d", n)
				var all, page []harvest.Record
				for i, k := range order {
					e := story[k]
					rec := Rec(id, hour(e.at), time.Time{}, "alive")
					if e.gone {
						rec = Rec(id, hour(e.at), time.Time{}, "deleted")
						rec.Status, rec.Fields = harvest.RecordGone, []byte("{}")
					}
					page = append(page, rec)
					if i < len(order)-1 && cuts>>i&1 == 0 {
						continue
					}
					o := l.Open(j, r)
					o.OpenedAt = hour(1000 + len(all))
					for i := range page {
						page[i].Version.ObservedAt = o.OpenedAt
					}
					b := Page(o, page...)
					if c := l.Commit(j, b).Counts; c.Items() != int64(len(page)) {
						l.Errorf("%d items are counted as %+v", len(page), c)
					}
					r.BatchNo = r.BatchNo + 1
					r.SearchDone = r.SearchDone + 1
					r.Search = b.After
					all, page = append(all, page...), nil
				}
				want := slices.MaxFunc(all, func(a, b harvest.Record) int { return a.Version.Compare(b.Version) })
				if got := l.Text(`SELECT status_code FROM ing_record WHERE ext_id=?`, id); got != string(want.Status) {
					l.Errorf("%v in order %v, cut %b: %s, want %s", story, order, cuts, got, want.Status)
				}
				if got := l.Text(`SELECT v.status_code FROM ing_record_version v JOIN ing_record r ON r.id=v.record_id AND r.revision=v.revision WHERE r.ext_id=?`, id); got != string(want.Status) {
					l.Errorf("%v in order %v, cut %b: the newest version is %s, want %s", story, order, cuts, got, want.Status)
				}
			}
		})
	}
	l.MustVerify()
}

// permute calls f with every order of 0..n-1.
func permute(n int, f func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var rec func(int)
	rec = func(k int) {
		if k == n {
			f(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			rec(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	rec(0)
}

func keysAsBytes(l *Lab) {
	ids := []string{
		"9007199254740992", "9007199254740993", "09007199254740993", "10.1000/abc", "10.1000/ABC", "10.1000/ab\u00e7", "10.1000/abc\u0327", "10.1000/abc ", " 10.1000/abc",
		"ß", "ss", "a\tb", strings.Repeat("x", 512), strings.Repeat("x", 511) + "y",
	}
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	for round := range 2 {
		var recs []harvest.Record
		for _, id := range ids {
			recs = append(recs, Rec(id, hour(round), hour(9+round), "content of "+fmt.Sprint(round, []byte(id))))
		}
		b := Page(l.Open(j, r), recs...)
		c := l.Commit(j, b)
		if got := [2]int64{c.Counts.Inserted, c.Counts.Updated}; got != [][2]int64{{int64(len(ids)), 0}, {0, int64(len(ids))}}[round] {
			l.Errorf("round %d: %+v", round, c.Counts)
		}
		r.BatchNo = r.BatchNo + 1
		r.SearchDone = r.SearchDone + 1
		r.Search = b.After
	}
	var got []string
	if err := l.Store.Export(l.ctx(), control.ExportQuery{Sources: []string{prov}}, func(e *control.Exported) error {
		got = append(got, e.ID)
		return nil
	}); err != nil {
		l.Fatal(err)
	}
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		l.Errorf("held are %q", got)
	}
	l.MustVerify()
}

// exportSelects: an export holds the records that were asked for: those of a plan also
// where another changed them since, those of statuses, sources and times.
func exportSelects(l *Lab) {
	gone := Rec("c", hour(0), hour(9), "three")
	gone.Status = harvest.RecordGone
	first := l.Plan(0, 1)
	l.Walk(l.LeaseOne(), Rec("a", hour(0), hour(9), "one"), Rec("b", hour(0), hour(9), "two"), gone)
	second := l.Plan(1, 2)
	l.Walk(l.LeaseOne(), Rec("a", hour(1), hour(9), "one, changed"), Rec("d", hour(1), hour(9), "four"))
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	for name, c := range map[string]struct {
		query control.ExportQuery
		want  string
	}{
		"all":             {control.ExportQuery{}, "a b c d"},
		"first plan":      {control.ExportQuery{Plan: first.ID}, "a b c"},
		"second plan":     {control.ExportQuery{Plan: second.ID}, "a d"},
		"no plan":         {control.ExportQuery{Plan: second.ID + 99}, ""},
		"gone":            {control.ExportQuery{Statuses: []harvest.RecordStatus{harvest.RecordGone}}, "c"},
		"two statuses":    {control.ExportQuery{Statuses: []harvest.RecordStatus{harvest.RecordGone, harvest.RecordActive}}, "a b c d"},
		"sources":         {control.ExportQuery{Sources: []string{"none", prov}}, "a b c d"},
		"another":         {control.ExportQuery{Sources: []string{"none"}}, ""},
		"since long ago":  {control.ExportQuery{Since: now.AddDate(-1, 0, 0)}, "a b c d"},
		"since tomorrow":  {control.ExportQuery{Since: now.AddDate(0, 0, 1)}, ""},
		"changed, active": {control.ExportQuery{SinceRevision: 1, Statuses: []harvest.RecordStatus{harvest.RecordActive}}, "a"},
	} {
		var ids []string
		err := l.Store.Export(l.ctx(), c.query, func(e *control.Exported) error {
			ids = append(ids, e.ID)
			return nil
		})
		if got := strings.Join(ids, " "); err != nil || got != c.want {
			l.Errorf("%s: got %s, want %s: %v", name, got, c.want, err)
		}
	}
}

// oneRecord: the same id through two tasks, phases and plans is one record.
func oneRecord(l *Lab) {
	l.Plan(0, 2)
	jobs := l.Lease(2)
	l.Walk(jobs[0], Rec("a", hour(0), hour(9), "one"))
	l.Walk(jobs[1], Rec("a", hour(1), hour(9), "two"))
	if n, rev := l.Int(`SELECT COUNT(*) FROM ing_record`), l.Int(`SELECT MAX(revision) FROM ing_record`); n != 1 || rev != 2 {
		l.Errorf("%d records, revision %d", n, rev)
	}
	// Twice on one page: the newer counts, the other is accounted for.
	l.Plan(2, 3)
	c := l.Walk(l.LeaseOne(), Rec("b", hour(2), hour(9), "old"), Rec("b", hour(3), hour(9), "new"), Rec("b", hour(2), hour(9), "new"))
	if c.Counts != (harvest.Counts{Inserted: 1, Stale: 1, Unchanged: 1}) {
		l.Errorf("counted %+v", c.Counts)
	}
	if f := l.fieldsOf("b"); f != `{"title":"new"}` {
		l.Errorf("held is %s", f)
	}
	l.MustVerify()
}

func remapped(l *Lab) {
	l.Plan(0, 4)
	bring := func(mapping string, at int) harvest.Counts {
		r := Rec("a", hour(0), hour(at), "one")
		r.MappingVersion = mapping
		return l.Walk(l.LeaseOne(), r).Counts
	}
	for i, c := range []struct {
		mapping string
		want    harvest.Counts
	}{
		{"m1", harvest.Counts{Inserted: 1}},
		{"m1", harvest.Counts{Unchanged: 1}},
		{"m2", harvest.Counts{Remapped: 1}},
		{"m2", harvest.Counts{Unchanged: 1}},
	} {
		if got := bring(c.mapping, 10+i); got != c.want {
			l.Errorf("arrival %d with %s: %+v", i+1, c.mapping, got)
		}
	}
	if n := l.Int(`SELECT revision FROM ing_record`); n != 2 {
		l.Errorf("revision %d", n)
	}
	l.MustVerify()
}

// hostileText: what an upstream wrote must never make a commit impossible.
func hostileText(l *Lab) {
	bad := []string{"\xff\xfe", "a\x00b", "caf\xc3", "\xed\xa0\x80", strings.Repeat("é", 300), "'; DROP TABLE ing_task; --", "\U0001F4A9", "%s%n?"}
	l.Plan(0, 3)
	j := l.LeaseOne()
	b := Last(l.Open(j, l.Start(j)), Rec("good", hour(0), hour(9), "good"))
	for _, s := range bad {
		raw := []byte("raw " + s)
		b.Quarantined = append(b.Quarantined, harvest.Quarantined{ID: s, Problem: harvest.Problem{Code: "bad_text", Path: s, Detail: s}, Raw: raw, RawSHA256: sha256.Sum256(raw)})
	}
	if c := l.Commit(j, b); c.Counts.Inserted != 1 || c.Counts.Quarantined != int64(len(bad)) {
		l.Errorf("%+v", c.Counts)
	}
	for _, s := range bad {
		j := l.LeaseOne()
		r := l.Start(j)
		l.Open(j, r)
		if _, _, err := l.Store.NewWalk(l.ctx(), j.Lease, harvest.Code(s), true, nil); err != nil {
			l.Errorf("a new walk because of %q: %v", s, err)
		}
		if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: harvest.Code(s), Error: "upstream said " + s}); err != nil {
			l.Errorf("end of a run because of %q: %v", s, err)
			l.Expire(j.Lease.Task)
		}
	}
	j = l.LeaseOne()
	r := l.Start(j)
	if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Stopped, Code: "x", Error: strings.Join(bad, " ")}); err != nil {
		l.Errorf("stop: %v", err)
	}
	if err := l.Store.RecordTrigger(l.ctx(), harvest.Trigger{Provenance: prov, Operation: harvest.Harvest, Kind: "MANUAL"}, "FAILED", strings.Join(bad, " ")); err != nil {
		l.Errorf("record trigger: %v", err)
	}
	l.MustVerify()
}

func outboxRows(l *Lab) {
	l.tell()
	l.Plan(0, 6)
	for i, content := range []string{"a", "b", "b", "a", "c"} {
		l.Walk(l.LeaseOne(), Rec("x", hour(i), hour(20+i), content), Rec("y", hour(0), hour(20+i), "same"))
	}
	for id, want := range map[string]int64{"x": 4, "y": 1} {
		if n := l.Int(`SELECT revision FROM ing_record WHERE ext_id=?`, id); n != want {
			l.Errorf("%s has revision %d, want %d", id, n, want)
		}
		for _, tab := range []string{"ing_outbox", "ing_record_version"} {
			if n := l.Int(`SELECT COUNT(*) FROM `+tab+` o JOIN ing_record r ON r.id=o.record_id WHERE r.ext_id=?`, id); n != want {
				l.Errorf("%s has %d rows in %s, want %d", id, n, tab, want)
			}
		}
	}
	l.MustVerify()
}

func volatileOnly(l *Lab) {
	l.Plan(0, 3)
	recs := func(round int, changed bool) []harvest.Record {
		var out []harvest.Record
		for i := range 10 {
			content := fmt.Sprint("c", i)
			if changed && i == 0 {
				content = "new"
			}
			out = append(out, Rec(fmt.Sprint("r", i), hour(round), hour(20+round), content))
		}
		return out
	}
	l.Walk(l.LeaseOne(), recs(0, false)...)
	touched := recs(1, true)
	c := l.Walk(l.LeaseOne(), touched...)
	if c.Counts != (harvest.Counts{Updated: 1, Unchanged: 9}) {
		l.Errorf("%+v", c.Counts)
	}
	if n := l.Int(`SELECT SUM(revision) FROM ing_record`); n != 11 {
		l.Errorf("revisions sum to %d", n)
	}
	i := 0
	if err := l.Store.Export(l.ctx(), control.ExportQuery{Sources: []string{prov}, Raw: true}, func(e *control.Exported) error {
		if want := touched[i]; string(e.Raw) != string(want.Raw) || !e.UpdatedAt.Equal(hour(1)) || e.RawSHA256 != fmt.Sprintf("%x", want.RawSHA256) {
			l.Errorf("%s is %s of %s", e.ID, e.Raw, e.UpdatedAt)
		}
		i++
		return nil
	}); err != nil {
		l.Fatal(err)
	}
	// An older volatile state does not come back.
	l.Walk(l.LeaseOne(), recs(0, false)...)
	if n := l.Int(`SELECT COUNT(*) FROM ing_record WHERE updated_at='2024-01-01 01:00:00.000000'`); n != 10 {
		l.Errorf("%d records kept the newer update time", n)
	}
	l.MustVerify()
}
