package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

type explainInput struct {
	Query   string   `query:"query" required:"true" minLength:"1" maxLength:"32768" doc:"The query, in its text form" example:"tiab:insulin AND year:2020.."`
	Sources []string `query:"sources" required:"true" minItems:"1" maxItems:"50" doc:"Codes of the sources" example:"[\"pubmed\",\"crossref\"]"`
}

func (d *Door) declareQueries() {
	declare(d, look("/queries/explain", "queries", "What each source would be sent of a query, and what would be filtered here"),
		func(ctx context.Context, in *explainInput) (control.ExplainedQuery, error) {
			return d.control.ExplainQuery(ctx, control.QueryRequest{Query: in.Query, Sources: in.Sources})
		})
}
