package control

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// SearchOrder is a saved search as a person asks for it.
type SearchOrder struct {
	By
	Name    string
	Query   string
	Sources []string
	// Begins is where it begins, zero for the beginning of each source.
	Begins time.Time
	DryRun bool
}

// SearchChange is what becomes of a saved search.
type SearchChange struct {
	Applied bool    `json:"applied"`
	Changes bool    `json:"changes"`
	Before  *Search `json:"before"`
	After   *Search `json:"after"`
	// Notes tell what follows from it.
	Notes []string `json:"notes,omitempty"`
	// Token, of a preview, lets exactly this be done.
	Token string `json:"token,omitempty"`
}

// searchName is what a search may be called.
var searchName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// mostSources bounds how many sources one search asks.
const mostSources = 50

// SaveSearch saves a search, new or as another version of the one of that name. What its
// sources cannot be asked for is refused, as harvesting it would be.
func (c *Control) SaveSearch(ctx context.Context, o SearchOrder) (SearchChange, error) {
	o.Query = strings.TrimSpace(o.Query)
	if err := o.check(); err != nil {
		return SearchChange{}, err
	}
	if o.DryRun {
		ctx = c.leaveNoTrace(ctx)
	}
	wanted := SavedSearch{Name: o.Name, Version: 1, Query: o.Query, Begins: o.Begins}
	for _, code := range o.Sources {
		src, err := c.searched(ctx, code, o.Query)
		if err != nil {
			return SearchChange{}, err
		}
		wanted.Sources = append(wanted.Sources, src)
	}
	out := SearchChange{Changes: true}
	before, err := c.store.Search(ctx, o.Name)
	switch {
	case err == nil:
		wanted.Version = before.Version + 1
		out.Before = new(searchOf(before))
		out.Changes = !before.same(wanted)
		out.Notes = append(out.Notes, fmt.Sprintf("version %d and its runs stay; records that both select are not read again", before.Version))
	case !errors.Is(err, harvest.ErrNotFound):
		return SearchChange{}, err
	}
	if !out.Changes {
		out.After = out.Before
		out.Notes = nil
		return out, nil
	}
	var ended []string
	if out.Before != nil {
		ended, err = c.schedulesEnded(ctx, before, &wanted)
		if err != nil {
			return SearchChange{}, err
		}
		out.Notes = append(out.Notes, endedNote(ended)...)
		if len(ended) > 0 && before.Query != wanted.Query {
			out.Notes = append(out.Notes, fmt.Sprintf("to have the new query asked by itself: patra search run %s, then patra search schedule %s", o.Name, o.Name))
		}
	}
	wide, err := c.askedForMore(ctx, wanted)
	if err != nil {
		return SearchChange{}, err
	}
	out.Notes = append(out.Notes, wide...)
	return c.saveSearch(ctx, out, wanted, ended, o)
}

// endedNote tells which schedules end with a search.
func endedNote(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of what the search no longer asks for is removed with this: %s", Count(len(names), "schedule"), strings.Join(names, ", "))}
}

// askedForMore names the sources that cannot be asked for a condition of a query: more of
// them is read than it wants, which may be much.
func (c *Control) askedForMore(ctx context.Context, s SavedSearch) ([]string, error) {
	var out []string
	for _, code := range s.codes() {
		asked, err := c.explainFor(ctx, QueryRequest{Query: s.Query}, code)
		if err != nil {
			return nil, err
		}
		if asked.sentInPart() {
			out = append(out, fmt.Sprintf("%s cannot be asked for all of the query: more is read, and what does not fit is left out; patra search count %s tells how much",
				code, s.Name))
		}
	}
	return out, nil
}

// saveSearch writes a version of a search, unless it is only to be looked at.
func (c *Control) saveSearch(ctx context.Context, out SearchChange, wanted SavedSearch, ended []string, o SearchOrder) (SearchChange, error) {
	const action = "SEARCH_SAVE"
	after := searchOf(wanted)
	after.CreatedAt = Time{}
	shown := []any{out.Before, after, ended}
	var err error
	if o.DryRun {
		out.After = &after
		out.Token, err = c.seenToken(ctx, action, o.Name, shown)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, action, o.Name, shown); err != nil {
		return out, err
	}
	saved, err := c.store.SaveSearch(ctx, wanted, ended, o.line(action, "search/"+o.Name))
	if err != nil {
		return out, err
	}
	out.After = new(searchOf(saved))
	out.Applied = true
	return out, nil
}

