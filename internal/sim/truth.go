package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"net/url"
	"time"
)

// TruthRow is what a harvester should hold of one record.
type TruthRow struct {
	ID        string    `json:"id"`
	UpdatedAt time.Time `json:"updated_at"`
	RawSHA256 string    `json:"raw_sha256"` // of the item's bytes exactly as served
	VisibleAt time.Time `json:"visible_at"` // of this version, or of its deletion
	Deleted   bool      `json:"deleted"`
	Undated   bool      `json:"undated,omitempty"` // updated_at is not in the item
}

// Truth lists every record of a source that is visible at the clock's time, or
// was until it was deleted, in the order in which the records were made. An
// unknown source has none.
func (s *Sim) Truth(source string) iter.Seq[TruthRow] {
	up, ok := s.upstreams[source]
	if !ok {
		return func(func(TruthRow) bool) {}
	}
	return s.truth(source, up)
}

// GenericTruth is the generic source's truth for a client that sends these style
// parameters. Where deletions are announced, a deleted row is that of the
// announcement.
func (s *Sim) GenericTruth(params url.Values) (iter.Seq[TruthRow], error) {
	g, ok := s.upstreams[Generic].(*generic)
	if !ok {
		return nil, fmt.Errorf("source %q is not simulated", Generic)
	}
	st, err := g.style.Load().with(params)
	if err != nil {
		return nil, err
	}
	return s.truth(Generic, g.shape(st)), nil
}

func (s *Sim) truth(source string, by teller) iter.Seq[TruthRow] {
	return func(yield func(TruthRow) bool) {
		const chunk = 1024
		_, undated := by.(interface{ undated() })
		var buf []byte
		for from := 0; ; from += chunk {
			rows := s.chunk(source, from, chunk)
			if rows == nil {
				return
			}
			for k := range rows {
				r := &rows[k]
				if r.number == 0 {
					continue
				}
				buf = by.append(buf[:0], r.index, &r.record)
				sum := sha256.Sum256(buf)
				if !yield(TruthRow{
					ID:        string(by.appendID(nil, r.index)),
					UpdatedAt: by.updatedAt(r.version),
					RawSHA256: hex.EncodeToString(sum[:]),
					VisibleAt: time.Unix(int64(r.visible), 0).UTC(),
					Deleted:   r.deleted,
					Undated:   undated,
				}) {
					return
				}
			}
		}
	}
}

// chunk copies some records, nil at the end.
func (s *Sim) chunk(source string, from, n int) []row {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.populations[source].records
	if from >= len(all) {
		return nil
	}
	rows := make([]row, 0, n)
	for i := from; i < min(from+n, len(all)); i++ {
		rows = append(rows, row{index: uint32(i), record: all[i]})
	}
	return rows
}

// Version is one state in the life of a record.
type Version struct {
	Number    int       `json:"number"`
	Kind      string    `json:"kind"` // new, changed, volatile, retracted, notice, deleted
	UpdatedAt time.Time `json:"updated_at"`
	VisibleAt time.Time `json:"visible_at"`
	Late      bool      `json:"late"`
}

// Versions lists what has been visible of a record, oldest first, nil if nothing has.
func (s *Sim) Versions(source, id string) []Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.lookup(source, id)
	if err != nil {
		return nil
	}
	p, up := s.populations[source], s.upstreams[source]
	var out []Version
	for _, v := range append(p.older[i][:len(p.older[i]):len(p.older[i])], p.records[i].version) {
		if v.number > 0 {
			out = append(out, Version{int(v.number), v.kind.String(), up.updatedAt(v), time.Unix(int64(v.visible), 0).UTC(), v.late})
		}
	}
	return out
}
