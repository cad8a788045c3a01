package control

import (
	"context"

	"github.com/papertrace/patra/internal/domain/source"
)

// CompactStore packs anew what it holds.
type CompactStore interface {
	// Packing tells how many bodies there are by the way they are packed.
	Packing(ctx context.Context) ([]Packing, error)
	// BeginCompact makes what bodies are to be packed with, and tells how far an earlier
	// compacting came.
	BeginCompact(ctx context.Context, a source.Audit) (Compacted, error)
	// CompactSome packs the next few bodies anew, in one transaction. Whoever does the same
	// beside it takes others.
	CompactSome(ctx context.Context) (Compacted, error)
	// EndCompact leaves the line of the audit that says what came of it.
	EndCompact(ctx context.Context, a source.Audit, c Compacted) error
}

// Packing is how many bodies are packed in one way, and how many bytes they take.
type Packing struct {
	Codec  string `json:"codec"`
	Bodies int64  `json:"bodies"`
	Bytes  int64  `json:"bytes"`
	// Again: they would be packed anew.
	Again bool `json:"again"`
}

// CompactPreview is what compacting would look at.
type CompactPreview struct {
	Packing []Packing `json:"packing"`
}

// Compacted is what compacting has come to: the bodies up to which version were looked at,
// of which last one, how many were packed anew and how many bytes these had and have.
type Compacted struct {
	After  int64 `json:"after"`
	Of     int64 `json:"of"`
	Bodies int64 `json:"bodies"`
	Packed int64 `json:"packed"`
	Before int64 `json:"bytes_before"`
	Now    int64 `json:"bytes_now"`
	// Unreadable are bodies that were left as they are; `patra verify --deep` names them.
	Unreadable int64 `json:"unreadable"`
	Done       bool  `json:"done"`
}

func (c *Compacted) add(some Compacted) {
	c.After = some.After
	c.Of = some.Of
	c.Bodies += some.Bodies
	c.Packed += some.Packed
	c.Before += some.Before
	c.Now += some.Now
	c.Unreadable += some.Unreadable
	c.Done = some.Done
}

// PreviewCompact tells how bodies are packed.
func (c *Control) PreviewCompact(ctx context.Context) (CompactPreview, error) {
	list, err := c.store.Packing(ctx)
	return CompactPreview{Packing: list}, err
}

// Compact packs bodies anew that can be smaller, a few in a transaction, until all that were
// there when it began are looked at. However it ends, every body can be read, and the next
// one goes on where it ended. progress is told after each transaction.
func (c *Control) Compact(ctx context.Context, by By, progress func(Compacted)) (Compacted, error) {
	line := by.line("COMPACT", "bodies")
	out, err := c.store.BeginCompact(ctx, line)
	if err != nil {
		return out, err
	}
	for !out.Done {
		some, err := c.store.CompactSome(ctx)
		if err != nil {
			return out, err
		}
		out.add(some)
		progress(out)
	}
	return out, c.store.EndCompact(ctx, line, out)
}
