package sqlstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/go-sql-driver/mysql"
	"github.com/papertrace/patra/internal/domain/problem"
)

// How long a server may be silent. Waiting for a lock ends after 50 s on a server
// as it is installed, and nothing that runs beside a harvest takes longer than
// that; checks of the whole database do, and have [Store.patient] for it.
const (
	connectTimeout = 10 * time.Second
	readTimeout    = 2 * time.Minute
	writeTimeout   = 30 * time.Second
)

// besideWorkers is how many connections to a server there are for planning, watching and showing, beside one for each
// worker.
const besideWorkers = 12

func (s *Store) openMySQL(ctx context.Context, dsn string, o Options) error {
	s.d = mysqlDialect
	s.dsn = redactDSN(dsn)
	cfg, err := mysqlConfig(dsn)
	if err != nil {
		return err
	}
	s.w, err = openServer(cfg, s.dsn)
	if err != nil {
		return err
	}
	conns := o.Workers + besideWorkers
	s.w.SetMaxOpenConns(conns)
	s.w.SetMaxIdleConns(conns)
	s.w.SetConnMaxIdleTime(5 * time.Minute)
	s.r.DB = s.w
	cfg.ReadTimeout = 0
	s.slow, err = openServer(cfg, s.dsn)
	if err != nil {
		return err
	}
	s.slow.SetMaxIdleConns(1)
	s.slow.SetConnMaxIdleTime(time.Minute)
	s.bodies.db = s.slow // of which there are as many as are asked for
	if err := s.ping(ctx); err != nil {
		return err
	}
	return s.recognise(ctx)
}

// patient gives the connections for statements that may take as long as they
// like, migrations and checks of everything: on a server others than db.
func (s *Store) patient(db *sql.DB) *sql.DB {
	if s.slow != nil {
		return s.slow
	}
	return db
}

func openServer(cfg *mysql.Config, shown string) (*sql.DB, error) {
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, &DSNError{DSN: shown, Reason: err.Error()}
	}
	return sql.OpenDB(promptConnector{c}), nil
}

// mysqlConfig reads mysql://user:password@host:port/database?tls=...
func mysqlConfig(dsn string) (*mysql.Config, error) {
	refuse := func(reason string) error { return &DSNError{DSN: redactDSN(dsn), Reason: reason} }
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, refuse("it cannot be read; in user and password write % as %25, / as %2F, ? as %3F, # as %23 and @ as %40")
	}
	if strings.Contains(afterHost(u), "@") {
		return nil, refuse("there is an @ after the host; in a password write / as %2F, ? as %3F and # as %23, elsewhere @ as %40")
	}
	db := strings.Trim(u.Path, "/")
	if u.Host == "" || db == "" || strings.Contains(db, "/") || u.Fragment != "" {
		return nil, refuse("host or database is missing")
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net = "tcp"
	cfg.Addr = u.Host
	if u.Port() == "" {
		cfg.Addr += ":3306"
	}
	cfg.DBName = db
	cfg.Collation = "utf8mb4_bin"
	cfg.ClientFoundRows = true   // an update that finds its row has affected it
	cfg.InterpolateParams = true // one round trip; bulk statements are prepared
	cfg.MultiStatements = true   // a write begins and reads the clock at once
	cfg.MaxAllowedPacket = 0     // the server's own
	cfg.Timeout = connectTimeout
	cfg.ReadTimeout = readTimeout
	cfg.WriteTimeout = writeTimeout
	cfg.Params = map[string]string{"time_zone": "'+00:00'", "sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"}
	cfg.Logger = silent{}
	// A server that vanished without a word is noticed although nothing is read.
	alive := net.Dialer{Timeout: connectTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 20 * time.Second, Interval: 5 * time.Second, Count: 5}}
	cfg.DialFunc = alive.DialContext
	if reason := secure(cfg, u); reason != "" {
		return nil, refuse(reason)
	}
	return cfg, nil
}

