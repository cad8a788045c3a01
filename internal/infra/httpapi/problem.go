package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Problem is an error as RFC 9457 writes it. The code is the one that the command
// line prints.
type Problem struct {
	Type   string `json:"type" doc:"urn:patra:error: and the code"`
	Code   string `json:"code" doc:"A stable word for what is wrong"`
	Title  string `json:"title" doc:"What is wrong, in a line"`
	Status int    `json:"status" doc:"The status of the answer"`
	Detail string `json:"detail,omitempty" doc:"What does not fit into a line"`
	Next   string `json:"next,omitempty" doc:"What to do about it"`
	// Errors are the parts of a request that are not as declared.
	Errors []PartError `json:"errors,omitempty" doc:"The parts of the request that are not as declared"`

	headers http.Header
}

// PartError is a part of a request that is not as declared.
type PartError struct {
	Location string `json:"location,omitempty" doc:"Where it stands, such as body.reason"`
	Message  string `json:"message" doc:"What is wrong with it"`
}

func (p *Problem) Error() string { return p.Title }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

func refusal(status int, code, title, next string) *Problem {
	return &Problem{Type: "urn:patra:error:" + code, Code: code, Title: title, Status: status, Next: next}
}

// adoptProblems makes the library tell what is wrong with a request in our form. It
// keeps the way errors are made in a variable of the package, so that this can only
// be said for the whole process; nothing else in it uses the library. What was sent
// is not repeated: it may be a secret in the wrong place.
var adoptProblems = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		p := refusal(status, codeOf(status), cmp.Or(msg, http.StatusText(status)), "")
		for _, err := range errs {
			if d, is := err.(huma.ErrorDetailer); is { //nolint:errorlint // as the library makes them
				detail := d.ErrorDetail()
				p.Errors = append(p.Errors, PartError{Location: detail.Location, Message: detail.Message})
			}
		}
		if status < http.StatusInternalServerError {
			p.Next = "see /api/v1/openapi.json for what this route takes"
		}
		return p
	}
})

func codeOf(status int) string {
	switch {
	case status == http.StatusNotFound:
		return "not_found"
	case status >= http.StatusInternalServerError:
		return "failed"
	default:
		return "usage"
	}
}

// explain makes the problem of an error that came of a use case. What nobody has
// foreseen goes to the log and not to whoever asked.
func explain(ctx context.Context, err error, code string, log *slog.Logger) *Problem {
	if p, is := errors.AsType[*Problem](err); is {
		return p
	}
	p, known := control.Explain(err, cmp.Or(code, "SOURCE"))
	if (known || errors.Is(err, harvest.ErrStoreAway)) && !errors.Is(err, harvest.ErrUnknownOutcome) {
		noteRefusal(ctx)
	}
	switch {
	case known:
		out := refusal(statusOf(p, err), p.Code, p.Title, p.Next)
		out.Detail = p.Detail
		return out
	case ctx.Err() != nil:
		return refusal(http.StatusServiceUnavailable, "took_too_long", "the answer took too long and was given up",
			"ask for less, or again when less is going on; a preview counts at the source, at the rate it allows")
	case errors.Is(err, harvest.ErrStoreAway):
		return refusal(http.StatusServiceUnavailable, "unreachable", "the database does not answer", "try again; GET /readyz tells when it does")
	}
	log.ErrorContext(ctx, "request failed", "err", err)
	return refusal(http.StatusInternalServerError, "failed", "something went wrong here; the log of this process says what", "")
}

// statusOf is the status that a problem is answered with.
func statusOf(p problem.Problem, err error) int {
	if _, held := errors.AsType[*harvest.HeldError](err); held { // nobody was asked
		return http.StatusConflict
	}
	if _, archived := errors.AsType[*control.ArchivedError](err); archived {
		return http.StatusGone
	}
	switch p.Kind {
	case problem.Usage:
		return http.StatusUnprocessableEntity
	case problem.NotFound:
		return http.StatusNotFound
	case problem.Conflict:
		return http.StatusConflict
	case problem.Upstream:
		return http.StatusBadGateway
	}
	if errors.Is(err, harvest.ErrStoreAway) {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// write answers with the problem.
func (p *Problem) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), p.headers)
	b, err := json.Marshal(p)
	if err != nil { // texts and a number
		panic(err)
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	w.Write(append(b, '\n')) //nolint:errcheck // whoever asked is gone
}
