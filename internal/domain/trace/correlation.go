package trace

import "context"

type correlationKey struct{}

// WithCorrelation returns a context for work on what a correlation id names, so that
// whoever does something about it can say in the log what it was done for.
func WithCorrelation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey{}, id)
}

// CorrelationOf is the correlation id of what a context is for, empty if it has none.
func CorrelationOf(ctx context.Context) string {
	id, _ := ctx.Value(correlationKey{}).(string)
	return id
}
