package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// ordinalTwice: an owner that opens a page again which an earlier run has
// committed cannot commit it, and what it brought is not stored.
func ordinalTwice(l *Lab) {
	for _, finish := range []bool{false, true} {
		Clear(l, l.DB, l.tables)
		l.Plan(0, 1)
		j := l.LeaseOne()
		l.Commit(j, Page(l.Open(j, l.Start(j)), Rec("a", hour(0), hour(9), "a")))
		l.Expire(j.Lease.Task)
		j = l.LeaseOne()
		r := l.Start(j)
		if r.SearchDone != 1 {
			l.Fatalf("told to go on after page %d", r.SearchDone)
		}
		r.SearchDone, r.Search = 0, harvest.Position{}
		o := l.Open(j, r)
		if o.Ordinal != 1 {
			l.Fatalf("opened page %d", o.Ordinal)
		}
		b := everything(Page(o, Rec("b", hour(0), hour(9), "b")))
		if finish {
			b.End, b.Finish = harvest.EndEmpty, true
		}
		l.Unchanged("committing page 1 a second time", func() {
			if _, err := l.Store.CommitBatch(l.ctx(), j, b, nil, nil); err == nil {
				l.Error("page 1 was committed by two runs")
			}
		})
		l.MustVerify()
	}
}

