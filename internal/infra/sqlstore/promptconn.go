package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// promptConnector opens connections to a server on which a write begins with one question
// in place of three. What a server and a fleet that shares it are busy with is mostly to ask
// and be asked: the isolation of writes is said once for a connection, and the clock, which
// every write reads first, is asked for together with the begin of the transaction.
type promptConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c promptConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(serverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connection of type %T lacks what the store asks of one", conn), conn.Close())
	}
	if _, err := inner.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &promptConn{serverConn: inner}, nil
}

// serverConn is what a connection to a server can do, so that none of it is lost behind another.
type serverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// askServerClock is the statement that reads the clock of a server.
const askServerClock = "SELECT UTC_TIMESTAMP(6)"

// promptConn is a connection that may know what the clock showed when its transaction began,
// until anything else is asked.
type promptConn struct {
	serverConn
	began driver.Value
}

// BeginTx implements driver.ConnBeginTx.
func (c *promptConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.began = nil
	if o != (driver.TxOptions{}) {
		return c.serverConn.BeginTx(ctx, o)
	}
	rows, err := c.serverConn.QueryContext(ctx, "START TRANSACTION; "+askServerClock, nil)
	if err != nil {
		return nil, err
	}
	at := make([]driver.Value, 1)
	err = errors.Join(rows.Next(at), rows.Close())
	if err != nil {
		// Nobody knows whether a transaction has begun: the connection is of no more use.
		return nil, errors.Join(err, c.Close())
	}
	c.began = at[0]
	return promptTx{c}, nil
}

// QueryContext implements driver.QueryerContext.
func (c *promptConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	began := c.began
	c.began = nil
	if began != nil && query == askServerClock {
		return &knownRow{value: began}, nil
	}
	return c.serverConn.QueryContext(ctx, query, args)
}

// ExecContext implements driver.ExecerContext.
func (c *promptConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.began = nil
	return c.serverConn.ExecContext(ctx, query, args)
}

// promptTx is a transaction of a connection that began it by itself.
type promptTx struct{ conn *promptConn }

// Commit implements driver.Tx.
func (t promptTx) Commit() error { return t.end("COMMIT") }

// Rollback implements driver.Tx.
func (t promptTx) Rollback() error { return t.end("ROLLBACK") }

func (t promptTx) end(how string) error {
	_, err := t.conn.ExecContext(context.Background(), how, nil)
	return err
}

// knownRow is a row of one value that need not be asked for.
type knownRow struct {
	value driver.Value
	read  bool
}

// Columns implements driver.Rows.
func (*knownRow) Columns() []string { return []string{"value"} }

// Close implements driver.Rows.
func (*knownRow) Close() error { return nil }

// Next implements driver.Rows.
func (r *knownRow) Next(dest []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	dest[0] = r.value
	return nil
}
