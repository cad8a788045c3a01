package sim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// OnRequest is called before each answer of a source, with no lock held, so that
// a test can change the truth between two pages. The form is parsed.
type OnRequest func(*http.Request)

// SetOnRequest replaces the hook; nil removes it.
func (s *Sim) SetOnRequest(hook OnRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// Request is one line of the request log.
type Request struct {
	Number  int         `json:"number"` // within its source, from 1
	Source  string      `json:"source"`
	Method  string      `json:"method"`
	Path    string      `json:"path"` // below the source
	Params  url.Values  `json:"params"`
	Header  http.Header `json:"-"`
	Body    []byte      `json:"-"`      // unless it was a form
	At      time.Time   `json:"at"`     // real time of arrival
	Status  int         `json:"status"` // 0: dropped, or not answered yet
	Fault   Fault       `json:"fault,omitempty"`
	Refused bool        `json:"refused,omitempty"` // above a limit
	Records int         `json:"records,omitempty"`
}

// Requests returns the log, oldest first. It holds the newest Config.KeepLog.
func (s *Sim) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, 0, len(s.log))
	for _, r := range s.log {
		out = append(out, *r)
	}
	return out
}

// keep adds to the log; s.mu is held.
func (s *Sim) keep(r *Request) {
	if s.cfg.KeepLog > 0 && len(s.log) >= 2*s.cfg.KeepLog {
		s.log = slices.Clone(s.log[len(s.log)-s.cfg.KeepLog+1:])
	}
	s.log = append(s.log, r)
}

// request is what is known of one request while it is served.
type request struct {
	http   *http.Request
	source string
	path   string // below the source, with its leading slash
	route  string // its class, for statistics
	form   url.Values
	body   []byte    // unless it was a form
	at     time.Time // of arrival, by the simulator's clock
	number int
	caller string // address
	fault  Fault
	place  string // position in a server-side walk, part of the identity
	log    *Request

	bodyErr error // the body could not be read
}

// get returns a parameter.
func (q *request) get(name string) string { return q.form.Get(name) }

// credentials do not tell two requests apart.
var credentials = []string{"api_key", "email", "insttoken", "mailto", "tool"}

// handles are names of server state; a query is the same under any of them.
var handles = []string{"cursor", "cursorMark", "token", "page[cursor]", "scroll_id", "resumptionToken", "WebEnv"}

// identity is the request without credentials, with its place in a walk.
func (q *request) identity() string { return q.describe(q.place, credentials) }

// query is the request without credentials and without its place in a walk.
func (q *request) query() string {
	return q.describe("", append(handles[:len(handles):len(handles)], credentials...))
}

// plain is the whole request as text.
func (q *request) plain() string { return q.describe("", nil) }

func (q *request) describe(place string, without []string) string {
	names := make([]string, 0, len(q.form))
	for name := range q.form {
		if !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString(q.source)
	b.WriteString(q.path)
	sep := byte('?')
	for _, name := range names {
		for _, value := range q.form[name] {
			b.WriteByte(sep)
			b.WriteString(name)
			b.WriteByte('=')
			b.WriteString(value)
			sep = '&'
		}
	}
	if place != "" {
		b.WriteString("@")
		b.WriteString(place)
	}
	return b.String()
}
