package control

// SearchRan is a run of a search as the command tells it that ran it: with what the harvests
// of its sources came to, which are not stored.
type SearchRan struct {
	SearchRunView
	Sources []SearchSourceRan `json:"sources"`
}

// SearchSourceRan is what came of a source in a run, and of its harvest: each member of the
// [Report] stands beside those of the [SearchSourceRun], but for the names that these have.
type SearchSourceRan struct {
	SearchSourceRun
	besideRun
	// Harvest is the whole report, nil if the source could not be begun.
	Harvest *Report `json:"harvest,omitempty"`
	// Earlier is the report of what was read before the beginning of the harvest, where the
	// selection had been harvested from a later day on.
	Earlier *Report `json:"earlier,omitempty"`
}

// besideRun puts the report a level deeper than the run of the source: where both have a name,
// JSON takes that of the run.
type besideRun struct{ *Report }

// ranView shows a run that has just ended, with the reports of its sources.
func ranView(s SavedSearch, r SearchRun, reports map[string][]*Report) SearchRan {
	out := SearchRan{SearchRunView: runView(s, r), Sources: []SearchSourceRan{}}
	for _, src := range out.SearchRunView.Sources {
		one := SearchSourceRan{SearchSourceRun: src}
		told := reports[src.Source]
		if len(told) > 0 {
			one.Report = told[0]
			one.Harvest = told[0]
		}
		if len(told) > 1 {
			one.Earlier = told[1]
		}
		out.Sources = append(out.Sources, one)
	}
	return out
}