// ordinalOnce kills the worker between every two steps of a walk of pages: each
// ordinal is committed once, and what an owner is told to ask for is the page
// after the last committed one.
func ordinalOnce(l *Lab) {
	const pages = 5
	l.Plan(0, 1)
	kills := 0
	for kill := 0; ; kill++ {
		jobs := l.Lease(1)
		if len(jobs) == 0 {
			break
		}
		j := jobs[0]
		die := func(step int) bool {
			if kill%4 != step || kill > 12 {
				return false
			}
			kills++
			l.Expire(j.Lease.Task)
			return true
		}
		if die(0) { // leased
			continue
		}
		r := l.Start(j)
		if want := l.Int(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`); int64(r.SearchDone) != want {
			l.Errorf("told to go on after page %d of %d", r.SearchDone, want)
		}
		if die(1) { // started
			continue
		}
		dead := false
		for !dead {
			o := l.Open(j, r)
			dead = die(2)
			if dead { // opened
				break
			}
			b := Page(o, Rec(fmt.Sprint(o.Ordinal), hour(0), o.OpenedAt, "c"))
			if o.Ordinal == pages {
				b.End, b.Finish = harvest.EndEmpty, true
			}
			l.Commit(j, b)
			if b.Finish {
				break
			}
			r.BatchNo = r.BatchNo + 1
			r.SearchDone = r.SearchDone + 1
			r.Search = b.After
			dead = die(3) // committed
		}
	}
	if kills < 8 {
		l.Errorf("killed only %d times", kills)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`); n != pages {
		l.Errorf("%d pages committed", n)
	}
	if n := l.Int(`SELECT SUM(items) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`); n != pages {
		l.Errorf("totals add up to %d", n)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='FAILED'`); n > int64(kills) {
		l.Errorf("%d pages asked for again for %d kills", n, kills)
	}
	l.MustBeAt(1)
	l.MustVerify()
	// A page committed once cannot be committed again.
	Clear(l, l.DB, l.tables)
	l.Plan(0, 1)
	j := l.LeaseOne()
	o := l.Open(j, l.Start(j))
	l.Commit(j, Page(o))
	l.Unchanged("the same page again", func() {
		if _, err := l.Store.CommitBatch(l.ctx(), j, Page(o), nil, nil); err == nil {
			l.Error("the same page was committed twice")
		}
	})
}

func onlySucceeded(l *Lab) {
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	l.Commit(j, Page(l.Open(j, r), Rec("a", hour(0), hour(9), "a")))
	r.BatchNo = 2
	r.SearchDone = 1
	r.Search = harvest.Position{Token: "t1", Pages: 1}
	l.Open(j, r) // page 2 is claimed, and the process dies
	l.Expire(j.Lease.Task)
	j = l.LeaseOne()
	again := l.Start(j)
	if again.SearchDone != 1 || again.Search.Token != "t1" || again.Attempt != 2 {
		l.Errorf("resumed at %+v", again)
	}
	if s, c := l.Text(`SELECT status_code FROM ing_task_run_batch WHERE ordinal=2`), l.Text(`SELECT error_code FROM ing_task_run_batch WHERE ordinal=2`); s != "FAILED" || c != "abandoned" {
		l.Errorf("the claimed page is %s (%s)", s, c)
	}
	l.Commit(j, Last(l.Open(j, again)))
	l.MustVerify()
}

// unknownPage: whoever gave a page up after it was asked for, the next owner is
// told that the server may have moved on.
func unknownPage(l *Lab) {
	for _, c := range []struct {
		name string
		act  func(j harvest.Job, r harvest.Resume)
		want bool
	}{
		{"nothing asked for", func(harvest.Job, harvest.Resume) {}, false},
		{"page in flight", func(j harvest.Job, r harvest.Resume) { l.Open(j, r) }, true},
		{"page committed", func(j harvest.Job, r harvest.Resume) { l.Commit(j, Page(l.Open(j, r))) }, false},
		{"page committed, next in flight", func(j harvest.Job, r harvest.Resume) {
			o := l.Open(j, r)
			b := Page(o)
			next := harvest.BatchOpen{Run: r.Run, BatchNo: o.BatchNo + 1, Walk: r.Walk, Phase: harvest.PhaseSearch, Ordinal: o.Ordinal + 1, Before: b.After}
			if _, err := l.Store.CommitBatch(l.ctx(), j, b, []harvest.BatchOpen{next}, nil); err != nil {
				l.Fatal(err)
			}
		}, true},
		{"page in flight at a release", func(j harvest.Job, r harvest.Resume) {
			l.Open(j, r)
			if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: "shutdown"}); err != nil {
				l.Fatal(err)
			}
		}, true},
		{"page that waited for a permit", func(j harvest.Job, r harvest.Resume) {
			o := l.Open(j, r)
			if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: "rate_wait", Page: &harvest.FailedPage{Batch: o.ID}}); err != nil {
				l.Fatal(err)
			}
		}, false},
		{"page that waited when its source was paused", func(j harvest.Job, r harvest.Resume) {
			o := l.Open(j, r)
			l.Exec(`UPDATE ing_source_state SET paused=1`)
			if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: "held", Page: &harvest.FailedPage{Batch: o.ID}}); err != nil {
				l.Fatal(err)
			}
			l.Exec(`UPDATE ing_source_state SET paused=0`)
		}, false},
		{"page whose key was refused", func(j harvest.Job, r harvest.Resume) {
			o := l.Open(j, r)
			page := harvest.FailedPage{Batch: o.ID, Evidence: harvest.Evidence{Sent: 1, HTTPStatus: 401}}
			if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Spent, Code: "no_credential", Page: &page}); err != nil {
				l.Fatal(err)
			}
			l.Exec(`UPDATE ing_task SET scheduled_at='2020-01-01 00:00:00.000000'`)
		}, false},
		{"page that waited for a permit, then in flight", func(j harvest.Job, r harvest.Resume) {
			o := l.Open(j, r)
			if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: "rate_wait", Page: &harvest.FailedPage{Batch: o.ID}}); err != nil {
				l.Fatal(err)
			}
			j = l.LeaseOne()
			l.Open(j, l.Start(j))
		}, true},
		{"page in flight, then a new walk", func(j harvest.Job, r harvest.Resume) {
			l.Open(j, r)
			if _, _, err := l.Store.NewWalk(l.ctx(), j.Lease, "lost", true, nil); err != nil {
				l.Fatal(err)
			}
		}, false},
		{"page given up, then committed by a later owner", func(j harvest.Job, r harvest.Resume) {
			l.Open(j, r)
			l.Expire(j.Lease.Task)
			j = l.LeaseOne()
			l.Commit(j, Page(l.Open(j, l.Start(j))))
		}, false},
		{"a detail page in flight", func(j harvest.Job, r harvest.Resume) {
			o := l.Open(j, r)
			b := Page(o)
			b.IDs = []string{"1", "2"}
			b.Asked = 2
			b.End = harvest.EndTotal
			next := harvest.BatchOpen{Run: r.Run, BatchNo: o.BatchNo + 1, Walk: r.Walk, Phase: harvest.PhaseDetail, Ordinal: 1}
			if _, err := l.Store.CommitBatch(l.ctx(), j, b, []harvest.BatchOpen{next}, nil); err != nil {
				l.Fatal(err)
			}
		}, false},
	} {
		Clear(l, l.DB, l.tables)
		l.Plan(0, 1)
		j := l.LeaseOne()
		c.act(j, l.Start(j))
		l.Exec(`UPDATE ing_task SET leased_until='2000-01-01 00:00:00.000000'`)
		if r := l.Start(l.LeaseOne()); r.Unknown != c.want {
			l.Errorf("%s: unknown is %v", c.name, r.Unknown)
		}
		l.MustVerify()
	}
}

// walkBefore: whoever goes on with a walk, or begins one, is told where the walk
// before it was proven over. A walk that only confirms is no failed one.
func walkBefore(l *Lab) {
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	if r.Prior != nil {
		l.Errorf("a first walk has one before it: %+v", r.Prior)
	}
	b := Page(l.Open(j, r))
	b.End = harvest.EndEmpty
	b.After.Seen = 3
	b.After.Set = harvest.SetSum{1 << 63, 7}
	l.Commit(j, b)
	again := func(failed bool, wantWalk, wantWalks int) {
		l.Helper()
		walk, walks, err := l.Store.NewWalk(l.ctx(), j.Lease, "walk_unconfirmed", failed, nil)
		if err != nil || walk != wantWalk || walks != wantWalks {
			l.Errorf("walk %d, %d failed, %v", walk, walks, err)
		}
	}
	resumed := func() harvest.Resume {
		l.Expire(j.Lease.Task)
		j = l.LeaseOne()
		return l.Start(j)
	}
	r = resumed()
	if r.SearchEnd != harvest.EndEmpty || r.Search.Set != b.After.Set || r.Prior != nil {
		l.Errorf("before the second walk: resumed at %+v", r)
	}
	again(false, 2, 0)
	for page := range 2 { // killed before its first page, and after
		r = resumed()
		if r.SearchDone != page || r.SearchEnd != "" || r.Prior == nil || r.Prior.Seen != 3 || r.Prior.Set != b.After.Set {
			l.Errorf("in the second walk: resumed at %+v", r)
		}
		l.Commit(j, Page(l.Open(j, r)))
	}
	again(true, 3, 1)
	r = resumed()
	if r.Prior != nil {
		l.Errorf("the walk before was not proven over: %+v", r.Prior)
	}
	l.MustVerify()
}

// betweenPhases kills between SEARCH and DETAIL and between details.
func betweenPhases(l *Lab) {
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	ids := []string{"3", "1", "2"}
	for i, id := range ids[:2] {
		b := Page(l.Open(j, r))
		b.IDs, b.Asked = []string{id}, 1
		if i == 1 {
			b.IDs = ids[1:]
			b.Asked = 2
			b.End = harvest.EndTotal
		}
		l.Commit(j, b)
		r.BatchNo = r.BatchNo + 1
		r.SearchDone = r.SearchDone + 1
		r.Search = b.After
	}
	detail := func(j harvest.Job, r harvest.Resume, missing ...string) harvest.Batch {
		o, err := l.Store.OpenBatch(l.ctx(), j.Lease, harvest.BatchOpen{Run: r.Run, BatchNo: r.BatchNo, Walk: r.Walk, Phase: harvest.PhaseDetail, Ordinal: r.DetailDone + 1, Before: harvest.Position{Offset: r.DetailAt}})
		if err != nil {
			l.Fatal(err)
		}
		b := harvest.Batch{OpenedBatch: o, RecordType: recordType, Asked: 1, After: harvest.Position{Offset: r.DetailAt + 1}, Missing: missing}
		if len(missing) == 0 {
			b.Records = []harvest.Record{Rec(r.IDs[r.DetailAt], hour(0), o.OpenedAt, "d")}
		}
		b.Finish = int(r.DetailAt)+1 == len(r.IDs)
		return b
	}
	for at := range 3 {
		l.Expire(j.Lease.Task)
		j = l.LeaseOne()
		r = l.Start(j)
		if !slices.Equal(r.IDs, ids) || r.SearchEnd != harvest.EndTotal || r.DetailDone != at || r.DetailAt != int64(at) || r.SearchDone != 2 {
			l.Fatalf("detail %d: resumed at %+v", at+1, r)
		}
		l.MustBeAt(0)
		if at == 1 {
			l.Commit(j, detail(j, r, "1"))
		} else {
			l.Commit(j, detail(j, r))
		}
	}
	l.MustBeAt(1)
	if n := l.Int(`SELECT times FROM ing_bad_id WHERE ext_id='1'`); n != 1 {
		l.Errorf("bad id seen %d times", n)
	}
	l.MustVerify()
	// A page as large as PubMed's wall comes back whole.
	Clear(l, l.DB, l.tables)
	l.Plan(0, 1)
	j = l.LeaseOne()
	b := Page(l.Open(j, l.Start(j)))
	for i := range 9999 {
		b.IDs = append(b.IDs, fmt.Sprint(30_000_000+i))
	}
	b.Asked, b.End = len(b.IDs), harvest.EndTotal
	l.Commit(j, b)
	l.Expire(j.Lease.Task)
	if r := l.Start(l.LeaseOne()); !slices.Equal(r.IDs, b.IDs) {
		l.Errorf("%d ids came back of %d", len(r.IDs), len(b.IDs))
	}
}

// insertRace: two tasks bring the same new records at the same time.
func insertRace(l *Lab) {
	other := patratest.Open(l, l.DSN, sqlstore.Options{})
	rounds := 30
	if l.small() {
		rounds = 10
	}
	l.Plan(0, 2*rounds)
	for round := range rounds {
		jobs := l.Lease(2)
		errs := make([]error, 2)
		counts := make([]harvest.Counts, 2)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for k, j := range jobs {
			var recs []harvest.Record
			for i := range 60 { // more than one statement's worth, in opposite order
				n := i
				if k == 1 {
					n = 59 - i
				}
				recs = append(recs, Rec(fmt.Sprintf("%d-%d", round, n), hour(k), hour(9), fmt.Sprint("by ", k)))
			}
			b := Last(l.Open(j, l.Start(j)), recs...)
			st := []*sqlstore.Store{l.Store, other}[k]
			wg.Go(func() {
				<-start
				c, err := st.CommitBatch(l.ctx(), j, b, nil, nil)
				counts[k], errs[k] = c.Counts, err
			})
		}
		close(start)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			l.Fatalf("round %d: %v", round, err)
		}
		if counts[0].Inserted+counts[1].Inserted != 60 || counts[0].Items() != 60 || counts[1].Items() != 60 {
			l.Errorf("round %d: %+v and %+v", round, counts[0], counts[1])
		}
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_record WHERE updated_at='2024-01-01 01:00:00.000000'`); n != int64(60*rounds) {
		l.Errorf("%d records hold the newer version", n)
	}
	l.MustBeAt(2 * rounds)
	l.MustVerify()
}

// pagesBeside: a commit opens as many pages as it is given, in their order, and a page that
// fails is closed with those that were asked for beside it, each with what was asked for it.
func pagesBeside(l *Lab) {
	l.Plan(0, 2)
	j := l.LeaseOne()
	r := l.Start(j)
	o := l.Open(j, r)
	b := Page(o, Rec("a", hour(0), hour(9), "a"))
	var next []harvest.BatchOpen
	for no := 2; no <= 4; no++ {
		next = append(next, harvest.BatchOpen{Run: o.Run, BatchNo: no, Walk: 1, Phase: harvest.PhaseDetail, Ordinal: no - 1, Before: harvest.Position{Offset: int64(no)}})
	}
	c, err := l.Store.CommitBatch(l.ctx(), j, b, next, nil)
	if err != nil || len(c.Next) != 3 {
		l.Fatalf("%+v, %v", c.Next, err)
	}
	for i, open := range c.Next {
		if open.Ordinal != next[i].Ordinal || l.Int(`SELECT batch_no FROM ing_task_run_batch WHERE id=? AND status_code='RUNNING'`, open.ID) != int64(next[i].BatchNo) {
			l.Errorf("page %d is opened as %+v", i, open)
		}
	}
	page := &harvest.FailedPage{
		Batch: c.Next[0].ID, Asked: true, Evidence: harvest.Evidence{Sent: 5, HTTPStatus: 503}, Cause: errors.New("no answer"),
		Beside: []harvest.FailedPage{
			{Batch: c.Next[1].ID, Asked: true, Evidence: harvest.Evidence{Sent: 1}, Cause: errors.New("given up")},
			{Batch: c.Next[2].ID, Cause: errors.New("given up")},
		},
	}
	l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: harvest.Spent, Code: "http_503", Page: page})
	for i, want := range []struct {
		state, code, text string
		sent              int64
	}{{"FAILED", "http_503", "told here", 5}, {"SKIPPED", "asked_beside", "given up", 1}, {"SKIPPED", "asked_beside", "given up", 0}} {
		got := l.Text(`SELECT CONCAT(status_code, ' ', error_code, ' ', error) FROM ing_task_run_batch WHERE id=?`, c.Next[i].ID)
		if got != want.state+" "+want.code+" "+want.text || l.Int(`SELECT sent FROM ing_task_run_batch WHERE id=?`, c.Next[i].ID) != want.sent {
			l.Errorf("page %d is closed as %q, want %+v", i, got, want)
		}
	}
	l.MustVerify()
}

