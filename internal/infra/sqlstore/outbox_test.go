package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// consumer is a target that keeps what it takes, as a program behind one would: of each
// record the greatest revision it has seen, and all of them in the order in which they
// came first.
type consumer struct {
	mu    sync.Mutex
	seen  map[string]int64
	order map[string][]int64
	calls int
	// came counts all messages, those that came again too.
	came int
	// refuse, if set, says what becomes of a message.
	refuse func(relay.Message) error
	most   int
}

func newConsumer() *consumer {
	return &consumer{seen: map[string]int64{}, order: map[string][]int64{}, most: 3}
}

func (c *consumer) Name() string { return "lab" }

func (c *consumer) Kind() string { return "file" }

func (c *consumer) Most() int { return c.most }

func (c *consumer) Close() error { return nil }

func (c *consumer) Publish(_ context.Context, ms []relay.Message) []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	errs := make([]error, len(ms))
	once := map[string]bool{}
	for i, m := range ms {
		if once[m.Key] {
			errs[i] = errors.New("two messages of a record in one wave")
			continue
		}
		once[m.Key] = true
		if c.refuse != nil {
			errs[i] = c.refuse(m)
		}
		if errs[i] == nil {
			c.take(m)
		}
	}
	return errs
}

// take is what the document tells consumers to do.
func (c *consumer) take(m relay.Message) {
	var e struct {
		Key  string `json:"partitionkey"`
		Data struct {
			ID       string `json:"id"`
			Revision int64  `json:"revision"`
		} `json:"data"`
	}
	if err := json.Unmarshal(m.Body, &e); err != nil {
		panic(err)
	}
	c.came++
	if e.Data.Revision <= c.seen[e.Key] {
		return
	}
	c.seen[e.Key] = e.Data.Revision
	c.order[e.Data.ID] = append(c.order[e.Data.ID], e.Data.Revision)
}

// relayOver is a relay of the lab's target over a store.
func relayOver(s relay.Store, owner string, c relay.Target) *relay.Relay {
	return relay.New(relay.Config{Owner: owner, TTL: ttl}, s, []relay.Target{c}, slog.New(slog.DiscardHandler))
}

// drain sends what there is.
func (l *Lab) drain(c relay.Target) {
	l.Helper()
	if err := relayOver(l.Store, "lab", c).Drain(l.ctx()); err != nil {
		l.Fatal(err)
	}
}

// tell has revisions written down for the lab's target from now on.
func (l *Lab) tell() {
	l.Helper()
	if _, err := l.Store.EnsureTarget(l.ctx(), "lab", "file"); err != nil {
		l.Fatal(err)
	}
}

// mustEqualStore fails the test unless the consumer has each record with its newest
// revision, and has seen those from a first one on, one after the other.
func (l *Lab) mustEqualStore(c *consumer) {
	l.Helper()
	rows, err := l.DB.Query(`SELECT ext_id, revision FROM ing_record`)
	if err != nil {
		l.Fatal(err)
	}
	defer rows.Close()
	records := 0
	for rows.Next() {
		var id string
		var revision int64
		if err := rows.Scan(&id, &revision); err != nil {
			l.Fatal(err)
		}
		records++
		got := c.order[id]
		if len(got) == 0 || got[len(got)-1] != revision {
			l.Errorf("%s has revision %d, the consumer has seen %v", id, revision, got)
			continue
		}
		for i := 1; i < len(got); i++ {
			if got[i] != got[i-1]+1 {
				l.Errorf("%s: the consumer has seen %v", id, got)
			}
		}
	}
	if err := rows.Err(); err != nil {
		l.Fatal(err)
	}
	if records == 0 || len(c.order) != records {
		l.Errorf("%d records, the consumer has %d", records, len(c.order))
	}
}

// fivePages stores x with four revisions, y with one, and a few others.
func fivePages(l *Lab) {
	l.Plan(0, 6)
	for i, content := range []string{"a", "b", "b", "a", "c"} {
		l.Walk(l.LeaseOne(), Rec("x", hour(i), hour(20+i), content), Rec("y", hour(0), hour(20+i), "same"), Rec(fmt.Sprint("z", i), hour(i), hour(20+i), "one"))
	}
}

