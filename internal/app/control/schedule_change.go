package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// ScheduleOrder is a standing selection as a person asks for it.
type ScheduleOrder struct {
	By
	Name      string
	Source    string
	Operation harvest.Operation // empty: HARVEST
	Query     string
	Cron      string
	Zone      string // empty: UTC
	Priority  int    // 0: the operation's own
	// Endpoint is the one it goes through, empty for the source's own choice.
	Endpoint string
	// Pacing is how slowly it is done each time; NotBefore of it means nothing here.
	Pacing harvest.Pacing
	// From and To bound the window of a BACKFILL: instants, dates, or ages such as
	// -30d that are counted back from each time the line comes.
	From, To string
	// An UPDATE reads what any of these takes; with none, what is signalled and what
	// was not seen for 180 days.
	OlderThan      string
	MappingChanged bool
	Signals        bool
	Max            int
	DryRun         bool
}

// ScheduleChange is what becomes of a standing selection.
type ScheduleChange struct {
	Applied bool      `json:"applied"`
	Changes bool      `json:"changes"`
	Before  *Schedule `json:"before"`
	After   *Schedule `json:"after"`
	// Notes tell what follows from it.
	Notes []string `json:"notes,omitempty"`
	// Token, of a preview, lets exactly this be done.
	Token string `json:"token,omitempty"`
}

// SetSchedule makes a standing selection what the order says, new or in place of one
// of the same name. A selection that its source cannot express is refused, as
// harvesting it would be.
func (c *Control) SetSchedule(ctx context.Context, o ScheduleOrder) (ScheduleChange, error) {
	st, err := o.standing()
	if err != nil {
		return ScheduleChange{}, err
	}
	if o.DryRun {
		ctx = c.leaveNoTrace(ctx)
	}
	con, err := c.contracts.Through(ctx, st.Source, st.Operation, st.Wants.Endpoint, st.Query)
	if err != nil {
		return ScheduleChange{}, err
	}
	if _, err := con.Spec.Within(st.Wants.Pacing.Bounds); err != nil {
		return ScheduleChange{}, err
	}
	if st.Operation == harvest.Update && con.Spec.Detail == nil {
		return ScheduleChange{}, &planner.NoUpdateError{Source: st.Source}
	}
	out := ScheduleChange{Notes: o.settle(&st.Wants, c.calendar(ctx, st.Source, st.Operation, st.Wants.Endpoint, st.Query))}
	if err := c.checkWindow(ctx, st); err != nil {
		return out, err
	}
	before, _, err := c.standingOf(ctx, st.Name)
	if _, unknown := errors.AsType[*UnknownScheduleError](err); err != nil && !unknown {
		return out, err
	}
	if err == nil {
		out.Before = new(scheduleOf(before))
		out.Notes = append(out.Notes, replacing(before, st)...)
	}
	return c.setSchedule(ctx, out, st, o.By, "SCHEDULE_SET", o.DryRun)
}

// replacing says what follows from putting one standing selection in place of
// another.
func replacing(before, after schedule.Standing) []string {
	var notes []string
	if before.Suggested {
		notes = append(notes, "in place of what the pack of "+before.Source+" suggests; patra schedule remove "+before.Name+" lets that be in force again")
	}
	if before.Query != after.Query || before.Wants.Endpoint != after.Wants.Endpoint || before.Source != after.Source || before.Operation != after.Operation {
		notes = append(notes, "another selection has a cursor of its own, which begins anew; the one before stays where it is")
	}
	return notes
}

// setSchedule writes a standing selection, unless it is only to be looked at.
func (c *Control) setSchedule(ctx context.Context, out ScheduleChange, st schedule.Standing, by By, action string, dryRun bool) (ScheduleChange, error) {
	st.Suggested = false
	out.Changes = true
	wanted := scheduleOf(st)
	wanted.Since = nil // it begins when it is written
	out, err := c.heldToPreview(ctx, out, &wanted, by, action, dryRun)
	if err != nil {
		return out, err
	}
	if !dryRun {
		if err := c.store.SetSchedule(ctx, st, by.line(action, "schedule/"+st.Name)); err != nil {
			return out, err
		}
		out.Applied = true
	}
	after, err := c.scheduleView(ctx, st)
	if err == nil {
		out.After = &after
	}
	return out, err
}

// heldToPreview gives a preview its token, or holds a change to the one it came with:
// what was there is still there, and the same is wanted in its place.
func (c *Control) heldToPreview(ctx context.Context, out ScheduleChange, wanted *Schedule, by By, action string, dryRun bool) (ScheduleChange, error) {
	name := cmp.Or(wanted, out.Before).Name
	shown := []*Schedule{out.Before, wanted}
	if !dryRun {
		return out, c.checkSeen(ctx, by.Token, action, name, shown)
	}
	var err error
	out.Token, err = c.seenToken(ctx, action, name, shown)
	return out, err
}

