package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// StatusStore reads how sources fare. No answer costs more with every slice, page or
// record there is: what is counted is counted up to [CountCap].
type StatusStore interface {
	SourceFacts(ctx context.Context, code string) (SourceFacts, error)
	// LineFacts looks at a cursor: how it moved last and what holds it.
	LineFacts(ctx context.Context, id harvest.CursorID, watermark harvest.Mark) (LineFacts, error)
	// ReadGate reads the state of a rate key, TunedLag the safety lag of a namespace if
	// that is another than the declared one.
	ReadGate(ctx context.Context, key string) ([]byte, error)
	TunedLag(ctx context.Context, ns harvest.Namespace, declared time.Duration) (time.Duration, bool, error)
}

// Counted is a number that was counted up to [CountCap].
type Counted struct {
	Count int64 `json:"count"`
	More  bool  `json:"more,omitzero"` // there are more than that
}

// CountUpTo makes a Counted of a number counted up to one more than [CountCap].
func CountUpTo(n int64) Counted { return Counted{Count: min(n, CountCap), More: n > CountCap} }

// SourceFacts is what the store knows of a source.
type SourceFacts struct {
	Now         time.Time
	State       harvest.SourceState
	Planned     bool // anything ever was
	LastSuccess time.Time
	Outages     []PartitionOutage
	Rests       []PartitionRest
	// Queued tasks, those of them that could be taken now and since when the first
	// could; Running are in somebody's hands, Failed ended as gaps.
	Queued, Ready, Running, Failed Counted
	ReadySince                     time.Time
	// NextAt is when the first of those queued for later is due, and NextCode what
	// is known of why it waits.
	NextAt      time.Time
	NextCode    harvest.Code
	Quarantined Counted
	// Sent are the requests of the last minute, as far as their pages are over.
	Sent Counted
	// FailedTrigger is what the newest trigger said if it failed.
	FailedTrigger string
	TriggeredAt   time.Time
}

// PartitionOutage is an outage of a partition.
type PartitionOutage struct {
	harvest.Partition
	harvest.Outage
}

// PartitionRest is a partition whose breaker is open.
type PartitionRest struct {
	harvest.Partition
	harvest.Breaker
}

// LineFacts is what the store knows of a cursor.
type LineFacts struct {
	// Moves are the last ones, the newest first.
	Moves []CursorMove
	// Gap is the oldest window that holds it until it is mended, if one does.
	Gap *Gap
}

// CursorMove is where a cursor came to, and when.
type CursorMove struct {
	To, At time.Time
}

// Status is how the sources fare: first what needs a person, then a row for each.
type Status struct {
	At Time `json:"at"`
	// Needs are the worst first, at most ten; MoreNeeds is how many are left out.
	Needs     []Need         `json:"needs_you"`
	MoreNeeds int            `json:"more_needs,omitzero"`
	Sources   []SourceStatus `json:"sources"`
	// Unread says which schedules could not be read, if any.
	Unread string `json:"unread,omitempty"`
}

// Need is what a person should look at, in one sentence, and the command that helps.
type Need struct {
	Source    string    `json:"source"`
	Freshness Freshness `json:"freshness"`
	Text      string    `json:"text"`
	Next      string    `json:"next"`
	rank      int
}

// mostNeeds is how many are listed.
const mostNeeds = 10

// SourceStatus is how a source fares. What is not known is left out.
type SourceStatus struct {
	Source    string    `json:"source"`
	Freshness Freshness `json:"freshness"`
	// Lag, Limit and LateSince are those of the line that is furthest behind.
	Lag         *Seconds     `json:"lag_seconds,omitempty"`
	Limit       *Seconds     `json:"limit_seconds,omitempty"`
	LateSince   *Time        `json:"late_since,omitempty"`
	LastSuccess *Time        `json:"last_success,omitempty"`
	OldestGap   *Gap         `json:"oldest_gap,omitempty"`
	Queued      Counted      `json:"queued"`
	Running     Counted      `json:"running"`
	Failed      Counted      `json:"failed"`
	Quarantined Counted      `json:"quarantined"`
	Rate        *RateStatus  `json:"rate,omitempty"`
	Cause       *Cause       `json:"cause,omitempty"`
	Waiting     *WaitingFor  `json:"waiting,omitempty"`
	NextRun     *Time        `json:"next_run,omitempty"`
	Lines       []LineStatus `json:"lines"`
	Next        string       `json:"next,omitempty"` // the command to begin with, or that helps
	Never       bool         `json:"never_harvested,omitzero"`
}

// LineStatus is how far a standing selection of a source is behind.
type LineStatus struct {
	Schedule  string           `json:"schedule"`
	Query     string           `json:"query,omitempty"`
	Cursor    harvest.CursorID `json:"cursor,omitzero"`
	Freshness Freshness        `json:"freshness"`
	Watermark *Time            `json:"watermark,omitempty"`
	Lag       *Seconds         `json:"lag_seconds,omitempty"`
	Limit     *Seconds         `json:"limit_seconds,omitempty"`
	LateSince *Time            `json:"late_since,omitempty"`
	OldestGap *Gap             `json:"oldest_gap,omitempty"`
	NextRun   *Time            `json:"next_run,omitempty"`
	// Unknown says why nothing can be told of the lag.
	Unknown string `json:"unknown,omitempty"`
}

