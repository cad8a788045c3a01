package control

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// StatusStore reads how sources fare. No answer costs more with every slice, page or
// record there is: what is counted is counted up to [CountCap].
type StatusStore interface {
	// SourceFacts looks at sources, at all of them together.
	SourceFacts(ctx context.Context, codes []string) (map[string]SourceFacts, error)
	// LineFacts looks at a cursor: how it moved last and what holds it.
	LineFacts(ctx context.Context, id harvest.CursorID, watermark harvest.Mark) (LineFacts, error)
	// ReadGates reads the states of rate keys, TunedLag the safety lag of a namespace if
	// that is another than the declared one.
	ReadGates(ctx context.Context, keys []string) (map[string][]byte, error)
	TunedLag(ctx context.Context, ns harvest.Namespace, declared time.Duration) (time.Duration, bool, error)
}

// Counted is a number that was counted up to [CountCap]. Programs read the number alone;
// which of several are more than that stands beside them.
type Counted struct {
	Count int64
	More  bool // there are more than that
}

// MarshalJSON implements json.Marshaler.
func (c Counted) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, c.Count, 10), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Counted) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &c.Count) }

// CountUpTo makes a Counted of a number counted up to one more than [CountCap].
func CountUpTo(n int64) Counted { return Counted{Count: min(n, CountCap), More: n > CountCap} }

// Status is how the sources fare: first what needs a person, then a row for each.
type Status struct {
	At Time `json:"now"`
	// Needs are the worst first, at most ten; MoreNeeds is how many are left out.
	Needs     []Need         `json:"needs_you"`
	MoreNeeds int            `json:"more_needs,omitzero"`
	Sources   []SourceStatus `json:"sources"`
	// Events tells who is told of revisions of records; empty in the status of one source.
	Events []OutboxTarget `json:"events"`
	// Unread says which schedules could not be read, if any.
	Unread string `json:"unread,omitempty"`
}

// Need is what a person should look at, in one sentence, and the command that helps.
type Need struct {
	// Source is empty where it is about all of them.
	Source string `json:"source"`
	// Endpoint is that of the source which it is about, empty where it is about all of it.
	Endpoint string `json:"endpoint,omitempty"`
	// Level is what kind of trouble it is.
	Level NeedKind `json:"level"`
	// Cause is the code of the last fault, empty if there was none.
	Cause harvest.Code `json:"cause,omitempty"`
	Since *Time        `json:"since,omitempty"`
	Text  string       `json:"text"`
	Next  string       `json:"next"`
}

// Subject is the source that it is about, or SOURCE/ENDPOINT, empty where it is about all.
func (n Need) Subject() string {
	if n.Endpoint == "" {
		return n.Source
	}
	return harvest.EndpointOf{Provenance: n.Source, Endpoint: n.Endpoint}.String()
}

// NeedKind is a kind of trouble that a person should look at.
type NeedKind string

// The levels, the worst first.
const (
	NeedStopped    NeedKind = "stopped"
	NeedLate       NeedKind = "late"
	NeedUnasked    NeedKind = "unasked" // work that nobody takes, or that nobody can ask for
	NeedOutage     NeedKind = "outage"
	NeedGap        NeedKind = "gap"
	NeedEvents     NeedKind = "events" // somebody is not told of revisions
	NeedQuarantine NeedKind = "quarantine"
	NeedDetails             = NeedKind(harvest.ProblemNoDetails) // records that the source names and gives nothing of
	NeedPaused     NeedKind = "paused"
)

// worstFirst are the levels in the order in which they are listed.
var worstFirst = []NeedKind{NeedStopped, NeedLate, NeedUnasked, NeedOutage, NeedGap, NeedEvents, NeedQuarantine, NeedDetails, NeedPaused}

// Family is the family of the level.
func (l NeedKind) Family() Family {
	switch l {
	case NeedStopped:
		return Stopped
	case NeedPaused:
		return Off
	case NeedGap:
		return Failed
	case NeedQuarantine, NeedDetails:
		return Partial
	default:
		return Remarked
	}
}

// mostNeeds is how many are listed.
const mostNeeds = 10

