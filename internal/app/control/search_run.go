package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// SearchRunRequest says which search is run.
type SearchRunRequest struct {
	By
	Name string
	// BaseURL are hosts that are asked in place of sources' own, by source.
	BaseURL map[string]string
	// Approve, if set, is asked before the first plan of a selection is saved, for one
	// source at a time.
	Approve func(harvest.Forecast) error
	// Watch, if set, is asked for what is shown how the work on a source goes.
	Watch func(code string) *Watch
}

// RunSearch reads what the sources of a search have of its query: the first time from its
// beginning, later from where the run before ended. The sources are asked side by side,
// each within its own limits, and what fails at one leaves the others whole.
func (c *Control) RunSearch(ctx context.Context, req SearchRunRequest) (SearchRan, error) {
	s, err := c.searchNamed(ctx, req.Name)
	if err != nil {
		return SearchRan{}, err
	}
	if err := req.check(s); err != nil {
		return SearchRan{}, err
	}
	run, err := settled(func() (SearchRun, error) {
		return c.store.BeginSearchRun(ctx, s, c.instance.Build.Version, req.line("SEARCH_RUN", "search/"+s.Name))
	})
	if err != nil {
		return SearchRan{}, err
	}
	req.Approve = oneAtATime(req.Approve)
	outcomes := make([]SearchOutcome, len(s.Sources))
	told := make([][]*Report, len(s.Sources))
	var wg sync.WaitGroup
	for i, src := range s.Sources {
		wg.Go(func() { outcomes[i], told[i] = c.runSource(ctx, s, src, req) })
	}
	wg.Wait()
	reports := map[string][]*Report{}
	for i, src := range s.Sources {
		reports[src.Source] = told[i]
	}
	if gone := c.store.CheckFile(); gone != nil {
		return SearchRan{}, gone
	}
	// What came of it is noted also when the run was interrupted.
	ctx = context.WithoutCancel(ctx)
	before, err := c.store.SearchRuns(ctx, s, 2) // this one and the one before
	if err != nil {
		return SearchRan{}, err
	}
	for i := range outcomes {
		outcomes[i].Facts, err = c.searchFacts(ctx, s.Sources[i], doneBefore(before, s.Sources[i].Source))
		if err != nil {
			return SearchRan{}, err
		}
	}
	run.Status = statusOf(outcomes)
	ended, err := c.store.EndSearchRun(ctx, run, outcomes)
	if err != nil {
		return SearchRan{}, err
	}
	// Whoever asks several sources wants to know which records are the same. What was
	// found is kept whatever comes of this; the next time makes up for it.
	if err := c.LinkWorks(ctx); err != nil {
		err = fmt.Errorf("what was found is kept, but was not compared with other records: %w", err)
		return ranView(s, ended, reports), err
	}
	return ranView(s, ended, reports), nil
}

// oneAtATime has a person asked one question after the other.
func oneAtATime(approve func(harvest.Forecast) error) func(harvest.Forecast) error {
	if approve == nil {
		return nil
	}
	var mu sync.Mutex
	return func(f harvest.Forecast) error {
		mu.Lock()
		defer mu.Unlock()
		return approve(f)
	}
}

// check refuses a host for a source that is none of the search's.
func (r SearchRunRequest) check(s SavedSearch) error {
	for code := range r.BaseURL {
		found := false
		for _, src := range s.Sources {
			found = found || src.Source == code
		}
		if !found {
			return &BadSearchError{What: fmt.Sprintf("--base-url names %s, which is no source of %s", code, s.Name), Next: "patra search show " + s.Name}
		}
	}
	return nil
}

// statusOf is what came of a search by what came of its sources.
func statusOf(outcomes []SearchOutcome) SearchStatus {
	completed, failed := 0, 0
	for _, o := range outcomes {
		switch o.Status {
		case SearchCompleted:
			completed++
		case SearchFailed:
			failed++
		}
	}
	switch {
	case completed == len(outcomes):
		return SearchCompleted
	case failed == len(outcomes):
		return SearchFailed
	}
	return SearchPartial
}

// sourceRun is the run of one source of a search.
type sourceRun struct {
	*Control
	search SavedSearch
	src    SearchedSource
	base   string
	// approve is asked before much is read, watch shown how it goes.
	approve func(harvest.Forecast) error
	watch   *Watch
	// reports are what its harvests came to: the main one, then that of what lies before.
	reports []*Report
}

