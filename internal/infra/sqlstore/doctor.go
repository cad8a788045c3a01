package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// LeaseHolders lists who holds tasks, those first whose leases ran out longest ago.
func (s *Store) LeaseHolders(ctx context.Context, now time.Time, most int) ([]control.LeaseHolder, error) {
	var out []control.LeaseHolder
	err := s.each(ctx, func(r *sql.Rows) error {
		var h control.LeaseHolder
		var owner sql.NullString
		var all int64
		var first ts
		err := r.Scan(&owner, &all, &h.Expired, &first)
		h.Owner = owner.String
		h.Held = all - h.Expired
		if h.Expired > 0 {
			h.ExpiredAt = first.time()
		}
		out = append(out, h)
		return err
	}, `SELECT h.lease_owner, COUNT(*), SUM(CASE WHEN h.leased_until<=? THEN 1 ELSE 0 END), MIN(h.leased_until)
		FROM (SELECT t.lease_owner, t.leased_until FROM ing_task t`+s.d.taskIndex+` WHERE `+isOneOf("t.status_code", harvest.TasksInHand)+` LIMIT ?) h
		GROUP BY h.lease_owner ORDER BY MIN(h.leased_until), h.lease_owner LIMIT ?`, ts(now), countMost, most)
	if err != nil {
		return nil, fmt.Errorf("list who holds tasks: %w", err)
	}
	return out, nil
}

// Room is how much the database takes, and of a file how much is left on its disk.
func (s *Store) Room(ctx context.Context) (control.StoreRoom, error) {
	var out control.StoreRoom
	if s.file == nil {
		err := s.r.QueryRowContext(ctx, `SELECT COALESCE(SUM(data_length+index_length), 0) FROM information_schema.tables
			WHERE table_schema=DATABASE()`).Scan(&out.Bytes)
		if err != nil {
			return out, fmt.Errorf("read the size of the database: %w", err)
		}
		return out, nil
	}
	for _, name := range []string{s.file.path, s.file.path + "-wal"} {
		if is, err := os.Stat(name); err == nil {
			out.Bytes += is.Size()
		}
	}
	out.Free, out.FreeKnown = freeBeside(s.file.path)
	return out, nil
}
