package node

import (
	"context"

	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/metrics"
	"github.com/papertrace/patra/internal/infra/upstream"
)

// Metrics is what the node counts, in the text format of Prometheus.
func (n *Node) Metrics(ctx context.Context) ([]byte, error) { return n.book.Text(ctx) }

// exchanges counts the requests of an upstream.
func exchanges(b *metrics.Book) func(upstream.Exchange) {
	return func(e upstream.Exchange) {
		b.Requested(metrics.Request{Of: e.Of, RateKey: e.RateKey, Status: e.Status, Seconds: e.Took.Seconds()})
	}
}

// standings takes in how the rates of a gate stand.
func standings(b *metrics.Book) func(gate.Standing) {
	return func(s gate.Standing) {
		b.Rated(s.Key, metrics.Rate{PerSecond: s.PerSecond, Left: s.Left, Lowered: s.Lowered})
	}
}