// rowsForSomebody: revisions are written down while a target is kept, and only then. What
// every target got is removed once it is old enough; a target that comes later gets what is
// held, and then what comes.
func rowsForSomebody(l *Lab) {
	l.Plan(0, 8)
	page := func(i int) {
		l.Walk(l.LeaseOne(), Rec("x", hour(i), hour(20+i), fmt.Sprint("c", i)), Rec(fmt.Sprint("n", i), hour(i), hour(20+i), "one"))
	}
	rows := func(want int64, when string) {
		l.Helper()
		if n := l.Int(`SELECT COUNT(*) FROM ing_outbox`); n != want {
			l.Errorf("%d rows %s, want %d", n, when, want)
		}
		l.MustVerify()
	}
	page(0)
	rows(0, "while nobody is told")
	l.tell()
	page(1)
	rows(2, "once somebody is told")
	c := newConsumer()
	l.drain(c)
	if fmt.Sprint(c.order) != "map[n1:[1] x:[2]]" {
		l.Errorf("from now on: %v", c.order)
	}
	prune := func(keep time.Duration) {
		l.Helper()
		if _, err := l.Store.PruneOutbox(l.ctx(), keep, time.Hour); err != nil {
			l.Fatal(err)
		}
	}
	prune(time.Hour)
	rows(2, "while they are young")
	page(2)
	prune(-time.Hour)
	rows(2, "that the target has not got")
	l.drain(c)
	prune(-time.Hour)
	rows(0, "that everybody got")
	page(3)
	by := source.Audit{Actor: "lab", Action: "OUTBOX_TARGET_REMOVE", Object: "outbox/target/lab"}
	if err := l.Store.RemoveOutboxTarget(l.ctx(), "lab", by); err != nil {
		l.Fatal(err)
	}
	page(4)
	rows(2, "of an earlier time")
	if err := l.Store.AddOutboxTarget(l.ctx(), "lab", "file", true, by); err != nil {
		l.Fatal(err)
	}
	rows(0, "of an earlier time, when somebody new is told")
	page(5)
	all := newConsumer()
	l.drain(all)
	l.mustEqualStore(all)
	if got := all.order["x"]; !slices.Equal(got, []int64{5, 6}) || all.came != 8 {
		l.Errorf("the snapshot and the stream: %v of x, %d messages", got, all.came)
	}
	prune(time.Hour) // it has all, and they are young
	rows(2, "that are young")
}

// snapshotMeetsStream: what is stored while everything held is sent comes once and in
// order: the snapshot ends where the stream begins.
func snapshotMeetsStream(l *Lab) {
	l.Plan(0, 8)
	recs := func(round int) (out []harvest.Record) {
		for i := range 9 {
			out = append(out, Rec(fmt.Sprint("r", i), hour(round), hour(20+round), fmt.Sprint("c", round)))
		}
		return out
	}
	l.Walk(l.LeaseOne(), recs(0)...)
	l.Walk(l.LeaseOne(), recs(1)...)
	by := source.Audit{Actor: "lab", Action: "OUTBOX_TARGET_ADD", Object: "outbox/target/lab"}
	if err := l.Store.AddOutboxTarget(l.ctx(), "lab", "file", true, by); err != nil {
		l.Fatal(err)
	}
	c := newConsumer()
	round := 2
	c.refuse = func(relay.Message) error {
		if round < 5 && c.calls <= 3 { // between the parts of the snapshot
			l.Walk(l.LeaseOne(), recs(round)...)
			round++
		}
		return nil
	}
	l.drain(c)
	c.refuse = nil
	l.drain(c)
	l.mustEqualStore(c)
	if want := l.Int(`SELECT SUM(revision)-9 FROM ing_record`); int64(c.came) != want {
		l.Errorf("%d messages came, want %d: each revision from the second on, once", c.came, want)
	}
}

