package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/trace"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// Collector says where spans are sent. The zero value says nowhere.
type Collector struct {
	// URL to post spans to, in place of what the environment says.
	URL string
	// Transport replaces the network, in tests.
	Transport http.RoundTripper
	on        bool
}

// FromEnvironment reads from the variables of OpenTelemetry whether spans are
// to be sent: they are if an address is given and nothing says that they are not. The
// other variables (service name, sampler, headers, timeouts, queue) are read by the
// library itself.
func FromEnvironment(getenv func(string) string) Collector {
	off := strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none")
	address := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	return Collector{on: address != "" && !off}
}

// flushWithin is how long the end of a process waits for the last spans to be taken.
const flushWithin = 5 * time.Second

// tracer sends spans to a collector, by OTLP over HTTP. They are put in a queue from
// which a goroutine of its own sends them; if the collector is slow or away the queue
// overflows and spans are lost, and nothing else happens.
type tracer struct {
	otel   api.Tracer
	redact *Redactor
}

// Spans is a tracer, and how its last spans are sent.
type Spans struct {
	trace.Tracer
	flush func()
}

// Flush sends what was not sent yet, for a short while, and ends the sending.
func (s Spans) Flush() {
	if s.flush != nil {
		s.flush()
	}
}

// OpenSpans begins to send spans, if they are to be sent; without a collector they go
// nowhere. What the collector refuses is logged, once a minute at most.
func OpenSpans(c Collector, version string, redact *Redactor, log *slog.Logger) Spans {
	if c.URL == "" && !c.on {
		return Spans{Tracer: trace.Off}
	}
	log = log.With("component", "traces")
	if p := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), httpProtobuf); p != httpProtobuf {
		log.Warn("traces are sent by "+httpProtobuf+", whatever the environment says", "asked_for", p)
	}
	otel.SetErrorHandler(&complaints{log: log})
	var options []otlptracehttp.Option
	if c.URL != "" {
		options = append(options, otlptracehttp.WithEndpointURL(c.URL))
	}
	if c.Transport != nil {
		options = append(options, otlptracehttp.WithHTTPClient(&http.Client{Transport: c.Transport}))
	}
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		log.Error("no traces are sent", "err", err)
		return Spans{Tracer: trace.Off}
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(describe(version)), sdk.WithIDGenerator(ids{}))
	t := &tracer{otel: provider.Tracer("github.com/papertrace/patra"), redact: redact}
	return Spans{t, func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("the last traces were not sent", "err", err)
		}
	}}
}

const httpProtobuf = "http/protobuf"

// describe is what spans say of the process that sends them. The environment has the
// last word.
func describe(version string) *resource.Resource {
	ours := resource.NewSchemaless(attribute.String("service.name", "patra"), attribute.String("service.version", version))
	all, err := resource.Merge(ours, resource.Environment())
	if err != nil {
		return ours
	}
	return all
}

// complaints logs what goes wrong with sending spans, once a minute at most: a collector
// that is away is away for every batch.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.last) < time.Minute {
		return
	}
	c.last = time.Now()
	c.log.Warn("traces are lost: the collector does not take them", "err", err)
}

// Begin implements trace.Tracer.
func (t *tracer) Begin(ctx context.Context, name string) (context.Context, trace.Span) {
	if beginsTree := name == trace.PlannerTrigger || name == trace.Run; !beginsTree && !api.SpanContextFromContext(ctx).IsValid() {
		return ctx, trace.None
	}
	s := t.begin(ctx, name)
	return context.WithValue(s.ctx, within{}, s), s
}

func (t *tracer) begin(ctx context.Context, name string) *span {
	s := &span{of: t}
	if parent, is := ctx.Value(within{}).(*span); is {
		s.inherited = parent.handDown()
	}
	kind := api.SpanKindInternal
	if name == trace.HTTPCall {
		kind = api.SpanKindClient
	}
	s.ctx, s.otel = t.otel.Start(ctx, name, api.WithAttributes(s.inherited...), api.WithSpanKind(kind))
	return s
}

// BeginPart implements trace.Tracer.
func (t *tracer) BeginPart(ctx context.Context, name, part string) trace.Span {
	s := t.begin(context.WithValue(ctx, partOf{}, part), name)
	s.ctx = context.WithValue(s.ctx, partOf{}, nil) // those beneath it have ids of their own
	return s
}

// Place implements trace.Tracer.
func (t *tracer) Place(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Within implements trace.Tracer.
func (t *tracer) Within(ctx context.Context, place, part string) context.Context {
	carrier := propagation.MapCarrier{"traceparent": place}
	at := api.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	if !at.IsValid() {
		return ctx
	}
	if part != "" {
		at = at.WithSpanID(idOfPart(at.TraceID(), part))
	}
	return api.ContextWithRemoteSpanContext(ctx, at)
}

// within is the key of the span of a context, partOf that of the part that a span which
// is about to begin has in its tree.
type (
	within struct{}
	partOf struct{}
)

// idOfPart is the id of the span that has a part in a tree: whoever knows both knows it.
func idOfPart(tree api.TraceID, part string) (id api.SpanID) {
	sum := sha256.Sum256(append(tree[:], part...))
	copy(id[:], sum[:])
	return id
}

// ids makes the ids of trees and spans: by chance, but for a span that has a part.
type ids struct{}

// NewIDs implements sdk.IDGenerator.
func (ids) NewIDs(ctx context.Context) (tree api.TraceID, id api.SpanID) {
	_, _ = rand.Read(tree[:]) // it never fails
	return tree, ids{}.NewSpanID(ctx, tree)
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(ctx context.Context, tree api.TraceID) (id api.SpanID) {
	if part, is := ctx.Value(partOf{}).(string); is {
		return idOfPart(tree, part)
	}
	_, _ = rand.Read(id[:])
	return id
}
