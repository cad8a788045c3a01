package telemetry

import (
	"log/slog"
	"testing"

	"github.com/papertrace/patra/internal/domain/trace"
)

// TestTraces_AreOffUnlessACollectorIsNamed by the variables of OpenTelemetry.
func TestTraces_AreOffUnlessACollectorIsNamed(t *testing.T) {
	const all, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, c := range []struct {
		env map[string]string
		on  bool
	}{
		{map[string]string{}, false},
		{map[string]string{"OTEL_SERVICE_NAME": "mine"}, false},
		{map[string]string{all: "http://localhost:4318"}, true},
		{map[string]string{traces: "http://localhost:4318/v1/traces"}, true},
		{map[string]string{all: "http://localhost:4318", "OTEL_SDK_DISABLED": "TRUE"}, false},
		{map[string]string{all: "http://localhost:4318", "OTEL_SDK_DISABLED": "false"}, true},
		{map[string]string{all: "http://localhost:4318", "OTEL_TRACES_EXPORTER": "none"}, false},
	} {
		spans := OpenSpans(FromEnvironment(func(name string) string { return c.env[name] }), "1", nil, slog.New(slog.DiscardHandler))
		if on := spans.Tracer != trace.Off; on != c.on {
			t.Errorf("%v: on %v", c.env, on)
		}
		spans.Flush()
	}
}

// TestTraces_APlaceThatCannotBeReadIsNone: whatever a caller sends for a traceparent.
func TestTraces_APlaceThatCannotBeReadIsNone(t *testing.T) {
	spans := OpenSpans(Collector{URL: "http://127.0.0.1:9/v1/traces"}, "1", nil, slog.New(slog.DiscardHandler))
	defer spans.Flush()
	for _, place := range []string{"", "junk", "00-0-0-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"} {
		if ctx := spans.Within(t.Context(), place, "part"); spans.Place(ctx) != "" {
			t.Errorf("%q is taken for %s", place, spans.Place(ctx))
		}
	}
}
