// Package telemetry is how patra tells what it does.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
)

// Redacting returns a log handler that passes lines on to next without what
// redact takes out of them: the net below those who should not have logged a
// secret in the first place (R48).
func Redacting(next slog.Handler, redact *Redactor) slog.Handler {
	return &redacting{next: next, redact: redact}
}

type redacting struct {
	next   slog.Handler
	redact *Redactor
}

// Enabled implements slog.Handler.
func (h *redacting) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h *redacting) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.redact.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h *redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = h.attr(a)
	}
	return &redacting{next: h.next.WithAttrs(out), redact: h.redact}
}

// WithGroup implements slog.Handler.
func (h *redacting) WithGroup(name string) slog.Handler {
	return &redacting{next: h.next.WithGroup(name), redact: h.redact}
}

func (h *redacting) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.redact.Text(v.String()))
	case slog.KindGroup:
		group := v.Group()
		out := make([]slog.Attr, len(group))
		for i, g := range group {
			out[i] = h.attr(g)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(out...)}
	case slog.KindAny:
		// What it prints as is known only when it is printed.
		text := fmt.Sprintf("%+v", v.Any())
		if clean := h.redact.Text(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
