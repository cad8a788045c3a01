package control

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// A BACKFILL whose window is told from now, such as from -80d to -61d, is asked for by
// the same words again and again, and they name another window each time. The activities
// that the same words begin are a series, told apart by the day on which they began.

// moves reports whether an end of the window is told from now.
func moves(end string) bool {
	return strings.HasPrefix(end, "-") || end == "now" || end == "today" || end == "yesterday"
}

// stamp is what tells apart the activities of the same words: the day on which they
// began, as the source counts days; of words told in hours or minutes that hour or minute.
func (s Spoken) stamp(at time.Time, cal harvest.Calendar) string {
	grain := 24 * time.Hour
	for _, end := range []string{s.From, s.To} {
		ago, err := source.ParseDuration(strings.TrimPrefix(end, "-"))
		switch {
		case err != nil || !moves(end) || ago%grain == 0:
		case ago%time.Hour == 0:
			grain = time.Hour
		default:
			grain = time.Minute
		}
	}
	switch grain {
	case time.Minute:
		return at.UTC().Format("2006-01-02T15:04Z")
	case time.Hour:
		return at.UTC().Format("2006-01-02T15Z")
	}
	return at.In(daysOf(cal).Zone).Format(time.DateOnly)
}

// begunActivity is an activity that has plans.
type begunActivity struct {
	// window is all that it has planned.
	window harvest.Window
	since  time.Time
	// unfinished: something of the window is still to be read. What could not be read
	// is tried again with whatever is read next, and does not count.
	unfinished bool
}

// begun finds an activity of a BACKFILL, if it has plans that count.
func (c *Control) begun(ctx context.Context, spec *source.Spec, r *HarvestRequest, activity string) (b begunActivity, ok bool, err error) {
	ns := planner.Namespace(spec, harvest.Trigger{Provenance: r.Source, Endpoint: r.Endpoint, Operation: r.Operation, Activity: activity, Query: r.Query})
	f, err := c.store.Frontier(ctx, ns)
	if err != nil || !f.Live || f.Init.IsNumber() {
		return b, false, err
	}
	b.window = harvest.Window{From: f.At.Time(), To: f.Init.Time()}
	b.since = f.Since
	open, err := c.store.OpenPlans(ctx, ns)
	if err != nil || len(open) == 0 {
		return b, true, err
	}
	var ids []harvest.PlanID
	for _, p := range open {
		ids = append(ids, p.ID)
		b.unfinished = b.unfinished || p.Status == harvest.PlanPartial
	}
	sum, err := c.store.Summary(ctx, ids...)
	b.unfinished = b.unfinished || sum.Slices.Open > 0
	return b, true, err
}

// settleActivity names the activity of a BACKFILL that was not given a name. Where its
// window is told from now it goes on with the activity that the same words began, in the
// window of that, if that is unfinished or began on the same day.
func (r *HarvestRequest) settleActivity(ctx context.Context, c *Control, cal harvest.Calendar) error {
	if r.Operation != harvest.Backfill || r.Spoken.From == "" || r.Spoken.To == "" {
		return nil
	}
	named := r.Activity != ""
	words := BackfillActivity(r.Spoken.From, r.Spoken.To, r.Query)
	if !named {
		r.Activity = words
	}
	if !moves(r.Spoken.From) && !moves(r.Spoken.To) {
		return nil
	}
	con, err := c.contracts.Through(c.leaveNoTrace(ctx), r.Source, r.Operation, r.Endpoint, r.Query)
	if err != nil {
		return nil //nolint:nilerr // what is asked of the source next says what is wrong
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	last := r.Activity
	if !named {
		r.Activity = words + "-" + r.Spoken.stamp(now, cal)
		last, err = c.store.LastActivity(ctx, r.Source, r.Operation, words)
		if err != nil || last == "" {
			return err
		}
	}
	b, ok, err := c.begun(ctx, con.Spec, r, last)
	if err != nil || !ok {
		return err
	}
	today := r.Spoken.stamp(b.since, cal) == r.Spoken.stamp(now, cal)
	switch {
	case b.unfinished || today:
		if !named || r.Spoken.reaches(b, cal) {
			r.Activity = last
			r.goOn(b, today)
		}
	case !named:
		r.reachBack(b)
	}
	return nil
}

// reaches reports whether the words, read when an activity began, name no time after it.
func (s Spoken) reaches(b begunActivity, cal harvest.Calendar) bool {
	const slack = time.Hour // may have passed until its plan was saved
	_, to, _, err := s.in(cal, b.since)
	return err == nil && !to.After(b.window.To.Add(slack))
}

// goOn asks for the window of an activity that was begun, or for more that lies before it.
func (r *HarvestRequest) goOn(b begunActivity, today bool) {
	if moves(r.Spoken.To) && r.To.After(b.window.To) {
		r.To = b.window.To
	}
	if b.window.From.Before(r.From) {
		r.From = b.window.From
	}
	what := fmt.Sprintf("goes on with [%s, %s), which was begun at %s", Time(b.window.From), Time(b.window.To), Time(b.since.Truncate(time.Second)))
	switch {
	case !b.unfinished:
		what += " and is planned to its end; another --activity reads the window as it is now"
	case !today:
		what += "; run it again for the window that it names now"
	}
	r.notes = append(r.notes, what)
}

// mostReach is how many times as far as it is long a window reaches back to where the one
// before ended.
const mostReach = 2

// reachBack lets the window of a new activity begin where the one before ended, so that
// runs one after another leave no hole: the one before ended at what was the horizon then,
// or was begun at another hour. After a long pause only what is asked for is read.
func (r *HarvestRequest) reachBack(before begunActivity) {
	hole := r.From.Sub(before.window.To)
	if hole <= 0 || hole > mostReach*r.To.Sub(r.From) {
		return
	}
	r.From = before.window.To
	r.notes = append(r.notes, fmt.Sprintf("begins at %s, where the last run of the same command ended", Time(r.From)))
}