// switchWaitsForPages: a page that is stored without rows, because nobody is told, is
// committed before a target can be added, so that the snapshot has it.
func switchWaitsForPages(l *Lab) {
	l.Plan(0, 1)
	j := l.LeaseOne()
	b := Page(l.Open(j, l.Start(j)), Rec("first", hour(0), hour(9), "one"))
	by := source.Audit{Actor: "lab", Action: "OUTBOX_TARGET_ADD", Object: "outbox/target/lab"}
	if l.Engine == patratest.SQLite { // nobody writes beside another
		l.Exec(`UPDATE ing_task SET updated_at=updated_at`)
		return
	}
	l.Exec(`INSERT INTO ing_meta (name, value) VALUES ('outbox', '0')`) // as the migration does
	written, goOn := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	slow := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(point string) error {
		if point == "before commit" && armed.CompareAndSwap(true, false) {
			close(written)
			<-goOn
		}
		return nil
	}})
	armed.Store(true)
	stored := make(chan error, 1)
	go func() {
		_, err := slow.CommitBatch(l.ctx(), j, b, nil, nil)
		stored <- err
	}()
	<-written
	added := make(chan error, 1)
	go func() { added <- l.Store.AddOutboxTarget(l.ctx(), "lab", "file", true, by) }()
	select {
	case err := <-added:
		l.Errorf("the target was added while a page that does not know of it is open: %v", err)
		added <- err
	case <-time.After(300 * time.Millisecond): // it waits; longer proves no more
	}
	close(goOn)
	if err := errors.Join(<-stored, <-added); err != nil {
		l.Fatal(err)
	}
	c := newConsumer()
	l.drain(c)
	l.mustEqualStore(c)
}

// relayKilled: a relay whose store fails at its k-th point, or is dead from there on, for
// every k until one comes through: the next relay goes on, and the consumer ends with
// exactly the revisions of the store, in order per record. What comes twice comes only
// because it was sent again.
func relayKilled(l *Lab) {
	l.tell()
	fivePages(l)
	revisions := int(l.Int(`SELECT COUNT(*) FROM ing_record_version`))
	// Each time the target begins anew, and the places are given anew.
	again := func() {
		if _, err := l.DB.Exec(`UPDATE ing_outbox SET feed_no=NULL`); err != nil {
			l.Fatal(err)
		}
		if _, err := l.DB.Exec(`UPDATE ing_outbox_target SET position=0, lease_owner=NULL, leased_until=NULL, sent=0, failures=0, next_at=created_at`); err != nil {
			l.Fatal(err)
		}
		if _, err := l.DB.Exec(`DELETE FROM ing_meta WHERE name='feed_no'`); err != nil {
			l.Fatal(err)
		}
	}
	step := l.step(3, 7)
	for _, kill := range []bool{false, true} {
		for k := 1; ; k += step {
			again()
			c := newConsumer()
			points := 0
			hit := false
			broken := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(string) error {
				points++
				if points < k || points > k && !kill {
					return nil
				}
				hit = true
				return errors.New("the store refuses this")
			}})
			err := relayOver(broken, "first", c).Drain(l.ctx())
			if cerr := broken.Close(); cerr != nil {
				l.Fatal(cerr)
			}
			if hit && err == nil {
				l.Fatalf("point %d: the relay saw no failure", k)
			}
			before := c.came
			if _, err := l.DB.Exec(`UPDATE ing_outbox_target SET leased_until=created_at`); err != nil { // its lease runs out
				l.Fatal(err)
			}
			if err := relayOver(l.Store, "second", c).Drain(l.ctx()); err != nil {
				l.Fatal(err)
			}
			l.mustEqualStore(c)
			if c.came < revisions || c.came > revisions+min(before, c.most) {
				l.Errorf("point %d: %d messages came for %d revisions, %d before the failure", k, c.came, revisions, before)
			}
			if l.Failed() || !hit {
				break
			}
		}
	}
	l.MustVerify()
}

