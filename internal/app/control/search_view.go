package control

import (
	"context"
	"errors"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Search is a saved search: one query over several sources.
type Search struct {
	Name    string   `json:"name"`
	Version int      `json:"version"`
	Query   string   `json:"query"`
	Sources []string `json:"sources"`
	// From is where it begins, none for the beginning of each source.
	From      *Time          `json:"from,omitempty"`
	CreatedAt Time           `json:"created_at,omitzero"`
	Last      *SearchRunView `json:"last,omitempty"`
}

// SearchList is a page of saved searches by name.
type SearchList struct {
	Searches []Search `json:"searches"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// SearchRunView is one run of a search.
type SearchRunView struct {
	Search    string       `json:"search"`
	Version   int          `json:"version"`
	Run       int          `json:"run"`
	Query     string       `json:"query"`
	Status    SearchStatus `json:"status"`
	Program   string       `json:"program"`
	StartedAt Time         `json:"started_at"`
	EndedAt   *Time        `json:"ended_at,omitempty"`
	// Records is how many all sources have found by then, New how many of them since the
	// run before.
	Records int64             `json:"records"`
	New     int64             `json:"new"`
	Sources []SearchSourceRun `json:"sources"`
}

// SearchSourceRun is what came of a source in a run.
type SearchSourceRun struct {
	Source  string       `json:"source"`
	Status  SearchStatus `json:"status"`
	Reason  string       `json:"reason,omitempty"`
	Records int64        `json:"records"`
	New     int64        `json:"new"`
	// Announced is how many the source said there are, over all windows; none if it did
	// not say. What came is received, of which some were filtered here.
	Announced   *int64 `json:"announced,omitempty"`
	Received    int64  `json:"received"`
	Filtered    int64  `json:"filtered"`
	Quarantined int64  `json:"quarantined"`
	BadIDs      int64  `json:"bad_ids"`
	Requests    int64  `json:"requests"`
}

// SearchView is a search, how far each of its sources is proven, and its runs.
type SearchView struct {
	Search
	Selections []SearchSelection `json:"selections"`
	Runs       []SearchRunView   `json:"runs"`
	Versions   []SearchVersion   `json:"versions"`
}

// SearchSelection is a source of a search as it stands now.
type SearchSelection struct {
	Source string `json:"source"`
	// Records is how many of its records were found so far, by whomever.
	Records   Counted `json:"records"`
	More      bool    `json:"more,omitzero"` // there are more than that
	Namespace string  `json:"namespace,omitempty"`
	ProvenTo  string  `json:"proven_to,omitempty"`
	Note      string  `json:"note,omitempty"`
}

// SearchVersion is one of the versions that a search has had.
type SearchVersion struct {
	Version      int      `json:"version"`
	Query        string   `json:"query"`
	Sources      []string `json:"sources"`
	From         *Time    `json:"from,omitempty"`
	CreatedAt    Time     `json:"created_at"`
	SupersededAt *Time    `json:"superseded_at,omitempty"`
}

// searchOf shows a version of a search.
func searchOf(s SavedSearch) Search {
	v := Search{Name: s.Name, Version: s.Version, Query: s.Query, Sources: s.codes(), CreatedAt: Time(s.CreatedAt)}
	if !s.Begins.IsZero() {
		v.From = new(Time(s.Begins))
	}
	return v
}

// Searches lists saved searches, each with what came of its last run.
func (c *Control) Searches(ctx context.Context, p Page) (SearchList, error) {
	rows, err := c.store.Searches(ctx, p.After, p.Limit+1)
	out := SearchList{Searches: []Search{}}
	if err != nil {
		return out, err
	}
	if len(rows) > p.Limit {
		rows = rows[:p.Limit]
		out.Next = rows[len(rows)-1].Name
	}
	for _, s := range rows {
		v := searchOf(s)
		runs, err := c.store.SearchRuns(ctx, s, 1)
		if err != nil {
			return out, err
		}
		if len(runs) > 0 {
			v.Last = new(runView(s, runs[0]))
		}
		out.Searches = append(out.Searches, v)
	}
	return out, nil
}

// shownRuns is how many runs of a search are listed with it.
const shownRuns = 20

// Search shows a saved search.
func (c *Control) Search(ctx context.Context, name string) (SearchView, error) {
	ctx = c.leaveNoTrace(ctx)
	s, err := c.searchNamed(ctx, name)
	if err != nil {
		return SearchView{}, err
	}
	out := SearchView{Search: searchOf(s), Selections: []SearchSelection{}, Runs: []SearchRunView{}}
	runs, err := c.store.SearchRuns(ctx, s, shownRuns)
	if err != nil {
		return out, err
	}
	for _, run := range runs {
		out.Runs = append(out.Runs, runView(s, run))
	}
	if len(out.Runs) > 0 {
		out.Last = &out.Runs[0]
	}
	for _, src := range s.Sources {
		v, err := c.selectionView(ctx, s, src)
		if err != nil {
			return out, err
		}
		out.Selections = append(out.Selections, v)
	}
	out.Versions, err = c.searchVersions(ctx, name)
	return out, err
}

// selectionView shows how a source of a search stands now. A source that can no longer be
// asked is shown with the reason.
func (c *Control) selectionView(ctx context.Context, s SavedSearch, src SearchedSource) (SearchSelection, error) {
	out := SearchSelection{Source: src.Source}
	n, err := c.store.CountMembers(ctx, SelectionPart{Selection: src.Selection, Since: src.Since}, CountCap+1)
	if err != nil {
		return out, err
	}
	out.Records = CountUpTo(n)
	out.More = out.Records.More
	con, op, err := c.searchContract(ctx, src.Source, s.Query)
	if err != nil {
		out.Note = c.clean(err.Error())
		return out, nil
	}
	if op != harvest.Harvest {
		out.Note = "it gives no date of change, so each run reads it whole"
		return out, nil
	}
	ns := planner.Namespace(con.Spec, harvest.Trigger{Provenance: src.Source, Operation: op, Query: s.Query})
	out.Namespace = ns.String()
	f, err := c.store.Frontier(ctx, ns)
	if f.Known {
		out.ProvenTo = f.Watermark.String()
	}
	return out, err
}

func (c *Control) searchVersions(ctx context.Context, name string) ([]SearchVersion, error) {
	all, err := c.store.SearchVersions(ctx, name)
	out := []SearchVersion{}
	for _, s := range all {
		v := searchOf(s)
		one := SearchVersion{Version: v.Version, Query: v.Query, Sources: v.Sources, From: v.From, CreatedAt: v.CreatedAt}
		if !s.SupersededAt.IsZero() {
			one.SupersededAt = new(Time(s.SupersededAt))
		}
		out = append(out, one)
	}
	return out, err
}

// searchedSince is where a search begins at a source, by the calendar of that if it can
// still be asked; zero for its beginning.
func (c *Control) searchedSince(ctx context.Context, s SavedSearch, code string) time.Time {
	if s.Begins.IsZero() {
		return time.Time{}
	}
	con, _, err := c.searchContract(c.leaveNoTrace(ctx), code, s.Query)
	if err != nil {
		return s.Begins
	}
	since, err := s.beginsAt(con.Spec)
	if err != nil {
		return s.Begins
	}
	return since
}

// searchNamed finds a search that is in force.
func (c *Control) searchNamed(ctx context.Context, name string) (SavedSearch, error) {
	s, err := c.store.Search(ctx, name)
	if err == nil {
		for i := range s.Sources {
			s.Sources[i].Since = c.searchedSince(ctx, s, s.Sources[i].Source)
		}
	}
	if !errors.Is(err, harvest.ErrNotFound) {
		return s, err
	}
	const most = 1000
	all, err := c.store.Searches(ctx, "", most)
	if err != nil {
		return s, err
	}
	unknown := &UnknownSearchError{Name: name}
	for _, other := range all {
		unknown.Known = append(unknown.Known, other.Name)
	}
	return s, unknown
}

// runView shows a run of a search.
func runView(s SavedSearch, r SearchRun) SearchRunView {
	v := SearchRunView{
		Search: s.Name, Version: s.Version, Run: r.No, Query: s.Query, Status: r.Status, Program: r.Program, StartedAt: Time(r.StartedAt), Sources: []SearchSourceRun{},
	}
	if !r.EndedAt.IsZero() {
		v.EndedAt = new(Time(r.EndedAt))
	}
	for _, code := range s.codes() {
		o, has := r.outcome(code)
		if !has {
			continue
		}
		one := sourceRunOf(o)
		v.Records += one.Records
		v.New += one.New
		v.Sources = append(v.Sources, one)
	}
	return v
}

func sourceRunOf(o SearchOutcome) SearchSourceRun {
	v := SearchSourceRun{
		Source: o.Source, Status: o.Status, Reason: o.Reason, Records: o.Members, New: o.New,
		Quarantined: o.Facts.Quarantined, BadIDs: o.Facts.BadIDs,
	}
	v.Announced = announced(o.Facts.Plans)
	for _, p := range o.Facts.Plans {
		came := p.came()
		v.Received += came.Items()
		v.Filtered += came.Filtered
		v.Requests += p.Requests
	}
	return v
}

// announced is how many records the source said that plans hold together; nil if it did not
// say it of all.
func announced(plans []SearchPlan) *int64 {
	if len(plans) == 0 {
		return nil
	}
	var n int64
	for _, p := range plans {
		if p.Announced == nil {
			return nil
		}
		n += *p.Announced
	}
	return &n
}
