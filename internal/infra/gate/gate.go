package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// StateStore keeps the state of rate keys where every process sees it.
type StateStore interface {
	// UpdateGate reads the state of key (nil if there is none), hands it to f
	// with the store's clock and keeps what f returns, all under one lock on
	// the key. Bytes that did not change need not be written. f may be called
	// again if the transaction has to be repeated; only its last call counts.
	UpdateGate(ctx context.Context, key string, f func(s []byte, now time.Time) []byte) error
}

// Gate hands out permits.
type Gate struct {
	store StateStore

	mu    sync.Mutex // guards the maps, not what is in them
	keys  map[string]*key
	seats map[seat]chan struct{}
	// quiet holds the cooldowns of unlimited keys, which have no state in the
	// store: this process at least keeps to what it was told.
	quiet map[string]time.Time
}

// seat names a bound on requests in flight.
type seat struct {
	key string
	n   int
}

// key is what this process knows about a rate key.
type key struct {
	// turn is held around a visit to the store, so that many callers of one
	// key queue here and not at the store's lock. The fields below belong to
	// its holder.
	turn chan struct{}
	// epoch is the greatest seen; moved is closed when it grows.
	epoch int64
	moved chan struct{}
	// owed are outcomes the store has not been told yet.
	owed []pace.Outcome
	// allowed is the last header limit the store was told.
	allowed pace.Outcome
}

// New returns a gate over store; nil keeps the state in this process alone.
func New(store StateStore) *Gate {
	if store == nil {
		store = NewLocal()
	}
	return &Gate{store: store, keys: map[string]*key{}, seats: map[seat]chan struct{}{}, quiet: map[string]time.Time{}}
}

// Acquire waits for a permit and for a free seat, at most maxWait long. The
// caller must call release when the request is over. A permit that is further
// away is not taken; the error then is a transient [harvest.Fault] with code
// rate_wait whose RetryAfter says how far.
func (g *Gate) Acquire(ctx context.Context, r source.Rate, maxWait time.Duration) (release func(), waited time.Duration, err error) {
	start := time.Now()
	release = func() {}
	if r.Concurrency > 0 {
		if release, err = g.sit(ctx, r, maxWait); err != nil {
			return nil, time.Since(start), err
		}
	}
	if r.QPS > 0 {
		err = g.slot(ctx, r, start, maxWait)
	} else {
		err = g.hush(ctx, r, start, maxWait)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		release()
		return nil, time.Since(start), fmt.Errorf("permit for %s: %w", r.Key, err)
	}
	return release, time.Since(start), nil
}

// sit takes one of the key's seats.
func (g *Gate) sit(ctx context.Context, r source.Rate, maxWait time.Duration) (func(), error) {
	g.mu.Lock()
	name := seat{r.Key, r.Concurrency}
	seats := g.seats[name]
	if seats == nil {
		seats = make(chan struct{}, r.Concurrency)
		g.seats[name] = seats
	}
	g.mu.Unlock()

	up := sync.OnceFunc(func() { <-seats })
	select {
	case seats <- struct{}{}:
		return up, nil
	default:
	}
	t := time.NewTimer(maxWait)
	defer t.Stop()
	select {
	case seats <- struct{}{}:
		return up, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.C:
		return nil, far(time.Second)
	}
}

