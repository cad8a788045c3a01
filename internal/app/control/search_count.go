package control

import (
	"context"
	"sync"
	"time"

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
	// Count is none if the source does not say; Note tells why, or what limits the number.
	// Exact says that it is the number of records that the query asks for: else of more,
	// among which records are chosen here.
	Count *int64 `json:"count"`
	Exact bool   `json:"exact"`
	// Sent is what the source is asked for, FilteredHere what each record is held against
	// here, Unknown what the source neither searches nor shows.
	Sent         string   `json:"sent"`
	FilteredHere []string `json:"filtered_here"`
	Unknown      []string `json:"unknown"`
	Note         string   `json:"note,omitempty"`
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
			out.Sources[i] = c.countedSource(ctx, s, src, hosts[src.Source])
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// countedSource is what one source says, and what becomes of the query there.
func (c *Control) countedSource(ctx context.Context, s SavedSearch, src SearchedSource, base string) SearchCount {
	out := SearchCount{Source: src.Source, FilteredHere: []string{}, Unknown: []string{}}
	asked, err := c.explainFor(ctx, QueryRequest{Query: s.Query}, src.Source)
	if err == nil {
		out.Sent = asked.Sent
		out.FilteredHere = asked.FilteredHere
		out.Unknown = asked.Unknown
		out.Count, out.Note, err = c.countSource(ctx, s, src, base)
	}
	if err != nil {
		out.Note = c.inTheWay(err)
		return out
	}
	out.Exact = out.Count != nil && out.Note == "" && len(out.FilteredHere) == 0
	if out.Count != nil && len(out.FilteredHere) > 0 {
		out.Note = "before records are filtered here"
	}
	return out
}

// countSource asks one source.
func (c *Control) countSource(ctx context.Context, s SavedSearch, src SearchedSource, base string) (n *int64, note string, err error) {
	con, _, err := c.searchContract(ctx, src.Source, s.Query)
	if err != nil {
		return nil, "", err
	}
	spec := con.Spec
	r := sourceRun{Control: c, search: s, src: src}
	from, err := r.search.beginsAt(spec)
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
	// What a run would read ends there: now by the slower of the two clocks, less the lag.
	end := func(skew time.Duration) time.Time {
		return cal.Floor(now.Add(min(0, skew)).Add(-spec.Window.SafetyLag.D()))
	}
	call := source.Call{Purpose: source.ForCount, Window: harvest.Window{From: from, To: end(0)}, BaseURL: base, Correlation: "ing-search-count"}
	if !from.Before(call.Window.To) {
		return new(int64), "nothing of that time can be read yet", nil
	}
	if spec.Count == nil {
		call.Purpose = source.ForSearch
	}
	ans, err := c.line.Ask(ctx, spec, call)
	if err == nil && !ans.UpstreamAt.IsZero() {
		skew := ans.UpstreamAt.Sub(now)
		to := end(skew)
		if skew < -clockOff && harvest.ClockBelieved(skew, spec.StandsIn(base)) && to.Before(call.Window.To) && from.Before(to) {
			call.Window.To = to
			ans, err = c.line.Ask(ctx, spec, call)
		}
	}
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