// standing reads an order.
func (o ScheduleOrder) standing() (schedule.Standing, error) {
	st := schedule.Standing{
		Name: schedule.CanonicalName(o.Name), Source: o.Source, Operation: cmp.Or(o.Operation, harvest.Harvest), Query: strings.TrimSpace(o.Query),
		Priority: o.Priority, Enabled: true,
	}
	if err := schedule.CheckName(st.Name); err != nil {
		return st, &BadScheduleError{What: err.Error()}
	}
	code, op, suggested := schedule.SplitName(st.Name)
	if suggested && (st.Source != code || st.Operation != op) {
		return st, &BadScheduleError{What: fmt.Sprintf("%s is the name of what a pack suggests for %s of %s: give a schedule for another a name of its own", st.Name, op, code)}
	}
	var err error
	st.Cron, err = schedule.ParseCron(o.Cron)
	if err != nil {
		return st, &BadScheduleError{What: "--cron: " + err.Error()}
	}
	zone := cmp.Or(o.Zone, "UTC")
	st.Zone, err = time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return st, &BadScheduleError{What: fmt.Sprintf("--zone %q is not a time zone such as America/New_York", o.Zone)}
	}
	st.Wants, err = o.wants(st.Operation)
	if err != nil {
		return st, err
	}
	if err := o.Pacing.Check(); err != nil {
		return st, &BadScheduleError{What: err.Error()}
	}
	st.Wants.Endpoint = o.Endpoint
	st.Wants.Pacing = harvest.Pacing{Spread: o.Pacing.Spread, Bounds: o.Pacing.Bounds}
	return st, nil
}

// wants reads what an operation is told beside its selection, and refuses what it
// would not heed.
func (o ScheduleOrder) wants(op harvest.Operation) (w schedule.Wants, err error) {
	picks := o.OlderThan != "" || o.MappingChanged || o.Signals || o.Max != 0
	switch {
	case op != harvest.Backfill && (o.From != "" || o.To != ""):
		return w, &BadScheduleError{
			What: "--from and --to are the window of a BACKFILL; other schedules go on where their cursor stands",
			Next: "to begin a harvest elsewhere, run it once: patra harvest " + o.Source + " --from T with the same --query",
		}
	case op != harvest.Update && picks:
		return w, &BadScheduleError{What: "--older-than, --mapping-changed, --signals and --max say what an UPDATE reads again"}
	case op == harvest.Update && o.Query != "":
		return w, &BadScheduleError{What: "an UPDATE reads records again by their ids: --query does not go with it"}
	case o.Max < 0:
		return w, &BadScheduleError{What: fmt.Sprintf("--max %d is below zero", o.Max)}
	case op == harvest.Backfill:
		w.From, err = parseBound("from", o.From)
		if err == nil {
			w.To, err = parseBound("to", o.To)
		}
		if err == nil && !w.From.Fixed() && w.To.Fixed() {
			err = &BadScheduleError{What: "--from " + o.From + " moves on with time and --to does not: make both ages, or both instants"}
		}
		return w, err
	case op == harvest.Update:
		w.MappingChanged = o.MappingChanged
		w.Signals = o.Signals
		w.Max = o.Max
		if o.OlderThan != "" {
			w.OlderThan, err = source.ParseDuration(o.OlderThan)
		}
		if err != nil || w.OlderThan < 0 {
			return w, &BadScheduleError{What: fmt.Sprintf("--older-than %q is no length of time, such as 90d, 12h or PT12H", o.OlderThan)}
		}
		if o.OlderThan == "" && !o.MappingChanged && !o.Signals {
			w.Signals = true
			w.OlderThan = source.DefaultOlderThan
		}
	}
	return w, nil
}

// settle lets the dates of a window begin when they do at its source, and says so.
func (o ScheduleOrder) settle(w *schedule.Wants, cal harvest.Calendar) (notes []string) {
	days := dayNames{cal: daysOf(cal)}
	for _, end := range []struct {
		text  string
		bound *schedule.Bound
	}{{o.From, &w.From}, {o.To, &w.To}} {
		t, isDay, err := readInstant(end.text, cal)
		if err == nil && isDay {
			end.bound.At = t
			days.add(end.text, t)
		}
	}
	return days.notes()
}

