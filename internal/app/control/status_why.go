package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// causeOf is the newest fault of a source that was not answered since, or what its
// planning failed of.
func causeOf(f SourceFacts) *Cause {
	if newest, is := f.outage(); is {
		return &Cause{Code: newest.Code, Text: newest.Text, At: optional(newest.At), Since: optional(newest.Since), Count: newest.Count}
	}
	if f.State.Stopped {
		code, text, _ := strings.Cut(f.State.Reason, ": ")
		return &Cause{Code: harvest.Code(code), Text: text, At: optional(f.State.Since), Since: optional(f.State.Since)}
	}
	if r := f.Restarted; r != nil {
		return &Cause{Code: r.Code, Text: r.Text, At: optional(r.At), Since: optional(r.At), Count: r.Count}
	}
	if f.FailedTrigger != "" {
		return &Cause{Code: codePlanning, Text: f.FailedTrigger, At: optional(f.TriggeredAt)}
	}
	return nil
}

// codePlanning is the code of a cause that is known by what its trigger said alone.
const codePlanning harvest.Code = "trigger_failed"

// outage is the newest one.
func (f SourceFacts) outage() (newest PartitionOutage, is bool) {
	for _, o := range f.Outages {
		if !is || o.At.After(newest.At) {
			newest = o
			is = true
		}
	}
	return newest, is
}

// nobodyCame is how long work may lie ready before it is said that nobody takes it.
const nobodyCame = time.Minute

// waitFor is a reason in its own words.
func waitFor(r Reason, until time.Time, unblocks string) *WaitingFor {
	return &WaitingFor{Reason: r, Text: r.Meaning(), Until: optional(until), Unblocks: unblocks}
}

// waits is what the work of the endpoint waits for.
func (h HeldEndpoint) waits() *WaitingFor {
	if h.Stopped {
		return &WaitingFor{
			Reason: ReasonLineStopped, Text: fmt.Sprintf("a fatal fault stopped %s until a person has looked at it", h.EndpointOf),
			Unblocks: h.resume() + ", which checks it",
		}
	}
	return &WaitingFor{Reason: ReasonSourcePaused, Text: fmt.Sprintf("somebody paused %s", h.EndpointOf), Unblocks: h.resume()}
}

// resume is the command that lets the endpoint go on.
func (h HeldEndpoint) resume() string {
	return fmt.Sprintf("patra source resume %s --reason TEXT", h.EndpointOf)
}

// need is what a person should look at about the endpoint.
func (h HeldEndpoint) need() Need {
	n := Need{Source: h.Provenance, Endpoint: h.Endpoint, Level: NeedPaused, Since: optional(h.Since), Next: h.resume()}
	if h.Stopped {
		n.Level = NeedStopped
		code, _, _ := strings.Cut(h.Reason, ": ")
		n.Cause = harvest.Code(code)
	}
	n.Text = fmt.Sprintf("%s since %s: %s", n.Level, Time(h.Since.Truncate(time.Second)), h.Reason)
	return n
}

// allHeld reports whether all that is queued waits for endpoints that are held by
// themselves.
func (f SourceFacts) allHeld() bool {
	return len(f.HeldEndpoints) > 0 && f.Queued.Count > 0 && f.Ready.Count == 0 && f.NextAt.IsZero()
}

// held is the state of an endpoint that is held by itself.
func (f SourceFacts) held(endpoint string) (h HeldEndpoint, is bool) {
	at := slices.IndexFunc(f.HeldEndpoints, func(h HeldEndpoint) bool { return h.Endpoint == endpoint })
	if at < 0 {
		return h, false
	}
	return f.HeldEndpoints[at], true
}

// waitingOf says why nothing of a source is done just now, nil if something is or
// nothing is to be done.
func (c *Control) waitingOf(ctx context.Context, code string, f SourceFacts, gate gateWaits) *WaitingFor {
	if w := c.barred(ctx, code, f, gate); w != nil {
		return w
	}
	if f.Running.Count == 0 {
		if w := untaken(f, gate); w != nil {
			return w
		}
	}
	return triedAgain(f)
}

