package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// Decoder reads replies of one endpoint. An error that says Schema() true means
// a well-formed reply of another shape, one that says Refused() true a reply
// that breaks a limit, one that says Unreadable() true a reply of a kind that
// cannot be read however often it comes; any other error means a broken reply.
// Signals found before the error are in the page returned with it. It ends with
// its context.
type Decoder interface {
	PageContext(ctx context.Context, body []byte) (*harvest.Page, error)
}

// Decoders finds the decoder of an endpoint.
type Decoders interface {
	For(spec *source.Spec, p source.Purpose) (Decoder, error)
}

// Gate hands out permits. An error of Acquire that wraps a [harvest.Fault] is
// handed on; no request was sent. A permit costs that many units, 0 standing for
// 1; they are given back by release(false), which says that no connection was
// made (R38).
type Gate interface {
	// Acquire waits for a permit. The request is to be sent at once, under the
	// context returned.
	Acquire(ctx context.Context, r source.Rate, cost int, maxWait time.Duration) (sending context.Context, release func(sent bool), waited time.Duration, err error)
	Report(ctx context.Context, r source.Rate, o pace.Outcome)
}

// Config of a client.
type Config struct {
	// Version of patra, told to every source.
	Version string
	// MaxWait is the longest wait, for a permit or before a repetition, that
	// is sat out here; longer ones are handed back as RetryAfter. Default 20 s.
	MaxWait time.Duration
	// Transport replaces the network, in tests.
	Transport http.RoundTripper
	// Wrap, if set, is put around every way to the network, to look on.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Credentials hands out keys; nil: everything is asked without.
	Credentials Credentials
	// Resting, if set, tells until when an operation of a source is to be left
	// alone, if it is: nothing is sent then. If asked to answer at once it must
	// not go to the store for it.
	Resting func(ctx context.Context, code string, op harvest.Operation, atOnce bool) (harvest.Rest, bool)
	// Known, if set, tells whether anything of a source was ever read and stored.
	// Beside it counts what this client has read.
	Known func(ctx context.Context, code string) (bool, error)
	// Observe, if set, is told how a question to a source fares while it is
	// asked: each try that failed and is made again, and with no code the end
	// of it. It must be quick.
	Observe func(Try)
	// Redactor is told every secret in use and keeps them out of errors; a reply
	// is searched for the secrets of its own request only.
	Redactor *credential.Redactor
	// Rand gives numbers in [0, 1) for jitter.
	Rand   func() float64
	Logger *slog.Logger
}

// Try is one try at a question that has to be asked again.
type Try struct {
	Source string
	No, Of int
	Code   harvest.Code // why; empty: no more tries are made
	Until  time.Time
}

