package tape

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/papertrace/patra/internal/app/sourcecases"
)

// Canned is an http.RoundTripper that gives one reply to every request.
type Canned sourcecases.Reply

// RoundTrip implements http.RoundTripper.
func (c Canned) RoundTrip(r *http.Request) (*http.Response, error) {
	h := http.Header{}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	return &http.Response{
		StatusCode: c.Status, Status: fmt.Sprintf("%d %s", c.Status, http.StatusText(c.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(c.Body)), ContentLength: int64(len(c.Body)), Request: r,
	}, nil
}
