package httpapi

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/prisma"
)

type searchesInput struct {
	After string `query:"after" maxLength:"64" doc:"Begin behind this name"`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"At most so many"`
}

// OfSearch names a saved search in the path.
type OfSearch struct {
	Name string `path:"name" maxLength:"63" doc:"Name of the saved search"`
}

// SearchWish is a saved search that is asked for, whole.
type SearchWish struct {
	Name    string    `json:"name" minLength:"1" maxLength:"63" doc:"Its name"`
	Query   string    `json:"query" minLength:"1" maxLength:"20000" doc:"What is asked for"`
	Sources []string  `json:"sources" minItems:"1" maxItems:"50" doc:"Codes of the sources that are asked"`
	From    time.Time `json:"from,omitzero" doc:"Only what was changed since; everything unless given"`
}

// order is the wish as control takes it.
func (w SearchWish) order(by control.By) control.SearchOrder {
	return control.SearchOrder{By: by, Name: w.Name, Query: w.Query, Sources: w.Sources, Begins: w.From}
}

type searchPreviewInput struct {
	Body SearchWish
}

type searchInput struct {
	ChangeHeaders
	Body struct {
		Seen
		SearchWish
	}
}

type searchRemoveInput struct {
	OfSearch
	ChangeHeaders
	Body struct{ Seen }
}

// declareSearches adds saved searches. They are run where somebody looks on, by a command.
func (d *Door) declareSearches() {
	const tag = "searches"
	declare(d, look("/searches", tag, "Saved searches, and what came of their last runs"),
		func(ctx context.Context, in *searchesInput) (control.SearchList, error) {
			return d.control.Searches(ctx, control.Page{After: in.After, Limit: in.Limit})
		})
	declare(d, lookAtOne("/searches/{name}", tag, "A saved search: how far each source is proven, what was found, its runs and versions"),
		func(ctx context.Context, in *OfSearch) (control.SearchView, error) {
			return d.control.Search(ctx, in.Name)
		})
	declare(d, lookAtOne("/searches/{name}/report", tag, "What a search has to tell for a review: facts for PRISMA-S, numbers for PRISMA 2020"),
		func(ctx context.Context, in *OfSearch) (prisma.Document, error) {
			return d.control.SearchReport(ctx, in.Name)
		})
	declare(d, act("/searches/preview", tag, control.Operator, "What a saved search would be, and which version of it"),
		func(ctx context.Context, in *searchPreviewInput) (control.SearchChange, error) {
			o := in.Body.order(control.By{})
			o.DryRun = true
			return d.control.SaveSearch(ctx, o)
		})
	declare(d, act("/searches", tag, control.Operator, "Save a search, or another version of the one of that name"),
		func(ctx context.Context, in *searchInput) (control.SearchChange, error) {
			return d.control.SaveSearch(ctx, in.Body.order(in.Body.by(ctx)))
		})
	declare(d, preview("/searches/{name}/remove", tag, control.Operator, "The search that would be ended"),
		func(ctx context.Context, in *OfSearch) (control.SearchChange, error) {
			return d.control.RemoveSearch(ctx, control.SearchHold{Name: in.Name, DryRun: true})
		})
	declare(d, act("/searches/{name}/remove", tag, control.Operator, "End a search; its records and its runs stay"),
		func(ctx context.Context, in *searchRemoveInput) (control.SearchChange, error) {
			return d.control.RemoveSearch(ctx, control.SearchHold{By: in.Body.by(ctx), Name: in.Name})
		})
}
