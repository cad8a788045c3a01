package control

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// AlertFacts is what the rules of alerts are held against: the status of all sources
// that were ever asked for anything, and how their pages, queues and descriptions
// stand.
func (c *Control) AlertFacts(ctx context.Context) (alert.Facts, error) {
	ctx = c.leaveNoTrace(ctx)
	var out alert.Facts
	codes, err := c.statusOf(ctx, "")
	if err != nil {
		return out, err
	}
	out.Now, err = c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	standing, _ := c.standing(ctx) // the scheduler tells which it cannot read
	queues, err := c.queueFacts(ctx, out.Now)
	if err != nil {
		return out, err
	}
	seen, err := c.statuses(ctx, codes, standing)
	if err != nil {
		return out, err
	}
	for _, v := range seen {
		code := v.Source
		f := v.facts
		if !f.Planned && len(f.Outages) == 0 && !f.State.Held() && f.FailedTrigger == "" {
			continue
		}
		s, err := c.alertFactsOf(ctx, v, out.Now)
		if err != nil {
			return out, fmt.Errorf("look at %s: %w", code, err)
		}
		for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
			q := queues[harvest.Partition{Provenance: code, Operation: op}]
			q.Operation = op
			s.Queues = append(s.Queues, q)
		}
		out.Sources = append(out.Sources, s)
	}
	out.Targets, err = c.targetFacts(ctx)
	return out, err
}

// targetFacts is what is known of the targets of events.
func (c *Control) targetFacts(ctx context.Context) ([]alert.TargetFacts, error) {
	targets, err := c.store.OutboxTargets(ctx)
	if err != nil {
		return nil, err
	}
	var out []alert.TargetFacts
	for _, t := range targets {
		if t.Kind == feedKind {
			continue
		}
		f := alert.TargetFacts{
			Name: t.Name, Backlog: t.Backlog, Failures: t.Failures, Error: t.Error, Served: t.Owner != "", Parked: t.Parked,
		}
		if t.OldestAt != nil {
			f.OldestAt = time.Time(*t.OldestAt)
		}
		out = append(out, f)
	}
	return out, nil
}

// alertFactsOf is what is known of one source.
func (c *Control) alertFactsOf(ctx context.Context, v sourceView, now time.Time) (alert.SourceFacts, error) {
	out := alert.SourceFacts{Code: v.Source}
	f := v.facts
	s := v.SourceStatus
	out.Held = f.State.Held() || s.Freshness == FreshStopped
	out.Stopped = f.State.Stopped
	out.StoppedAt = f.State.Since
	out.StoppedBy = f.State.Reason
	for _, h := range f.HeldEndpoints {
		if h.Stopped {
			out.StoppedEndpoints = append(out.StoppedEndpoints, alert.StoppedEndpoint{Name: h.String(), At: h.Since, By: h.Reason})
		}
	}
	out.Outage = lastingOutage(f)
	// An outage that begins anew again and again has answers in between.
	answers := out.Outage == nil || !out.Outage.Lasts()
	if k := s.Cause; k != nil && answers && !out.Stopped && k.Code != codePlanning {
		out.Stuck = k.Code
		out.StuckBy = k.Text
	}
	out.FailedTrigger = f.FailedTrigger
	out.TriggeredAt = f.TriggeredAt
	out.Lines = linesOf(s)
	if s.Waiting != nil && s.Waiting.Reason == ReasonNoExecutor {
		out.Untaken = f.Ready.Count
		out.UntakenSince = f.ReadySince
	}
	out.Gaps = f.Gaps.Count
	out.GapsMore = f.Gaps.More
	if g := s.OldestGap; g != nil {
		out.OldestGap = fmt.Sprintf("[%s, %s)", g.From, g.To)
		out.GapWhy = g.Reason
	}
	if s.Rate != nil {
		for _, q := range s.Rate.Quotas {
			out.Quotas = append(out.Quotas, alert.Quota{Window: q.Window, Limit: q.Limit, Left: q.Left, Reserve: q.reserve})
		}
	}
	var err error
	out.Traffic, err = c.store.Traffic(ctx, v.Source, now.Add(-alert.TrafficOver))
	if err != nil {
		return out, err
	}
	out.Rivals, out.Unread = c.rivals(ctx, v.Source, now)
	return out, nil
}

// lastingOutage is an outage that lasts, the oldest of them, else the newest of any;
// nil if there is none.
func lastingOutage(f SourceFacts) *harvest.Outage {
	newest, is := f.outage()
	if !is {
		return nil
	}
	out := newest.Outage
	for _, o := range f.Outages {
		if o.Lasts() && (!out.Lasts() || o.Since.Before(out.Since)) {
			out = o.Outage
		}
	}
	return &out
}

func linesOf(s SourceStatus) (out []alert.Line) {
	for _, l := range s.Lines {
		if l.Lag == nil || l.Limit == nil {
			continue
		}
		line := alert.Line{Schedule: l.Schedule, Lag: l.Lag.Duration(), Limit: l.Limit.Duration()}
		line.Held = l.Freshness == FreshStopped
		line.CatchingUp = l.Freshness == FreshCatchingUp
		line.Late = line.Lag > line.Limit && l.Freshness != FreshWaiting
		if l.LateSince != nil {
			line.LateSince = time.Time(*l.LateSince)
		}
		if l.Watermark != nil {
			line.ProvenTo = time.Time(*l.Watermark)
		}
		out = append(out, line)
	}
	return out
}

// queueFacts counts what waits by source and operation, beside what usually does.
func (c *Control) queueFacts(ctx context.Context, now time.Time) (map[harvest.Partition]alert.Queue, error) {
	out, err := c.store.UsualQueues(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := c.store.Partitions(ctx, "", "", now, CountCap)
	if err != nil {
		return nil, err
	}
	for _, p := range waiting {
		k := harvest.Partition{Provenance: p.Source, Operation: p.Operation} // of all endpoints
		q := out[k]
		q.Waiting += p.Queued
		q.More = q.More || p.QueuedCapped
		out[k] = q
	}
	return out, nil
}

// rivals are the parts of a source's description for which several rows are in force.
func (c *Control) rivals(ctx context.Context, code string, now time.Time) (out []alert.Rival, err error) {
	if c.registry == nil {
		return nil, nil
	}
	rows, err := c.registry.Contents(ctx, code)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
		for _, ch := range source.Choose(rows.Rows, op, now) {
			what := string(ch.Dimension)
			if ch.Name != "" {
				what += " " + ch.Name
			}
			if len(ch.Rivals) == 0 || seen[what] {
				continue
			}
			seen[what] = true
			out = append(out, alert.Rival{Dimension: what, Why: ch.Why})
		}
	}
	return out, nil
}
