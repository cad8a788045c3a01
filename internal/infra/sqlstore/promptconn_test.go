package sqlstore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"testing"
)

// TestR17_TheClockIsReadWithTheBegin: a transaction begins and reads the clock by one
// question. What the clock showed then is for who asks first within it: after anything else
// it is asked anew.
func TestR17_TheClockIsReadWithTheBegin(t *testing.T) {
	const begin = "START TRANSACTION; " + askServerClock
	none := func(*promptConn, driver.Tx) error { return nil }
	for _, x := range []struct {
		name   string
		before func(*promptConn, driver.Tx) error
		want   []string
	}{
		{"asked first", none, []string{begin}},
		{"asked again", func(c *promptConn, _ driver.Tx) error { readClock(t, c); return nil }, []string{begin, askServerClock}},
		{"after a statement", func(c *promptConn, _ driver.Tx) error {
			_, err := c.ExecContext(t.Context(), "UPDATE", nil)
			return err
		}, []string{begin, "UPDATE", askServerClock}},
		{"after a question", func(c *promptConn, _ driver.Tx) error {
			_, err := c.QueryContext(t.Context(), "SELECT", nil)
			return err
		}, []string{begin, "SELECT", askServerClock}},
		{"after its end", func(_ *promptConn, tx driver.Tx) error { return tx.Commit() }, []string{begin, "COMMIT", askServerClock}},
		{"after it was taken back", func(_ *promptConn, tx driver.Tx) error { return tx.Rollback() }, []string{begin, "ROLLBACK", askServerClock}},
	} {
		t.Run(x.name, func(t *testing.T) {
			server := &toldServer{}
			c := &promptConn{serverConn: server}
			tx, err := c.BeginTx(t.Context(), driver.TxOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := x.before(c, tx); err != nil {
				t.Fatal(err)
			}
			got := readClock(t, c)
			if !slices.Equal(server.told, x.want) {
				t.Errorf("the server was told %q, not %q", server.told, x.want)
			}
			if want := fmt.Sprint("clock ", len(x.want)); got != want {
				t.Errorf("the clock shows %q, the server last said %q", got, want)
			}
		})
	}
}

// readClock reads the one row that the clock is.
func readClock(t *testing.T, c *promptConn) string {
	t.Helper()
	rows, err := c.QueryContext(t.Context(), askServerClock, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := make([]driver.Value, 1)
	if err := rows.Next(at); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(at[0])
}

// toldServer notes what it is told. Its clock shows how much that was.
type toldServer struct {
	serverConn
	told []string
}

// QueryContext implements driver.QueryerContext.
func (s *toldServer) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	s.told = append(s.told, query)
	return &knownRow{value: fmt.Sprint("clock ", len(s.told))}, nil
}

// ExecContext implements driver.ExecerContext.
func (s *toldServer) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	s.told = append(s.told, query)
	return driver.RowsAffected(0), nil
}
