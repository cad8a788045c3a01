package sqlstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql/driver"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// TestMySQL_NoPasswordIsPrinted: whatever form an address has, and whatever stands in
// its password, an error about it does not repeat the password.
func TestMySQL_NoPasswordIsPrinted(t *testing.T) {
	const secret = "SECRETPW"
	for _, dsn := range []string{
		"mysql://user:12/34SECRETPW@127.0.0.1:1/db",
		"mysql://user:99?SECRETPW@127.0.0.1:1/db",
		"mysql://user:7#SECRETPW@127.0.0.1:1/db",
		"mysql://user:12/SECRETPW@127.0.0.1:1",
		"mysql://user:1/a?SECRETPW@127.0.0.1:1/db",
		"mysql://user:x@1?SECRETPW@127.0.0.1:1/db",
		"mysql://user:x@1/SECRETPW@127.0.0.1:1/db",
		"mysql://user:x@1/db#SECRETPW@127.0.0.1:1/db",
		"mysql://user:SECRETPW@127.0.0.1:1/db?tls=no",
		"mysql://user:SECRETPW@127.0.0.1:1/db?collation=x",
		"mysql://user:SECRETPW@127.0.0.1:1/db?ca=/nowhere",
		"mysql://user:SECRETPW@127.0.0.1:1/db",
		"mysql://user:SECRETPW@127.0.0.1:1",
		"mysql://user:SECRETPW%zz@127.0.0.1:1/db",
		"mysql://user:SECRET%50W@127.0.0.1:1/db",
		"mysql:user:SECRETPW@127.0.0.1:1/db",
		"mysql:/user:SECRETPW@127.0.0.1:1/db",
		"user:SECRETPW@tcp(127.0.0.1:1)/db",
		"SECRETPW@127.0.0.1:1/db",
		"SECRETPW@nowhere/db",
		"postgres://user:SECRETPW@127.0.0.1:1/db",
	} {
		s, err := Open(t.Context(), dsn, Options{})
		if err == nil {
			t.Errorf("%s was opened: %v", dsn, s.Close())
			continue
		}
		if text := err.Error(); strings.Contains(text, secret) || strings.Contains(text, "34SECRET") || strings.Contains(text, "SECRET%50W") {
			t.Errorf("%s: %s", dsn, text)
		}
	}
}

// TestMySQL_ParametersAreKnownOrRefused: what an address asks for is done or
// refused, never passed over.
func TestMySQL_ParametersAreKnownOrRefused(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage.pem")
	if err := os.WriteFile(garbage, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, newAuthority(t).pem, 0o600); err != nil {
		t.Fatal(err)
	}
	for params, refused := range map[string]string{
		"":                              "",
		"?tls=true":                     "",
		"?tls=skip-verify":              "",
		"?tls=preferred":                "",
		"?tls=false":                    "",
		"?ca=" + ca:                     "",
		"?tls=true&ca=" + ca:            "",
		"?tls=ca=" + ca:                 "",
		"?tls=yes":                      "there are tls=true",
		"?tls=true&tls=skip-verify":     "more than once",
		"?collation=x":                  "there are tls=true",
		"?TLS=true":                     "unknown parameter",
		"?tls=skip-verify&ca=" + ca:     "proves itself",
		"?tls=preferred&ca=" + ca:       "proves itself",
		"?ca=":                          "names no file",
		"?ca=" + garbage:                "no certificate",
		"?ca=/nowhere/ca.pem":           "no such file",
		"?tls=true;ca=" + ca:            "cannot be read",
		"?timeout=5s&tls=true&parse=no": "unknown parameter",
	} {
		cfg, err := mysqlConfig("mysql://user@127.0.0.1:1/db" + params)
		switch {
		case refused == "" && err != nil:
			t.Errorf("%s is refused: %v", params, err)
		case refused == "":
			if secured := cfg.TLS != nil || cfg.TLSConfig != ""; secured != (params != "" && params != "?tls=false") {
				t.Errorf("%s: secured is %v", params, secured)
			}
			if cfg.Timeout == 0 || cfg.ReadTimeout == 0 || cfg.WriteTimeout == 0 {
				t.Errorf("%s: a server may be silent for ever", params)
			}
		case err == nil || !strings.Contains(err.Error(), refused):
			t.Errorf("%s: %v, not %q", params, err, refused)
		}
		if _, is := errors.AsType[*DSNError](err); err != nil && !is {
			t.Errorf("%s: %T", params, err)
		}
	}
}

