package planner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// estimate tells what a part holds, each part once (C12): by the upstream's own
// count, through the gate; else from what was harvested before; else from the
// first page of a larger window; else from what the source declares for a day.
// Not knowing is an answer.
func (j *job) estimate(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	if e, ok := j.counted[p]; ok {
		return e, nil
	}
	e, err := j.ask(ctx, p)
	if err != nil {
		return e, err
	}
	if !e.Known {
		return j.guess(ctx, p)
	}
	j.counted[p] = e
	return e, nil
}

// ask counts a part. Where the source does not count, the first page of the
// first window stands in: it tells the upstream's clock, and a total.
func (j *job) ask(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	purpose := source.ForCount
	switch {
	case j.unknown != nil: // it was asked and could not say; once is enough
		return harvest.Estimate{}, nil
	case j.spec.Count == nil && j.probed:
		return harvest.Estimate{}, nil
	case j.spec.Count == nil:
		purpose, j.probed = source.ForSearch, true
	}
	ans, err := j.up.Ask(ctx, j.spec, source.Call{Purpose: purpose, Window: p.Window, Range: p.Range, BaseURL: j.t.BaseURL, Correlation: "ing-plan"})
	j.out.Traffic = j.out.Traffic.Add(ans.Traffic)
	if !ans.UpstreamAt.IsZero() {
		if err := j.noteSkew(ctx, ans.UpstreamAt); err != nil {
			return harvest.Estimate{}, err
		}
	}
	switch f, isFault := harvest.FaultOf(err); {
	case err == nil && ans.Page.Total != nil && purpose == source.ForCount:
		return harvest.Estimate{Records: *ans.Page.Total, Known: true, By: harvest.ByCount}, nil
	case err == nil && ans.Page.Total != nil:
		j.first = &guess{p.Window, *ans.Page.Total}
		if j.spec.Paging.TotalExact {
			return harvest.Estimate{Records: *ans.Page.Total, Known: true, By: harvest.ByCount}, nil
		}
	case err == nil && purpose == source.ForCount:
		j.unknown = errors.New("the reply has no total")
	case err == nil:
	case ctx.Err() != nil, j.patient && f.Code == harvest.CodeQuota:
		return harvest.Estimate{}, err
	case isFault && (f.Level == harvest.Fatal || f.Level == harvest.Rejected && j.t.Query != ""):
		// Whatever is asked for next would be refused as well: nothing of the
		// source, or nothing of what somebody wants of it.
		return harvest.Estimate{}, err
	default:
		j.unknown = err
		j.log.Info("count not known, cutting by step", "source", j.t.Provenance, "window", p.String(), "err", err)
	}
	return harvest.Estimate{}, nil
}

// guess reckons a part from what is known of others.
func (j *job) guess(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	if !p.Range.Whole() {
		return harvest.Estimate{}, nil
	}
	if j.density == nil {
		perSecond, _, err := j.store.Density(ctx, j.out.Namespace)
		if err != nil {
			return harvest.Estimate{}, err
		}
		j.density = &perSecond
	}
	reckon := func(n float64, by string) (harvest.Estimate, error) {
		return harvest.Estimate{Records: int64(math.Ceil(n)), Known: true, By: by}, nil
	}
	switch g := j.first; {
	case *j.density > 0:
		return reckon(*j.density*p.Duration().Seconds(), harvest.ByHistory)
	case g != nil && g.window.Duration() > 0:
		return reckon(float64(g.records)*p.Duration().Seconds()/g.window.Duration().Seconds(), harvest.ByFirstPage)
	case j.spec.Window.PerDay > 0:
		return reckon(float64(j.spec.Window.PerDay)*p.Duration().Hours()/24, harvest.ByConstant)
	}
	return harvest.Estimate{}, nil
}

// skewNoise is how far two clocks may differ before it is called skew: the Date
// header has whole seconds, and travels.
const skewNoise = 2 * time.Second

func (j *job) noteSkew(ctx context.Context, upstream time.Time) error {
	now, err := j.store.Now(ctx)
	if err != nil {
		return err
	}
	skew := upstream.Sub(now)
	if !harvest.ClockBelieved(skew, j.spec.StandsIn(j.t.BaseURL)) {
		j.disbelieve(upstream, now)
		skew = 0
	}
	if skew.Abs() <= skewNoise {
		skew = 0
	}
	moved := !j.skewSeen || (skew-j.skew).Abs() > skewNoise
	j.skew, j.skewSeen = skew, true
	if !moved {
		return nil
	}
	return j.store.NoteSkew(ctx, j.clock(), skew)
}

// disbelieve says, once, that windows end by the store's clock alone.
func (j *job) disbelieve(upstream, now time.Time) {
	const format = "the clock of %s says %s, the store's %s: that is too far off, so the window ends by the store's; next: look at the clock of this machine, then tell the provider"
	if j.disbelieved {
		return
	}
	j.disbelieved = true
	w := fmt.Sprintf(format, j.t.Provenance, harvest.FormatInstant(upstream), harvest.FormatInstant(now))
	j.out.Warnings = append(j.out.Warnings, w)
	j.log.Warn("upstream's clock not believed", "source", j.t.Provenance, "upstream", harvest.FormatInstant(upstream), "store", harvest.FormatInstant(now))
}

// clock names the clock that is asked: the source's own, or that of the host it
// is sent to instead. What a simulator said is not true of the source.
func (j *job) clock() string {
	if j.t.BaseURL == "" {
		return j.t.Provenance
	}
	return "@" + harvest.HashKey(j.t.Provenance, j.t.BaseURL)[:32]
}
