package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// Freshness is a word for how far behind a source is.
type Freshness string

// The words.
const (
	FreshOnTime     Freshness = "on_time"     // the lag is within its limit
	FreshCatchingUp Freshness = "catching_up" // it is over, and gets less
	FreshLate       Freshness = "late"        // it is over, and does not
	FreshWaiting    Freshness = "waiting"     // nothing is to run, or nothing is known yet
	FreshStopped    Freshness = "stopped"     // paused, or stopped by a fatal fault: the source, or the endpoint it goes through
)

// Word is the word as people read it.
func (f Freshness) Word() string { return strings.ReplaceAll(string(f), "_", " ") }

// bestFirst are the words from the best to the worst.
var bestFirst = []Freshness{FreshOnTime, FreshWaiting, FreshCatchingUp, FreshLate, FreshStopped}

// worse reports whether it wants a look before the other.
func (f Freshness) worse(other Freshness) bool {
	return slices.Index(bestFirst, f) > slices.Index(bestFirst, other)
}

// Family is the family of the word.
func (f Freshness) Family() Family {
	switch f {
	case FreshOnTime:
		return OK
	case FreshCatchingUp:
		return Active
	case FreshLate:
		return Remarked
	case FreshStopped:
		return Stopped
	default:
		return Waiting
	}
}

// Glyph is one character that stands for the word.
func (f Freshness) Glyph() string {
	if f == FreshCatchingUp {
		return "↗"
	}
	return f.Family().Glyph()
}

// Seconds is a length of time in whole seconds.
type Seconds int64

func secondsOf(d time.Duration) *Seconds { return new(Seconds(d / time.Second)) }

// Duration is the length as a Duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// String writes a length of time by its two greatest units.
func (s Seconds) String() string {
	d := s.Duration()
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%ds", int(d.Seconds()))
}

// graceOfARun is how long a run may take until the watermark has to have moved.
const graceOfARun = 30 * time.Minute

// lineStatus tells how far a standing HARVEST is behind, and its contract; none where
// that cannot be told.
func (c *Control) lineStatus(ctx context.Context, st schedule.Standing, f SourceFacts) (LineStatus, *source.Spec, error) {
	l := LineStatus{Schedule: st.Name, Query: st.Query, Freshness: FreshWaiting}
	if next, comes := st.Next(f.Now); comes {
		l.NextRun = optional(next)
	}
	if !f.Planned {
		l.Unknown = "nothing was harvested yet"
		return l, nil, nil
	}
	con, err := c.contracts.Through(ctx, st.Source, harvest.Harvest, st.Wants.Endpoint, st.Query)
	if err != nil {
		l.Unknown = err.Error()
		l.Waiting = waitFor(ReasonSpecInvalid, time.Time{}, "patra source check "+st.Source)
		return l, nil, nil
	}
	ns := planner.Namespace(con.Spec, harvest.Trigger{Provenance: st.Source, Operation: harvest.Harvest, Query: st.Query})
	at, err := c.store.Frontier(ctx, ns)
	if err != nil {
		return l, nil, err
	}
	if !at.Known {
		l.Unknown = "nothing of it was harvested yet"
		return l, con.Spec, nil
	}
	limit, err := c.lagLimit(ctx, st, con.Spec, ns, f.Now)
	if err != nil {
		return l, nil, err
	}
	facts, err := c.store.LineFacts(ctx, at.Cursor, at.Watermark)
	if err != nil {
		return l, nil, err
	}
	l.Cursor = at.Cursor
	l.OldestGap = facts.Gap
	if at.Watermark.IsNumber() {
		l.Unknown = "it is harvested by ids, which tell no time: the cursor stands at " + at.Watermark.String()
		return l, con.Spec, nil
	}
	l.measure(f.Now, at.Watermark.Time(), limit, facts.Moves)
	_, partial, err := c.store.PartialPlan(ctx, ns)
	if err != nil {
		return l, nil, err
	}
	l.Waiting = l.waits(f.Now, at, partial, con.Spec.Window.SafetyLag.D())
	return l, con.Spec, nil
}

