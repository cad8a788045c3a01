package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// follower reads the feed as a consumer does: from where it has come to, on.
type follower struct {
	feed *control.Control
	at   int64
	seen []control.Change
}

func newFollower(s *sqlstore.Store) *follower {
	return &follower{feed: control.New(control.Parts{Store: s})}
}

// read takes what there is.
func (f *follower) read(ctx context.Context, limit int) error {
	for {
		part, err := f.feed.Changes(ctx, f.at, limit)
		if err != nil {
			return err
		}
		for _, c := range part.Changes {
			if c.No <= f.at {
				return fmt.Errorf("place %d comes after %d was read", c.No, f.at)
			}
			f.at = c.No
		}
		f.seen = append(f.seen, part.Changes...)
		if part.Next != f.at {
			return fmt.Errorf("next is %d at %d", part.Next, f.at)
		}
		if !part.More && len(part.Changes) < limit {
			return nil
		}
	}
}

// feedOfLateCommit: a page that was written first and committed last. Its ids are the
// smaller ones, and the feed was read between; it comes all the same, behind the other.
// SQLite lets nobody write between.
func feedOfLateCommit(l *Lab) {
	if l.Engine == patratest.SQLite || l.Engine == patratest.TiDB { // pages of a source are stored one after the other
		l.Plan(0, 1)
		l.Walk(l.LeaseOne(), Rec("only", hour(0), hour(9), "one"))
		f := newFollower(l.Store)
		if err := f.read(l.ctx(), 10); err != nil || len(f.seen) != 1 {
			l.Errorf("%v, %v", f.seen, err)
		}
		return
	}
	f := newFollower(l.Store)
	if err := f.read(l.ctx(), 10); err != nil { // from here on rows are written for the feed
		l.Fatal(err)
	}
	l.Plan(0, 2)
	jobs := l.Lease(2)
	// Neither page ends its slice: nobody waits for the cursor's row.
	first := Page(l.Open(jobs[0], l.Start(jobs[0])), Rec("first", hour(0), hour(9), "one"))
	second := Page(l.Open(jobs[1], l.Start(jobs[1])), Rec("second", hour(1), hour(9), "two"))
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
	if err := f.read(l.ctx(), 10); err != nil {
		l.Fatal(err)
	}
	if len(f.seen) != 1 || f.seen[0].ID != "second" {
		l.Fatalf("before the late commit: %+v", f.seen)
	}
	close(goOn)
	if err := <-done; err != nil {
		l.Fatal(err)
	}
	if l.Int(`SELECT MIN(o.id) FROM ing_outbox o JOIN ing_record r ON r.id=o.record_id WHERE r.ext_id='first'`) > l.Int(`SELECT MAX(o.id) FROM ing_outbox o JOIN ing_record r ON r.id=o.record_id WHERE r.ext_id='second'`) {
		l.Error("the late commit has the greater id: nothing was tried")
	}
	if err := f.read(l.ctx(), 10); err != nil {
		l.Fatal(err)
	}
	if len(f.seen) != 2 || f.seen[1].ID != "first" {
		l.Errorf("the late commit is lost: %+v", f.seen)
	}
}