// TestMySQL_TrustedForItsName: with ca=FILE a server is taken if that authority has
// signed its certificate, for the name it is asked by where it has one.
func TestMySQL_TrustedForItsName(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ours.pem)
	here := net.ParseIP("127.0.0.1")
	for name, c := range map[string]struct {
		cert *x509.Certificate
		ok   bool
	}{
		"no name":            {ours.sign(t, nil, nil), true},
		"its name":           {ours.sign(t, []string{"db.example"}, nil), true},
		"another name":       {ours.sign(t, []string{"other.example"}, nil), false},
		"an address":         {ours.sign(t, nil, []net.IP{here}), false},
		"another's, no name": {theirs.sign(t, nil, nil), false},
		"another's":          {theirs.sign(t, []string{"db.example"}, nil), false},
		"signed by itself":   {theirs.cert, false},
	} {
		cfg := trusting(roots, "db.example")
		err := cfg.VerifyConnection(tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.cert}})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMySQL_TLSToAServer connects in every way there is to a server that has made its
// certificates itself, and is refused where that server cannot prove itself.
func TestMySQL_TLSToAServer(t *testing.T) {
	server := os.Getenv("PATRA_TEST_MYSQL")
	if server == "" {
		t.Skip("no mysql server: set PATRA_TEST_MYSQL, or run make test with it installed")
	}
	address := server + "/mysql" // is always there
	plain, err := Connect(t.Context(), address, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	var authority []byte
	if err := plain.w.QueryRowContext(t.Context(), "SELECT LOAD_FILE(CONCAT(@@datadir, @@ssl_ca))").Scan(&authority); err != nil || len(authority) == 0 {
		t.Fatalf("the server's authority cannot be read: %v", err)
	}
	dir := t.TempDir()
	right, wrong := filepath.Join(dir, "right.pem"), filepath.Join(dir, "wrong.pem")
	if err := errors.Join(os.WriteFile(right, authority, 0o600), os.WriteFile(wrong, newAuthority(t).pem, 0o600)); err != nil {
		t.Fatal(err)
	}
	for params, want := range map[string]string{ // whether it is encrypted, or why it is refused
		"":                             "no",
		"?tls=false":                   "no",
		"?tls=skip-verify":             "yes",
		"?tls=preferred":               "yes",
		"?ca=" + url.PathEscape(right): "yes",
		"?tls=true&ca=" + right:        "yes",
		"?ca=" + wrong:                 "certificate",
		"?tls=true":                    "certificate",
	} {
		t.Run(params, func(t *testing.T) {
			s, err := Connect(t.Context(), address+params, Options{})
			if err != nil {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("refused: %v, want %s", err, want)
				}
				return
			}
			defer s.Close()
			var name, cipher string
			if err := s.w.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher); err != nil {
				t.Fatal(err)
			}
			if got := map[bool]string{true: "yes", false: "no"}[cipher != ""]; got != want {
				t.Errorf("encrypted: %s, want %s", got, want)
			}
		})
	}
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key}
	a.cert = a.make(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: rand.Text()}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, key)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	return a
}

func (a *authority) sign(t *testing.T, names []string, addresses []net.IP) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return a.make(t, &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, DNSNames: names, IPAddresses: addresses}, key)
}

func (a *authority) make(t *testing.T, c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestMySQL_LostConnections: a connection that broke is told from a server that has answered,
// also by a command that finds it broken before anything is sent.
func TestMySQL_LostConnections(t *testing.T) {
	for _, err := range []error{driver.ErrBadConn, mysql.ErrInvalidConn, mysql.ErrBusyBuffer, io.EOF, &net.OpError{Op: "read"}, &mysql.MySQLError{Number: 1053}} {
		if !isLostConnection(fmt.Errorf("read the store's clock: %w", err)) {
			t.Errorf("%v is taken for an answer", err)
		}
	}
	if isLostConnection(&mysql.MySQLError{Number: 1062, Message: "duplicate"}) {
		t.Error("an answer is taken for a lost connection")
	}
}
