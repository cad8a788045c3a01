package upstream

import (
	"fmt"
	"sync"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/template"
)

// compiledSpec is a spec made ready to be asked: its templates and fault rules compiled
// once.
type compiledSpec struct {
	spec      *source.Spec
	cal       harvest.Calendar
	rules     *source.Classifier
	headers   map[string]*template.Template
	endpoints map[source.Purpose]*endpoint
}

// endpoint is one of a source's endpoints, with its templates compiled.
type endpoint struct {
	*source.Endpoint
	path    *template.Template
	headers map[string]*template.Template
	// first is what the first page sends, next what the others do.
	first, next *payload
}

// payload are the parts of a request that may differ from page to page.
type payload struct {
	query, form map[string]*template.Template
	body        *template.Template // nil: none
}

func compileSpec(spec *source.Spec) (*compiledSpec, error) {
	p := &compiledSpec{spec: spec, endpoints: map[source.Purpose]*endpoint{}}
	var err error
	p.cal, err = spec.Window.Calendar()
	if err != nil {
		return nil, err
	}
	p.rules, err = source.NewClassifier(spec)
	if err != nil {
		return nil, err
	}
	p.headers, err = parseHeaders(spec.HTTP.Headers)
	if err != nil {
		return nil, err
	}
	for _, purpose := range source.Purposes() {
		e := spec.Endpoint(purpose)
		if e == nil {
			continue
		}
		q := &endpoint{Endpoint: e}
		q.path, err = source.ParseTemplate(e.Path)
		if err == nil {
			q.headers, err = parseHeaders(e.Headers)
		}
		if err == nil {
			q.first, err = newPayload(e.Query, e.Form, e.Body)
		}
		if err == nil {
			q.next, err = following(q)
		}
		if err != nil {
			return nil, fmt.Errorf("endpoint %s: %w", e.Name, err)
		}
		p.endpoints[purpose] = q
	}
	return p, nil
}

// following is the payload of the pages after the first: that of the first,
// with what the source says of them in its place (P6).
func following(e *endpoint) (*payload, error) {
	if e.Next == nil {
		return e.first, nil
	}
	p, err := newPayload(e.Next.Query, e.Next.Form, e.Next.Body)
	if err != nil {
		return nil, fmt.Errorf("next: %w", err)
	}
	if e.Next.Query == nil {
		p.query = e.first.query
	}
	if e.Next.Form == nil {
		p.form = e.first.form
	}
	if e.Next.Body == "" {
		p.body = e.first.body
	}
	return p, nil
}

func newPayload(query, form map[string]string, body string) (*payload, error) {
	var p payload
	var err error
	p.query, err = parseAll("query", query)
	if err != nil {
		return nil, err
	}
	p.form, err = parseAll("form", form)
	if err != nil {
		return nil, err
	}
	if body != "" {
		p.body, err = source.ParseBody(body)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
	}
	return &p, nil
}

// parseHeaders keeps nil for a header that is taken away.
func parseHeaders(in source.Headers) (map[string]*template.Template, error) {
	out, err := parseAll("header", in.Texts())
	for name, v := range in {
		if v == nil && err == nil {
			out[name] = nil
		}
	}
	return out, err
}

func parseAll(place string, in map[string]string) (map[string]*template.Template, error) {
	out := make(map[string]*template.Template, len(in))
	for name, s := range in {
		t, err := source.ParseTemplate(s)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", place, name, err)
		}
		out[name] = t
	}
	return out, nil
}

// maxCompiled bounds the cache; a spec that fell out is compiled again.
const maxCompiled = 64

// compiledSpecs remembers compiled specs by the address of the spec: a spec is frozen,
// and the entry keeps it alive, so an address is never that of another.
type compiledSpecs struct {
	mu    sync.Mutex
	known map[*source.Spec]*compiledSpec
	order []*source.Spec
}

func (c *compiledSpecs) get(spec *source.Spec) (*compiledSpec, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.known[spec]; p != nil {
		return p, nil
	}
	p, err := compileSpec(spec)
	if err != nil {
		return nil, err
	}
	if len(c.order) >= maxCompiled {
		delete(c.known, c.order[0])
		c.order = append(c.order[:0], c.order[1:]...)
	}
	if c.known == nil {
		c.known = map[*source.Spec]*compiledSpec{}
	}
	c.known[spec] = p
	c.order = append(c.order, spec)
	return p, nil
}
