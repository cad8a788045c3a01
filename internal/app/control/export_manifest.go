package control

// ExportFile is a file of an export.
type ExportFile struct {
	// Name is where it was written to, if it has a name.
	Name string `json:"file,omitempty"`
	// Source is the one its records are of, if each has its own file.
	Source  string           `json:"source,omitempty"`
	Records int64            `json:"records"`
	Sources map[string]int64 `json:"sources"`
	Bytes   int64            `json:"bytes"`
	SHA256  string           `json:"sha256"`
}

// LeftOut are records that were selected and not written.
type LeftOut struct {
	Reason  string `json:"reason"`
	Records int64  `json:"records"`
}

// IncompleteSource is a source of a search that was not read to the end, and why.
type IncompleteSource struct {
	Source string       `json:"source"`
	Status SearchStatus `json:"status"`
	Reason string       `json:"reason,omitempty"`
}

// incompleteOf are the sources that a run of a search did not read to the end.
func incompleteOf(run SearchRunView) (out []IncompleteSource) {
	for _, s := range run.Sources {
		if s.Status != SearchCompleted {
			out = append(out, IncompleteSource{Source: s.Source, Status: s.Status, Reason: s.Reason})
		}
	}
	return out
}

// ExportSummary is what came of an export.
type ExportSummary struct {
	Format  string    `json:"format"`
	For     string    `json:"for,omitempty"`
	Records int64     `json:"records"`
	LeftOut []LeftOut `json:"left_out"`
	// Undecided are those of them that cannot tell whether they fit the query.
	Undecided int64 `json:"undecided,omitempty"`
	// Incomplete are the sources of the search that its last run did not read to the end.
	Incomplete []IncompleteSource `json:"incomplete,omitempty"`
	Files      []ExportFile       `json:"files"`
}

// ExportSelection is what was selected.
type ExportSelection struct {
	Sources       []string `json:"sources,omitempty"`
	Plan          int64    `json:"plan,omitempty"`
	Since         *Time    `json:"since,omitempty"`
	SinceRevision int64    `json:"since_revision,omitempty"`
	Statuses      []string `json:"status,omitempty"`
	// Search is the run of a saved search by which its records were found.
	Search  *SearchRunView `json:"search,omitempty"`
	NewOnly bool           `json:"new_only,omitempty"`
	Fields  []string       `json:"fields,omitempty"`
	Query   string         `json:"query,omitempty"`
	Dedupe  string         `json:"dedupe,omitempty"`
}

// ExportManifest stands beside a file: what is in it, and what it was made of.
type ExportManifest struct {
	ExportFile
	Format string `json:"format"`
	For    string `json:"for,omitempty"`
	// Part is the number of the file, Parts how many the export has.
	Part  int `json:"part"`
	Parts int `json:"parts"`
	// Selected is what was asked for, Total how many records all parts hold, LeftOut
	// what none of them holds.
	Selected ExportSelection `json:"selected"`
	Total    int64           `json:"total"`
	// Undecided are records of all parts that cannot tell whether they fit the query.
	Undecided int64     `json:"undecided,omitempty"`
	LeftOut   []LeftOut `json:"left_out"`
	// At is the time of the store when the export began.
	At    Time  `json:"at"`
	Patra Build `json:"patra"`
}
