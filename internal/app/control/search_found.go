package control

import (
	"context"
	"fmt"
)

// foundBy are the records that a search has found by the end of its last run, or what of
// them that run was the first to see.
func (c *Control) foundBy(ctx context.Context, name string, newOnly bool) ([]SelectionPart, SearchRunView, error) {
	s, runs, err := c.endedRuns(ctx, name)
	if err != nil {
		return nil, SearchRunView{}, err
	}
	parts := s.found(runs, newOnly)
	return parts, runView(s, runs[0]), nil
}

// mostRuns bounds the runs of a search that are looked at together.
const mostRuns = 10_000

// endedRuns are a search and its runs that have ended, the newest first.
func (c *Control) endedRuns(ctx context.Context, name string) (SavedSearch, []SearchRun, error) {
	s, err := c.searchNamed(ctx, name)
	if err != nil {
		return s, nil, err
	}
	runs, err := c.store.SearchRuns(ctx, s, mostRuns)
	if err != nil {
		return s, nil, err
	}
	var ended []SearchRun
	for _, r := range runs {
		if len(r.Outcomes) > 0 {
			ended = append(ended, r)
		}
	}
	if len(ended) == 0 {
		return s, nil, &BadSearchError{What: fmt.Sprintf("search %s was not run yet, so nothing was found", name), Next: "patra search run " + name}
	}
	return s, ended, nil
}

// found are the parts of selections that hold what a search has found by its last run.
func (s SavedSearch) found(runs []SearchRun, newOnly bool) []SelectionPart {
	parts := make([]SelectionPart, len(s.Sources))
	for i, src := range s.Sources {
		parts[i] = SelectionPart{Selection: src.Selection, Since: src.Since, Until: runs[0].EndedAt}
		if newOnly && len(runs) > 1 {
			parts[i].After = runs[1].EndedAt
		}
	}
	return parts
}
