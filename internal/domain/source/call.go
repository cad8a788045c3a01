package source

import (
	"context"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Purpose says which endpoint of a spec a call goes to.
type Purpose string

// The purposes.
const (
	ForSearch Purpose = "search"
	ForCount  Purpose = "count"
	ForDetail Purpose = "detail"
	ForLookup Purpose = "lookup"
	ForHead   Purpose = "head"
)

// Purposes lists all of them.
func Purposes() []Purpose { return []Purpose{ForSearch, ForCount, ForDetail, ForLookup, ForHead} }

// Call is one question to a source: everything a request is made from besides
// the spec itself. Equal spec and call give equal requests but for the secret.
type Call struct {
	Purpose Purpose
	// Window is the window asked for, overlap included.
	Window harvest.Window
	// Range of ids within the window, or bucket of them; all if zero.
	Range harvest.Range
	// PageSize in place of the spec's own, if not 0 (R26).
	PageSize int
	// Position is where in the walk the page begins.
	Position harvest.Position
	// IDs whose details are asked for.
	IDs []string
	// BaseURL replaces the spec's base URL, recorded on the plan; plain http
	// and loopback are then allowed.
	BaseURL string
	// Correlation travels as X-Ingest-Correlation-Id.
	Correlation string
	// Plan is the one it is asked for, 0 if there is none yet. Where the spec has a bound,
	// it is counted for this plan.
	Plan harvest.PlanID
	// Yields: it is asked only while nobody else waits for a permit.
	Yields bool
	// Held: the page is kept for a while, and who asked says by [Answer.Done] when
	// its memory can be given to others. Otherwise that is when the answer is given.
	Held bool
	// InHand, if set, is called with each whole reply before it is taken apart. Its
	// error ends the call.
	InHand func(context.Context) error
}

// PageCall is the question for a page of a slice: for the one at a position of its
// walk, or for details. Whose details, and where it is asked, the caller adds.
func (s *Spec) PageCall(op harvest.Operation, slice harvest.SliceSpec, phase harvest.Phase, at harvest.Position) Call {
	c := Call{
		Purpose: ForSearch, Window: slice.RequestWindow(), Range: slice.Range,
		PageSize: s.Paging.Of(slice).Size, Position: at,
	}
	if phase == harvest.PhaseDetail {
		c.Purpose = ForDetail
	}
	if op == harvest.Update {
		c.Range = harvest.Range{} // ordinals are nothing to an upstream
	}
	return c
}

// Endpoint of the call.
func (s *Spec) Endpoint(p Purpose) *Endpoint {
	switch p {
	case ForCount:
		return s.Count
	case ForDetail:
		return s.Detail
	case ForLookup:
		return s.Lookup
	case ForHead:
		return s.Head
	default:
		return &s.Search
	}
}

// EndpointNames are the names of the endpoints that a contract asks, each once.
func (s *Spec) EndpointNames() []string {
	var out []string
	for _, p := range []Purpose{ForHead, ForCount, ForSearch, ForDetail, ForLookup} {
		e := s.Endpoint(p)
		if e != nil && e.Name != "" && !slices.Contains(out, e.Name) {
			out = append(out, e.Name)
		}
	}
	return out
}

// Answer is what came of a call, retries included.
type Answer struct {
	Page *harvest.Page
	// UpstreamAt is the reply's Date header, zero if it had none.
	UpstreamAt time.Time
	Traffic    Traffic
	// Asked: a request for the page went out, and was not refused for its key
	// alone. If not, a walk whose place the server holds is where it was (R22).
	Asked bool
	// Request is the request as sent, without secrets: method and URL. IDs are those
	// that it asks for.
	Request string
	IDs     []string
	// RequestSHA256 is the digest of the rendered request before the secret
	// went in; ReplySHA256 that of the reply's body.
	RequestSHA256, ReplySHA256 string
	Status                     int
	// Credential is the name of the key that the last try went with, if any.
	Credential string
	// Headers are those of the reply that matter, Sample its beginning, both
	// without the secrets of the call. They are there with a fault too.
	Headers map[string]string
	Sample  []byte
	// BodyBytes is the size of the reply's body, as read; of one that is larger than
	// allowed what is known of it, and 0 with any other fault.
	BodyBytes int64
	// Rate is what the rate gate said of the last try, nil if it was not asked.
	Rate *harvest.RateNote
	// Done is set where the call was Held and there is a page. It must be called
	// when the page is done with, and may be called more than once.
	Done func()
}

// Traffic counts requests. A failed call has traffic too.
type Traffic struct {
	Sent     int           `json:"sent"`
	Retried  int           `json:"retried"`
	HTTP429  int           `json:"http_429"`
	HTTP5xx  int           `json:"http_5xx"`
	Bytes    int64         `json:"bytes"`
	WaitGate time.Duration `json:"wait_gate_ns"`
	Network  time.Duration `json:"network_ns"`
	// Gate is what the rate gate had to do with them.
	Gate harvest.RateSums `json:"-"`
}

// Add sums two accounts.
func (t Traffic) Add(o Traffic) Traffic {
	return Traffic{
		Sent: t.Sent + o.Sent, Retried: t.Retried + o.Retried,
		HTTP429: t.HTTP429 + o.HTTP429, HTTP5xx: t.HTTP5xx + o.HTTP5xx,
		Bytes: t.Bytes + o.Bytes, WaitGate: t.WaitGate + o.WaitGate, Network: t.Network + o.Network,
		Gate: t.Gate.Add(o.Gate),
	}
}

// Rendered is a request as it is made for a call, without secrets.
type Rendered struct {
	// Line is method and URL.
	Line string `json:"line"`
	// Body is that of a form; of another kind only its size is told.
	Body string `json:"body,omitempty"`
	// SHA256 is the digest that is stored with the page.
	SHA256 string `json:"sha256"`
}
