package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/nearest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// ScheduleStore keeps the standing selections and what came of their triggers.
type ScheduleStore interface {
	// Standing lists those that were set. With an error it may still return some.
	Standing(ctx context.Context) ([]schedule.Standing, error)
	// SetSchedule writes one, RemoveSchedule ends it; both with a line of the audit.
	SetSchedule(ctx context.Context, s schedule.Standing, a source.Audit) error
	RemoveSchedule(ctx context.Context, name string, a source.Audit) error
	// LastTriggers is what came of the newest trigger of each of some jobs, and LastPlanned
	// of the newest of one that has a plan; zero if there was none.
	LastTriggers(ctx context.Context, scheduler string, jobs []string) (map[string]harvest.Triggered, error)
	LastPlanned(ctx context.Context, scheduler, job string) (harvest.Triggered, error)
	// Unfinished reports whether there is work on a plan that needs nobody's doing,
	// NotBegun finds the newest plan of a namespace if nothing of it is stored yet.
	Unfinished(ctx context.Context, id harvest.PlanID) (bool, error)
	NotBegun(ctx context.Context, ns harvest.Namespace) (harvest.PlanID, bool, error)
}

// Schedule is a standing selection: what is asked for by itself, and when.
type Schedule struct {
	Name           string            `json:"name"`
	Source         string            `json:"source"`
	Operation      harvest.Operation `json:"operation"`
	Endpoint       string            `json:"endpoint,omitempty"` // empty for the source's own choice
	Query          string            `json:"query,omitempty"`    // empty for everything
	Cron           string            `json:"cron"`
	Zone           string            `json:"zone"`
	Priority       string            `json:"priority"`
	Enabled        bool              `json:"enabled"`
	Origin         string            `json:"origin"` // set, or pack for one that a pack suggests
	From           string            `json:"from,omitempty"`
	To             string            `json:"to,omitempty"`
	OlderThan      string            `json:"older_than,omitempty"`
	MappingChanged bool              `json:"mapping_changed,omitzero"`
	Signals        bool              `json:"signals,omitzero"`
	Max            int               `json:"max,omitzero"`
	Pacing         *PlanPacing       `json:"pacing,omitempty"`
	Since          *Time             `json:"since,omitempty"`
	NextAt         *Time             `json:"next_at,omitempty"`
	Last           *ScheduleTrigger  `json:"last,omitempty"`
	// Reason says why it does not begin when it is due, if it does not, and OverdueSince
	// since when it is due.
	Reason       string `json:"reason,omitempty"`
	OverdueSince *Time  `json:"overdue_since,omitempty"`
}

// ScheduleTrigger is what came of a time at which a line was due.
type ScheduleTrigger struct {
	Due     string                 `json:"due"`
	At      Time                   `json:"at"`
	Outcome harvest.TriggerOutcome `json:"outcome"`
	Plan    harvest.PlanID         `json:"plan,omitzero"`
	Remarks string                 `json:"remarks,omitempty"`
}

// ScheduleList are standing selections by source and name.
type ScheduleList struct {
	Schedules []Schedule `json:"schedules"`
	// Unread says which could not be read, if any.
	Unread string `json:"unread,omitempty"`
}

// Schedules lists what is asked for by itself: what was set, and what packs suggest.
func (c *Control) Schedules(ctx context.Context, code string) (ScheduleList, error) {
	out := ScheduleList{Schedules: []Schedule{}}
	if err := c.known(ctx, code); err != nil {
		return out, err
	}
	all, err := c.standing(ctx)
	if err != nil {
		out.Unread = err.Error()
	}
	shown := slices.DeleteFunc(all, func(st schedule.Standing) bool { return code != "" && st.Source != code })
	out.Schedules, err = c.scheduleViews(ctx, shown)
	return out, err
}

// standing reads what was set and what packs suggest. With an error it still returns
// what could be read.
func (c *Control) standing(ctx context.Context) ([]schedule.Standing, error) {
	rows, err := c.store.Standing(ctx)
	if c.schedules == nil {
		return source.Standing(nil, rows), err
	}
	packs, perr := c.schedules.Schedules(ctx)
	return source.Standing(packs, rows), errors.Join(err, perr)
}

// scheduleView shows how one of them stands.
func (c *Control) scheduleView(ctx context.Context, st schedule.Standing) (Schedule, error) {
	views, err := c.scheduleViews(ctx, []schedule.Standing{st})
	if err != nil {
		return scheduleOf(st), err
	}
	return views[0], nil
}

