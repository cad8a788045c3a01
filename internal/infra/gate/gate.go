package gate

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// StateStore keeps the state of rate keys where every process sees it.
type StateStore interface {
	// UpdateGate reads the state of key (nil if there is none), hands it to f
	// and keeps what f returns, all under one lock on the key. now is the
	// store's clock, read after the lock was had; asked is this process's own
	// clock just before that. Bytes that did not change need not be written. f
	// may be called again if the transaction has to be repeated; only its last
	// call counts.
	UpdateGate(ctx context.Context, key string, f func(s []byte, now, asked time.Time) []byte) error
	// ReadGate reads the state of key as it was kept last, waiting for no lock.
	ReadGate(ctx context.Context, key string) ([]byte, error)
}

// Config of a gate.
type Config struct {
	// Instances is how many processes ask the same upstreams, or may. Only
	// where it is told do they go on, slowly, when the store is lost (R40).
	Instances int
	// Adapt is how rates give way to complaints and failures (R87).
	Adapt pace.Adapt
	// Observe, if set, is told how a rate stands, with every visit to the store. It
	// must be quick.
	Observe func(Standing)
	// Logger is told when the store makes requests wait; none if not given.
	Logger *slog.Logger
}

// Standing is how a rate stands.
type Standing struct {
	Key string
	pace.Standing
	// Lowered: the visit has brought a complaint for which the rate was lowered.
	Lowered bool
}

// Gate hands out permits.
type Gate struct {
	cfg   Config
	store StateStore
	// fallback keeps the state of rates in this process while the store cannot be
	// reached.
	fallback *Local
	// who is the number of this process in the store's queue for seats.
	who int64

	mu   sync.Mutex // guards the maps, not what is in them
	keys map[string]*key
	// cooldowns holds until when each unlimited key is not asked. Those have no state in
	// the store, but this process at least keeps to what it was told.
	cooldowns map[string]time.Time
}

// New returns a gate over store; nil keeps the state in this process alone.
func New(cfg Config, store StateStore) *Gate {
	if store == nil {
		store = NewLocal()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Gate{
		cfg: cfg, store: store, fallback: NewLocal(), who: rand.Int64(),
		keys: map[string]*key{}, cooldowns: map[string]time.Time{},
	}
}

// Acquire waits for a permit of that cost (0 stands for 1) and for a free seat,
// at most maxWait long. The request must be sent at once, under the context
// returned, which ends if the seat is lost. The caller must call release when the
// request is over, with false if no connection was made: only then what it cost is
// given back (R38). A permit that is further away is not taken; the error then is
// a transient [harvest.Fault] whose RetryAfter says how far, with code rate_wait,
// quota_wait if a quota is used up, or quota_kept if what is left of it is not for the
// caller.
func (g *Gate) Acquire(
	ctx context.Context, r source.Rate, cost int, maxWait time.Duration,
) (sending context.Context, release func(sent bool), pass pace.Pass, err error) {
	start := time.Now()
	if !stored(r) {
		err := g.waitOutCooldown(ctx, r, start, maxWait)
		pass.Waited = time.Since(start)
		if err != nil {
			return nil, nil, pass, fmt.Errorf("permit for %s: %w", r.Key, err)
		}
		return ctx, func(bool) {}, pass, nil
	}
	p, err := g.permit(ctx, r, cost, start, maxWait)
	pass = g.key(r.Key).lastPass()
	pass.Waited = time.Since(start)
	if err != nil {
		return nil, nil, pass, fmt.Errorf("permit for %s: %w", r.Key, err)
	}
	var once sync.Once
	release = func(sent bool) {
		once.Do(func() { g.giveBack(ctx, r, p, sent) })
	}
	return p.sending, release, pass, nil
}

// stored reports whether the key has state in the store.
func stored(r source.Rate) bool {
	return r.QPS > 0 || r.Concurrency > 0 || len(r.Quotas) > 0 || r.Budget != nil
}

// waitOutCooldown waits until the cooldown of an unlimited key is over.
func (g *Gate) waitOutCooldown(ctx context.Context, r source.Rate, start time.Time, maxWait time.Duration) error {
	for {
		g.mu.Lock()
		wait := time.Until(g.cooldowns[r.Key])
		g.mu.Unlock()
		if wait <= 0 {
			return context.Cause(ctx)
		}
		if wait > maxWait-time.Since(start) {
			return refuseFor(wait, harvest.CodeRate)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// permit takes a permit and waits for its slot. If the permit has become void by
// then it takes another, as long as maxWait has not passed.
func (g *Gate) permit(ctx context.Context, r source.Rate, cost int, start time.Time, maxWait time.Duration) (*permit, error) {
	k := g.key(r.Key)
	for {
		p, err := g.reserve(ctx, r, k, cost, start, maxWait)
		if err != nil {
			return nil, err
		}
		good, err := g.await(ctx, r, k, p)
		if err == nil && good {
			return p, nil
		}
		g.giveBack(ctx, r, p, false)
		if err != nil {
			return nil, err
		}
		if time.Since(start) > maxWait {
			return nil, refuseFor(time.Second, harvest.CodeRate)
		}
	}
}

// Estimate tells how many requests of that cost may go out within a horizon, by what the
// store knows now. It waits for nobody and takes nothing.
func (g *Gate) Estimate(ctx context.Context, r source.Rate, cost int, horizon time.Duration) (pace.Advice, error) {
	b, err := g.store.ReadGate(ctx, r.Key)
	if err != nil {
		return pace.Advice{}, fmt.Errorf("estimate what %s allows: %w", r.Key, err)
	}
	return pace.Estimate(parseState(b), g.limit(r), cost, time.Now().UTC(), horizon), nil
}

// Report tells the gate what came of a request, and reports whether the rate was lowered
// for it. It does not fail: what the store cannot be told now is told with the next
// permit, before it.
func (g *Gate) Report(ctx context.Context, r source.Rate, o pace.Outcome) (lowered bool) {
	if !stored(r) {
		if o.Kind != pace.Fine && o.RetryAfter > 0 {
			g.mu.Lock()
			defer g.mu.Unlock()
			if until := time.Now().Add(o.RetryAfter); until.After(g.cooldowns[r.Key]) {
				g.cooldowns[r.Key] = until
			}
		}
		return false
	}
	k := g.key(r.Key)
	if !k.noteOutcome(o) {
		return false // the next permit takes it along
	}
	lowered = g.tellStore(ctx, r, k)
	if o.Kind == pace.Throttled || o.RetryAfter > 0 || o.Empty > 0 {
		k.voidAll() // also if the store could not be told
	}
	return lowered
}

// key is what this process knows about a rate key, nothing at first.
func (g *Gate) key(name string) *key {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.keys[name]
	if k == nil {
		k = newKey()
		g.keys[name] = k
	}
	return k
}

// limit is a source's rate in the words of package pace.
func (g *Gate) limit(r source.Rate) pace.Limit {
	return r.PaceLimit(g.cfg.Adapt)
}

// refuseFor is the refusal of a permit whose slot is further away than the caller may
// wait.
func refuseFor(wait time.Duration, code harvest.Code) error {
	return harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: code, RetryAfter: wait}
}

// whyLate is why a slot is as late as it is.
func whyLate(slot pace.Slot) harvest.Code {
	switch {
	case slot.KeptBack:
		return harvest.CodeQuotaKept
	case slot.Scarce:
		return harvest.CodeQuota
	}
	return harvest.CodeRate
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
