package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/papertrace/patra/internal/app/control"
)

// readyOutput is a readiness with the status that says the same.
type readyOutput struct {
	Status int
	Body   control.Readiness
}

// declareReady adds the probe that tells whether the process does what it is there
// for. Its status is 503 when it does not, with the same body.
func (d *Door) declareReady() {
	rt := route{method: http.MethodGet, path: "/readyz", tag: "process", probe: true, summary: "Whether store, schema and roles are as they should be"}
	d.routes[rt.pattern()] = rt
	op := rt.operation()
	op.Errors = []int{http.StatusInternalServerError}
	notReady := &huma.Schema{Ref: schemaPrefix + "Readiness"}
	op.Responses = map[string]*huma.Response{"503": {
		Description: "It is not ready", Content: map[string]*huma.MediaType{"application/json": {Schema: notReady}},
	}}
	huma.Register(d.api, op, func(ctx context.Context, _ *nothing) (*readyOutput, error) {
		out := &readyOutput{Status: http.StatusOK, Body: d.control.Readiness(ctx, d.board)}
		if !out.Body.Ready {
			out.Status = http.StatusServiceUnavailable
		}
		return out, nil
	})
}

// metricsType is the text format of Prometheus.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// declareMetrics adds what the process counts, if it does. Who may look at sources may
// look at this.
func (d *Door) declareMetrics() {
	if d.metrics == nil {
		return
	}
	rt := route{method: http.MethodGet, path: "/metrics", tag: "process", needs: control.Viewer, summary: "What the process counts, for Prometheus"}
	d.routes[rt.pattern()] = rt
	type text struct {
		ContentType string `header:"Content-Type"`
		Body        []byte
	}
	op := rt.operation()
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The text format of Prometheus", Content: map[string]*huma.MediaType{metricsType: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(d.api, op, func(ctx context.Context, _ *nothing) (*text, error) {
		body, err := d.metrics(ctx)
		if err != nil {
			return nil, explain(ctx, err, "", d.log)
		}
		return &text{ContentType: metricsType, Body: body}, nil
	})
}

// declareDocument adds the document that describes all routes, itself too.
func (d *Door) declareDocument() {
	rt := route{method: http.MethodGet, path: base + "/openapi.json", tag: "process", summary: "This document"}
	d.routes[rt.pattern()] = rt
	type document struct {
		ContentType string `header:"Content-Type"`
		Body        []byte
	}
	op := rt.operation()
	op.Responses = map[string]*huma.Response{"200": {
		Description: "OpenAPI 3.1", Content: map[string]*huma.MediaType{"application/openapi+json": {Schema: &huma.Schema{Type: huma.TypeObject}}},
	}}
	huma.Register(d.api, op, func(context.Context, *nothing) (*document, error) {
		return &document{ContentType: "application/openapi+json", Body: d.openapi}, nil
	})
}

// Alive is the answer of a process that runs.
type Alive struct {
	Status string `json:"status" enum:"ok"`
}

// declareProbes adds what machines ask that look after processes.
func (d *Door) declareProbes() {
	declare(d, route{method: http.MethodGet, path: "/healthz", tag: "process", probe: true, summary: "Whether the process answers"},
		func(context.Context, *nothing) (Alive, error) { return Alive{Status: "ok"}, nil })
	d.declareReady()
	declare(d, route{method: http.MethodGet, path: "/version", tag: "process", summary: "Which program this is"},
		func(context.Context, *nothing) (control.Build, error) { return d.build, nil })
	d.declareMetrics()
	d.declareDocument()
}
