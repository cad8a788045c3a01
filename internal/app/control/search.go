package control

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/nearest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// SearchStore keeps saved searches, what came of their runs, and which records each of
// their selections has seen.
type SearchStore interface {
	// Searches lists the versions in force behind a name, by name.
	Searches(ctx context.Context, after string, limit int) ([]SavedSearch, error)
	// Search is the version in force of a search, SearchVersions all there were, the
	// newest first; [harvest.ErrNotFound] if there is none.
	Search(ctx context.Context, name string) (SavedSearch, error)
	SearchVersions(ctx context.Context, name string) ([]SavedSearch, error)
	// SaveSearch writes a version behind those there are, RemoveSearch ends a search;
	// both with a line of the audit. Both remove the schedules of these names with it,
	// each with a line of its own.
	SaveSearch(ctx context.Context, s SavedSearch, schedules []string, a source.Audit) (SavedSearch, error)
	RemoveSearch(ctx context.Context, name string, schedules []string, a source.Audit) error
	// BeginSearchRun notes that a version is run. A run of it that was not ended is
	// given up by that.
	BeginSearchRun(ctx context.Context, s SavedSearch, program string, a source.Audit) (SearchRun, error)
	// EndSearchRun notes what came of a run, and counts what its selections have seen by
	// then; [ErrRunGivenUp] if another run took its place.
	EndSearchRun(ctx context.Context, run SearchRun, outcomes []SearchOutcome) (SearchRun, error)
	// SearchRuns lists the runs of a version with their outcomes, the newest first.
	SearchRuns(ctx context.Context, s SavedSearch, limit int) ([]SearchRun, error)
	SelectionStore
}

// SelectionStore reads what selections have seen.
type SelectionStore interface {
	// CountMembers counts the records of a part of a selection, up to so many.
	CountMembers(ctx context.Context, p SelectionPart, most int64) (int64, error)
	// MembersByStatus counts members of selections by what became of the records.
	MembersByStatus(ctx context.Context, parts []SelectionPart) (map[harvest.RecordStatus]int64, error)
	// SelectionPlans lists the plans of a selection with a greater number, in order.
	SelectionPlans(ctx context.Context, id harvest.SelectionID, after harvest.PlanID, limit int) ([]SelectionPlan, error)
	// SelectionSince is when membership of a selection began to be recorded.
	SelectionSince(ctx context.Context, id harvest.SelectionID) (time.Time, error)
	// Unread tells what a selection has seen and is no record: how many items are in
	// quarantine and how many ids have no details, and the first of both by name.
	Unread(ctx context.Context, id harvest.SelectionID, limit int) (SearchNotRead, error)
}

// SavedSearch is one version of a saved search: one query over several sources.
type SavedSearch struct {
	ID      int64
	Name    string
	Version int
	// Query is the selection as it was written.
	Query string
	// Begins is where it begins, zero for the beginning of each source.
	Begins       time.Time
	Sources      []SearchedSource
	CreatedAt    time.Time
	SupersededAt time.Time // zero while it is in force
	RemovedAt    time.Time
}

// codes are the sources of a search in their order.
func (s SavedSearch) codes() []string {
	out := make([]string, len(s.Sources))
	for i, src := range s.Sources {
		out[i] = src.Source
	}
	return out
}

// SearchedSource is a source of a search and what is selected there.
type SearchedSource struct {
	Source    string
	Selection harvest.SelectionID
	// Since is where the search begins by the calendar of the source, zero for its
	// beginning. What was changed before is none of the search's, whoever has read it.
	Since time.Time
	// Hash and Text are the selection as the source's contract has it. They are given
	// when a search is saved, and not read again.
	Hash, Text string
}

// SearchStatus is what came of running a search, or one of its sources.
type SearchStatus string

// The outcomes of a run.
const (
	SearchRunning   SearchStatus = "RUNNING"
	SearchCompleted SearchStatus = "COMPLETED"
	SearchPartial   SearchStatus = "PARTIAL" // a part of it is not proven yet
	SearchFailed    SearchStatus = "FAILED"  // nothing of it could be asked for
)

// SearchRun is one run of a search.
type SearchRun struct {
	ID        int64
	Search    int64
	No        int
	Status    SearchStatus
	Program   string // version of the program
	StartedAt time.Time
	EndedAt   time.Time // zero while it runs
	Outcomes  []SearchOutcome
}

// outcome is that of a source, if it has one.
func (r SearchRun) outcome(code string) (SearchOutcome, bool) {
	for _, o := range r.Outcomes {
		if o.Source == code {
			return o, true
		}
	}
	return SearchOutcome{}, false
}

// SearchOutcome is what came of a source in a run.
type SearchOutcome struct {
	Source    string
	Selection harvest.SelectionID
	Since     time.Time // as of [SearchedSource]
	Status    SearchStatus
	Reason    string
	// Members is how many records the selection has seen by the end of the run, New how
	// many of them since the run before. The store counts both.
	Members, New int64
	// Facts are what the report says of it, frozen.
	Facts SearchFacts
}

// ErrRunGivenUp says that another run of the same search began before one had ended.
var ErrRunGivenUp = problem.New("another run of this search began before this one had ended", problem.Problem{
	Code: "search_running", Kind: problem.Conflict, Next: "patra search show NAME; every page that was read is kept",
})

// UnknownSearchError says that there is no saved search of a name.
type UnknownSearchError struct {
	Name  string
	Known []string
}

func (e *UnknownSearchError) Error() string {
	return fmt.Sprintf("there is no saved search %q", e.Name)
}

// Problem implements problem.Error.
func (e *UnknownSearchError) Problem() problem.Problem {
	p := problem.Problem{Code: "unknown_search", Kind: problem.NotFound, Title: e.Error(), Next: "patra search list"}
	if near := nearest.Word(e.Name, e.Known); near != "" {
		p.Detail = "did you mean " + near + "?"
	}
	return p
}

// BadSearchError says what is wrong with a search that was asked for.
type BadSearchError struct{ What, Next string }

func (e *BadSearchError) Error() string { return e.What }

// Problem implements problem.Error.
func (e *BadSearchError) Problem() problem.Problem {
	next := e.Next
	if next == "" {
		next = "patra search new --help; nothing was changed"
	}
	return problem.Problem{Code: "bad_search", Kind: problem.Usage, Title: e.What, Next: next}
}