// SourceStatus is how a source fares. What is not known is left out.
type SourceStatus struct {
	Source    string    `json:"source"`
	Freshness Freshness `json:"freshness"`
	// Lag, Limit and LateSince are those of the line that is furthest behind.
	Lag         *Seconds `json:"lag_seconds,omitempty"`
	Limit       *Seconds `json:"lag_limit_seconds,omitempty"`
	Watermark   *Time    `json:"watermark,omitempty"`
	LateSince   *Time    `json:"late_since,omitempty"`
	LastSuccess *Time    `json:"last_success_at,omitempty"`
	OldestGap   *Gap     `json:"oldest_gap,omitempty"`
	Queued      Counted  `json:"queued"`
	Running     Counted  `json:"running"`
	Gaps        Counted  `json:"gaps"`
	Quarantined Counted  `json:"quarantined"`
	NoDetails   Counted  `json:"without_details"`
	// Capped names the counts that are more than they say.
	Capped []string    `json:"capped,omitempty"`
	Rate   *RateStatus `json:"rate,omitempty"`
	// QuotaLeft is what is left of the quota of which the smallest share is.
	QuotaLeft *int64 `json:"quota_left"`
	// Throughput is there where a time was named to look back over.
	Throughput *Throughput  `json:"throughput,omitempty"`
	Cause      *Cause       `json:"cause,omitempty"`
	Waiting    *WaitingFor  `json:"waiting,omitempty"`
	NextRun    *Time        `json:"next_run,omitempty"`
	Lines      []LineStatus `json:"lines"`
	Next       string       `json:"next,omitempty"` // the command to begin with, or that helps
	Never      bool         `json:"never_harvested,omitzero"`

	pausedLine string // a schedule that would harvest it, and is paused
	ready      Counted
}

// LineStatus is how far a standing selection of a source is behind. Without a name it
// is what was harvested last of a source of which nothing is scheduled: then there is no
// limit.
type LineStatus struct {
	Schedule  string           `json:"schedule,omitempty"`
	Query     string           `json:"query,omitempty"`
	Cursor    harvest.CursorID `json:"cursor,omitzero"`
	Freshness Freshness        `json:"freshness"`
	Watermark *Time            `json:"watermark,omitempty"`
	Lag       *Seconds         `json:"lag_seconds,omitempty"`
	Limit     *Seconds         `json:"lag_limit_seconds,omitempty"`
	LateSince *Time            `json:"late_since,omitempty"`
	OldestGap *Gap             `json:"oldest_gap,omitempty"`
	NextRun   *Time            `json:"next_run,omitempty"`
	// Waiting is why no more of it is read just now, if that is not for the source.
	Waiting *WaitingFor `json:"waiting,omitempty"`
	// Unknown says why nothing can be told of the lag.
	Unknown string `json:"unknown,omitempty"`
}

// Cause is the last fault of an upstream, while it has not answered since.
type Cause struct {
	Code  harvest.Code `json:"code"`
	Text  string       `json:"text"`
	At    *Time        `json:"last_at,omitempty"`
	Since *Time        `json:"first_at,omitempty"`
	// Count is how many requests in a row failed, 0 if that is not known.
	Count int `json:"count"`
}

// WaitingFor is why nothing is done just now, until when if that is known, and what
// ends it.
type WaitingFor struct {
	Reason   Reason `json:"reason"`
	Text     string `json:"text"`
	Until    *Time  `json:"until,omitempty"`
	Unblocks string `json:"unblocks"`
}

// RateStatus is what a source may be asked, and was. Rates are requests a second.
type RateStatus struct {
	Limit   float64 `json:"limit,omitzero"` // as declared; 0: none is
	Allowed float64 `json:"allowed"`        // now, after what the source said
	// Used is what was sent in the last minute, for each second of it, as far as the
	// pages are over.
	Used float64 `json:"used"`
	// Quotas is what is left of each.
	Quotas []QuotaStatus `json:"quotas,omitempty"`
}

// tightest is what is left of the quota of which the smallest share is; nil without one.
func (r *RateStatus) tightest() *int64 {
	var out *int64
	share := 2.0
	for _, q := range r.Quotas {
		if of := float64(q.Left) / float64(max(q.Limit, 1)); of < share {
			share = of
			out = new(q.Left)
		}
	}
	return out
}

