package control

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
)

// QueryRequest is a query that is to be explained for some sources.
type QueryRequest struct {
	Query   string
	Sources []string
	// Count asks each source how many it counts, by one request.
	Count bool
	// Base is the address of a source, empty for its own.
	Base func(code string) string
}

// ExplainedQuery is what becomes of a query at each source.
type ExplainedQuery struct {
	// Query is the canonical form, and Hash the name of its meaning.
	Query   string        `json:"query"`
	Hash    string        `json:"hash"`
	Sources []SourceQuery `json:"sources"`
}

// SourceQuery is what becomes of a query at one source.
type SourceQuery struct {
	Source string `json:"source"`
	// Sent is what the source is asked for, as one text, and Params the same as the
	// parameters that it gets; empty if it is read whole.
	Sent   string       `json:"sent"`
	Params []QueryParam `json:"params"`
	// Finds says how what is found compares with what is sent: EXACT, SUPERSET, RANKED.
	Finds query.Finds `json:"finds"`
	// FilteredHere are the conditions that each record is held against here.
	FilteredHere []string `json:"filtered_here"`
	// Unknown are fields that the source neither searches nor shows: what depends on
	// them is kept, and counted as undecided.
	Unknown []string `json:"unknown"`
	// Notes are what else is to be known.
	Notes []string `json:"notes"`
	// Count is how many the source counts, nil if nobody asked or it cannot tell. Exact
	// says that this is the number of records that the query asks for.
	Count *int64 `json:"count"`
	Exact bool   `json:"exact"`
	// Refused is why the query cannot be asked here, or not be counted.
	Refused string `json:"refused,omitempty"`
}

// QueryParam is a parameter as a source gets it.
type QueryParam struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ExplainQuery tells for each source what it is asked for, what is decided here and
// what nobody can know. A source that cannot be asked says why; the others are
// explained nevertheless.
func (c *Control) ExplainQuery(ctx context.Context, req QueryRequest) (ExplainedQuery, error) {
	e, err := query.Parse(req.Query, query.Default())
	if err != nil {
		return ExplainedQuery{}, &badQueryError{text: req.Query, err: err}
	}
	sel := query.NewSelection(e)
	out := ExplainedQuery{Query: query.Format(sel.Expr(), query.Default()), Hash: sel.Hash(), Sources: []SourceQuery{}}
	for _, code := range req.Sources {
		if err := c.known(ctx, code); err != nil {
			return out, err
		}
	}
	for _, code := range req.Sources {
		one, err := c.explainFor(ctx, req, code)
		if err != nil {
			return out, err
		}
		out.Sources = append(out.Sources, one)
	}
	return out, nil
}

func (c *Control) explainFor(ctx context.Context, req QueryRequest, code string) (SourceQuery, error) {
	out := SourceQuery{Source: code, Params: []QueryParam{}, FilteredHere: []string{}, Unknown: []string{}, Notes: []string{}}
	con, err := c.contracts.Select(ctx, code, harvest.Harvest, req.Query)
	refused, isRefused := errors.AsType[source.Violations](err)
	if isRefused { // a source that does not tell of changes can be read by a backfill all the same
		con, err = c.contracts.Select(ctx, code, harvest.Backfill, req.Query)
		if err == nil {
			out.Notes = append(out.Notes, "it does not tell of changes: it is read by patra backfill, not by patra harvest")
		}
	}
	if _, again := errors.AsType[source.Violations](err); again {
		out.Refused = refused.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	explainSelection(&out, con.Spec)
	if !req.Count {
		return out, nil
	}
	base := ""
	if req.Base != nil {
		base = req.Base(code)
	}
	n, err := c.countQuery(ctx, con.Spec, base)
	if err != nil {
		out.Refused = c.inTheWay(err)
		return out, nil
	}
	out.Count = n
	q := con.Spec.Query
	out.Exact = n != nil && con.Spec.Paging.TotalExact && (q == nil || q.Rest == "")
	switch {
	case n == nil:
		out.Notes = append(out.Notes, "the source does not count")
	case !out.Exact && out.Finds == query.FindsRanked:
		out.Notes = append(out.Notes, "its count is not one of matches: it counts all that has any of the words")
	}
	return out, nil
}

// explainSelection tells how a query was divided.
func explainSelection(out *SourceQuery, spec *source.Spec) {
	q := spec.Query
	out.Finds = query.FindsExact
	if q == nil {
		out.Notes = append(out.Notes, "everything is asked for")
		return
	}
	if q.Finds != "" {
		out.Finds = q.Finds
	}
	out.Params = sentParams(spec)
	var sent []string
	for _, p := range out.Params {
		sent = append(sent, p.Name+"="+p.Value)
	}
	out.Sent = strings.Join(sent, " & ")
	out.FilteredHere = conditions(q.Rest)
	out.Unknown = append(out.Unknown, q.Unseen...)
	if q.Whole() {
		out.Notes = append(out.Notes, "nothing of it can be sent: the source is read whole, and filtered here")
	}
	if q.Finds == query.FindsRanked {
		out.Notes = append(out.Notes, "what is sent is ranked, not selected: it is complete only when walked to its end, which is done")
	}
	if len(q.Spelt) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("accents may be told apart in %s: a word is found as it is spelt here, or without its accents",
			strings.Join(q.Spelt, ", ")))
	}
	if len(q.Unseen) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("records do not show %s: what depends on it is kept and counted as undecided", strings.Join(q.Unseen, ", ")))
	}
}

