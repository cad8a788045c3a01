package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// rememberingConnector opens connections to SQLite that remember the statements they
// have prepared. The store says the same few hundred sentences again and again, and to
// take one apart costs SQLite more than to carry it out: without this a third of the
// work of a harvest with small pages. Servers need none of it; the statements they are
// sent are put together here.
type rememberingConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c rememberingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connection of type %T lacks what the store asks of one", conn), conn.Close())
	}
	return &rememberingConn{sqliteConn: inner, idle: make(map[string]sqliteStmt)}, nil
}

// sqliteConn is what a connection can do, so that none of it is lost behind another.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// sqliteStmt is a prepared statement.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// What is remembered has bounds: rows that are inserted together make statements of
// many lengths, and the longest are rare.
const (
	rememberedStatements = 256
	longestRemembered    = 4096
)

// rememberingConn is a connection with the statements that were prepared on it. Each
// is either in use or idle: one that still hands out rows is never begun anew. As any
// connection it is used by one goroutine at a time.
type rememberingConn struct {
	sqliteConn
	idle map[string]sqliteStmt // by their text
}

// ExecContext implements driver.ExecerContext.
func (c *rememberingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(query) > longestRemembered {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	st, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	res, err := st.ExecContext(ctx, args)
	if err != nil {
		return nil, forget(st, err)
	}
	return res, c.putBack(query, st)
}

// QueryContext implements driver.QueryerContext.
func (c *rememberingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(query) > longestRemembered {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	st, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, args)
	if err != nil {
		return nil, forget(st, err)
	}
	return &rememberingRows{Rows: rows, conn: c, query: query, st: st}, nil
}

// Close implements driver.Conn.
func (c *rememberingConn) Close() error {
	return errors.Join(c.forgetAll(), c.sqliteConn.Close())
}

// take returns the statement, idle or new.
func (c *rememberingConn) take(ctx context.Context, query string) (sqliteStmt, error) {
	if st, ok := c.idle[query]; ok {
		delete(c.idle, query)
		return st, nil
	}
	st, err := c.PrepareContext(ctx, withHiddenLimits(query))
	if err != nil {
		return nil, err
	}
	prepared, ok := st.(sqliteStmt)
	if !ok {
		return nil, forget(st, fmt.Errorf("statement of type %T lacks what the store asks of one", st))
	}
	return prepared, nil
}

// withHiddenLimits makes each limit that is bound to a statement one that is computed.
// SQLite looks at the value of a plain one when it takes a statement apart, to guess how
// many rows there will be, and does so anew whenever a value is bound: the statement would
// be remembered in vain.
func withHiddenLimits(query string) string {
	return strings.ReplaceAll(query, "LIMIT ?", "LIMIT +?")
}

// putBack keeps a statement for the next time. The same one may have been in use
// twice: one is enough. Where there are too many, all begin anew.
func (c *rememberingConn) putBack(query string, st sqliteStmt) error {
	if _, there := c.idle[query]; there {
		return st.Close()
	}
	var err error
	if len(c.idle) >= rememberedStatements {
		err = c.forgetAll()
	}
	c.idle[query] = st
	return err
}

func (c *rememberingConn) forgetAll() error {
	var errs []error
	for _, st := range c.idle {
		errs = append(errs, st.Close())
	}
	clear(c.idle)
	return errors.Join(errs...)
}

// forget closes a statement that failed, whose state nobody knows, and returns why.
func forget(st driver.Stmt, why error) error {
	if err := st.Close(); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// rememberingRows gives its statement back when it is closed.
type rememberingRows struct {
	driver.Rows
	conn  *rememberingConn
	query string
	st    sqliteStmt
}

// Close implements driver.Rows.
func (r *rememberingRows) Close() error {
	if err := r.Rows.Close(); err != nil {
		return forget(r.st, err)
	}
	return r.conn.putBack(r.query, r.st)
}
