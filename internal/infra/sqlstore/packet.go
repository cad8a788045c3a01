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
	if s.d == sqliteDialect {
		return nil
	}
	var packet int
	if err := s.r.QueryRowContext(ctx, "SELECT @@max_allowed_packet").Scan(&packet); err != nil {
		return fmt.Errorf("read max_allowed_packet: %w", err)
	}
	const otherColumns = 64 << 10 // of as many rows as one statement may have
	s.largest = packet - min(packet/2, otherColumns)
	return nil
}

func (s *Store) tooLarge(size int) bool { return s.largest > 0 && size > s.largest }

// quarantineTooLarge moves records that the server can never take from the page's
// records into its quarantine, so that the others are stored.
func (s *Store) quarantineTooLarge(b harvest.Batch, packed []packedBody) (harvest.Batch, []packedBody) {
	if s.largest == 0 {
		return b, packed
	}
	records := make([]harvest.Record, 0, len(b.Records))
	var kept []packedBody
	if packed != nil {
		kept = make([]packedBody, 0, len(packed))
	}
	quarantined := slices.Clone(b.Quarantined)
	for i, r := range b.Records {
		var body packedBody
		if packed != nil {
			body = packed[i]
		}
		if size := s.bodySize(&r, body); s.tooLarge(size) {
			why := fmt.Sprintf("%d bytes, and the database takes %d in one value: "+
				"raise max_allowed_packet of the server, start patra again and refresh the record", size, s.largest)
			quarantined = append(quarantined, harvest.Quarantined{
				ID:      r.ID,
				Problem: harvest.Problem{Code: harvest.ProblemTooLarge, Detail: why},
				Raw:     r.Raw, RawSHA256: r.RawSHA256,
			})
			continue
		}
		records = append(records, r)
		if packed != nil {
			kept = append(kept, body)
		}
	}
	b.Records = records
	b.Quarantined = quarantined
	return b, kept
}

// bodySize is how many bytes the body of a record takes when it is packed, or more: what
// would fit as it came is not packed to find out.
func (s *Store) bodySize(r *harvest.Record, body packedBody) int {
	if body.bytes != nil {
		return len(body.bytes)
	}
	most := (1 + mostFields) * len(r.Raw)
	if r.Map == nil || s.tooLarge(most) {
		most = len(r.Raw) + len(r.Mapped())
	}
	most += most/128 + 64
	if !s.tooLarge(most) {
		return most
	}
	_, body = new(packer).append(nil, r)
	return len(body.bytes)
}

// mostFields is how many times as large as a record its fields are at most: a mapping
// may take the same text several times.
const mostFields = 16

// size is about how many bytes a version takes in a statement, or more.
func (c change) size() int {
	if c.body == nil {
		return (1 + mostFields) * len(c.rec.Raw)
	}
	return len(c.body.bytes)
}

// bytesPerInsert bounds what the values of one insert take, which the database
// holds once more while it runs.
const bytesPerInsert = 1 << 20

// thatFit cuts rows into parts for one insert each: no more than rowsPerInsert, and
// no more bytes than a statement should have and the server takes at once, unless
// one row alone has more.
func thatFit[T any](s *Store, rows []T, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(rows) > 0 {
			n, bytes := 0, 0
			for n < min(len(rows), rowsPerInsert) {
				bytes += size(rows[n])
				if n > 0 && (bytes > bytesPerInsert || s.tooLarge(bytes)) {
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