// scheduleViews shows how they stand. What the store knows of them is read for all of
// them at once.
func (c *Control) scheduleViews(ctx context.Context, all []schedule.Standing) ([]Schedule, error) {
	out := make([]Schedule, len(all))
	if len(all) == 0 {
		return out, nil
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	states, err := c.store.SourceStates(ctx)
	if err != nil {
		return out, err
	}
	names := make([]string, len(all))
	for i, st := range all {
		names[i] = st.Name
	}
	last, err := c.store.LastTriggers(ctx, scheduler.Code, names)
	if err != nil {
		return out, err
	}
	for i, st := range all {
		out[i], err = c.scheduleAt(ctx, st, now, states[st.Source], last[st.Name])
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// scheduleAt shows how one stands of which this is known.
func (c *Control) scheduleAt(ctx context.Context, st schedule.Standing, now time.Time, held harvest.SourceState, last harvest.Triggered) (Schedule, error) {
	v := scheduleOf(st)
	if last.LogID != "" {
		v.Last = &ScheduleTrigger{Due: last.LogID, At: Time(last.At), Outcome: last.Outcome, Plan: last.Plan, Remarks: last.Remarks}
	}
	if !st.Enabled {
		v.Reason = "paused"
		return v, nil
	}
	if next, comes := st.Next(now); comes {
		v.NextAt = new(Time(next))
	}
	if held.Held() {
		v.Reason = fmt.Sprintf("source %s: %s", holdWord(held), held.Reason)
		return v, nil
	}
	if rest, resting := c.quiet.Rest(ctx, st.Source, st.Operation); resting {
		v.Reason = string(harvest.CodeQuiet) + " until " + Time(rest.Until).String()
		return v, nil
	}
	if last.Outcome == harvest.TriggerReceived {
		v.Reason = "the last trigger is being planned, or waits for a planner"
		return v, nil
	}
	if last.CameToNothing() {
		v.Reason = "the last trigger failed and is tried again: " + last.Remarks
		return v, nil
	}
	since, is := overdueSince(st, last, now)
	if !is {
		return v, nil
	}
	v.OverdueSince = new(Time(since))
	var err error
	v.Reason, err = c.holdsBack(ctx, st)
	return v, err
}

// overdueSince is the first time at which a line came that has not begun, if there is
// one.
func overdueSince(st schedule.Standing, last harvest.Triggered, now time.Time) (time.Time, bool) {
	since := st.Since
	if due, err := time.Parse(harvest.TimeLayout, last.LogID); err == nil && due.After(since) {
		since = due
	}
	latest, came := st.Due(since, now)
	if !came || since.IsZero() {
		return latest, came
	}
	return st.Next(since)
}

// holdsBack says which plan has to get on before a line that is due may begin, as far
// as one has to.
func (c *Control) holdsBack(ctx context.Context, st schedule.Standing) (string, error) {
	if st.OneAtATime() {
		before, err := c.store.LastPlanned(ctx, scheduler.Code, st.Name)
		if err != nil || before.Plan == 0 {
			return "", err
		}
		busy, err := c.store.Unfinished(ctx, before.Plan)
		if err != nil || !busy {
			return "", err
		}
		return fmt.Sprintf("plan %d is not done yet", before.Plan), nil
	}
	ns, err := c.namespaceOf(ctx, st)
	if err != nil {
		return "", err
	}
	plan, waits, err := c.store.NotBegun(ctx, ns)
	if err != nil || !waits || st.Operation != harvest.Harvest {
		return "", err
	}
	return fmt.Sprintf("nothing of plan %d is stored yet", plan), nil
}

// scheduleOf shows a standing selection.
func scheduleOf(st schedule.Standing) Schedule {
	v := Schedule{
		Name: st.Name, Source: st.Source, Operation: st.Operation, Query: st.Query, Cron: st.Cron.String(), Zone: st.Zone.String(),
		Priority: harvest.PriorityWord(cmp.Or(st.Priority, st.Operation.Priority())), Enabled: st.Enabled, Origin: "set",
		MappingChanged: st.Wants.MappingChanged, Signals: st.Wants.Signals, Max: st.Wants.Max, Endpoint: st.Wants.Endpoint, Pacing: pacingOf(st.Wants.Pacing),
	}
	if st.Suggested {
		v.Origin = "pack"
	}
	if !st.Since.IsZero() {
		v.Since = new(Time(st.Since))
	}
	if st.Operation == harvest.Backfill {
		v.From = boundText(st.Wants.From)
		v.To = boundText(st.Wants.To)
	}
	if st.Wants.OlderThan > 0 {
		v.OlderThan = daysText(st.Wants.OlderThan)
	}
	return v
}

// ScheduleView is a standing selection and how far what it selects is proven.
type ScheduleView struct {
	Schedule
	// Cursor is the one of the selection, of an activity the last that was planned.
	Cursor *ScheduleCursor `json:"cursor,omitempty"`
	// Shares names others that move the same cursor.
	Shares []string `json:"shares_cursor_with,omitempty"`
}

// ScheduleCursor is how far a selection is proven.
type ScheduleCursor struct {
	Namespace string           `json:"namespace"`
	Cursor    harvest.CursorID `json:"cursor,omitzero"`
	ProvenTo  string           `json:"proven_to,omitempty"`
}

// Schedule shows one standing selection.
func (c *Control) Schedule(ctx context.Context, name string) (ScheduleView, error) {
	ctx = c.leaveNoTrace(ctx)
	st, all, err := c.standingOf(ctx, name)
	if err != nil {
		return ScheduleView{}, err
	}
	v, err := c.scheduleView(ctx, st)
	if err != nil {
		return ScheduleView{}, err
	}
	out := ScheduleView{Schedule: v}
	ns, err := c.namespaceOf(ctx, st)
	if err != nil || ns.Key == "" {
		return out, err
	}
	f, err := c.store.Frontier(ctx, ns)
	if err != nil {
		return out, err
	}
	out.Cursor = &ScheduleCursor{Namespace: ns.String(), Cursor: f.Cursor}
	if f.Known {
		out.Cursor.ProvenTo = f.Watermark.String()
	}
	out.Shares = c.sharing(ctx, st, ns, all)
	return out, nil
}

// sharing names the other harvests that move the same cursor, since they select the
// same.
func (c *Control) sharing(ctx context.Context, st schedule.Standing, ns harvest.Namespace, all []schedule.Standing) []string {
	var out []string
	for _, other := range all {
		if other.Name == st.Name || other.Operation != harvest.Harvest || other.Source != st.Source {
			continue
		}
		theirs, err := c.namespaceOf(ctx, other)
		if err == nil && theirs == ns {
			out = append(out, other.Name)
		}
	}
	return out
}

// namespaceOf is where the progress of a standing selection is kept: of its
// selection, or of the activity that was planned last. It is zero if none was.
func (c *Control) namespaceOf(ctx context.Context, st schedule.Standing) (harvest.Namespace, error) {
	t := harvest.Trigger{Provenance: st.Source, Endpoint: st.Wants.Endpoint, Operation: st.Operation, Query: st.Query}
	if st.OneAtATime() {
		last, err := c.store.LastPlanned(ctx, scheduler.Code, st.Name)
		if err != nil || last.LogID == "" {
			return harvest.Namespace{}, err
		}
		due, err := time.Parse(harvest.TimeLayout, last.LogID)
		if err != nil {
			return harvest.Namespace{}, err
		}
		t.Activity = st.Activity(due)
	} else {
		t.Activity = st.Activity(time.Time{})
	}
	con, err := c.contracts.Through(ctx, st.Source, st.Operation, st.Wants.Endpoint, st.Query)
	if err != nil {
		return harvest.Namespace{}, err
	}
	return planner.Namespace(con.Spec, t), nil
}

// standingOf finds a standing selection by its name, among all of them.
func (c *Control) standingOf(ctx context.Context, name string) (schedule.Standing, []schedule.Standing, error) {
	all, err := c.standing(ctx)
	name = schedule.CanonicalName(name)
	var names []string
	for _, st := range all {
		if st.Name == name {
			return st, all, nil
		}
		names = append(names, st.Name)
	}
	if err != nil {
		return schedule.Standing{}, nil, err
	}
	return schedule.Standing{}, nil, &UnknownScheduleError{Name: name, Known: names}
}

// UnknownScheduleError says that there is no schedule of a name.
type UnknownScheduleError struct {
	Name  string
	Known []string
}

func (e *UnknownScheduleError) Error() string { return fmt.Sprintf("there is no schedule %q", e.Name) }

// Problem implements problem.Error.
func (e *UnknownScheduleError) Problem() problem.Problem {
	p := problem.Problem{Code: "unknown_schedule", Kind: problem.NotFound, Title: e.Error(), Next: "patra schedule list"}
	if near := nearest.Word(e.Name, e.Known); near != "" {
		p.Detail = "did you mean " + near + "?"
	}
	return p
}
