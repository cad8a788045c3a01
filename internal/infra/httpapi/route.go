package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/papertrace/patra/internal/app/control"
)

// route is what is to be known of a path and method beside its types.
type route struct {
	method, path string
	summary      string
	tag          string
	needs        control.Access // empty: nothing
	change       bool
	probe        bool // answered whoever asks and by whatever name
	single       bool // one thing, which has an ETag
	preview      bool // what a change would do, with the token that makes it
	asks         bool // it asks a source
	archived     bool // what it shows may be in an archive
	may          []int
}

func (rt route) pattern() string { return rt.method + " " + rt.path }

// id is a word for the route, made of its path.
func (rt route) id() string {
	words := []string{strings.ToLower(rt.method)}
	for part := range strings.SplitSeq(strings.TrimPrefix(rt.path, "/api/v1"), "/") {
		part = strings.Trim(part, "{}")
		if part != "" {
			words = append(words, strings.TrimSuffix(part, ".json"))
		}
	}
	return strings.Join(words, "-")
}

// statuses are those that the route answers with beside the one for success.
func (rt route) statuses() []int {
	out := append([]int{http.StatusInternalServerError, http.StatusServiceUnavailable}, rt.may...)
	if rt.probe {
		return out
	}
	out = append(out, http.StatusForbidden, http.StatusUnprocessableEntity)
	if rt.needs != "" {
		out = append(out, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusNotFound)
	}
	if rt.archived {
		out = append(out, http.StatusGone)
	}
	if rt.preview {
		out = append(out, http.StatusConflict)
	}
	if rt.change {
		out = append(out, http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType)
	}
	if rt.asks {
		out = append(out, http.StatusBadGateway)
	}
	return out
}

// operation is the route as the document shows it.
func (rt route) operation() huma.Operation {
	op := huma.Operation{
		OperationID: rt.id(), Method: rt.method, Path: rt.path, Summary: rt.summary, Tags: []string{rt.tag}, Errors: rt.statuses(),
		MaxBodyBytes: 2 * maxBody, // the door has looked at it
	}
	if rt.needs != "" {
		op.Security = []map[string][]string{{"token": {}}}
		op.Description = "Needs the role " + string(rt.needs) + "."
	}
	if rt.single {
		op.Responses = map[string]*huma.Response{"304": {Description: "It is as If-None-Match says"}}
	}
	return op
}

// nothing is the input of a route that takes none.
type nothing struct{}

// declare adds a route. What f returns is the body of the answer.
func declare[I, O any](d *Door, rt route, f func(ctx context.Context, in *I) (O, error)) {
	type output struct{ Body O }
	d.routes[rt.pattern()] = rt
	huma.Register(d.api, rt.operation(), func(ctx context.Context, in *I) (*output, error) {
		v, err := f(ctx, in)
		if err != nil {
			code := ""
			if named, is := any(in).(interface{ sourceCode() string }); is {
				code = named.sourceCode()
			}
			return nil, explain(ctx, err, code, d.log)
		}
		return &output{v}, nil
	})
}

// etag is the tag of what was answered: of these bytes and no others.
func (a *answer) etag() string {
	sum := sha256.Sum256(a.body.Bytes())
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}
