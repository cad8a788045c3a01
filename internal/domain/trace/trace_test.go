package trace_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/trace"
)

// TestOff_CostsNothing: where nobody listens, telling of a page takes no memory.
func TestOff_CostsNothing(t *testing.T) {
	ctx := t.Context()
	id := int64(1 << 40)
	page := func() {
		ctx, span := trace.Off.Begin(ctx, trace.Batch)
		span.Number(trace.BatchID, id)
		span.Text(trace.Source, "pubmed")
		_, call := trace.Off.Begin(ctx, trace.HTTPCall)
		call.Fail(nil)
		call.End()
		span.Child(trace.Commit).End()
		span.End()
	}
	if n := testing.AllocsPerRun(100, page); n != 0 {
		t.Errorf("%v allocations a page", n)
	}
}