// check refuses an order that no source need be asked about.
func (o SearchOrder) check() error {
	switch {
	case !searchName.MatchString(o.Name):
		return &BadSearchError{What: fmt.Sprintf("%q cannot be the name of a search: use up to 63 small letters, digits, dots, dashes and underscores, "+
			"such as insulin-resistance", o.Name)}
	case o.Query == "":
		return &BadSearchError{What: "a search needs a query", Next: `patra search new ` + o.Name + ` --query 'tiab:"insulin resistance"' --sources pubmed,crossref --reason TEXT`}
	case len(o.Sources) == 0:
		return &BadSearchError{What: "a search needs at least one source", Next: "patra source list names them"}
	case len(o.Sources) > mostSources:
		return &BadSearchError{What: fmt.Sprintf("%d sources are too many for one search: at most %d", len(o.Sources), mostSources)}
	}
	for i, code := range o.Sources {
		if slices.Contains(o.Sources[:i], code) {
			return &BadSearchError{What: fmt.Sprintf("source %s is named twice", code)}
		}
	}
	return nil
}

// same reports whether a version asks for what another does.
func (s SavedSearch) same(other SavedSearch) bool {
	return s.Query == other.Query && s.Begins.Equal(other.Begins) && slices.Equal(s.codes(), other.codes())
}

// searched is a source with what a query selects there.
func (c *Control) searched(ctx context.Context, code, query string) (SearchedSource, error) {
	con, _, err := c.searchContract(ctx, code, query)
	if err != nil {
		return SearchedSource{}, err
	}
	if con.Spec.Query == nil {
		return SearchedSource{}, &BadSearchError{What: fmt.Sprintf("the query selects everything of %s; a search selects a part", code), Next: "patra harvest " + code}
	}
	return SearchedSource{Source: code, Hash: con.Spec.Query.Hash, Text: con.Spec.Query.Text}, nil
}

// searchContract is the contract by which a source is searched, and the operation: a
// HARVEST where that goes on from a cursor, else a BACKFILL that reads all of it.
func (c *Control) searchContract(ctx context.Context, code, query string) (source.Contract, harvest.Operation, error) {
	con, err := c.contracts.Select(ctx, code, harvest.Harvest, query)
	if err == nil {
		return con, harvest.Harvest, nil
	}
	whole, berr := c.contracts.Select(ctx, code, harvest.Backfill, query)
	if berr != nil {
		return con, harvest.Harvest, err
	}
	return whole, harvest.Backfill, nil
}

// SearchHold says which search is removed.
type SearchHold struct {
	By
	Name   string
	DryRun bool
}

// RemoveSearch ends a saved search. Its records, its runs and what is proven stay.
func (c *Control) RemoveSearch(ctx context.Context, o SearchHold) (SearchChange, error) {
	const action = "SEARCH_REMOVE"
	s, err := c.searchNamed(ctx, o.Name)
	if err != nil {
		return SearchChange{}, err
	}
	out := SearchChange{Changes: true, Before: new(searchOf(s))}
	ended, err := c.schedulesEnded(ctx, s, nil)
	if err != nil {
		return SearchChange{}, err
	}
	out.Notes = append([]string{"its records, its runs and the cursors of its selections stay"}, endedNote(ended)...)
	shown := []any{out.Before, ended}
	if o.DryRun {
		out.Token, err = c.seenToken(ctx, action, o.Name, shown)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, action, o.Name, shown); err != nil {
		return out, err
	}
	if err := c.store.RemoveSearch(ctx, o.Name, ended, o.line(action, "search/"+o.Name)); err != nil {
		return out, err
	}
	out.Applied = true
	return out, nil
}
