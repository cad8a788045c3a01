package bus

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/relay"
)

// halting is a store that stands still for most of the time, longer than a lease: what is asked of it
// then is answered when it goes on, done before the halt or after it.
type halting struct {
	*ledger
	began time.Time
	calls atomic.Int64
}

// standStill waits until the store goes on.
func (h *halting) standStill() {
	const (
		goes  = time.Second
		halts = 90 * time.Second
	)
	if in := time.Since(h.began) % (goes + halts); in >= goes {
		time.Sleep(goes + halts - in)
	}
}

// answerLate takes a time that differs from call to call, so that halts hit each kind of call, between what it
// does and its answer.
func (h *halting) answerLate() {
	time.Sleep(time.Duration(5+13*(h.calls.Load()%7)) * time.Millisecond)
	h.standStill()
}

func (h *halting) ClaimTarget(ctx context.Context, c relay.Claim) (relay.Lease, bool, error) {
	h.calls.Add(1)
	h.standStill()
	l, mine, err := h.ledger.ClaimTarget(ctx, c)
	h.answerLate()
	return l, mine, err
}

func (h *halting) NextRevisions(ctx context.Context, l relay.Lease, most int) (relay.Batch, error) {
	h.calls.Add(1)
	h.standStill()
	b, err := h.ledger.NextRevisions(ctx, l, most)
	h.answerLate()
	return b, err
}

func (h *halting) Settle(ctx context.Context, l relay.Lease, o relay.Outcome) error {
	h.calls.Add(1)
	h.standStill()
	err := h.ledger.Settle(ctx, l, o)
	h.answerLate()
	return err
}

// inMemory is a target that notes when it took what.
type inMemory struct {
	mu   sync.Mutex
	came map[string][]int64
	all  int
}

func (*inMemory) Name() string { return "lake" }

func (*inMemory) Kind() string { return "file" }

func (*inMemory) Most() int { return 20 }

func (*inMemory) Close() error { return nil }

func (m *inMemory) Publish(_ context.Context, ms []relay.Message) []error {
	time.Sleep(100 * time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range ms {
		m.came[one.Key] = append(m.came[one.Key], one.Number)
		m.all++
	}
	return make([]error, len(ms))
}

// TestR35_StoreThatStandsStill: one relay, and two, over a store that stands still for 90 s after each second, with a
// lease of a minute. Every revision arrives, none before the one before it; what comes again is
// what could not be noted; and nobody asks a store all the time that does not answer.
func TestR35_StoreThatStandsStill(t *testing.T) {
	for _, owners := range [][]string{{"alone"}, {"first", "second"}} {
		t.Run(owners[0], func(t *testing.T) { relaysOverHaltingStore(t, owners) })
	}
}

func relaysOverHaltingStore(t *testing.T, owners []string) {
	synctest.Test(t, func(t *testing.T) {
		const records, revisions = 200, 5
		l := new(ledger)
		for revision := range revisions {
			for record := range records {
				m := message(t, record, int64(revision+1))
				m.No = int64(len(l.stream) + 1)
				l.stream = append(l.stream, m.Revision)
			}
		}
		store := &halting{ledger: l, began: time.Now()}
		to := &inMemory{came: map[string][]int64{}}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, owner := range owners {
			r := relay.New(relay.Config{Owner: owner, TTL: time.Minute}, store, []relay.Target{to}, slog.New(slog.DiscardHandler))
			running.Go(func() {
				if err := r.Run(ctx); err != nil {
					t.Errorf("%s: %v", owner, err)
				}
			})
		}
		const hour = time.Hour
		time.Sleep(hour)
		stop()
		running.Wait()
		repeats := 0
		for key, came := range to.came {
			seen := int64(0)
			for _, revision := range came {
				switch {
				case revision == seen+1:
					seen++
				case revision > seen:
					t.Fatalf("%s: %v came out of order", key, came)
				default:
					repeats++
				}
			}
			if seen != revisions {
				t.Errorf("%s: %v came", key, came)
			}
		}
		if len(to.came) != records || l.at != int64(records*revisions) {
			t.Errorf("%d records came, the target stands at %d", len(to.came), l.at)
		}
		halts := int(hour / (91 * time.Second))
		// A batch comes again for each halt that may have hit one.
		if repeats > 20*halts {
			t.Errorf("%d came again", repeats)
		}
		// Each of both looks twice in the second in which it is answered; some calls are for the work itself.
		if calls := int(store.calls.Load()); calls < halts/2 || calls > 10*halts+3*records*revisions/20 {
			t.Errorf("the store was asked %d times in %d seconds in which it answers", calls, halts)
		}
		t.Logf("%d came again, the store was asked %d times", repeats, store.calls.Load())
	})
}