// waits says why no more of a line is asked for just now, though its source might be:
// enough is queued, or all that may be asked for yet is read. Nil: it is worked on.
func (l *LineStatus) waits(now time.Time, at harvest.Frontier, partial bool, lag time.Duration) *WaitingFor {
	newer := at.Watermark.Time().Add(lag)
	switch {
	case partial:
		return waitFor(ReasonStockBrake, time.Time{}, "slices that are done: planning goes on by itself when fewer are open")
	case at.At != at.Watermark:
		return nil
	case newer.After(now):
		return waitFor(ReasonSafetyLag, newer, "time: the next run takes it")
	case l.NextRun != nil:
		return waitFor(ReasonScheduledLater, time.Time(*l.NextRun), "the next run")
	}
	return nil
}

// unscheduledLine tells how far behind it is what was harvested last of a source of
// which nothing is scheduled. Nobody has said how far it may be.
func (c *Control) unscheduledLine(ctx context.Context, f SourceFacts) (LineStatus, error) {
	at := f.Harvested
	facts, err := c.store.LineFacts(ctx, at.ID, harvest.TimeMark(at.Watermark))
	return LineStatus{
		Cursor: at.ID, Freshness: FreshWaiting, Watermark: optional(at.Watermark), Lag: secondsOf(f.Now.Sub(at.Watermark)), OldestGap: facts.Gap,
	}, err
}

// measure holds the watermark against the clock.
func (l *LineStatus) measure(now, watermark time.Time, limit time.Duration, moves []CursorMove) {
	lag := now.Sub(watermark)
	l.Watermark = optional(watermark)
	l.Lag = secondsOf(lag)
	l.Limit = secondsOf(limit)
	if lag <= limit {
		l.Freshness = FreshOnTime
		return
	}
	l.LateSince = optional(watermark.Add(limit))
	l.Freshness = FreshLate
	if shrinks(lag, moves) {
		l.Freshness = FreshCatchingUp
	}
}

// samples of the lag are looked at to tell whether it gets less.
const samples = 3

// shrinks reports whether the lag was less after each of the last moves than after the
// one before, and what the last one gained has not been lost again by waiting.
func shrinks(lag time.Duration, moves []CursorMove) bool {
	if len(moves) < samples {
		return false
	}
	for i := range samples - 1 {
		if moves[i].lag() >= moves[i+1].lag() {
			return false
		}
	}
	return lag < moves[1].lag()
}

// lag is how far the cursor was behind when it moved.
func (m CursorMove) lag() time.Duration { return m.At.Sub(m.To) }

// lagLimit is how far behind a line may be before it is late: what it leaves out of
// every window, the longest time between two of its runs, and the time a run may take.
func (c *Control) lagLimit(ctx context.Context, st schedule.Standing, spec *source.Spec, ns harvest.Namespace, now time.Time) (time.Duration, error) {
	lag := spec.Window.SafetyLag.D()
	tuned, is, err := c.store.TunedLag(ctx, ns, lag)
	if err != nil {
		return 0, err
	}
	if is {
		lag = tuned
	}
	if spec.Window.Precision == harvest.PrecisionDay {
		lag += 24 * time.Hour // the day that is not over is not asked for
	}
	return max(lag, spec.Window.Align.D()) + longestBetween(st, now) + graceOfARun, nil
}

// longestBetween is the longest time between any two of the next times of a line.
func longestBetween(st schedule.Standing, now time.Time) (longest time.Duration) {
	const looked = 8
	at, comes := st.Next(now)
	for range looked {
		if !comes {
			break
		}
		var next time.Time
		next, comes = st.Next(at)
		if comes {
			longest = max(longest, next.Sub(at))
			at = next
		}
	}
	return longest
}
