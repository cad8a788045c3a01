package httpapi

import (
	"context"
	"net/http"

	"github.com/papertrace/patra/internal/app/control"
)

// base is the path of everything but the probes.
const base = "/api/v1"

// declare adds every route.
func (d *Door) declare() {
	d.declareProbes()
	d.declareSources()
	exactTypes(d.api.OpenAPI().Components.Schemas)
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
	d.declareDocument()
}