// barred says what keeps patra from asking a source at all: a person, its hours, its
// breaker or a time it asked for.
func (c *Control) barred(ctx context.Context, code string, f SourceFacts, gate gateWaits) *WaitingFor {
	resume := fmt.Sprintf("patra source resume %s --reason TEXT", code)
	switch {
	case f.State.Stopped:
		return waitFor(ReasonLineStopped, time.Time{}, fmt.Sprintf("patra source check %s, then %s", code, resume))
	case f.State.Paused:
		return waitFor(ReasonSourcePaused, time.Time{}, resume)
	}
	if rest, quiet := c.quiet.Rest(ctx, code, harvest.Harvest); quiet {
		return waitFor(ReasonQuietHours, rest.Until, "the end of the quiet hours")
	}
	for _, r := range f.Rests {
		if r.Bars(f.Now) && !r.Trying {
			return waitFor(ReasonCircuitOpen, r.Until, "an answer to the request that is tried then")
		}
	}
	if gate.cooling.After(f.Now) {
		return waitFor(ReasonRateCooldown, gate.cooling, "the end of that time")
	}
	return nil
}

// untaken says why nobody works on a source that may be asked.
func untaken(f SourceFacts, gate gateWaits) *WaitingFor {
	unclaimed := f.Ready.Count > 0 && f.Now.Sub(f.ReadySince) > nobodyCame
	switch {
	case gate.spent.After(f.Now):
		return waitFor(ReasonQuota, gate.spent, "the time at which the quota has room again")
	case unclaimed && f.OthersRun:
		return waitFor(ReasonGlobalLimit, time.Time{}, "a worker that is done, or more of them: patra serve --workers N")
	case unclaimed:
		return waitFor(ReasonNoExecutor, time.Time{}, "a process that works: patra serve")
	case f.allHeld():
		return f.HeldEndpoints[0].waits()
	case f.Ready.Count == 0 && f.Queued.Count > 0:
		return waitFor(reasonOf(f.NextCode), f.NextAt, "nobody's doing: it is tried again then")
	}
	return nil
}

// triedAgain says when a source that failed is asked again, nil if it did not fail.
func triedAgain(f SourceFacts) *WaitingFor {
	o, failing := f.outage()
	planned := f.TriggeredAt.Add(scheduler.RetryAfter)
	notPlanned := f.FailedTrigger != "" && !o.At.After(f.TriggeredAt) && planned.After(f.Now)
	switch {
	case notPlanned && !o.RetryAt.After(f.Now):
		return waitFor(ReasonScheduledLater, planned, byItself)
	case failing:
		return askedAgain(o.Outage, f.Now)
	case f.Restarted != nil:
		return waitFor(ReasonLeaseHeld, later(f.Now, f.Restarted.Until), "pages that fit together: it is read again from the beginning, or in smaller parts")
	}
	return nil
}

const byItself = "nobody's doing: it is asked again then"

// askedAgain says when what did not answer is asked again.
func askedAgain(o harvest.Outage, now time.Time) *WaitingFor {
	inHand := later(o.At, o.RetryAt).Add(longestAnswer)
	switch {
	case o.RetryAt.After(now):
		return waitFor(ReasonScheduledLater, o.RetryAt, byItself)
	case inHand.After(now):
		return waitFor(ReasonLeaseHeld, inHand, "an answer, or that none came by then")
	}
	return waitFor(ReasonScheduledLater, time.Time{}, "nobody's doing: it is asked again with the next work there is")
}

// lasts reports whether a new beginning did not mend it. One that was made just now is
// no news.
func (r *Restart) lasts(now time.Time) bool {
	const news = 30 * time.Second
	return r != nil && (r.Count != 1 || now.Sub(r.At) >= news)
}

// longestAnswer is how long an answer may take at the most.
const longestAnswer = 2 * time.Minute

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// gateWaits is until when the rate gate lets nothing of a source through: because the
// source asked for that, or because a quota is spent.
type gateWaits struct {
	cooling, spent time.Time
}

// rateStatus tells what the rate gate knows of a source, by the state of its key.
func rateStatus(code string, r source.Rate, raw []byte, f SourceFacts) (*RateStatus, gateWaits, error) {
	const minute = 60
	var s pace.State
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, gateWaits{}, fmt.Errorf("read the rate gate of %s: %w", code, err)
		}
	}
	waits := gateWaits{cooling: s.CooldownUntil}
	l := limitOf(r)
	out := &RateStatus{Limit: r.QPS, Allowed: s.Allowed(l, f.Now), Used: float64(f.Sent.Count) / minute}
	for _, q := range l.Quotas {
		out.Quotas = append(out.Quotas, QuotaStatus{Window: q.Window.String(), Limit: q.Limit, Left: max(0, q.Limit-s.Used(q, f.Now)), reserve: l.Reserve})
		waits.spent = later(waits.spent, s.RoomAt(q, f.Now))
	}
	return out, waits, nil
}

