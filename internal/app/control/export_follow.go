package control

import (
	"context"
	"io"
	"slices"
	"time"
)

// followed is how many revisions are read at once, and followEvery how long is waited
// where there are none.
const (
	followed    = 500
	followEvery = time.Second
)

// Follow writes what is stored and changed as it comes, one line of JSON a revision,
// in the order of the feed behind a place, until the context ends. It returns the
// place to go on from. After each part flush is called: what it has seen to be kept
// need not be read again.
func (c *Control) Follow(ctx context.Context, o ExportOrder, after int64, w io.Writer, flush func() error) (int64, error) {
	x, err := c.Export(ctx, o)
	if err != nil {
		return after, err
	}
	for {
		list, err := c.Changes(ctx, after, followed)
		if err != nil {
			return after, err
		}
		for _, change := range list.Changes {
			if err := x.writeChange(w, change); err != nil {
				return after, err
			}
		}
		if len(list.Changes) > 0 {
			if err := flush(); err != nil {
				return after, err
			}
		}
		after = list.Next
		if list.More {
			continue
		}
		select {
		case <-ctx.Done():
			return after, ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// writeChange writes a revision that was asked for.
func (x *Exporting) writeChange(w io.Writer, change Change) error {
	o := x.order
	isOf := func(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }
	if !isOf(o.Sources, change.Source) || !isOf(x.manifest.Selected.Statuses, change.Status) || o.Plan != 0 && int64(o.Plan) != change.Provenance.Plan {
		return nil
	}
	fields, err := x.onlyFields(change.Fields)
	if err != nil {
		return err
	}
	change.Fields = fields
	b, err := marshalPlain(change)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
