// Package tape keeps what goes over the wire while a source is checked, and
// plays it back. It promises that nothing leaves it before it went through the
// redactor, that what carries a credential by its place is masked as well, and
// that a tape is played without a network.
package tape

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"

	"github.com/papertrace/patra/internal/app/sourcecheck"
)

var (
	_ sourcecheck.Wire = (*Recorder)(nil)
	_ sourcecheck.Wire = (*Player)(nil)
)

// maxBody bounds what is kept of a body, packed or not.
const maxBody = 64 << 20

// Recorder is a transport that remembers. What it holds is raw; it is handed
// out by Exchanges only, redacted.
type Recorder struct {
	mask Mask

	mu  sync.Mutex
	all []*taken // guarded by mu
}

// taken is an exchange as it was.
type taken struct {
	mu sync.Mutex
	sourcecheck.Exchange
	body bytes.Buffer
}

// NewRecorder returns an empty recorder.
func NewRecorder(mask Mask) *Recorder { return &Recorder{mask: mask} }

// Over returns a transport that records into r what goes through next.
func (r *Recorder) Over(next http.RoundTripper) http.RoundTripper { return over{r, next} }

type over struct {
	*Recorder
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (o over) RoundTrip(req *http.Request) (*http.Response, error) { return o.exchange(o.next, req) }

// label is what a request of a check says it is for.
func label(h http.Header) string {
	if l, ok := strings.CutPrefix(h.Get("X-Ingest-Correlation-Id"), "check-"); ok {
		return l
	}
	return "token"
}

// exchange sends a request on and keeps what was said.
func (r *Recorder) exchange(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	t := &taken{Exchange: sourcecheck.Exchange{Label: label(req.Header), Method: req.Method, URL: req.URL.String(), Request: req.Header.Clone()}}
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		// One that cannot be rewound, as it came.
		req.Body, t.Form = io.NopCloser(bytes.NewReader(b)), string(b)
	}
	r.mu.Lock()
	r.all = append(r.all, t)
	r.mu.Unlock()
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if c.Conn != nil && c.Conn.RemoteAddr() != nil {
			t.Address = c.Conn.RemoteAddr().String()
		}
	}})
	res, err := next.RoundTrip(req.WithContext(ctx))
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.Failure, t.Error = kind(err), err.Error()
		return nil, err
	}
	t.Status, t.Header = res.StatusCode, res.Header.Clone()
	if s := res.TLS; s != nil {
		t.TLS = tls.VersionName(s.Version)
		if len(s.PeerCertificates) > 0 {
			t.CertUntil = s.PeerCertificates[0].NotAfter.UTC()
		}
	}
	res.Body = &tee{ReadCloser: res.Body, into: t}
	return res, nil
}

// tee keeps what is read.
type tee struct {
	io.ReadCloser
	into *taken
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.into.mu.Lock()
	defer t.into.mu.Unlock()
	t.into.body.Write(p[:min(n, max(0, maxBody-t.into.body.Len()))])
	if err != nil && !errors.Is(err, io.EOF) {
		t.into.Failure, t.into.Error = cmp.Or(kindOfBody(err), sourcecheck.FailCut), err.Error()
	}
	return n, err
}

// kind sorts the error of an exchange that brought no reply.
func kind(err error) string {
	op, dial := errors.AsType[*net.OpError](err)
	switch {
	case blocked(err):
		return sourcecheck.FailBlocked
	case errors.Is(err, errEmpty):
		return sourcecheck.FailFixture
	case is[*net.DNSError](err):
		return sourcecheck.FailDNS
	case is[*tls.CertificateVerificationError](err), is[x509.UnknownAuthorityError](err), is[x509.HostnameError](err),
		is[x509.CertificateInvalidError](err), is[tls.RecordHeaderError](err), is[tls.AlertError](err):
		return sourcecheck.FailTLS
	case kindOfBody(err) != "":
		return sourcecheck.FailTimeout
	case dial && op.Op == "dial":
		return sourcecheck.FailConnect
	}
	return sourcecheck.FailOther
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func kindOfBody(err error) string {
	n, is := errors.AsType[net.Error](err)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || is && n.Timeout() {
		return sourcecheck.FailTimeout
	}
	return ""
}

// Exchanges implements sourcecheck.Wire.
func (r *Recorder) Exchanges() []sourcecheck.Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []sourcecheck.Exchange{}
	for _, t := range r.all {
		out = append(out, r.mask.exchange(t))
	}
	return out
}

// unpacked is a body as its reader sees it.
func unpacked(h http.Header, b []byte) []byte {
	if enc := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))); enc != "gzip" && enc != "x-gzip" {
		return bytes.Clone(b)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, maxBody)) // as far as it goes
	return out
}

// blocked reports whether the address guard refused to connect.
func blocked(err error) bool {
	b, ok := errors.AsType[interface {
		error
		Blocked() bool
	}](err)
	return ok && b.Blocked()
}