// readyOnce: the callback comes once, after every statement and before the
// commit, however often the transaction runs.
func readyOnce(l *Lab) {
	var points []string
	st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(p string) error {
		points = append(points, p)
		return nil
	}})
	l.Plan(0, 2)
	j := l.LeaseOne()
	o := l.Open(j, l.Start(j))
	calls := 0
	b := Page(o, Rec("a", hour(0), hour(9), "a"))
	next := harvest.BatchOpen{Run: o.Run, BatchNo: 2, Walk: 1, Phase: harvest.PhaseSearch, Ordinal: 2, Before: b.After}
	points = nil
	c, err := st.CommitBatch(l.ctx(), j, b, []harvest.BatchOpen{next}, func(c harvest.Committed) {
		calls++
		if len(c.Next) != 1 || c.Next[0].Ordinal != 2 || c.Counts.Inserted != 1 {
			l.Errorf("ready with %+v", c)
		}
		if p := points[len(points)-1]; !strings.HasPrefix(p, "after INSERT INTO ing_task_run_batch") {
			l.Errorf("ready after %q", p)
		}
	})
	if err != nil || calls != 1 {
		l.Errorf("ready called %d times, %v", calls, err)
	}
	if got := points[len(points)-2:]; got[0] != "before commit" || got[1] != "after commit" {
		l.Errorf("ended with %q", got)
	}
	if n := l.Int(`SELECT id FROM ing_task_run_batch WHERE status_code='RUNNING'`); n != int64(c.Next[0].ID) {
		l.Errorf("next is %d, told %d", n, c.Next[0].ID)
	}
	// Under a lost lease it never comes.
	l.Expire(j.Lease.Task)
	l.LeaseOne()
	if _, err := st.CommitBatch(l.ctx(), j, Page(c.Next[0]), nil, func(harvest.Committed) { l.Error("ready under a lost lease") }); !errors.Is(err, harvest.ErrLeaseLost) {
		l.Errorf("got %v", err)
	}
}
