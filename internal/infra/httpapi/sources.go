package httpapi

import (
	"context"
	"net/http"

	"github.com/papertrace/patra/internal/app/control"
)

// page is which part of a list is wanted.
type page struct {
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
	After string `query:"after" maxLength:"512" doc:"What next said in the answer before"`
}

func (p page) page() control.Page { return control.Page{After: p.After, Limit: p.Limit} }

// ofSource names a source in the path.
type ofSource struct {
	Code string `path:"code" maxLength:"64" doc:"Code of the source" example:"crossref"`
}

func (s ofSource) sourceCode() string { return s.Code }

func (d *Door) declareSources() {
	list := route{method: http.MethodGet, path: base + "/sources", tag: "sources", needs: control.Viewer, summary: "The sources there are, and whether they are held"}
	declare(d, list, func(ctx context.Context, in *page) (control.SourceList, error) {
		return d.control.Sources(ctx, in.page())
	})
	one := route{method: http.MethodGet, path: base + "/sources/{code}", tag: "sources", needs: control.Viewer, single: true, summary: "A source"}
	declare(d, one, func(ctx context.Context, in *ofSource) (control.SourceRow, error) {
		return d.control.Source(ctx, in.Code)
	})
}
