package sourcecheck

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Upstream asks a source a question, within its limits. An error wraps a
// [harvest.Fault] and, if a reply had another shape, a [*Shape].
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
}

// Wire tells what went over the wire so far, without secrets.
type Wire interface {
	Exchanges() []Exchange
}

// Kinds of failure of an exchange that brought no whole reply.
const (
	FailDNS     = "dns"
	FailConnect = "connect"
	FailTLS     = "tls"
	FailTimeout = "timeout"
	FailBlocked = "blocked" // not a public address
	FailCut     = "cut"     // the reply broke off
	FailFixture = "fixture" // nothing of the kind was saved
	FailOther   = "network"
)

// Exchange is one request and what came back, free of secrets.
type Exchange struct {
	// Label is what the request was for: count, search, detail, or token.
	Label   string      `json:"label"`
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Request http.Header `json:"request_headers"`
	Form    string      `json:"request_body,omitempty"`
	Status  int         `json:"status,omitzero"`
	Header  http.Header `json:"headers,omitempty"`
	// Body is the reply's body, unpacked.
	Body []byte `json:"-"`
	// Failure is the kind of failure, empty if a whole reply came; Error says
	// more.
	Failure string `json:"failure,omitempty"`
	Error   string `json:"error,omitempty"`
	// Address is where the connection went, TLS its version, CertUntil the end
	// of the certificate.
	Address   string    `json:"address,omitempty"`
	TLS       string    `json:"tls,omitempty"`
	CertUntil time.Time `json:"cert_until,omitzero"`
	// Differs: an offline reply stands in for a request that is another one now.
	Differs string `json:"-"`
}

// Shape is where a reply differs from what a pack says.
type Shape struct{ Path, Detail string }

func (s *Shape) Error() string { return fmt.Sprintf("the reply has no %s: %s", s.Path, s.Detail) }

// Subject is a source to be checked, and how.
type Subject struct {
	Source    string
	Operation harvest.Operation
	// Endpoint is the one that is tried out, empty for the usual one.
	Endpoint string
	// Origin says where the description is from, Remarks what else is worth
	// knowing about it.
	Origin  string
	Remarks []Remark
	// Compiled is what came of each operation; Spec is that of Operation, nil
	// if it does not compile.
	Compiled []Compiled
	Spec     *source.Spec
	Query    string
	BaseURL  string
	// From and To are the window asked for; zero: the last closed day.
	From, To time.Time
	// Records is how many are to be read; 0: one page, or a few details.
	Records int
	// Offline: replies come from a fixture.
	Offline bool
	Situation
}

// Remark is a thing about the description; one with a fix is a warning.
type Remark struct{ Text, Fix string }

// Compiled is what came of compiling a description for one operation.
type Compiled struct {
	Operation harvest.Operation
	Problems  []string
	Warnings  []string
	// Not says why the operation is not for this source.
	Not string
}

// Situation is what a check depends on besides the description and the replies.
// It is saved with a fixture.
type Situation struct {
	Now time.Time `json:"now"`
	// Skew is how far the upstream's clock was ahead when last seen.
	Skew     time.Duration `json:"skew_ns,omitzero"`
	SkewSeen bool          `json:"skew_seen,omitzero"`
	// Held says why the source is paused or stopped.
	Held string `json:"held,omitempty"`
	// QuietUntil is when the quiet hours that the source is in end.
	QuietUntil time.Time `json:"quiet_until,omitzero"`
	Keys       []Key     `json:"credentials,omitempty"`
	// Withheld: the base URL stands in for the source and is sent no credential.
	Withheld bool `json:"withheld,omitempty"`
	// NoKey says what a needed credential lacks.
	NoKey []string `json:"no_credential,omitempty"`
	// Used is the name of the credential the test read went with, Refused that
	// of one that was refused.
	Used    string `json:"used,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Key is a credential in force, without its secret, best first.
type Key struct {
	Name         string    `json:"name"`
	Where        string    `json:"where"`
	RestingUntil time.Time `json:"resting_until,omitzero"`
	Ends         time.Time `json:"ends,omitzero"`
	// Unreadable says why the secret cannot be had.
	Unreadable string `json:"unreadable,omitempty"`
}

// Usable reports whether a request can go with the key.
func (k Key) Usable() bool { return k.Unreadable == "" && k.RestingUntil.IsZero() }

// Shown is an exchange as people and programs are shown it.
type Shown struct {
	Exchange
	// Head is the beginning of the body, Size all of it.
	Head string `json:"body_head"`
	Size int    `json:"body_bytes"`
}

// headSize is how much of a body is shown.
const headSize = 2 << 10

// Show makes exchanges fit to be shown.
func Show(all []Exchange) []Shown {
	out := []Shown{}
	for _, e := range all {
		out = append(out, Shown{Exchange: e, Head: string(e.Body[:min(len(e.Body), headSize)]), Size: len(e.Body)})
	}
	return out
}