// parseBound reads an end of a window. A date among them is that of UTC until
// [ScheduleOrder.settle] knows the source.
func parseBound(flag, text string) (schedule.Bound, error) {
	ago, isAge := strings.CutPrefix(text, "-")
	if isAge {
		d, err := source.ParseDuration(ago)
		if err == nil && d >= 0 {
			return schedule.Bound{Ago: d}, nil
		}
	}
	if text == "now" {
		return schedule.Bound{}, nil
	}
	if t, _, err := readInstant(text, harvest.Calendar{}); err == nil {
		return schedule.Bound{At: t}, nil
	}
	what := fmt.Sprintf("--%s %q is neither an age (-30d, now) nor RFC 3339 (2026-01-31T12:00:00Z) nor a date (2026-01-31)", flag, text)
	if text == "" {
		what = "a BACKFILL needs both --from and --to: instants, dates, or ages such as -30d, counted back from each time it begins"
	}
	return schedule.Bound{}, &BadScheduleError{What: what}
}

// checkWindow refuses a BACKFILL whose window is empty whenever it begins.
func (c *Control) checkWindow(ctx context.Context, st schedule.Standing) error {
	if st.Operation != harvest.Backfill {
		return nil
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	from, to := st.Window(now, time.Time{})
	_, err = harvest.NewWindow(from, to)
	return err
}

func boundText(b schedule.Bound) string {
	switch {
	case b.Fixed():
		return Time(b.At).String()
	case b.Ago == 0:
		return "now"
	}
	return "-" + daysText(b.Ago)
}

// daysText writes a length of time in days where it is whole days.
func daysText(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

// ScheduleHold says which schedule is paused, resumed or removed.
type ScheduleHold struct {
	By
	Name   string
	DryRun bool
}

// PauseSchedule lets a standing selection begin nothing more. What it has begun goes
// on. One that a pack suggests gets a row of its own for it.
func (c *Control) PauseSchedule(ctx context.Context, o ScheduleHold) (ScheduleChange, error) {
	return c.enable(ctx, o, false, "SCHEDULE_PAUSE")
}

// ResumeSchedule lets a standing selection begin again, with the next time its line
// comes.
func (c *Control) ResumeSchedule(ctx context.Context, o ScheduleHold) (ScheduleChange, error) {
	return c.enable(ctx, o, true, "SCHEDULE_RESUME")
}

func (c *Control) enable(ctx context.Context, o ScheduleHold, on bool, action string) (ScheduleChange, error) {
	st, _, err := c.standingOf(ctx, o.Name)
	if err != nil {
		return ScheduleChange{}, err
	}
	out := ScheduleChange{Before: new(scheduleOf(st))}
	if st.Enabled == on {
		out.After = out.Before
		return out, nil
	}
	st.Enabled = on
	return c.setSchedule(ctx, out, st, o.By, action, o.DryRun)
}

// RemoveSchedule ends a standing selection. Its history and its cursor stay. What a
// pack suggests in its place is in force again.
func (c *Control) RemoveSchedule(ctx context.Context, o ScheduleHold) (ScheduleChange, error) {
	st, _, err := c.standingOf(ctx, o.Name)
	if err != nil {
		return ScheduleChange{}, err
	}
	if st.Suggested {
		return ScheduleChange{}, &BadScheduleError{
			What: st.Name + " is suggested by the pack of " + st.Source + ", so there is nothing to remove",
			Next: "patra schedule pause " + st.Name + " --reason TEXT, or take `schedule` out of the pack",
		}
	}
	out := ScheduleChange{Changes: true, Before: new(scheduleOf(st))}
	out, err = c.heldToPreview(ctx, out, nil, o.By, "SCHEDULE_REMOVE", o.DryRun)
	if err != nil {
		return out, err
	}
	if !o.DryRun {
		if err := c.store.RemoveSchedule(ctx, st.Name, o.line("SCHEDULE_REMOVE", "schedule/"+st.Name)); err != nil {
			return out, err
		}
		out.Applied = true
	}
	if _, _, suggested := schedule.SplitName(st.Name); suggested {
		out.Notes = append(out.Notes, "what the pack of "+st.Source+" suggests, if it does, is in force again")
	}
	return out, nil
}

// BadScheduleError says what is wrong with a schedule that was asked for.
type BadScheduleError struct{ What, Next string }

func (e *BadScheduleError) Error() string { return e.What }

// Problem implements problem.Error.
func (e *BadScheduleError) Problem() problem.Problem {
	return problem.Problem{Code: "bad_schedule", Kind: problem.Usage, Title: e.What, Next: cmp.Or(e.Next, "patra schedule set --help; nothing was changed")}
}
