package telemetry

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/trace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	api "go.opentelemetry.io/otel/trace"
)

// span is one that is sent.
type span struct {
	of   *tracer
	ctx  context.Context // for those beneath it
	otel api.Span

	mu        sync.Mutex
	inherited []attribute.KeyValue // guarded by mu; what those beneath it bear too
}

// inherits says which keys the spans beneath a span bear too.
var inherits = func() map[attribute.Key]bool {
	all := map[attribute.Key]bool{}
	for _, key := range trace.Inherited() {
		all[attribute.Key(key)] = true
	}
	return all
}()

// Text implements trace.Span.
func (s *span) Text(key, value string) {
	if value != "" {
		s.say(attribute.String(key, s.of.redact.Text(value)))
	}
}

// Number implements trace.Span.
func (s *span) Number(key string, n int64) { s.say(attribute.Int64(key, n)) }

func (s *span) say(a attribute.KeyValue) {
	s.otel.SetAttributes(a)
	if !inherits[a.Key] {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inherited = slices.DeleteFunc(s.inherited, func(b attribute.KeyValue) bool { return b.Key == a.Key })
	s.inherited = append(s.inherited, a)
}

func (s *span) handDown() []attribute.KeyValue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.inherited)
}

// Fail implements trace.Span. A span bears the code of what went wrong and no text:
// what an upstream said may hold anything. The text stands in the log, on the lines
// with the same correlation id.
func (s *span) Fail(err error) {
	if err == nil {
		return
	}
	code := harvest.Code("error")
	f, isFault := harvest.FaultOf(err)
	switch {
	case isFault:
		code = f.Code
		s.Text(trace.Level, string(f.Level))
	case errors.Is(err, context.Canceled):
		code = harvest.CodeCancelled
	case errors.Is(err, harvest.ErrLeaseLost):
		code = "lease_lost"
	case errors.Is(err, harvest.ErrHeld):
		code = harvest.CodeHeld
	}
	s.Text(trace.Cause, string(code))
	s.otel.SetStatus(codes.Error, string(code))
}

// Child implements trace.Span.
func (s *span) Child(name string) trace.Span {
	return s.of.begin(context.WithValue(s.ctx, within{}, s), name)
}

// End implements trace.Span.
func (s *span) End() { s.otel.End() }
