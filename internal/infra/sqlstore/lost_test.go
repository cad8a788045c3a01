package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestR88_TwoMinutesInAll: what is tried again after a lost connection is tried for
// two minutes, and often enough to notice a server that is back; what has an
// answer, or an outcome that nobody knows, is tried once.
func TestR88_TwoMinutesInAll(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		err  error
		lost bool
	}{
		"cut":             {fmt.Errorf("insert: %w", mysql.ErrInvalidConn), true},
		"bad":             {fmt.Errorf("begin: %w", driver.ErrBadConn), true},
		"nobody listens":  {fmt.Errorf("begin: %w", refused), true},
		"shutting down":   {&mysql.MySQLError{Number: 1053}, true},
		"no room":         {&mysql.MySQLError{Number: 1040}, true},
		"outcome unknown": {fmt.Errorf("commit: %w: %w", harvest.ErrUnknownOutcome, mysql.ErrInvalidConn), false},
		"data too long":   {&mysql.MySQLError{Number: 1406}, false},
		"duplicate key":   {&mysql.MySQLError{Number: 1062}, false},
		"access denied":   {&mysql.MySQLError{Number: 1045}, false},
		"anything":        {errors.New("anything"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Store{d: mysqlDialect, log: slog.New(slog.DiscardHandler)}
				began := time.Now()
				tries := 0
				last := began
				var longest time.Duration
				err := s.patiently(t.Context(), "test", func() error {
					tries++
					longest = max(longest, time.Since(last))
					last = time.Now()
					return c.err
				})
				if !errors.Is(err, c.err) {
					t.Errorf("it ended with %v", err)
				}
				took := time.Since(began)
				switch {
				case !c.lost && (tries != 1 || took != 0):
					t.Errorf("%d tries in %v", tries, took)
				case c.lost && (took < 2*time.Minute || took > 2*time.Minute+5*time.Second || tries > 100 || longest > 2*time.Second):
					t.Errorf("%d tries in %v, %v apart", tries, took, longest)
				case c.lost && !errors.Is(s.explain(err), harvest.ErrStoreAway):
					t.Errorf("%v is not told as a store that is away", err)
				}
				// It heeds the one who calls.
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began = time.Now()
				err = s.patiently(ctx, "test", func() error { return mysql.ErrInvalidConn })
				if took := time.Since(began); took != 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("ended after %v with %v", took, err)
				}
			})
		})
	}
}

// TestRetry_RacesLostAreCounted: an insert that says it may lose a race is tried
// again, but not for ever: a key that cannot be inserted however often the row is
// looked for is told as one that is there already.
func TestRetry_RacesLostAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		duplicate := &mysql.MySQLError{Number: 1062}
		s := &Store{d: mysqlDialect, log: slog.New(slog.DiscardHandler)}
		x := &tx{s: s}
		tries := 0
		err := s.patiently(t.Context(), "test", func() error {
			tries++
			if tries <= maxRaces {
				return x.orLostRace(duplicate)
			}
			return nil
		})
		if err != nil || tries != maxRaces+1 {
			t.Errorf("after %d races lost: %d tries, %v", maxRaces, tries, err)
		}
		tries = 0
		err = s.explain(s.patiently(t.Context(), "test", func() error {
			tries++
			return x.orLostRace(duplicate)
		}))
		if _, told := errors.AsType[*DuplicateError](err); !told || tries != maxRaces+1 {
			t.Errorf("a race that is always lost: %d tries, %v", tries, err)
		}
		// Where one writes at a time there is no race to be lost.
		x.s = &Store{d: sqliteDialect}
		if err := x.orLostRace(duplicate); errors.Is(err, errLostRace) {
			t.Error("SQLite is said to race")
		}
	})
}
