package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
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

// Config of a gate.
type Config struct {
	// Instances is how many processes ask the same upstreams, or may. Only
	// where it is told do they go on, slowly, when the store is lost (R40).
	Instances int
}

// Gate hands out permits.
type Gate struct {
	cfg   Config
	store StateStore
	// spare takes the store's place while that is lost.
	spare *Local

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
	// owed are outcomes the store has not been told yet, back slots it has not
	// been given back yet, unseen outcomes the spare has not been told yet.
	owed, unseen []pace.Outcome
	back         []pace.Slot
	// allowed is the last header limit the store was told, empty until when
	// the budget is used up as it was told last.
	allowed pace.Outcome
	empty   time.Time
	// quiet is until when everyone keeps silence, as the store said last.
	quiet time.Time
}

// New returns a gate over store; nil keeps the state in this process alone.
func New(cfg Config, store StateStore) *Gate {
	if store == nil {
		store = NewLocal()
	}
	return &Gate{cfg: cfg, store: store, spare: NewLocal(), keys: map[string]*key{}, seats: map[seat]chan struct{}{}, quiet: map[string]time.Time{}}
}

// Acquire waits for a permit of that cost (0 stands for 1) and for a free seat,
// at most maxWait long. The caller must call release when the request is over,
// with false if no connection was made: only then what it cost is given back
// (R38). A permit that is further away is not taken; the error then is a
// transient [harvest.Fault] whose RetryAfter says how far, with code rate_wait,
// or quota_wait if a quota is used up.
func (g *Gate) Acquire(ctx context.Context, r source.Rate, cost int, maxWait time.Duration) (release func(sent bool), waited time.Duration, err error) {
	start := time.Now()
	up := func() {}
	if r.Concurrency > 0 {
		if up, err = g.sit(ctx, r, maxWait); err != nil {
			return nil, time.Since(start), err
		}
	}
	var slot pace.Slot
	if stored(r) {
		slot, err = g.slot(ctx, r, cost, start, maxWait)
	} else {
		err = g.hush(ctx, r, start, maxWait)
	}
	var once sync.Once
	release = func(sent bool) {
		once.Do(func() {
			up()
			if !sent {
				g.giveBack(ctx, r, slot)
			}
		})
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		release(false)
		return nil, time.Since(start), fmt.Errorf("permit for %s: %w", r.Key, err)
	}
	return release, time.Since(start), nil
}

// stored reports whether the key has state in the store.
func stored(r source.Rate) bool { return r.QPS > 0 || len(r.Quotas) > 0 || r.Budget != nil }

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
		return nil, far(time.Second, false)
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
			return far(wait, false)
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
// holds; if not, it begins again with what is left of maxWait. With an error,
// the slot returned is to be given back.
func (g *Gate) slot(ctx context.Context, r source.Rate, cost int, start time.Time, maxWait time.Duration) (slot pace.Slot, err error) {
	k := g.key(r.Key)
	var from view // what slot was reserved under
	slept := false
	for {
		var next pace.Slot
		var wait, left time.Duration
		ran := false
		v, err := g.visit(ctx, r, k, cost, func(s pace.State, l pace.Limit, now time.Time, lost bool) pace.State {
			next, wait, left, ran = slot, 0, max(maxWait-time.Since(start), 0), true
			if slept && lost == from.lost && s.Epoch == from.epoch {
				return s // the slot holds: go
			}
			if lost == from.lost {
				s = pace.Refund(s, slot) // void
			}
			reserved, n := pace.Reserve(s, l, cost, now)
			next, wait = n, n.At.Sub(now)
			if wait > left {
				return s
			}
			return reserved
		})
		switch {
		case err != nil && ran: // perhaps the void slot was given back: not twice
			return pace.Slot{}, err
		case err != nil:
			return slot, err
		case wait > left:
			return pace.Slot{}, far(wait, next.Scarce)
		}
		if slot, from = next, v; wait <= 0 {
			return slot, nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
			slept = true
		case <-v.moved: // void already: reserve again
			slept = false
		case <-ctx.Done():
			t.Stop()
			return slot, context.Cause(ctx)
		}
		t.Stop()
	}
}

// giveBack returns a slot that was not used. What the store cannot be told now
// it is told before the next permit; if there is none, the quota stays used.
func (g *Gate) giveBack(ctx context.Context, r source.Rate, slot pace.Slot) {
	if !slot.Charged() {
		return
	}
	k := g.key(r.Key)
	if k.lock(context.WithoutCancel(ctx)) != nil {
		return
	}
	if len(k.back) < 1024 {
		k.back = append(k.back, slot)
	}
	k.unlock()
	g.tell(ctx, r, k)
}

