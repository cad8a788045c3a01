package httpapi

import (
	"net/http"

	"github.com/papertrace/patra/internal/app/control"
)

// base is the path of everything but the probes.
const base = "/api/v1"

// declare adds every route.
func (d *Door) declare() {
	d.declareProbes()
	d.declareSources()
	d.declareQueries()
	d.declarePlans()
	d.declareSlices()
	d.declareCursors()
	d.declareSchedules()
	d.declareSearches()
	d.declareMonitor()
	d.declareAlerts()
	d.declareOutbox()
	d.declareErrors()
	d.declareQuarantine()
	d.declareBlackBoxes()
	d.declareDatabase()
	d.declareRecords()
	d.declareWorks()
	d.declareAccess()
	d.declareCredentials()
	d.declarePacks()
	d.declareSourceChanges()
	d.declarePlanChanges()
	d.declareSliceChanges()
	d.declareTriggers()
	d.declareWork()
	d.declareRates()
	exactTypes(d.api.OpenAPI().Components.Schemas)
}

// look is a route that shows something to a viewer.
func look(path, tag, summary string) route {
	return route{method: http.MethodGet, path: base + path, tag: tag, needs: control.Viewer, summary: summary}
}

// lookAtOne is a route that shows one thing, with its ETag.
func lookAtOne(path, tag, summary string) route {
	rt := look(path, tag, summary)
	rt.single = true
	return rt
}

// orGone is a route whose object may be archived: then the answer says where it is.
func orGone(rt route) route {
	rt.archived = true
	return rt
}

// preview is a route that shows what the change at the same path would do.
func preview(path, tag string, needs control.Access, summary string) route {
	return route{method: http.MethodGet, path: base + path, tag: tag, needs: needs, summary: summary, preview: true}
}

// act is a route that changes something.
func act(path, tag string, needs control.Access, summary string) route {
	return route{method: http.MethodPost, path: base + path, tag: tag, needs: needs, summary: summary, change: true}
}