func (c Config) withDefaults() Config {
	c.MaxWait = cmp.Or(c.MaxWait, 20*time.Second)
	if c.Redactor == nil {
		c.Redactor = new(credential.Redactor)
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("component", "upstream")
	return c
}

// Client asks sources. It is safe for concurrent use.
type Client struct {
	cfg      Config
	gate     Gate
	decoders Decoders
	hooks    hooks
	plans    plans
	tokens   tokens
	routes   transports
	bodies   budget
	// read holds the sources of which this client has read a page.
	read sync.Map
}

// New returns a client that passes gate before every request and reads replies
// with dec.
func New(cfg Config, gate Gate, dec Decoders) *Client {
	return &Client{cfg: cfg.withDefaults(), gate: gate, decoders: dec, hooks: shipped, routes: transports{fixed: cfg.Transport, wrap: cfg.Wrap}}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.routes.close() }

// Ask puts one question to a source, repeating it as the source's retry rules
// and the fault allow. The error always wraps a [harvest.Fault]; the answer then
// still tells request and traffic.
//
// In the middle of a stateful walk nothing is repeated: the page may have been
// used up, so every fault there asks for a new walk, or a new cut (R22, R63).
// The exceptions are a permit not given, since then nothing was sent, and a key
// refused, since then nothing was served.
func (c *Client) Ask(ctx context.Context, spec *source.Spec, call source.Call) (source.Answer, error) {
	var a source.Answer
	fail := func(f harvest.Fault, err error) (source.Answer, error) {
		if err == nil {
			return a, fmt.Errorf("ask %s for %s: %w", spec.Source, call.Purpose, f)
		}
		if own, ok := harvest.FaultOf(err); ok && own == f {
			return a, fmt.Errorf("ask %s for %s: %w", spec.Source, call.Purpose, err)
		}
		return a, fmt.Errorf("ask %s for %s: %w: %w", spec.Source, call.Purpose, f, err)
	}
	broken := func(code harvest.Code, err error) (source.Answer, error) {
		return fail(harvest.Fault{Level: harvest.Rejected, Reaction: harvest.GiveUp, Code: code}, scrub(err, c.cfg.Redactor))
	}

	p, err := c.plans.get(spec)
	if err != nil {
		return broken(harvest.CodeBadSpec, err)
	}
	m, err := c.render(p, call)
	if err != nil {
		if errors.Is(err, errHostile) {
			return broken(harvest.CodeHostile, err)
		}
		return broken(harvest.CodeBadRequest, err)
	}
	dec, err := c.decoders.For(spec, call.Purpose)
	if err != nil {
		return broken(harvest.CodeBadSpec, err)
	}
	dec, err = c.hooks.before(dec, spec.Endpoint(call.Purpose), cmp.Or(spec.HTTP.MaxBody, defaultMaxBody))
	if err != nil {
		return fail(hookFailed(), err)
	}
	a.Request, a.RequestSHA256 = m.String(), m.digest()

	backoff := pace.Backoff{Base: spec.Retry.Base.D(), Max: spec.Retry.Max.D()}
	attempts := cmp.Or(spec.Retry.Attempts, 5)
	once := false
	var tried []int64    // keys that were refused, or have to wait
	var waiting *trouble // of the key that has to wait the least
	var failed *trouble  // of the last try that was sent
	own := &secrets{shared: c.cfg.Redactor}
	again := false
	defer func() {
		if again {
			c.observe(Try{Source: spec.Source})
		}
	}()
	for n := 1; ; n++ {
		key, err := c.pick(ctx, spec, call, m, tried, own)
		if waiting != nil && (err != nil || key == nil) {
			return fail(waiting.Fault, waiting.cause)
		}
		if err != nil {
			f, _ := harvest.FaultOf(err)
			return fail(f, err)
		}
		room := &room{of: &c.bodies}
		t := c.admit(ctx, &attempt{room: room, plan: p, call: call, message: m, decoder: dec, answer: &a, key: key, secrets: own})
		c.settle(ctx, key, a, t)
		if t == nil && call.Held {
			a.Done = room.free
			return a, nil
		}
		room.free()
		if t == nil {
			return a, nil
		}
		if key != nil && t.Code == harvest.CodeAuthRefused {
			// The next key at once; if there is none, nor a way without, pick
			// says so. A refusal used nothing up, also in the middle of a walk.
			c.cfg.Logger.DebugContext(ctx, "key refused", "source", spec.Source, "credential", key.Credential.Name, "status", t.Status)
			tried = append(tried, key.Credential.ID)
			a.Traffic.Retried++
			n--
			continue
		}
		if key != nil && t.unsent && t.RetryAfter > 0 && keyLimits(spec) {
			// Where each key has limits of its own, another may be free.
			if waiting == nil || t.RetryAfter < waiting.RetryAfter {
				waiting = t
			}
			tried = append(tried, key.Credential.ID)
			n--
			continue
		}
		if t.Code == harvest.CodeRate && failed != nil && !failed.Throttled() {
			// The gate has no permit for a repetition soon. What is wrong is not
			// the wait but what the upstream said before it.
			failed.RetryAfter = max(failed.RetryAfter, t.RetryAfter)
			return fail(failed.Fault, failed.cause)
		}
		if !t.unsent {
			failed = t
		}
		f := t.Fault
		if t.Once && once {
			f = t.Again()
		}
		once = once || t.Once
		if midWalk(spec, call) && !t.unsent && !t.aside && f.Reaction != harvest.CutSlice {
			f.Reaction = harvest.RestartWalk
		}
		wait := backoff.Wait(n, f.RetryAfter, c.cfg.Rand)
		c.cfg.Logger.DebugContext(ctx, "request failed", "source", spec.Source, "attempt", n, "fault", f.Code, "status", f.Status, "wait", wait)
		if f.Reaction != harvest.Retry || t.unsent || n >= attempts || ctx.Err() != nil {
			return fail(f, t.cause)
		}
		if wait > c.cfg.MaxWait {
			f.RetryAfter = wait
			return fail(f, t.cause)
		}
		again = true
		c.observe(Try{Source: spec.Source, No: n, Of: attempts, Code: f.Code, Until: time.Now().Add(wait)})
		if !sleep(ctx, wait) {
			return fail(cancelled(), context.Cause(ctx))
		}
		a.Traffic.Retried++
	}
}

func (c *Client) observe(t Try) {
	if c.cfg.Observe != nil {
		c.cfg.Observe(t)
	}
}

// keyLimits reports whether each key of a source has limits of its own.
func keyLimits(spec *source.Spec) bool { return spec.Allowed(true).Scope == source.RatePerKey }

// midWalk reports whether the call goes on with a walk whose position the
// server holds.
func midWalk(spec *source.Spec, call source.Call) bool {
	return call.Purpose == source.ForSearch && spec.Paging.ServerHolds(call.Position)
}

func cancelled() harvest.Fault {
	return harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeCancelled}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