// Report tells the gate what came of a request. It does not fail: what the
// store cannot be told now is told with the next permit, before it.
func (g *Gate) Report(ctx context.Context, r source.Rate, o pace.Outcome) {
	if !stored(r) {
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
	empty := time.Now().Add(o.Empty)
	news := o.Allowed > 0 && said != k.allowed || o.Empty > 0 && empty.Sub(k.empty) > time.Second
	if o.Kind == pace.Fine && !news {
		k.unlock()
		return // time alone mends a demoted rate
	}
	if len(k.owed) < 16 { // the rest says the same again
		k.owed, k.unseen = append(k.owed, o), append(k.unseen, o)
	}
	if o.Allowed > 0 {
		k.allowed = said
	}
	if o.Empty > 0 {
		k.empty = empty
	}
	k.unlock()
	g.tell(ctx, r, k)
}

// tell brings the store what it is owed: a 429 must stop the others even if our
// own caller is leaving.
func (g *Gate) tell(ctx context.Context, r source.Rate, k *key) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, _ = g.visit(ctx, r, k, 1, func(s pace.State, _ pace.Limit, _ time.Time, _ bool) pace.State { return s })
}

// view is what a visit saw.
type view struct {
	epoch int64
	// moved is closed when the epoch grows past the one seen.
	moved <-chan struct{}
	// lost: the store could not be reached, this is the spare's.
	lost bool
}

// change makes a new state, under the limit that holds.
type change func(s pace.State, l pace.Limit, now time.Time, lost bool) pace.State

// visit updates the state of k in the store: first with what is owed, then by
// f, which may run more than once. If the store is lost, the state of the spare
// is updated instead, if there may be one.
func (g *Gate) visit(ctx context.Context, r source.Rate, k *key, cost int, f change) (view, error) {
	if err := k.lock(ctx); err != nil {
		return view{}, err
	}
	defer k.unlock()
	v := view{moved: k.moved}
	ran := false
	err := g.store.UpdateGate(ctx, r.Key, func(b []byte, now time.Time) []byte {
		ran = true
		var s pace.State
		if len(b) > 0 && json.Unmarshal(b, &s) != nil {
			s = pace.State{} // unreadable: as without state, one token
		}
		for _, o := range k.owed {
			s = pace.Apply(s, limit(r), now, o)
		}
		for _, slot := range k.back {
			s = pace.Refund(s, slot)
		}
		s = f(s, limit(r), now, false)
		v.epoch = s.Epoch
		k.quiet = time.Now().Add(max(s.CooldownUntil.Sub(now), s.EmptyUntil.Sub(now), 0))
		return written(s)
	})
	if err == nil {
		k.owed, k.unseen, k.back = nil, nil, nil
		if v.epoch > k.epoch {
			k.epoch = v.epoch
			close(k.moved)
			k.moved = make(chan struct{})
			v.moved = k.moved
		}
		return v, nil
	}
	if ran {
		k.back = nil // perhaps it was kept: what is given back twice is another's
	}
	if ctx.Err() != nil {
		return v, context.Cause(ctx)
	}
	l, ok := share(r, cost, g.cfg.Instances)
	if !ok {
		return v, fmt.Errorf("%w: %w", harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: "gate_lost"}, err)
	}
	v.lost = true
	err = g.spare.UpdateGate(ctx, r.Key, func(b []byte, now time.Time) []byte {
		var s pace.State
		if len(b) == 0 || json.Unmarshal(b, &s) != nil {
			// No token: who is started again and again gets nothing by it.
			s = pace.State{NextAt: now.Add(time.Duration(float64(max(cost, 1)) / l.QPS * float64(time.Second)))}
		}
		for _, o := range k.unseen {
			s = pace.Apply(s, l, now, o)
		}
		if k.quiet.After(s.CooldownUntil) {
			s.CooldownUntil = k.quiet.UTC()
		}
		s = f(s, l, now, true)
		v.epoch = s.Epoch
		return written(s)
	})
	k.unseen = nil
	return v, err
}

func written(s pace.State) []byte {
	b, err := json.Marshal(s)
	if err != nil { // numbers and instants only
		panic(fmt.Sprintf("marshal gate state: %v", err))
	}
	return b
}

// share is what one of n processes may send on its own when the store is lost:
// its part of what the provider allows beyond the most that the store may have
// handed out, and still may to those who reach it. So it does not matter who has
// lost it, when, or for how long (R40). Without a limit that is known, beside
// quotas, whose state is in the store, or where nothing is left over: nothing.
func share(r source.Rate, cost, n int) (pace.Limit, bool) {
	if n < 1 || r.Limit <= 0 || r.QPS <= 0 || r.Window <= 0 || len(r.Quotas) > 0 {
		return pace.Limit{}, false
	}
	window, units := r.Window.D().Seconds(), float64(max(cost, 1))
	rest := float64(r.Limit) - r.QPS*window - max(float64(r.Burst), units)
	mine := math.Floor((rest + 1e-9) / float64(n))
	if mine < units {
		return pace.Limit{}, false
	}
	// In any window rate x window and one more request; if that is all there
	// is, a request every other window.
	return pace.Limit{QPS: min(r.QPS/float64(n), max(mine-units, mine/2)/window), Burst: 1}, true
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

func limit(r source.Rate) pace.Limit {
	l := pace.Limit{QPS: r.QPS, Burst: max(r.Burst, 1)}
	for _, q := range r.Quotas {
		l.Quotas = append(l.Quotas, pace.Quota{Limit: q.Limit, Window: q.Window.D(), Zone: q.Zone})
	}
	return l
}

// far is the refusal to wait so long.
func far(wait time.Duration, scarce bool) error {
	f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: "rate_wait", RetryAfter: wait}
	if scarce {
		f.Code = harvest.CodeQuota
	}
	return f
}
