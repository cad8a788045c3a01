package control

import (
	"context"
	"sync"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// SearchCounts is how many records the sources of a search say that they have of it.
type SearchCounts struct {
	Search  string        `json:"search"`
	Query   string        `json:"query"`
	Sources []SearchCount `json:"sources"`
}

// SearchCount is what one source says.
type SearchCount struct {
	Source string `json:"source"`
	// Records is none if the source does not say; Note tells why, or what limits the number.
	Records *int64 `json:"records,omitempty"`
	Note    string `json:"note,omitempty"`
}

// CountSearch asks each source of a search once how many records it has of it, through the
// rate gate. Nothing is stored.
func (c *Control) CountSearch(ctx context.Context, name string, hosts map[string]string) (SearchCounts, error) {
	ctx = c.leaveNoTrace(ctx)
	s, err := c.searchNamed(ctx, name)
	if err != nil {
		return SearchCounts{}, err
	}
	if err := (SearchRunRequest{BaseURL: hosts}).check(s); err != nil {
		return SearchCounts{}, err
	}
	out := SearchCounts{Search: s.Name, Query: s.Query, Sources: make([]SearchCount, len(s.Sources))}
	var wg sync.WaitGroup
	for i, src := range s.Sources {
		wg.Go(func() {
			out.Sources[i] = SearchCount{Source: src.Source}
			n, note, err := c.countSource(ctx, s, src, hosts[src.Source])
			if err != nil {
				note = c.clean(err.Error())
			}
			out.Sources[i].Records = n
			out.Sources[i].Note = note
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// countSource asks one source.
func (c *Control) countSource(ctx context.Context, s SavedSearch, src SearchedSource, base string) (n *int64, note string, err error) {
	con, _, err := c.searchContract(ctx, src.Source, s.Query)
	if err != nil {
		return nil, "", err
	}
	spec := con.Spec
	r := sourceRun{Control: c, search: s, src: src}
	from, err := r.begins(spec)
	if err != nil {
		return nil, "", err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, "", err
	}
	cal, err := spec.Window.Calendar()
	if err != nil {
		return nil, "", err
	}
	call := source.Call{Purpose: source.ForCount, Window: harvest.Window{From: from, To: cal.Floor(now)}, BaseURL: base, Correlation: "ing-search-count"}
	if spec.Count == nil {
		call.Purpose = source.ForSearch
	}
	ans, err := c.line.Ask(ctx, spec, call)
	switch {
	case err != nil:
		return nil, "", err
	case ans.Page == nil || ans.Page.Total == nil:
		return nil, "the source does not say how many there are", nil
	case !spec.Paging.TotalExact:
		note = "about, by the source's own word"
	}
	return ans.Page.Total, note, nil
}
