package sqlstore

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// readPacket learns how much a server takes at once: a value that is larger than
// its max_allowed_packet can never be stored there, a statement must be cut.
func (s *Store) readPacket(ctx context.Context) error {
	if s.d != mysqlDialect {
		return nil
	}
	var packet int
	if err := s.r.QueryRowContext(ctx, "SELECT @@max_allowed_packet").Scan(&packet); err != nil {
		return fmt.Errorf("read max_allowed_packet: %w", err)
	}
	const rest = 64 << 10 // for the other columns of as many rows as there may be
	s.largest = packet - min(packet/2, rest)
	return nil
}

func (s *Store) tooLarge(size int) bool { return s.largest > 0 && size > s.largest }

// setAside puts records that the server can never take into quarantine, so that
// the others of the page are stored.
func (s *Store) setAside(b harvest.Batch, packed [][]byte) (harvest.Batch, [][]byte) {
	if s.largest == 0 {
		return b, packed
	}
	records := make([]harvest.Record, 0, len(b.Records))
	kept := make([][]byte, 0, len(packed))
	quarantined := slices.Clone(b.Quarantined)
	for i, r := range b.Records {
		if size := max(len(packed[i]), len(r.Fields)); s.tooLarge(size) {
			why := fmt.Sprintf("%d bytes, and the database takes %d in one value: raise max_allowed_packet of the server, start patra again and refresh the record", size, s.largest)
			quarantined = append(quarantined, harvest.Quarantined{ID: r.ID, Problem: harvest.Problem{Code: harvest.ProblemTooLarge, Detail: why}, Raw: r.Raw, RawSHA256: r.RawSHA256})
			continue
		}
		records = append(records, r)
		kept = append(kept, packed[i])
	}
	b.Records = records
	b.Quarantined = quarantined
	return b, kept
}

// size is about how many bytes a version takes in a statement.
func (c change) size() int { return len(c.packed) + len(c.rec.Fields) }

// thatFit cuts rows into parts for one insert each: no more than rowsPerInsert, and
// no more bytes than the server takes at once, unless one row alone has more.
func thatFit[T any](s *Store, rows []T, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(rows) > 0 {
			n, bytes := 0, 0
			for n < min(len(rows), rowsPerInsert) {
				bytes += size(rows[n])
				if n > 0 && s.tooLarge(bytes) {
					break
				}
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}
