package control

import (
	"context"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
)

// SearchScheduleOrder has the sources of a search asked by themselves.
type SearchScheduleOrder struct {
	By
	Name   string
	Cron   string
	Zone   string
	DryRun bool
}

// SearchSchedules is what became of the schedules of a search, one a source.
type SearchSchedules struct {
	Search    string           `json:"search"`
	Applied   bool             `json:"applied"`
	Schedules []ScheduleChange `json:"schedules"`
	Token     string           `json:"token,omitempty"`
}

// ScheduleSearch makes a schedule for each source of a search, which goes on from the cursor
// of its selection. What is found by then is new in the next run of the search.
func (c *Control) ScheduleSearch(ctx context.Context, o SearchScheduleOrder) (SearchSchedules, error) {
	const action = "SEARCH_SCHEDULE"
	s, err := c.searchNamed(ctx, o.Name)
	if err != nil {
		return SearchSchedules{}, err
	}
	orders := make([]ScheduleOrder, len(s.Sources))
	for i, src := range s.Sources {
		if err := c.canGoOn(ctx, s, src.Source); err != nil {
			return SearchSchedules{}, err
		}
		orders[i] = ScheduleOrder{
			By: By{Actor: o.Actor, Reason: o.Reason}, Name: s.scheduleOf(src.Source), Source: src.Source, Query: s.Query, Cron: o.Cron, Zone: o.Zone, DryRun: true,
		}
	}
	out := SearchSchedules{Search: s.Name}
	// All are looked at before the first is set: a mistake in one leaves none.
	for _, order := range orders {
		v, err := c.SetSchedule(ctx, order)
		if err != nil {
			return out, err
		}
		v.Token = ""
		out.Schedules = append(out.Schedules, v)
	}
	shown := []any{o.Cron, o.Zone, searchOf(s)}
	if o.DryRun {
		out.Token, err = c.seenToken(ctx, action, s.Name, shown)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, action, s.Name, shown); err != nil {
		return out, err
	}
	for i, order := range orders {
		order.DryRun = false
		out.Schedules[i], err = c.SetSchedule(ctx, order)
		if err != nil {
			return out, err
		}
	}
	out.Applied = true
	return out, nil
}

// scheduleOf is the name of the schedule that asks a source of a search by itself.
func (s SavedSearch) scheduleOf(code string) string {
	return schedule.CanonicalName(s.Name + "." + code)
}

// schedulesEnded are the schedules of a search that end when another version takes its place:
// those of sources that it drops and, if it asks for something else, all of them, since that
// was not read yet and has no cursor to go on from. Without another version all end.
func (c *Control) schedulesEnded(ctx context.Context, s SavedSearch, next *SavedSearch) (names []string, err error) {
	all, err := c.standing(ctx)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	for _, src := range s.Sources {
		goesOn := next != nil && next.Query == s.Query && slices.Contains(next.codes(), src.Source)
		isSet := func(st schedule.Standing) bool {
			return st.Name == s.scheduleOf(src.Source) && st.Source == src.Source && !st.Suggested
		}
		if !goesOn && slices.ContainsFunc(all, isSet) {
			names = append(names, s.scheduleOf(src.Source))
		}
	}
	return names, nil
}

// canGoOn refuses a source of which a search has no cursor to go on from. A schedule knows
// nothing of where the search begins, and nobody would be asked how much it may read.
func (c *Control) canGoOn(ctx context.Context, s SavedSearch, code string) error {
	con, op, err := c.searchContract(ctx, code, s.Query)
	if err != nil {
		return err
	}
	if op != harvest.Harvest {
		return &BadSearchError{
			What: fmt.Sprintf("%s gives no date of change, so it has no cursor to go on from", code),
			Next: "run the search by hand: patra search update " + s.Name,
		}
	}
	at, err := c.store.Frontier(ctx, planner.Namespace(con.Spec, harvest.Trigger{Provenance: code, Operation: op, Query: s.Query}))
	if err != nil {
		return err
	}
	if !at.Known {
		return &BadSearchError{
			What: fmt.Sprintf("%s was not read for this search yet, so there is no cursor to go on from", code),
			Next: "patra search run " + s.Name + ", then the same command again",
		}
	}
	return nil
}
