package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// ExportQuery says which records are wanted.
type ExportQuery struct {
	Provenance    string
	SinceRevision int64
	Raw           bool
}

// Exported is one record with its newest version and where it came from.
type Exported struct {
	Provenance, Type, ID string
	Status               harvest.RecordStatus
	MergedInto           string
	Revision             int64
	UpdatedAt            time.Time
	RawSHA256            string
	Fields               []byte
	Raw                  []byte
	Plan                 harvest.PlanID
	Slice                harvest.SliceID
	Task                 harvest.TaskID
	Run                  harvest.RunID
	Batch                harvest.BatchID
	MappingVersion       string
	FetchedAt            time.Time
}

// Export reads records in the order of (source, type, id), one at a time.
func (s *Store) Export(ctx context.Context, q ExportQuery, f func(*Exported) error) error {
	raw := "NULL"
	if q.Raw {
		raw = "v.raw"
	}
	where, args := "r.revision > ?", []any{q.SinceRevision}
	if q.Provenance != "" {
		where += " AND r.provenance_code=?"
		args = append(args, q.Provenance)
	}
	var e Exported
	err := s.each(ctx, func(r *sql.Rows) error {
		var updated, fetched ts
		var sha, packed []byte
		var into sql.NullString
		if err := r.Scan(&e.Provenance, &e.Type, &e.ID, &e.Status, &into, &e.Revision, &updated, &sha, &e.Fields, &packed,
			&e.Plan, &e.Slice, &e.Task, &e.Run, &e.Batch, &e.MappingVersion, &fetched); err != nil {
			return err
		}
		e.UpdatedAt, e.FetchedAt, e.RawSHA256, e.Raw, e.MergedInto = updated.time(), fetched.time(), hex.EncodeToString(sha), nil, into.String
		if q.Raw {
			var err error
			if e.Raw, err = unpack(packed); err != nil {
				return fmt.Errorf("record %s %s: %w", e.Provenance, e.ID, err)
			}
		}
		return f(&e)
	}, `SELECT r.provenance_code, r.record_type, r.ext_id, r.status_code, r.merged_into, r.revision, r.updated_at, r.raw_sha256, v.fields, `+raw+`,
		b.plan_id, b.slice_id, b.task_id, b.run_id, v.batch_id, v.mapping_version, v.observed_at
		FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision JOIN ing_task_run_batch b ON b.id=v.batch_id
		WHERE `+where+` ORDER BY r.provenance_code, r.record_type, r.ext_id`, args...)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// Interval of a namespace's coverage.
type Interval struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason,omitempty"`
}

// Coverage is what of a namespace is proven complete, and what is not.
type Coverage struct {
	Operation harvest.Operation `json:"operation"`
	Namespace string            `json:"namespace"`
	CursorKey string            `json:"cursor_key"`
	Direction harvest.Direction `json:"direction"`
	Init      time.Time         `json:"init"`
	Watermark time.Time         `json:"watermark"`
	Proven    []Interval        `json:"proven"`
	Open      []Interval        `json:"open"`
	Failed    []Interval        `json:"failed"`
	Missing   []Interval        `json:"missing"`
	// How much of a HARVEST comes late; nil for other operations.
	*LateRate
}

// Coverage reads the coverage of a source, one entry per namespace. Those of
// sentinels are left out: they cover nothing that is not covered already.
func (s *Store) Coverage(ctx context.Context, provenance string) ([]Coverage, error) {
	type head struct {
		Coverage
		id harvest.CursorID
	}
	var heads []head
	err := s.each(ctx, func(r *sql.Rows) error {
		h := head{Coverage: Coverage{Proven: []Interval{}, Open: []Interval{}, Failed: []Interval{}, Missing: []Interval{}}}
		var scope, key, init string
		var w ts
		if err := r.Scan(&h.id, &h.Operation, &scope, &key, &h.CursorKey, &h.Direction, &init, &w); err != nil {
			return err
		}
		h.Namespace, h.Watermark = scope+"/"+key, w.time()
		var err error
		h.Init, err = cursorPlace(h.Operation, init)
		heads = append(heads, h)
		return err
	}, `SELECT id, operation_code, namespace_scope_code, namespace_key, cursor_key, direction_code, init_value, normalized_instant FROM ing_cursor c WHERE provenance_code=?
		AND NOT EXISTS (SELECT 1 FROM ing_plan p WHERE p.cursor_id=c.id AND p.watches_cursor_id IS NOT NULL) ORDER BY operation_code, id`, provenance)
	if err != nil {
		return nil, fmt.Errorf("coverage of %s: %w", provenance, err)
	}
	out := make([]Coverage, len(heads))
	for i := range heads {
		if err := s.cover(ctx, heads[i].id, &heads[i].Coverage); err != nil {
			return nil, fmt.Errorf("coverage of %s: %w", provenance, err)
		}
		if h := &heads[i]; h.Operation == harvest.Harvest {
			if h.LateRate, err = s.lateRate(ctx, h.id); err != nil {
				return nil, fmt.Errorf("coverage of %s: %w", provenance, err)
			}
		}
		out[i] = heads[i].Coverage
	}
	return out, nil
}

func (s *Store) cover(ctx context.Context, id harvest.CursorID, c *Coverage) error {
	var at time.Time
	add := func(l *[]Interval, from, to time.Time, reason string) {
		if n := len(*l); n > 0 && (*l)[n-1].To.Equal(from) && (*l)[n-1].Reason == reason {
			(*l)[n-1].To = to
			return
		}
		*l = append(*l, Interval{From: from, To: to, Reason: reason})
	}
	return s.each(ctx, func(r *sql.Rows) error {
		var from, to ts
		var st harvest.SliceState
		var accepted bool
		var reason sql.NullString
		if err := r.Scan(&from, &to, &st, &accepted, &reason); err != nil {
			return err
		}
		if !at.IsZero() && at.Before(from.time()) {
			add(&c.Missing, at, from.time(), "")
		}
		switch {
		case st == harvest.SliceDone:
			add(&c.Proven, from.time(), to.time(), "")
		case accepted:
			add(&c.Proven, from.time(), to.time(), "accepted gap: "+reason.String)
		case st == harvest.SliceFailed || st == harvest.SliceCancelled:
			add(&c.Failed, from.time(), to.time(), reason.String)
		default:
			add(&c.Open, from.time(), to.time(), "")
		}
		if to.time().After(at) {
			at = to.time()
		}
		return nil
	}, `SELECT window_from, window_to, status_code, gap_accepted, reason FROM ing_plan_slice WHERE cursor_id=? AND status_code<>'RESLICED' ORDER BY window_from, window_to`, id)
}
