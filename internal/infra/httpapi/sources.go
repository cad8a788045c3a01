package httpapi

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Page is which part of a list is wanted.
type Page struct {
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
	After string `query:"after" maxLength:"512" doc:"What next said in the answer before"`
}

func (p Page) page() control.Page { return control.Page{After: p.After, Limit: p.Limit} }

// OfSource names a source in the path.
type OfSource struct {
	Code string `path:"code" maxLength:"64" doc:"Code of the source" example:"crossref"`
}

func (s OfSource) sourceCode() string { return s.Code }

type contractInput struct {
	OfSource
	Operation string    `query:"operation" enum:"HARVEST,BACKFILL,UPDATE" default:"HARVEST" doc:"What it is asked for"`
	At        time.Time `query:"at" doc:"The instant, RFC 3339; now unless given"`
	Explain   bool      `query:"explain" doc:"Tell, in place of values, which rows each part was picked over, and why"`
}

type diffInput struct {
	OfSource
	From time.Time `query:"from" required:"true" doc:"The older instant, RFC 3339"`
	To   time.Time `query:"to" doc:"The newer one; now unless given"`
}

type coverageInput struct {
	Source string    `query:"source" maxLength:"64" doc:"Of this source only"`
	From   time.Time `query:"from" doc:"Where the map begins, RFC 3339; 30 days before its end unless given"`
	To     time.Time `query:"to" doc:"Where it ends; now unless given"`
	Steps  int       `query:"steps" minimum:"1" maximum:"400" default:"60" doc:"Into how many steps the time is cut"`
	After  string    `query:"after" maxLength:"64" doc:"The source behind which the page begins, as next said"`
	Limit  int       `query:"limit" minimum:"1" maximum:"20" default:"20" doc:"At most so many sources"`
}

type sourcePage struct {
	OfSource
	Page
}

type historyInput struct {
	OfSource
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"20" doc:"At most so many lines of the audit"`
}

func (d *Door) declareSources() {
	const tag = "sources"
	declare(d, look("/sources", tag, "The sources there are, and whether they are held"),
		func(ctx context.Context, in *Page) (control.SourceList, error) {
			return d.control.Sources(ctx, in.page())
		})
	declare(d, lookAtOne("/sources/{code}", tag, "A source"),
		func(ctx context.Context, in *OfSource) (control.SourceRow, error) {
			return d.control.Source(ctx, in.Code)
		})
	declare(d, look("/sources/{code}/contract", tag, "What is in force of a source at an instant, and why"),
		func(ctx context.Context, in *contractInput) (control.SourceContract, error) {
			if in.Explain {
				return d.control.ExplainSource(ctx, in.Code, harvest.Operation(in.Operation), in.At)
			}
			return d.control.SourceContract(ctx, in.Code, harvest.Operation(in.Operation), in.At)
		})
	declare(d, look("/sources/{code}/diff", tag, "What differs between two instants"),
		func(ctx context.Context, in *diffInput) (control.SourceDiff, error) {
			return d.control.DiffSource(ctx, in.Code, in.From, in.To)
		})
	declare(d, look("/sources/{code}/history", tag, "The rows of a source over time, and who changed them"),
		func(ctx context.Context, in *historyInput) (control.SourceHistory, error) {
			return d.control.SourceHistory(ctx, in.Code, in.Limit)
		})
	declare(d, look("/sources/{code}/gaps", tag, "The windows that hold a watermark, the oldest first"),
		func(ctx context.Context, in *sourcePage) (control.GapList, error) {
			return d.control.Gaps(ctx, in.Code, in.Page.page())
		})
	declare(d, look("/coverage", tag, "How the time of each namespace stands: proven, open, late or a gap, step by step"),
		func(ctx context.Context, in *coverageInput) (control.CoverageMap, error) {
			return d.control.CoverageMap(ctx, control.CoverageQuery{
				Source: in.Source, From: in.From, To: in.To, Steps: in.Steps, Page: control.Page{After: in.After, Limit: in.Limit},
			})
		})
	declare(d, look("/sources/{code}/coverage", tag, "What is proven complete, and what is not"),
		func(ctx context.Context, in *OfSource) (control.CoverageList, error) {
			return d.control.Coverage(ctx, in.Code)
		})
}
