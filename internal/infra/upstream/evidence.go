package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// keep puts into the answer what came of a request that was sent, in place of what
// came of the try before. Of a reply that broke off it is what came until then.
func (a *attempt) keep(got received, err error) {
	a.answer.Status = got.status
	a.answer.Credential = ""
	if a.key != nil {
		a.answer.Credential = a.key.Credential.Name
	}
	a.answer.ReplySHA256 = ""
	a.answer.Headers = a.tellingHeaders(got.header)
	a.answer.Sample = nil
	if got.status == 0 || err != nil && len(got.body) == 0 {
		return
	}
	sum := sha256.Sum256(got.body)
	a.answer.ReplySHA256 = hex.EncodeToString(sum[:])
	head := got.body[:min(len(got.body), harvest.SampleSize)]
	if len(head) == len(got.body) { // it may have broken off just there
		head = a.secrets.withoutBroken(head)
	}
	a.answer.Sample = bytes.Clone(head)
}

// telling are headers that say what a reply is, who answered, and what is asked of us.
// Headers that a source declares its limits by are kept too, and all that are called
// after limits.
var telling = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Date", "Age", "Retry-After", "Location", "Server", "Via", "Warning", "Www-Authenticate",
	"X-Request-Id", "X-Correlation-Id",
}

// keptHeader is how much of a header is kept.
const keptHeader = 256

// tellingHeaders are those headers of a reply that are kept, without secrets.
func (a *attempt) tellingHeaders(h http.Header) map[string]string {
	declared := slices.Clone(a.rate().LimitHeaders)
	if b := a.rate().Budget; b != nil {
		declared = append(declared, b.Remaining, b.Reset)
	}
	var out map[string]string
	for name, values := range h {
		isDeclared := slices.ContainsFunc(declared, func(d string) bool { return strings.EqualFold(d, name) })
		if !isDeclared && !slices.Contains(telling, name) && !tellsLimit(name) {
			continue
		}
		if out == nil {
			out = make(map[string]string)
		}
		text := a.secrets.redactor().Text(strings.Join(values, ", "))
		out[name] = strings.ToValidUTF8(text[:min(len(text), keptHeader)], "\ufffd")
	}
	return out
}

// tellsLimit reports whether a header is called after a rate limit.
func tellsLimit(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "-", ""))
	return strings.Contains(name, "ratelimit")
}