// runSource reads what a source has of a search, and tells what its harvests came to.
func (c *Control) runSource(ctx context.Context, s SavedSearch, src SearchedSource, req SearchRunRequest) (SearchOutcome, []*Report) {
	r := sourceRun{Control: c, search: s, src: src, base: req.BaseURL[src.Source], approve: req.Approve}
	if req.Watch != nil {
		r.watch = req.Watch(src.Source)
	}
	out := SearchOutcome{Source: src.Source, Selection: src.Selection, Since: src.Since, Status: SearchCompleted}
	why, err := r.read(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		out.Status = SearchPartial
		out.Reason = "interrupted; every page that was read is kept"
	case err != nil:
		out.Status = SearchFailed
		out.Reason = c.inTheWay(err)
	case why != "":
		out.Status = SearchPartial
		out.Reason = c.clean(why)
	}
	return out, r.reports
}

// read reads the source and says what of it is not proven, if anything is not.
func (r *sourceRun) read(ctx context.Context) (unproven string, err error) {
	con, op, err := r.searchContract(ctx, r.src.Source, r.search.Query)
	if err != nil {
		return "", err
	}
	if con.Spec.Query == nil || con.Spec.Query.Hash != r.src.Hash && r.src.Hash != "" {
		return "", errors.New("the source reads the query otherwise than when the search was saved; save the search again")
	}
	if op == harvest.Backfill {
		return r.readWhole(ctx, con.Spec)
	}
	ns := planner.Namespace(con.Spec, harvest.Trigger{Provenance: r.src.Source, Operation: op, Query: r.search.Query})
	began, err := r.store.Frontier(ctx, ns)
	if err != nil {
		return "", err
	}
	unproven, err = r.harvestFrom(ctx, con.Spec, began)
	if err != nil || !began.Known {
		return unproven, err
	}
	earlier, err := r.readEarlier(ctx, con.Spec, began)
	if unproven == "" {
		unproven = earlier
	}
	return unproven, err
}

// harvestFrom goes on from the cursor of the selection, or begins where the search does.
func (r *sourceRun) harvestFrom(ctx context.Context, spec *source.Spec, began harvest.Frontier) (_ string, err error) {
	req := HarvestRequest{Source: r.src.Source, Query: r.search.Query, BaseURL: r.base, Watch: r.watch}
	if !began.Known && !spec.ByID() {
		req.From, err = r.search.beginsAt(spec)
		if err != nil {
			return "", err
		}
	}
	return r.workOn(ctx, req)
}

// readEarlier reads what lies before the cursor's beginning, or before membership was
// recorded, where somebody else had harvested the same selection before.
func (r *sourceRun) readEarlier(ctx context.Context, spec *source.Spec, began harvest.Frontier) (string, error) {
	from, err := r.search.beginsAt(spec)
	if err != nil {
		return "", err
	}
	if began.Init.IsNumber() {
		return "", nil // it began with the first id of all
	}
	to := began.Init.Time()
	since, err := r.store.SelectionSince(ctx, r.src.Selection)
	if err != nil {
		return "", err
	}
	if began.Since.Before(since) {
		to = since
	}
	if !from.Before(to) {
		return "", nil
	}
	bounds := harvest.HashKey(harvest.FormatInstant(from), harvest.FormatInstant(to))[:12]
	activity := fmt.Sprintf("search-%d-before-%s", r.src.Selection, bounds)
	return r.workOn(ctx, HarvestRequest{
		Source: r.src.Source, Operation: harvest.Backfill, Activity: activity, Query: r.search.Query, From: from, To: to, BaseURL: r.base, Watch: r.watch,
	})
}

// readWhole reads all of a source that has no cursor to go on from. A run that was not
// completed is gone on with, else everything is read again.
func (r *sourceRun) readWhole(ctx context.Context, spec *source.Spec) (string, error) {
	from, err := r.search.beginsAt(spec)
	if err != nil {
		return "", err
	}
	const most = 1000
	runs, err := r.store.SearchRuns(ctx, r.search, most)
	if err != nil {
		return "", err
	}
	completed := 0
	for _, run := range runs {
		o, has := run.outcome(r.src.Source)
		if has && o.Status == SearchCompleted {
			completed++
		}
	}
	now, err := r.store.Now(ctx)
	if err != nil {
		return "", err
	}
	return r.workOn(ctx, HarvestRequest{
		Source: r.src.Source, Operation: harvest.Backfill, Activity: fmt.Sprintf("search-%d-whole-%d", r.search.ID, completed+1),
		Query: r.search.Query, From: from, To: now, BaseURL: r.base, Watch: r.watch,
	})
}

