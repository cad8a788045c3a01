package upstream

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
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

// DecodersFrom finds decoders by a function that returns those of one type.
func DecodersFrom[D Decoder](find func(*source.Spec, source.Purpose) (D, error)) Decoders {
	return found[D](find)
}

// RedactorsFrom makes redactors by a function that returns those of one type.
func RedactorsFrom[R Redactor](knowing func(...credential.Secret) R) func(...credential.Secret) Redactor {
	return func(secrets ...credential.Secret) Redactor { return knowing(secrets...) }
}

type found[D Decoder] func(*source.Spec, source.Purpose) (D, error)

// For implements [Decoders].
func (find found[D]) For(spec *source.Spec, p source.Purpose) (Decoder, error) {
	dec, err := find(spec, p)
	if err != nil {
		return nil, err
	}
	return dec, nil
}

// Gate hands out permits. An error of Acquire that wraps a [harvest.Fault] is
// handed on; no request was sent. A permit costs that many units, 0 standing for
// 1; they are given back by release(false), which says that no connection was
// made (R38).
type Gate interface {
	// Acquire waits for a permit. The request is to be sent at once, under the
	// context returned.
	Acquire(
		ctx context.Context, r source.Rate, cost int, maxWait time.Duration,
	) (sending context.Context, release func(sent bool), pass pace.Pass, err error)
	// Report tells what came of a request, and whether the rate was lowered for it.
	Report(ctx context.Context, r source.Rate, o pace.Outcome) (lowered bool)
	// Estimate tells how many requests of that cost may go out within a horizon.
	Estimate(ctx context.Context, r source.Rate, cost int, horizon time.Duration) (pace.Advice, error)
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
	// Exchanged, if set, is told of every request that went out. It must be quick.
	Exchanged func(Exchange)
	// Repeats, if set, is told of every question that is asked again. It must be quick.
	Repeats func(harvest.Partition)
	// Trace, if set, is told of permits, requests and replies while they go on.
	Trace trace.Tracer
	// Outages, if set, is told what is to be remembered of a source besides: requests
	// that were not answered, and the first one after them that was. What was mended
	// at once by asking again is not told. No question waits long for it.
	Outages Outages
	// Redactor is told every secret in use and keeps them out of errors. Who gives
	// Credentials gives it, and Knowing too.
	Redactor Redactor
	// Knowing makes a redactor that knows these secrets and no others: a reply is
	// searched for those of its own request only.
	Knowing func(secrets ...credential.Secret) Redactor
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

// Exchange is one request and what came of it.
type Exchange struct {
	// Of names the endpoint that was asked.
	Of harvest.Partition
	// RateKey is the bucket that it was counted in.
	RateKey string
	// Status of the reply, 0 if there was none.
	Status int
	Took   time.Duration
}

func (c Config) withDefaults() Config {
	c.MaxWait = cmp.Or(c.MaxWait, 20*time.Second)
	if c.Credentials == nil && c.Redactor == nil {
		c.Redactor = noSecrets{}
		c.Knowing = func(...credential.Secret) Redactor { return noSecrets{} }
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Trace == nil {
		c.Trace = trace.Off
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
	compiled compiledSpecs
	tokens   tokens
	routes   transports
	bodies   budget
	// read holds the sources of which this client has read a page.
	read sync.Map
	// failing holds the partitions whose last request was told not to be answered.
	failing sync.Map
	notes   outageNotes
}

// New returns a client that passes gate before every request and reads replies
// with dec. It panics if it is given credentials and nothing that keeps them out of
// what it hands back.
func New(cfg Config, gate Gate, dec Decoders) *Client {
	cfg = cfg.withDefaults()
	if cfg.Redactor == nil || cfg.Knowing == nil {
		panic("upstream: a client with credentials needs a redactor and a way to make more")
	}
	return &Client{
		cfg: cfg, gate: gate, decoders: dec, hooks: shipped, routes: transports{fixed: cfg.Transport, wrap: cfg.Wrap},
		notes: outageNotes{log: cfg.Logger},
	}
}

// Close lets go of idle connections, and returns when all notes about outages are written.
func (c *Client) Close() {
	c.routes.close()
	c.notes.wait()
}

func (c *Client) observe(t Try) {
	if c.cfg.Observe != nil {
		c.cfg.Observe(t)
	}
}