// feedUnderConcurrentCommits: four write, two follow and give places at once. Each
// follower gets every revision once, those of a record in their order.
func feedUnderConcurrentCommits(l *Lab) {
	const writers, followers = 4, 2
	pages := 15
	if l.small() {
		pages = 5
	}
	if err := newFollower(l.Store).read(l.ctx(), 1); err != nil { // from here on rows are written for the feed
		l.Fatal(err)
	}
	l.Plan(0, writers*pages)
	jobs := l.Lease(writers * pages)
	batches := make([]harvest.Batch, len(jobs))
	for i, j := range jobs {
		var recs []harvest.Record
		for k := range 7 {
			id := fmt.Sprintf("r%d", (i*3+k)%40) // pages share records
			recs = append(recs, Rec(id, hour(i), hour(9), fmt.Sprint("by ", i)))
		}
		batches[i] = Last(l.Open(j, l.Start(j)), recs...)
	}
	var writing, following sync.WaitGroup
	stop := make(chan struct{})
	errs := make(chan error, writers*pages+followers)
	all := make([]*follower, followers)
	for i := range all {
		f := newFollower(patratest.Open(l, l.DSN, sqlstore.Options{}))
		all[i] = f
		following.Go(func() {
			for {
				if err := f.read(l.ctx(), 3+i); err != nil {
					errs <- err
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for w := range writers {
		store := patratest.Open(l, l.DSN, sqlstore.Options{})
		writing.Go(func() {
			for i := w; i < len(jobs); i += writers {
				_, err := store.CommitBatch(l.ctx(), jobs[i], batches[i], nil, nil)
				errs <- err
			}
		})
	}
	writing.Wait()
	close(stop)
	following.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			l.Fatal(err)
		}
	}
	// Who asks while another gives places gets what has one, and the rest when asking
	// again: so the last look is taken by one after the other.
	for _, f := range all {
		if err := f.read(l.ctx(), 100); err != nil {
			l.Fatal(err)
		}
	}
	revisions := int(l.Int(`SELECT COUNT(*) FROM ing_outbox`))
	for i, f := range all {
		if len(f.seen) != revisions {
			l.Errorf("follower %d has seen %d of %d revisions", i, len(f.seen), revisions)
		}
		last := map[string]int64{}
		for _, c := range f.seen {
			if c.Revision != last[c.ID]+1 {
				l.Errorf("follower %d: %s has revision %d after %d", i, c.ID, c.Revision, last[c.ID])
			}
			last[c.ID] = c.Revision
		}
	}
	same := slices.EqualFunc(all[0].seen, all[1].seen, func(a, b control.Change) bool { return a.No == b.No && a.ID == b.ID && a.Revision == b.Revision })
	if !same {
		l.Error("the followers have seen different orders")
	}
	l.MustVerify()
}

// TestTokensAndReplies: what the API keeps, on every engine. A name stands for one
// token at a time, of two equal changes at once one is made, and a day later the key
// is free again.
func TestTokensAndReplies(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		s := patratest.Open(t, e.DSN(t), sqlstore.Options{})
		ctl := control.New(control.Parts{Store: s})
		ctx := t.Context()
		by := control.By{Actor: "test", Reason: "why"}
		order := control.TokenOrder{By: by, Name: "ci", Role: control.Operator}
		made, err := ctl.NewToken(ctx, order)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ctl.NewToken(ctx, order); !errors.Is(err, control.ErrTokenTaken) {
			t.Errorf("a second token of the name: %v", err)
		}
		who, err := ctl.Authenticate(ctx, made.Secret)
		if err != nil || who.Role != control.Operator || who.Actor != "token/ci" {
			t.Errorf("%+v: %v", who, err)
		}
		if _, err := ctl.RevokeToken(ctx, "ci", by); err != nil {
			t.Fatal(err)
		}
		if _, err := ctl.Authenticate(ctx, made.Secret); !errors.Is(err, control.ErrNoCaller) {
			t.Errorf("revoked: %v", err)
		}
		if _, err := ctl.RevokeToken(ctx, "ci", by); !errors.Is(err, harvest.ErrNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
		if _, err := ctl.NewToken(ctx, order); err != nil {
			t.Errorf("the name is free again: %v", err)
		}
		var wg sync.WaitGroup
		var mine atomic.Int32
		for range 8 {
			wg.Go(func() {
				_, is, err := ctl.ClaimReply(ctx, "a", "key", "hash")
				if err != nil {
					t.Error(err)
				}
				if is {
					mine.Add(1)
				}
			})
		}
		wg.Wait()
		if mine.Load() != 1 {
			t.Errorf("%d got the key", mine.Load())
		}
		if err := ctl.KeepReply(ctx, "a", "key", 200, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		old, is, err := ctl.ClaimReply(ctx, "a", "key", "other")
		if err != nil || is || old.Hash != "hash" || old.Status != 200 || string(old.Body) != "{}" {
			t.Errorf("%+v %v %v", old, is, err)
		}
		if _, is, err := ctl.ClaimReply(ctx, "b", "key", "hash"); err != nil || !is {
			t.Errorf("the key of somebody else: %v %v", is, err)
		}
	})
}