// needs are what a person should look at about a source.
func (s *SourceStatus) needs(f SourceFacts) (out []Need) {
	add := func(level NeedKind, since *Time, next, format string, args ...any) {
		n := Need{Source: s.Source, Level: level, Since: since, Text: fmt.Sprintf(format, args...), Next: next}
		if s.Cause != nil {
			n.Cause = s.Cause.Code
		}
		out = append(out, n)
	}
	o, failing := f.outage()
	switch {
	case f.State.Stopped:
		add(NeedStopped, optional(f.State.Since), s.Waiting.Unblocks, "stopped since %s: %s", Time(f.State.Since.Truncate(time.Second)), f.State.Reason)
		return out
	case f.State.Paused:
		add(NeedPaused, optional(f.State.Since), s.Waiting.Unblocks, "paused since %s: %s", Time(f.State.Since.Truncate(time.Second)), f.State.Reason)
		return out
	case s.Freshness == FreshStopped: // for endpoints that are held, which are told by themselves
	case s.Freshness == FreshLate:
		add(NeedLate, s.LateSince, s.helps(), "%s behind (limit %s) since %s%s", s.Lag, s.Limit, s.LateSince, s.because())
	case s.Waiting != nil && s.Waiting.Reason == ReasonNoExecutor:
		add(NeedUnasked, optional(f.ReadySince), s.helps(), "%s since %s", s.Waiting.Text, Time(f.ReadySince.Truncate(time.Second)))
	case s.Waiting != nil && s.Waiting.Reason == ReasonSpecInvalid:
		add(NeedUnasked, nil, s.Waiting.Unblocks, "%s: %s", s.Waiting.Text, s.invalid())
	case failing && o.Lasts() || s.Cause != nil && s.Cause.Code == codePlanning || f.Restarted.lasts(f.Now):
		add(NeedOutage, s.Cause.Since, s.helps(), "does not answer as it should%s", s.because())
	}
	if f.Gaps.Count > 0 {
		add(NeedGap, nil, "patra plan gaps "+s.Source, "%s left unread%s", counting(f.Gaps, "window"), s.oldestGap())
	}
	if f.Quarantined.Count > 0 {
		add(NeedQuarantine, nil, "patra quarantine list --source "+s.Source, "could not be taken in: %s in quarantine", counting(f.Quarantined, "record"))
	}
	if f.NoDetails.Count > 0 {
		add(NeedDetails, nil, "patra explain no_details", "%s without details: the search named them, the source gave nothing of them", counting(f.NoDetails, "record"))
	}
	return out
}

// oldestGap is the oldest window that holds what is harvested, and why it was left; empty
// if the gaps of the source are all of other operations.
func (s *SourceStatus) oldestGap() string {
	g := s.OldestGap
	if g == nil {
		return ""
	}
	return fmt.Sprintf(", the oldest [%s, %s): %s", g.From, g.To, g.Reason)
}

// invalid says what is wrong with the description.
func (s *SourceStatus) invalid() string {
	for _, l := range s.Lines {
		if l.Waiting != nil && l.Waiting.Reason == ReasonSpecInvalid {
			return l.Unknown
		}
	}
	return ""
}

// because says cause and wait in one line.
func (s *SourceStatus) because() string {
	var text string
	if k := s.Cause; k != nil {
		text = fmt.Sprintf(": %s", k.Code)
		if k.Count > 0 {
			text += fmt.Sprintf(", %d in a row since %s", k.Count, Time(time.Time(*k.Since).Truncate(time.Second)))
		}
	}
	if w := s.Waiting; w != nil {
		text += fmt.Sprintf("; %s (%s)", w.Text, w.Reason)
		if w.Until != nil {
			text += fmt.Sprintf(" until %s", Time(time.Time(*w.Until).Truncate(time.Second)))
		}
	}
	return text
}

// helps is the command that helps.
func (s *SourceStatus) helps() string {
	switch {
	case s.Waiting != nil && s.Waiting.Reason == ReasonNoExecutor:
		return "patra serve"
	case s.Cause != nil:
		return "patra source check " + s.Source
	case s.OldestGap != nil:
		return "patra plan gaps " + s.Source
	}
	return "patra coverage " + s.Source
}

// counting is a number of things in words, which may be more than were counted.
func counting(n Counted, what string) string {
	if n.More {
		return fmt.Sprintf("%d+ %ss", n.Count, what)
	}
	return Count(int(n.Count), what)
}