// relayPaused: a relay that was paused past its lease, while another took over, keeps
// nothing: not where the target stands, not what was refused. It sends nothing that it had
// not begun to.
func relayPaused(l *Lab) {
	l.tell()
	fivePages(l)
	claim := func(owner string) (relay.Lease, bool) {
		l.Helper()
		lease, mine, err := l.Store.ClaimTarget(l.ctx(), relay.Claim{Target: "lab", Owner: owner, TTL: ttl})
		if err != nil {
			l.Fatal(err)
		}
		return lease, mine
	}
	first, mine := claim("first")
	if !mine {
		l.Fatal("nobody had it")
	}
	if _, mine := claim("second"); mine {
		l.Fatal("two have the target at once")
	}
	b, err := l.Store.NextRevisions(l.ctx(), first, 4)
	if err != nil || len(b.Fresh) != 4 {
		l.Fatalf("%d revisions, %v", len(b.Fresh), err)
	}
	l.Exec(`UPDATE ing_outbox_target SET leased_until=created_at`) // the first is paused for so long
	second, mine := claim("second")
	if !mine || second.Fence <= first.Fence {
		l.Fatalf("the lease has run out: %v, fence %d after %d", mine, second.Fence, first.Fence)
	}
	l.Unchanged("a relay without the lease", func() {
		for _, o := range []relay.Outcome{
			{To: b.To, Sent: 4},
			{To: -1},
			{To: -1, Leave: true},
			{To: b.From, Out: "it is out", Rest: time.Hour, Leave: true},
			{To: b.To, Refused: []relay.Refusal{{Revision: b.Fresh[0], Error: "no", Rest: time.Second}}, Behind: b.Fresh[1:2]},
		} {
			if err := l.Store.Settle(l.ctx(), first, o); !errors.Is(err, harvest.ErrLeaseLost) {
				l.Errorf("%+v: %v", o, err)
			}
		}
	})
	if err := l.Store.Settle(l.ctx(), second, relay.Outcome{To: -1, Leave: true}); err != nil {
		l.Fatal(err)
	}
	if _, mine := claim("third"); !mine {
		l.Error("the second has left, and nobody can have it")
	}
	gone := relay.Claim{Target: "lab", Owner: "fourth", TTL: ttl, Gone: func(owner string) bool { return owner == "third" }}
	if _, mine, err := l.Store.ClaimTarget(l.ctx(), gone); err != nil || !mine {
		l.Errorf("the third has ended: %v, %v", mine, err)
	}
}

// relayOfLateCommit: a page that was written first and committed last has the smaller
// ids. It is sent all the same, after others were. SQLite lets nobody write between.
func relayOfLateCommit(l *Lab) {
	l.tell()
	l.Plan(0, 2)
	jobs := l.Lease(2)
	first := Page(l.Open(jobs[0], l.Start(jobs[0])), Rec("first", hour(0), hour(9), "one"))
	second := Page(l.Open(jobs[1], l.Start(jobs[1])), Rec("second", hour(1), hour(9), "two"))
	c := newConsumer()
	// On SQLite there is one writer; on TiDB pages that somebody is told of are committed one after the other.
	if l.Engine == patratest.SQLite || l.Engine == patratest.TiDB {
		for i, b := range []harvest.Batch{first, second} {
			if _, err := l.Store.CommitBatch(l.ctx(), jobs[i], b, nil, nil); err != nil {
				l.Fatal(err)
			}
			l.drain(c)
		}
		// As if the first had been committed after the second was sent.
		l.Exec(`UPDATE ing_outbox SET feed_no=NULL WHERE id=(SELECT MIN(id) FROM ing_outbox)`)
		c.order = map[string][]int64{"second": {1}}
		c.seen = map[string]int64{}
		l.drain(c)
		l.mustEqualStore(c)
		return
	}
	written, goOn := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	slow := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(point string) error {
		if point == "before commit" && armed.CompareAndSwap(true, false) {
			close(written)
			<-goOn
		}
		return nil
	}})
	armed.Store(true)
	done := make(chan error, 1)
	go func() {
		_, err := slow.CommitBatch(l.ctx(), jobs[0], first, nil, nil)
		done <- err
	}()
	<-written
	if _, err := l.Store.CommitBatch(l.ctx(), jobs[1], second, nil, nil); err != nil {
		l.Fatal(err)
	}
	l.drain(c)
	if len(c.order) != 1 {
		l.Fatalf("before the late commit: %v", c.order)
	}
	close(goOn)
	if err := <-done; err != nil {
		l.Fatal(err)
	}
	if l.Int(`SELECT MIN(o.id) FROM ing_outbox o JOIN ing_record r ON r.id=o.record_id WHERE r.ext_id='first'`) > l.Int(`SELECT MAX(o.id) FROM ing_outbox o JOIN ing_record r ON r.id=o.record_id WHERE r.ext_id='second'`) {
		l.Error("the late commit has the greater id: nothing was tried")
	}
	l.drain(c)
	l.mustEqualStore(c)
}