// QuotaStatus is what is left of a quota.
type QuotaStatus struct {
	Window string `json:"window"`
	Limit  int64  `json:"limit"`
	Left   int64  `json:"left"`
	// RoomAt is when something may be sent again, of one that is used up.
	RoomAt *Time `json:"room_at,omitempty"`

	reserve float64 // the part that is kept back
}

// Status looks at all sources, or at one.
func (c *Control) Status(ctx context.Context, code string) (Status, error) {
	ctx = c.leaveNoTrace(ctx)
	out := Status{Needs: []Need{}, Sources: []SourceStatus{}, Events: []OutboxTarget{}}
	codes, err := c.statusOf(ctx, code)
	if err != nil {
		return out, err
	}
	standing, err := c.standing(ctx)
	if err != nil {
		out.Unread = err.Error()
	}
	seen, err := c.statuses(ctx, codes, standing)
	if err != nil {
		return out, err
	}
	for _, v := range seen {
		out.At = Time(v.facts.Now.Truncate(time.Second))
		out.Sources = append(out.Sources, v.SourceStatus)
		out.Needs = append(out.Needs, v.needs(v.facts)...)
		for _, h := range v.facts.HeldEndpoints {
			out.Needs = append(out.Needs, h.need())
		}
	}
	if len(seen) == 0 {
		now, err := c.store.Now(ctx)
		if err != nil {
			return out, err
		}
		out.At = Time(now.Truncate(time.Second))
	}
	if code == "" {
		if err := c.addEvents(ctx, &out); err != nil {
			return out, err
		}
	}
	slices.SortStableFunc(out.Needs, func(a, b Need) int {
		return cmp.Compare(slices.Index(worstFirst, a.Level), slices.Index(worstFirst, b.Level))
	})
	if n := len(out.Needs); n > mostNeeds {
		out.MoreNeeds = n - mostNeeds
		out.Needs = out.Needs[:mostNeeds]
	}
	return out, nil
}

// statusOf are the sources to look at.
func (c *Control) statusOf(ctx context.Context, code string) ([]string, error) {
	if err := c.known(ctx, code); err != nil {
		return nil, err
	}
	if code != "" {
		return []string{code}, nil
	}
	if c.sources == nil {
		return nil, nil
	}
	return c.sources.Codes(ctx)
}

// sourceView is a source as far as it has been looked at.
type sourceView struct {
	SourceStatus
	facts SourceFacts
	// spec is its contract, and rate what that allows; nil where it cannot be told.
	spec *source.Spec
	rate *source.Rate
}

