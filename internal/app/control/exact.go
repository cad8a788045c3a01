package control

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Truth is what an upstream that knows says about one record.
type Truth struct {
	ID        string
	UpdatedAt time.Time
	RawSHA256 string
	Deleted   bool
	Undated   bool // the update time is in no record, and what is stored has none
}

// Difference is a record that is not as the upstream has it.
type Difference struct {
	ID     string
	Detail string
}

// Compared is the outcome of holding a store against the truth.
type Compared struct {
	// Records is how many were compared, Newer how many lie past the
	// watermark and are not due yet.
	Records, Newer int
	Differences    []Difference
}

// Exact reports that there was something to compare and nothing differed.
func (c Compared) Exact() bool { return c.Records > 0 && len(c.Differences) == 0 }

// Compare is [Compare] with the records that are kept here.
func (c *Control) Compare(ctx context.Context, code string, truth iter.Seq[Truth], watermark time.Time) (Compared, error) {
	return Compare(ctx, c.store, code, truth, watermark)
}

// Compare holds the records of a source against the truth: every record last
// changed before the watermark must be there with the same update time and the
// same bytes, and none that the truth does not know.
func Compare(ctx context.Context, store RecordStore, code string, truth iter.Seq[Truth], watermark time.Time) (Compared, error) {
	type storedRecord struct {
		updated time.Time
		sha     string
	}
	have := make(map[string]storedRecord)
	err := store.Export(ctx, ExportQuery{Sources: []string{code}}, func(e *Exported) error {
		have[e.ID] = storedRecord{e.UpdatedAt, e.RawSHA256}
		return nil
	})
	if err != nil {
		return Compared{}, err
	}
	var out Compared
	diff := func(id, format string, args ...any) {
		out.Differences = append(out.Differences, Difference{ID: id, Detail: fmt.Sprintf(format, args...)})
	}
	for t := range truth {
		h, ok := have[t.ID]
		updated := t.UpdatedAt
		if t.Undated {
			updated = time.Time{}
		}
		delete(have, t.ID)
		switch {
		case t.Deleted:
			// A search never tells of deletions; what was stored stays stored.
		case !t.UpdatedAt.Before(watermark):
			out.Newer++
		case !ok:
			out.Records++
			diff(t.ID, "missing, updated %s", Time(t.UpdatedAt))
		case !h.updated.Equal(updated):
			out.Records++
			diff(t.ID, "updated_at is %s, should be %s", Time(h.updated), Time(updated))
		case h.sha != t.RawSHA256:
			out.Records++
			diff(t.ID, "bytes differ")
		default:
			out.Records++
		}
	}
	for id := range have {
		diff(id, "not known upstream")
	}
	return out, nil
}