// messageParked: a message that its target refuses is tried ten times and parked. Others
// are not held up; those of its own record wait while it is tried, and then say all that
// it would have. One that has none behind it stays parked until somebody says so.
func messageParked(l *Lab) {
	l.tell()
	c := newConsumer()
	c.most = 100
	bad := map[string]bool{"x/2": true, "y/1": true}
	tries := map[string]int{}
	c.refuse = func(m relay.Message) error {
		name := fmt.Sprintf("%s/%d", m.ID, m.Number)
		if bad[name] {
			tries[name]++
			return fmt.Errorf("%w: too large", relay.ErrRefused)
		}
		return nil
	}
	fivePages(l)
	l.drain(c)
	if got := fmt.Sprint(c.order); got != "map[x:[1] z0:[1] z1:[1] z2:[1] z3:[1] z4:[1]]" {
		l.Errorf("beside the refused ones: %s", got)
	}
	for range relay.Tries - 2 {
		l.Exec(`UPDATE ing_outbox_held SET next_at=created_at`) // their rest is over
		l.drain(c)
	}
	if l.Int(`SELECT COUNT(*) FROM ing_outbox_held WHERE state_code='PARKED'`) != 0 || len(c.order["x"]) != 1 {
		l.Errorf("parked too early: %v, %v", tries, c.order["x"])
	}
	l.Exec(`UPDATE ing_outbox_held SET next_at=created_at`)
	l.drain(c)
	l.drain(c) // what waited
	if tries["x/2"] != relay.Tries || tries["y/1"] != relay.Tries {
		l.Errorf("tried %v", tries)
	}
	if got := c.order["x"]; !slices.Equal(got, []int64{1, 3, 4}) {
		l.Errorf("behind a parked revision came %v", got)
	}
	list, err := l.Store.OutboxMessages(l.ctx(), control.OutboxQuery{Parked: true}, 0, 10)
	if err != nil || len(list) != 1 || list[0].Record != "y" || list[0].Attempts != relay.Tries || list[0].Error == "" {
		l.Fatalf("parked: %+v, %v", list, err)
	}
	targets, err := l.Store.OutboxTargets(l.ctx())
	if err != nil || len(targets) != 1 || targets[0].Parked != 1 || targets[0].Waiting != 0 || targets[0].Backlog != 0 {
		l.Errorf("%+v, %v", targets, err)
	}
	l.MustVerify()
	bad = nil
	l.drain(c)
	if len(c.order["y"]) != 0 {
		l.Error("a parked message was tried again by itself")
	}
	by := source.Audit{Actor: "lab", Action: "OUTBOX_RETRY", Object: "outbox"}
	if n, err := l.Store.RetryOutbox(l.ctx(), control.OutboxRetry{ID: list[0].ID}, by); err != nil || n != 1 {
		l.Errorf("%d, %v", n, err)
	}
	l.drain(c)
	if len(c.order["y"]) != 1 || l.Int(`SELECT COUNT(*) FROM ing_outbox_held`) != 0 {
		l.Errorf("somebody had it tried again: %v", c.order["y"])
	}
	if _, err := l.Store.RetryOutbox(l.ctx(), control.OutboxRetry{ID: list[0].ID}, by); !errors.Is(err, harvest.ErrNotFound) {
		l.Errorf("a message that was sent: %v", err)
	}
}

