package source

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// withParams is an endpoint with what it has by the names of parameters put into its
// templates: its own names, or else those of the paging and of the batching. A parameter
// that has a template keeps it. A content type that belongs to no body says the format.
func (c *compiler) withParams(e Endpoint) Endpoint {
	e = e.clone()
	switch e.Usage {
	case UsageSearch:
		e = e.paged(c.def.Pagination)
	case UsageDetail:
		e = e.batched(c.def.Batching)
	}
	if e.Format == "" {
		e.Format = formatOf(e.ContentType)
	}
	return e
}

// formatOf is the format of replies of a content type; empty if that names none.
func formatOf(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	_, sub, _ := strings.Cut(strings.ToLower(strings.TrimSpace(kind)), "/")
	switch {
	case sub == "json" || strings.HasSuffix(sub, "+json"):
		return FormatJSON
	case sub == "xml" || strings.HasSuffix(sub, "+xml"):
		return FormatXML
	}
	return ""
}

// paged puts in how pages are asked for.
func (e Endpoint) paged(p *PaginationConfig) Endpoint {
	if p == nil {
		return e
	}
	switch p.Type {
	case harvest.PageNumber:
		e.send(cmp.Or(e.PageParam, p.PageParam), "${page.no}")
	case harvest.PageOffset:
		e.send(cmp.Or(e.PageParam, p.PageParam), "${page.offset}")
	case harvest.PageToken, harvest.PageScroll:
		e.send(cmp.Or(e.CursorParam, p.CursorParam), "${page.token}")
		e.Response.Token = cmp.Or(e.Response.Token, p.NextToken)
	}
	e.send(cmp.Or(e.SizeParam, p.SizeParam), "${page.size}")
	return e
}

// batched puts in how ids are asked for.
func (e Endpoint) batched(b *Batching) Endpoint {
	if b == nil {
		return e
	}
	e.send(b.Param, fmt.Sprintf("${join(ids, %s)}", quoted(cmp.Or(b.Separator, ","))))
	return e
}

// quoted is a text as a template has it.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
}

// send gives a parameter a template, unless it has one: in the form of a POST that has
// one, else in the query.
func (e *Endpoint) send(name, template string) {
	_, inQuery := e.Query[name]
	_, inForm := e.Form[name]
	if name == "" || inQuery || inForm {
		return
	}
	to := &e.Query
	if e.Method == "POST" && len(e.Form) > 0 {
		to = &e.Form
	}
	with := maps.Clone(*to)
	if with == nil {
		with = map[string]string{}
	}
	with[name] = template
	*to = with
}