// hush sits out the cooldown of an unlimited key.
func (g *Gate) hush(ctx context.Context, r source.Rate, start time.Time, maxWait time.Duration) error {
	for {
		g.mu.Lock()
		wait := time.Until(g.quiet[r.Key])
		g.mu.Unlock()
		if wait <= 0 {
			return nil
		}
		if wait > maxWait-time.Since(start) {
			return far(wait)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
}

// slot reserves a slot, sleeps until its time and makes sure that it still
// holds; if not, it begins again with what is left of maxWait.
func (g *Gate) slot(ctx context.Context, r source.Rate, start time.Time, maxWait time.Duration) error {
	k := g.key(r.Key)
	waitedFor := int64(-1) // the epoch of the slot slept for
	for {
		var wait time.Duration
		var epoch int64
		moved, err := g.visit(ctx, r, k, func(s pace.State, now time.Time) (pace.State, bool) {
			wait, epoch = 0, s.Epoch
			if s.Epoch == waitedFor {
				return s, false // the slot holds: go
			}
			s, at := pace.Reserve(s, limit(r), now)
			wait = at.Sub(now)
			return s, wait <= maxWait-time.Since(start)
		})
		if err != nil {
			return err
		}
		if wait <= 0 {
			return nil
		}
		if wait > maxWait-time.Since(start) {
			return far(wait)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
			waitedFor = epoch
		case <-moved: // void already: reserve again
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
		t.Stop()
	}
}

// Report tells the gate what came of a request. It does not fail: what the
// store cannot be told now is told with the next permit, before it.
func (g *Gate) Report(ctx context.Context, r source.Rate, o pace.Outcome) {
	if r.QPS <= 0 {
		if o.Kind != pace.Fine && o.RetryAfter > 0 {
			g.mu.Lock()
			defer g.mu.Unlock()
			if until := time.Now().Add(o.RetryAfter); until.After(g.quiet[r.Key]) {
				g.quiet[r.Key] = until
			}
		}
		return
	}
	k := g.key(r.Key)
	if k.lock(context.WithoutCancel(ctx)) != nil {
		return
	}
	said := pace.Outcome{Allowed: o.Allowed, Per: o.Per}
	news := o.Allowed > 0 && said != k.allowed
	if o.Kind == pace.Fine && !news {
		k.unlock()
		return // time alone mends a demoted rate
	}
	if len(k.owed) < 16 { // the rest says the same again
		k.owed = append(k.owed, o)
	}
	if o.Allowed > 0 {
		k.allowed = said
	}
	k.unlock()
	// The 429 must stop the others even if our own caller is leaving.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, _ = g.visit(ctx, r, k, func(s pace.State, _ time.Time) (pace.State, bool) { return s, false })
}

// visit updates the state of k in the store: first with what is owed, then by
// f, whose result is dropped if it says false. f may run more than once. The
// channel is closed when the epoch grows past the one seen here.
func (g *Gate) visit(ctx context.Context, r source.Rate, k *key, f func(pace.State, time.Time) (pace.State, bool)) (moved <-chan struct{}, err error) {
	if err := k.lock(ctx); err != nil {
		return nil, err
	}
	defer k.unlock()
	var epoch int64
	err = g.store.UpdateGate(ctx, r.Key, func(b []byte, now time.Time) []byte {
		var s pace.State
		if len(b) > 0 && json.Unmarshal(b, &s) != nil {
			s = pace.State{} // unreadable: as without state, one token
		}
		was := s
		for _, o := range k.owed {
			s = pace.Apply(s, limit(r), now, o)
		}
		if next, keep := f(s, now); keep {
			s = next
		}
		epoch = s.Epoch
		if s == was && len(b) > 0 {
			return b
		}
		out, err := json.Marshal(s)
		if err != nil { // numbers and instants only
			panic(fmt.Sprintf("marshal gate state: %v", err))
		}
		return out
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: %w", harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: "gate_lost"}, err)
	}
	k.owed = nil
	if epoch > k.epoch {
		k.epoch = epoch
		close(k.moved)
		k.moved = make(chan struct{})
	}
	return k.moved, nil
}

func (g *Gate) key(name string) *key {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.keys[name]
	if k == nil {
		k = &key{turn: make(chan struct{}, 1), moved: make(chan struct{})}
		g.keys[name] = k
	}
	return k
}

func (k *key) lock(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *key) unlock() { <-k.turn }

func limit(r source.Rate) pace.Limit { return pace.Limit{QPS: r.QPS, Burst: max(r.Burst, 1)} }

// far is the refusal to wait so long.
func far(wait time.Duration) error {
	return harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: "rate_wait", RetryAfter: wait}
}
