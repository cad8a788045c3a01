package relay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Tries is how often a message is refused before it is parked.
const Tries = 10

const (
	// firstRest and longestRest bound how long a message, or a target, is left alone
	// after it failed.
	firstRest   = time.Second
	longestRest = 5 * time.Minute
	// probed is how many messages a target is tried with that was out.
	probed = 8
)

// Config of a relay.
type Config struct {
	// Owner names this process among those that relay.
	Owner string
	// Gone reports whether an owner is a process that has ended for certain; may be nil.
	Gone func(owner string) bool
	// TTL is how long a target stays with a relay that says nothing.
	TTL time.Duration
	// Poll is how often it is looked whether there is something to send.
	Poll time.Duration
	// Redact, if set, takes secrets and addresses of people out of what targets say.
	Redact func(string) string
	// Observe, if set, is told what became of messages.
	Observe func(kind string, what Word, messages int)
}

// Word is what became of messages.
type Word string

// What becomes of messages.
const (
	Sent    Word = "sent"
	Refused Word = "refused"
	Parked  Word = "parked"
	// TargetOut: a target took nothing; it counts tries, not messages.
	TargetOut Word = "target_out"
)

func (c Config) withDefaults() Config {
	c.TTL = cmp.Or(c.TTL, time.Minute)
	c.Poll = cmp.Or(c.Poll, 500*time.Millisecond)
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	if c.Observe == nil {
		c.Observe = func(string, Word, int) {}
	}
	return c
}

// Relay sends to the targets of an instance.
type Relay struct {
	cfg     Config
	store   Store
	targets []Target
	log     *slog.Logger
}

// New makes a relay.
func New(cfg Config, s Store, targets []Target, log *slog.Logger) *Relay {
	return &Relay{cfg: cfg.withDefaults(), store: s, targets: targets, log: log.With("component", "relay")}
}

// Register has the targets kept: what is stored from now on is sent to them, also if no
// relay runs yet.
func (r *Relay) Register(ctx context.Context) error {
	for _, t := range r.targets {
		isNew, err := r.store.EnsureTarget(ctx, t.Name(), t.Kind())
		if err != nil {
			return err
		}
		if isNew {
			r.log.InfoContext(ctx, "a target of events was added", "target", t.Name(), "kind", t.Kind())
		}
	}
	return nil
}

// Run sends to all targets until ctx ends. What is on its way then is dealt with.
func (r *Relay) Run(ctx context.Context) error {
	if err := r.Register(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(r.targets))
	var all sync.WaitGroup
	for i, t := range r.targets {
		all.Go(func() {
			errs[i] = r.serve(ctx, t)
			if errs[i] != nil {
				stop() // the role is begun again as a whole
			}
		})
	}
	all.Wait()
	if len(r.targets) == 0 {
		<-ctx.Done()
	}
	return errors.Join(errs...)
}

// Drain sends what there is, until nothing is left that could be sent now.
func (r *Relay) Drain(ctx context.Context) error {
	if err := r.Register(ctx); err != nil {
		return err
	}
	var errs []error
	for _, t := range r.targets {
		at := time.Now()
		l, mine, err := r.store.ClaimTarget(ctx, r.claim(t))
		if err == nil && mine {
			err = r.work(ctx, l, t, at, true)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (r *Relay) claim(t Target) Claim {
	return Claim{Target: t.Name(), Owner: r.cfg.Owner, TTL: r.cfg.TTL, Gone: r.cfg.Gone}
}

// serve takes the lease on a target whenever it can be had, and works under it.
func (r *Relay) serve(ctx context.Context, t Target) error {
	for ctx.Err() == nil {
		at := time.Now()
		l, mine, err := r.store.ClaimTarget(ctx, r.claim(t))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !errors.Is(err, harvest.ErrUnknownOutcome):
			return err
		case err == nil && mine:
			err = r.work(ctx, l, t, at, false)
			if err != nil {
				return err
			}
		}
		wait(ctx, r.cfg.Poll)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// work sends under a lease that was asked for at an instant, until ctx ends, the
// lease is lost or the target is out; once: also when nothing is left. It leaves the
// lease behind it, so that others need not wait for it to run out.
func (r *Relay) work(ctx context.Context, l Lease, t Target, asked time.Time, once bool) (err error) {
	w := &session{Relay: r, target: t, lease: l, renewed: asked}
	defer func() {
		if cerr := t.Close(); cerr != nil {
			r.log.WarnContext(ctx, "a target of events did not end well", "target", t.Name(), "err", r.said(cerr.Error()))
		}
	}()
	for {
		more, err := w.round(ctx)
		switch {
		case errors.Is(err, harvest.ErrLeaseLost):
			r.log.InfoContext(ctx, "another relay has taken a target over", "target", t.Name())
			return nil
		case err != nil:
			return err
		case w.left:
			return nil
		case ctx.Err() != nil || once && !more:
			return w.leave(ctx)
		case !more:
			wait(ctx, r.cfg.Poll)
		}
	}
}
