package harvest

import (
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/problem"
)

// SourceState is what is true of a source right now.
type SourceState struct {
	Paused  bool
	Stopped bool
	Reason  string
	Since   time.Time
	// Skew is how far the upstream's clock was ahead of the store's when last
	// seen; Seen tells whether it ever was.
	Skew time.Duration
	Seen bool
}

// Held reports whether the source may not be worked on: a person paused it, or a
// fatal fault stopped it.
func (s SourceState) Held() bool { return s.Paused || s.Stopped }

// EndpointOf names an endpoint of a source.
type EndpointOf struct {
	Provenance, Endpoint string
}

func (e EndpointOf) String() string { return e.Provenance + "/" + e.Endpoint }

// EndpointOf is the endpoint that a partition goes through.
func (p Partition) EndpointOf() EndpointOf { return EndpointOf{p.Provenance, p.Endpoint} }

// StopsSource reports whether a fatal fault of this code is about what all endpoints of a
// source share, its credential or whether we may ask at all. Another is about the endpoint
// that it was met at, and says nothing of the others (R72).
func (c Code) StopsSource() bool {
	switch c {
	case CodeAuthRefused, CodeNoCredential, CodeWithheld, CodeCredentialUnreadable, CodeAuthInPlain, CodeForbidden:
		return true
	}
	return false
}

// HeldError says that a source, or one endpoint of it, may not be worked on now.
type HeldError struct {
	Source string // or SOURCE/ENDPOINT
	State  SourceState
}

func (e *HeldError) Error() string {
	word := "paused"
	if e.State.Stopped {
		word = "stopped"
	}
	return fmt.Sprintf("source %s has been %s since %s: %s", e.Source, word, shortInstant(e.State.Since), e.State.Reason)
}

// Problem implements problem.Error.
func (e *HeldError) Problem() problem.Problem {
	return problem.Problem{
		Code: string(CodeSourceHeld), Kind: problem.Upstream, Title: e.Error(),
		Next: "when the reason is gone: patra source resume " + e.Source + " --reason TEXT",
	}
}