// secure sets up TLS as the parameters say, and returns why it cannot.
func secure(cfg *mysql.Config, u *url.URL) (refused string) {
	params, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "its parameters cannot be read"
	}
	for name, values := range params {
		if name != "tls" && name != "ca" {
			return fmt.Sprintf("unknown parameter %q; there are tls=true, tls=skip-verify, tls=preferred and ca=FILE", name)
		}
		if len(values) > 1 {
			return fmt.Sprintf("parameter %q is given more than once", name)
		}
	}
	mode, file := params.Get("tls"), params.Get("ca")
	if rest, ok := strings.CutPrefix(mode, "ca="); ok && file == "" {
		mode, file = "", rest
	}
	switch {
	case params.Has("ca") && file == "":
		return "ca names no file"
	case file != "" && mode != "" && mode != "true":
		return fmt.Sprintf("ca=FILE asks for a server that proves itself, tls=%s does not", mode)
	case file != "":
		roots, err := readRoots(file)
		if err != nil {
			return err.Error()
		}
		cfg.TLS = trusting(roots, u.Hostname())
	case mode == "" || mode == "false":
	case mode == "true", mode == "skip-verify", mode == "preferred":
		cfg.TLSConfig = mode
	default:
		return fmt.Sprintf("tls=%s is not known; there are tls=true, tls=skip-verify, tls=preferred and ca=FILE", mode)
	}
	return ""
}

func readRoots(file string) (*x509.CertPool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("ca: %s holds no certificate in PEM form", file)
	}
	return roots, nil
}

// trusting accepts a server whose certificate one of roots has signed, for its
// host name. The certificates that MySQL makes for itself name no host: of those
// the signature alone counts, which only their own authority can give.
func trusting(roots *x509.CertPool, host string) *tls.Config {
	return &tls.Config{
		ServerName:         host,
		InsecureSkipVerify: true, // for VerifyConnection, which is called all the same
		VerifyConnection: func(s tls.ConnectionState) error {
			leaf := s.PeerCertificates[0]
			o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
			for _, c := range s.PeerCertificates[1:] {
				o.Intermediates.AddCert(c)
			}
			if len(leaf.DNSNames)+len(leaf.IPAddresses) > 0 {
				o.DNSName = host
			}
			_, err := leaf.Verify(o)
			return err
		},
	}
}

// silent drops the driver's own log lines; its errors come back as errors.
type silent struct{}

func (silent) Print(...any) {}

// isLostConnection reports that a server cannot be reached, has gone away, or
// has no room for another connection just now.
func isLostConnection(err error) bool {
	switch mysqlCode(err) {
	case 0:
	case 1040, 1053, 1927, 4031: // too many connections, shutting down, killed, idle too long
		return true
	default:
		return false // the server has answered
	}
	// A busy buffer is found before a command is sent: the connection broke in the middle of the
	// one before.
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, mysql.ErrBusyBuffer) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	_, network := errors.AsType[*net.OpError](err)
	return network
}

// isUnanswered reports that nobody listens where a connection was sought.
func isUnanswered(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}

// DSNError says that a DSN cannot be used, and what one looks like.
type DSNError struct {
	DSN    string
	Reason string
}

func (e *DSNError) Error() string {
	return fmt.Sprintf("database %q: %s (use sqlite:PATH or mysql://user:password@host:port/database)", e.DSN, e.Reason)
}

// Problem implements problem.Error.
func (e *DSNError) Problem() problem.Problem {
	return problem.Problem{Code: "bad_dsn", Kind: problem.Usage, Title: e.Error(), Next: "patra harvest SOURCE --db sqlite:./patra.db"}
}

// redactDSN is an address without its password. One that is not plainly in the
// form of mysql://user:password@host/database may have the password anywhere, so
// nothing but its kind is told.
func redactDSN(dsn string) string {
	kind, _, ok := strings.Cut(dsn, ":")
	switch {
	case !ok && !strings.Contains(dsn, "@"), kind == "sqlite":
		return dsn
	case kind != "mysql":
		return kindOf(dsn) + ":(unreadable)"
	}
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || u.Opaque != "" || strings.Contains(afterHost(u), "@") || strings.Trim(u.Path, "/") == "" {
		return kind + ":(unreadable)"
	}
	return u.Redacted()
}

// kindOf is what an address begins with, as far as that can be told: a word.
func kindOf(dsn string) string {
	kind, _, _ := strings.Cut(dsn, ":")
	if strings.ContainsFunc(kind, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return "(unreadable)"
	}
	return kind
}

// afterHost is what follows the host in an address.
func afterHost(u *url.URL) string { return u.Path + "?" + u.RawQuery + "#" + u.Fragment }
