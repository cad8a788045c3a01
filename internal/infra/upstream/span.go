package upstream

import (
	"context"
	"net/http"
	"strconv"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/trace"
)

// beginCallSpan begins the span of a request. It names the host that is asked and
// nothing else of the address: paths hold ids, and queries whatever was put in them.
// The upstream is told nothing of it: where it stands in our tree is not its business.
func (c *Client) beginCallSpan(ctx context.Context, a *attempt, req *http.Request) (context.Context, trace.Span) {
	ctx, span := c.cfg.Trace.Begin(ctx, trace.HTTPCall)
	if span == trace.None {
		return ctx, span
	}
	span.Text(trace.Source, a.spec.Source)
	span.Text(trace.Endpoint, asked(a.spec, a.call).Endpoint)
	span.Text(trace.Purpose, string(a.call.Purpose))
	span.Text(trace.Correlation, a.call.Correlation)
	span.Text(trace.Method, req.Method)
	span.Text(trace.Server, req.URL.Hostname())
	return ctx, span
}

// endCallSpan ends it by what came.
func (a *attempt) endCallSpan(ctx context.Context, span trace.Span, got received, err error) {
	if span == trace.None {
		return
	}
	if got.status != 0 {
		span.Number(trace.Status, int64(got.status))
		span.Number(trace.BodyBytes, int64(len(got.body)))
	}
	switch {
	case err != nil:
		span.Fail(a.explainLoss(ctx, got, err).Fault)
	case got.status >= http.StatusBadRequest:
		span.Fail(harvest.Fault{Code: harvest.Code(strconv.Itoa(got.status))})
	}
	span.End()
}