// targetOut: nothing is held against messages while their target takes none. It rests,
// longer each time, and then gets all of them.
func targetOut(l *Lab) {
	l.tell()
	fivePages(l)
	c := newConsumer()
	c.refuse = func(relay.Message) error { return errors.New("connection refused") }
	for i := range 3 {
		l.drain(c)
		if n := l.Int(`SELECT failures FROM ing_outbox_target`); n != int64(i+1) {
			l.Errorf("after %d tries %d failures", i+1, n)
		}
		calls := c.calls
		l.drain(c)
		if c.calls != calls {
			l.Error("it was asked while it rests")
		}
		l.Exec(`UPDATE ing_outbox_target SET next_at=created_at`)
	}
	if l.Int(`SELECT COUNT(*) FROM ing_outbox_held`) != 0 || l.Text(`SELECT error FROM ing_outbox_target`) != "connection refused" {
		l.Error("it was held against messages")
	}
	// It answers, and fails at one message only: that one is to blame.
	c.refuse = func(m relay.Message) error {
		if m.ID == "y" {
			return fmt.Errorf("%w: 500", relay.ErrFailed)
		}
		return nil
	}
	l.drain(c)
	if l.Int(`SELECT COUNT(*) FROM ing_outbox_held`) != 1 || l.Int(`SELECT failures FROM ing_outbox_target`) != 0 {
		l.Errorf("one message fails: %s", l.rows("ing_outbox_held"))
	}
	c.refuse = nil
	l.Exec(`UPDATE ing_outbox_held SET next_at=created_at`)
	l.drain(c)
	l.mustEqualStore(c)
}

// feedOfWhatIsHeld: the feed begins with everything that is held, in parts, and goes on
// with what comes. A place that it does not reach back to is told. Unread it ends.
func feedOfWhatIsHeld(l *Lab) {
	fivePages(l)
	f := newFollower(l.Store)
	f.at = 7
	if err := f.read(l.ctx(), 2); !errors.Is(err, control.ErrFeedGone) {
		l.Errorf("a place that was never given: %v", err)
	}
	f.at = 0
	if err := f.read(l.ctx(), 2); err != nil {
		l.Fatal(err)
	}
	if len(f.seen) != 7 {
		l.Errorf("%d of 7 records", len(f.seen))
	}
	l.Walk(l.LeaseOne(), Rec("x", hour(5), hour(30), "more"))
	if err := f.read(l.ctx(), 2); err != nil {
		l.Fatal(err)
	}
	last := f.seen[len(f.seen)-1]
	if len(f.seen) != 8 || last.ID != "x" || last.Revision != 5 {
		l.Errorf("then %+v", last)
	}
	l.MustVerify()
	if _, err := l.Store.PruneOutbox(l.ctx(), -time.Hour, time.Hour); err != nil {
		l.Fatal(err)
	}
	again := newFollower(l.Store)
	if err := again.read(l.ctx(), 3); err != nil || len(again.seen) != 8 {
		l.Errorf("another follower: %d, %v", len(again.seen), err)
	}
	for range 2 { // it ends, and then its rows are removed
		if _, err := l.Store.PruneOutbox(l.ctx(), time.Hour, -time.Hour); err != nil {
			l.Fatal(err)
		}
	}
	if l.Int(`SELECT COUNT(*) FROM ing_outbox_target`)+l.Int(`SELECT COUNT(*) FROM ing_outbox`) != 0 {
		l.Error("nobody reads it, and rows are written for it")
	}
	if err := f.read(l.ctx(), 2); !errors.Is(err, control.ErrFeedGone) {
		l.Errorf("a place before the feed ended: %v", err)
	}
	anew := newFollower(l.Store)
	if err := anew.read(l.ctx(), 100); err != nil || len(anew.seen) != 7 {
		l.Errorf("anew: %d, %v", len(anew.seen), err)
	}
	l.MustVerify()
}