// Cause is the last fault of an upstream, while it has not answered since.
type Cause struct {
	Code  harvest.Code `json:"code"`
	Text  string       `json:"text"`
	At    *Time        `json:"at,omitempty"`
	Since *Time        `json:"since,omitempty"`
	// Count is how many requests in a row failed, 0 if that is not known.
	Count int `json:"count,omitzero"`
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
	Limit   float64 `json:"limit,omitzero"`   // as declared; 0: none is
	Allowed float64 `json:"allowed,omitzero"` // now, after what the source said
	// Used is what was sent in the last minute, for each second of it, as far as the
	// pages are over.
	Used float64 `json:"used"`
	// Quotas is what is left of each.
	Quotas []QuotaStatus `json:"quotas,omitempty"`
}

// QuotaStatus is what is left of a quota.
type QuotaStatus struct {
	Window string `json:"window"`
	Limit  int64  `json:"limit"`
	Left   int64  `json:"left"`
}

// Status looks at all sources, or at one.
func (c *Control) Status(ctx context.Context, code string) (Status, error) {
	ctx = c.leaveNoTrace(ctx)
	out := Status{Needs: []Need{}, Sources: []SourceStatus{}}
	codes, err := c.statusOf(ctx, code)
	if err != nil {
		return out, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	out.At = Time(now.Truncate(time.Second))
	standing, err := c.standing(ctx)
	if err != nil {
		out.Unread = err.Error()
	}
	for _, code := range codes {
		s, needs, err := c.sourceStatus(ctx, code, standing)
		if err != nil {
			return out, err
		}
		out.Sources = append(out.Sources, s)
		out.Needs = append(out.Needs, needs...)
	}
	slices.SortStableFunc(out.Needs, func(a, b Need) int { return cmp.Compare(a.rank, b.rank) })
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

// sourceStatus puts together how one source fares.
func (c *Control) sourceStatus(ctx context.Context, code string, standing []schedule.Standing) (SourceStatus, []Need, error) {
	f, err := c.store.SourceFacts(ctx, code)
	if err != nil {
		return SourceStatus{}, nil, err
	}
	s, err := c.statusFrom(ctx, code, f, standing)
	if err != nil {
		return s, nil, err
	}
	return s, s.needs(f), nil
}

// statusFrom is how a source fares of which this is known.
func (c *Control) statusFrom(ctx context.Context, code string, f SourceFacts, standing []schedule.Standing) (SourceStatus, error) {
	s := SourceStatus{
		Source: code, LastSuccess: optional(f.LastSuccess), Queued: f.Queued, Running: f.Running, Failed: f.Failed,
		Quarantined: f.Quarantined, Lines: []LineStatus{}, Cause: causeOf(f), Never: !f.Planned && len(f.Outages) == 0,
	}
	var spec *source.Spec
	for _, st := range standing {
		if st.Source != code || !st.Enabled || st.Operation != harvest.Harvest {
			continue
		}
		line, lineSpec, err := c.lineStatus(ctx, st, f)
		if err != nil {
			return s, err
		}
		s.Lines = append(s.Lines, line)
		spec = cmp.Or(spec, lineSpec)
	}
	if spec == nil && f.Planned {
		con, err := c.contracts.Select(ctx, code, harvest.Harvest, "")
		if err == nil {
			spec = con.Spec
		}
	}
	var cooling time.Time
	if spec != nil {
		var err error
		s.Rate, cooling, err = c.rateStatus(ctx, spec, f)
		if err != nil {
			return s, err
		}
	}
	s.Waiting = c.waitingOf(ctx, code, f, cooling)
	s.sumUp(f)
	return s, nil
}

// sumUp gives the source the word and the lag of the line that is worst off.
func (s *SourceStatus) sumUp(f SourceFacts) {
	s.Freshness = FreshWaiting
	for i, l := range s.Lines {
		if i == 0 || l.Freshness.worse(s.Freshness) || l.Freshness == s.Freshness && longer(l.Lag, s.Lag) {
			s.Freshness = l.Freshness
			s.Lag = l.Lag
			s.Limit = l.Limit
			s.LateSince = l.LateSince
		}
		if l.OldestGap != nil && (s.OldestGap == nil || s.OldestGap.From.After(l.OldestGap.From)) {
			s.OldestGap = l.OldestGap
		}
		if l.NextRun != nil && (s.NextRun == nil || time.Time(*l.NextRun).Before(time.Time(*s.NextRun))) {
			s.NextRun = l.NextRun
		}
	}
	if f.State.Held() {
		s.Freshness = FreshStopped
	}
	switch {
	case s.Never:
		s.Next = "patra harvest " + s.Source
	case len(s.Lines) == 0 && !f.State.Held():
		s.Next = "patra schedule set NAME --source " + s.Source + " --cron @hourly --reason TEXT"
	}
}

func longer(a, b *Seconds) bool { return a != nil && (b == nil || *a > *b) }