// statuses puts together how sources fare. What the store knows of them is read for all
// of them at once.
func (c *Control) statuses(ctx context.Context, codes []string, standing []schedule.Standing) ([]sourceView, error) {
	if len(codes) == 0 {
		return nil, nil
	}
	facts, err := c.store.SourceFacts(ctx, codes)
	if err != nil {
		return nil, err
	}
	out := make([]sourceView, len(codes))
	var keys []string
	for i, code := range codes {
		v, err := c.beginView(ctx, code, facts[code], standing)
		if err != nil {
			return nil, err
		}
		if v.rate != nil {
			keys = append(keys, v.rate.Key)
		}
		out[i] = v
	}
	gates, err := c.store.ReadGates(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if err := c.finishView(ctx, &out[i], gates); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// beginView tells how far the lines of a source have come, and finds what it may be asked.
func (c *Control) beginView(ctx context.Context, code string, f SourceFacts, standing []schedule.Standing) (sourceView, error) {
	v := sourceView{facts: f, SourceStatus: SourceStatus{
		Source: code, LastSuccess: optional(f.LastSuccess), Queued: f.Queued, Running: f.Running, Gaps: f.Gaps,
		Quarantined: f.Quarantined, NoDetails: f.NoDetails, Lines: []LineStatus{}, Cause: causeOf(f), ready: f.Ready, Never: !f.Planned && len(f.Outages) == 0,
	}}
	for _, st := range standing {
		if st.Source != code || st.Operation != harvest.Harvest {
			continue
		}
		if !st.Enabled {
			v.pausedLine = st.Name
			continue
		}
		line, spec, err := c.lineStatus(ctx, st, f)
		if err != nil {
			return v, err
		}
		if spec != nil {
			if h, is := f.held(spec.Search.Name); is {
				line.Freshness = FreshStopped
				line.Waiting = h.waits()
			}
		}
		v.Lines = append(v.Lines, line)
		v.spec = cmp.Or(v.spec, spec)
	}
	if len(v.Lines) == 0 && f.Harvested.ID != 0 {
		line, err := c.unscheduledLine(ctx, f)
		if err != nil {
			return v, err
		}
		v.Lines = append(v.Lines, line)
	}
	if v.spec == nil && f.Planned {
		con, err := c.contracts.Select(ctx, code, harvest.Harvest, "")
		if err == nil {
			v.spec = con.Spec
		}
	}
	if v.spec != nil {
		v.rate = new(c.allowed(ctx, v.spec, source.Call{Purpose: source.ForSearch}).For(v.spec.Search.Name, ""))
	}
	return v, nil
}

// finishView tells what of its rate a source has left, why nothing of it is done, and sums
// up.
func (c *Control) finishView(ctx context.Context, v *sourceView, gates map[string][]byte) error {
	var gate gateWaits
	if v.rate != nil {
		var err error
		v.Rate, gate, err = rateStatus(v.Source, *v.rate, gates[v.rate.Key], v.facts)
		if err != nil {
			return err
		}
		v.QuotaLeft = v.Rate.tightest()
	}
	v.Waiting = c.waitingOf(ctx, v.Source, v.facts, gate)
	for _, l := range v.Lines {
		broken := l.Waiting != nil && l.Waiting.Reason == ReasonSpecInvalid
		if broken && !v.facts.State.Held() {
			v.Waiting = l.Waiting
		}
	}
	v.sumUp(v.facts)
	return nil
}

// sumUp gives the source the word and the lag of the line that is worst off, among those
// that go on if there are any.
func (s *SourceStatus) sumUp(f SourceFacts) {
	s.Freshness = FreshWaiting
	for i, l := range s.goingOn() {
		if i == 0 || l.Freshness.worse(s.Freshness) || l.Freshness == s.Freshness && longer(l.Lag, s.Lag) {
			s.Freshness = l.Freshness
			s.Lag = l.Lag
			s.Limit = l.Limit
			s.Watermark = l.Watermark
			s.LateSince = l.LateSince
		}
	}
	for _, l := range s.Lines {
		if l.OldestGap != nil && (s.OldestGap == nil || s.OldestGap.From.After(l.OldestGap.From)) {
			s.OldestGap = l.OldestGap
		}
		if l.NextRun != nil && (s.NextRun == nil || time.Time(*l.NextRun).Before(time.Time(*s.NextRun))) {
			s.NextRun = l.NextRun
		}
	}
	for name, n := range map[string]Counted{
		"queued": s.Queued, "running": s.Running, "gaps": s.Gaps, "quarantined": s.Quarantined, "without_details": s.NoDetails,
	} {
		if n.More {
			s.Capped = append(s.Capped, name)
		}
	}
	slices.Sort(s.Capped)
	switch {
	case f.State.Held(), f.allHeld() && s.Freshness == FreshWaiting:
		s.Freshness = FreshStopped
	case s.Waiting != nil && s.Waiting.Reason == ReasonQuietHours:
		s.Freshness = FreshWaiting
	}
	scheduled := slices.ContainsFunc(s.Lines, func(l LineStatus) bool { return l.Schedule != "" })
	switch {
	case s.Never:
		s.Next = "patra harvest " + s.Source
	case scheduled || f.State.Held():
	case s.pausedLine != "":
		s.Next = "patra schedule resume " + s.pausedLine + " --reason TEXT"
	default:
		s.Next = "patra schedule set NAME --source " + s.Source + " --cron @hourly --reason TEXT"
	}
}

// goingOn are the lines that go through no endpoint that is held; all of them if there is
// no such line.
func (s *SourceStatus) goingOn() []LineStatus {
	held := func(l LineStatus) bool { return l.Freshness == FreshStopped }
	if going := slices.DeleteFunc(slices.Clone(s.Lines), held); len(going) > 0 {
		return going
	}
	return s.Lines
}

func longer(a, b *Seconds) bool { return a != nil && (b == nil || *a > *b) }