// conditions are the parts of what is decided here that all have to hold, as people
// write them.
func conditions(rest string) []string {
	out := []string{}
	if rest == "" {
		return out
	}
	sel, err := query.StoredSelection([]byte(rest))
	if err != nil {
		return append(out, rest)
	}
	parts := []query.Expr{sel.Expr()}
	if and, ok := sel.Expr().(query.And); ok {
		parts = and.Of
	}
	for _, p := range parts {
		out = append(out, query.Format(p, query.Default()))
	}
	return out
}

// sentParams are the parameters that carry the query, as the source gets them but for
// the window, which stands beside it.
func sentParams(spec *source.Spec) []QueryParam {
	out := []QueryParam{}
	for _, p := range spec.QueryParams() {
		for _, v := range p.Values {
			out = append(out, QueryParam{Name: p.Name, Value: v})
		}
	}
	return out
}

// countQuery asks a source how many it counts from its beginning until now; nil if it
// does not count.
func (c *Control) countQuery(ctx context.Context, spec *source.Spec, base string) (*int64, error) {
	purpose := source.ForCount
	if spec.Count == nil {
		if !spec.Paging.TotalExact {
			return nil, nil
		}
		purpose = source.ForSearch
	}
	cal, err := spec.Window.Calendar()
	if err != nil {
		return nil, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	w := harvest.Window{From: spec.Window.Begins(cal), To: cal.Floor(now.Add(-time.Duration(spec.Window.SafetyLag)))}
	ans, err := c.line.Ask(ctx, spec, source.Call{Purpose: purpose, Window: w, BaseURL: base, Correlation: "ing-explain"})
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", spec.Source, err)
	}
	return ans.Page.Total, nil
}

// FoundWords says how what the source finds compares with what is asked for.
func (s SourceQuery) FoundWords() string {
	switch {
	case len(s.Params) == 0:
		return "all that it has"
	case s.Finds == query.FindsRanked:
		return "all of it and much more, sorted by how well it fits"
	case s.Finds == query.FindsSuperset:
		return "all of it and more"
	case s.sentInPart():
		return "more than is asked for: it is sent only a part of the query"
	}
	return "what is asked for"
}

// sentInPart reports whether a condition of the query is not sent at all.
func (s SourceQuery) sentInPart() bool {
	return len(s.FilteredHere) > 0 && s.Finds != query.FindsSuperset
}

// CountWords says how many the source counts, and what of.
func (s SourceQuery) CountWords() string {
	switch {
	case s.Refused != "":
		return "not known: " + s.Refused
	case s.Count == nil:
		return "not known"
	case s.Exact:
		return strconv.FormatInt(*s.Count, 10)
	}
	return "at most " + strconv.FormatInt(*s.Count, 10) + ", before what is filtered here"
}

// badQueryError is a query that cannot be read, whatever the source.
type badQueryError struct {
	text string
	err  error
}

func (e *badQueryError) Error() string {
	if ps, ok := errors.AsType[query.Problems](e.err); ok {
		return ps.Show(e.text)
	}
	return e.err.Error()
}

func (e *badQueryError) Unwrap() error { return e.err }

// Problem implements problem.Error.
func (e *badQueryError) Problem() problem.Problem {
	return problem.Problem{
		Code: "bad_query", Kind: problem.Usage, Title: "the query cannot be read", Detail: e.Error(), Next: "mend it where it is marked; nothing was asked",
	}
}