// beginsAt is where a search begins at a source.
func (s SavedSearch) beginsAt(spec *source.Spec) (time.Time, error) {
	cal, err := spec.Window.Calendar()
	if err != nil {
		return time.Time{}, err
	}
	if !s.Begins.IsZero() {
		return cal.Floor(s.Begins), nil
	}
	return spec.Window.Begins(cal), nil
}

// workOn harvests, and says what of it is not proven.
func (r *sourceRun) workOn(ctx context.Context, req HarvestRequest) (string, error) {
	req.Approve = r.approve
	rep, err := r.Harvest(ctx, req)
	if rep != nil { // also of one that failed on its way
		r.reports = append(r.reports, rep)
	}
	switch {
	case err != nil:
		return "", err
	case rep.State.Stopped:
		return rep.Held + " was stopped: " + rep.State.Reason, nil
	case rep.Slices.Failed > 0 && len(rep.Gaps) > 0:
		return fmt.Sprintf("%s not read: %s", Count(int(rep.Slices.Failed), "slice"), rep.Gaps[0].Reason), nil
	case rep.Slices.Failed+rep.Slices.Open > 0:
		return Count(int(rep.Slices.Failed+rep.Slices.Open), "slice") + " not read yet", nil
	case rep.Waits:
		return rep.Reason, nil
	}
	return "", ctx.Err()
}

// mostPlans and mostUnread bound what is frozen of a source when a run ends.
const (
	mostPlans  = 10_000
	mostUnread = 1000
)

// doneBefore is the plan up to which earlier runs have told all there is to tell of a
// source.
func doneBefore(runs []SearchRun, code string) (last harvest.PlanID) {
	for _, run := range runs {
		o, has := run.outcome(code)
		if !has {
			continue
		}
		last = max(last, o.Facts.DoneTo)
	}
	return last
}

// searchFacts are what is to be told of a source of a search, as things are now, of plans
// behind one.
func (c *Control) searchFacts(ctx context.Context, src SearchedSource, after harvest.PlanID) (SearchFacts, error) {
	out := SearchFacts{Plans: []SearchPlan{}, DoneTo: after}
	plans, err := c.store.SelectionPlans(ctx, src.Selection, after, mostPlans)
	if err != nil {
		return out, err
	}
	done := true
	for _, p := range plans {
		out.Plans = append(out.Plans, c.searchPlan(p))
		done = done && p.Status == harvest.PlanCompleted
		if done {
			out.DoneTo = p.ID
		}
	}
	if len(plans) > 0 {
		if err := c.describeSearched(&out, plans[len(plans)-1]); err != nil {
			return out, err
		}
	}
	out.SearchNotRead, err = c.store.Unread(ctx, src.Selection, mostUnread)
	for i := range out.Unread {
		out.Unread[i].Detail = c.clean(out.Unread[i].Detail)
	}
	return out, err
}

func (c *Control) searchPlan(p SelectionPlan) SearchPlan {
	out := SearchPlan{
		Plan: p.ID, Operation: p.Operation, Status: p.Status, From: Time(p.From), To: Time(p.To), CreatedAt: Time(p.CreatedAt),
		Records: p.Records, Came: new(p.Came), Requests: p.Requests, Request: c.clean(p.Request), Fingerprint: p.Fingerprint,
	}
	if p.Counted {
		out.Announced = new(p.Announced)
	}
	return out
}

// describeSearched says how the source is searched, by the snapshot that a plan froze.
func (c *Control) describeSearched(out *SearchFacts, p SelectionPlan) error {
	spec, err := source.ParseSpec(p.Snapshot)
	if err != nil {
		return fmt.Errorf("plan %d: %w", p.ID, err)
	}
	out.Host = c.clean(spec.HTTP.BaseURL)
	if base, _ := source.SplitBase(p.BaseURL); base != "" {
		out.Host = c.clean(base)
	}
	out.RecordType = spec.RecordType
	out.Key = spec.Window.Key
	out.Zone = spec.Window.Zone
	if q := spec.Query; q != nil {
		out.Query = q.Text
		out.Values = q.Values
	}
	return nil
}
