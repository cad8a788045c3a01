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

// estimate tells how many records a part holds. It takes the best that is to be had:
//
//	the upstream's own count           exact, costs a request, asked once a part (C12)
//	what was harvested before          records a second, by the length of the part
//	the first page of a larger window  its total, by the length of the part
//	what the source declares           records a day
//	nothing                            not known, which is an answer and no error
func (pl *planning) estimate(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	if e, ok := pl.counted[p]; ok {
		return e, nil
	}
	e, err := pl.countOrProbe(ctx, p)
	if err != nil {
		return e, err
	}
	if !e.Known {
		return pl.reckon(ctx, p)
	}
	pl.counted[p] = e
	return e, nil
}

// countOrProbe asks the source how much a part holds. Where the source does not
// count, the first page of the first window is asked for instead: it tells the
// upstream's clock, and perhaps a total. It is also asked for where a count fails
// and the source has never answered: if the page fails as well, the source cannot
// be asked at all, and nothing is planned.
func (pl *planning) countOrProbe(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	switch {
	case pl.probed: // the source was asked and could not say: once is enough
		return harvest.Estimate{}, nil
	case pl.spec.Count == nil:
		ans, err := pl.probe(ctx, p)
		if err != nil || ans.Page == nil || ans.Page.Total == nil || pl.spec.Paging.NewestFirst { // whose total is of all times
			return harvest.Estimate{}, err
		}
		pl.firstPage = &windowTotal{p.Window(), *ans.Page.Total}
		if pl.spec.Paging.TotalExact {
			return harvest.Estimate{Records: *ans.Page.Total, Known: true, By: harvest.ByCount}, nil
		}
		return harvest.Estimate{}, nil
	}
	e, err := pl.count(ctx, p)
	if err != nil || pl.whyUncounted == nil {
		return e, err
	}
	pl.log.Info("count not known, cutting by step", "source", pl.t.Provenance, "window", p.String(), "err", pl.whyUncounted)
	f, isFault := harvest.FaultOf(pl.whyUncounted)
	if !isFault || f.Waits() || pl.answeredBefore {
		// It has answered, now or before, or may not be asked now: no page would
		// tell more.
		pl.probed = true
		return e, nil
	}
	_, err = pl.probe(ctx, pl.firstStep(p))
	if f, _ := harvest.FaultOf(err); f.Code == harvest.CodeBroken {
		// The source rests since that very count failed, which tells a person more.
		return e, pl.whyUncounted
	}
	return e, err
}

// count asks the source for its count of a part. A count that is not to be had is no
// error; why it is not is kept in whyUncounted.
func (pl *planning) count(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	ans, err := pl.askAbout(ctx, source.ForCount, p)
	switch f, isFault := harvest.FaultOf(err); {
	case err == nil && ans.Page.Total != nil:
		return harvest.Estimate{Records: *ans.Page.Total, Known: true, By: harvest.ByCount}, nil
	case err == nil:
		pl.whyUncounted = errors.New("the reply has no total")
	case ctx.Err() != nil, !isFault, pl.forbidsPlanning(f):
		return harvest.Estimate{}, err
	default:
		pl.whyUncounted = err
	}
	return harvest.Estimate{}, nil
}

// probe asks for the first page of a part. That the part is too large for a reply is
// an answer, too: it will be cut. A fault is no reason not to plan for a source that
// has answered before, or that was not asked at all, unless it forbids planning.
func (pl *planning) probe(ctx context.Context, p harvest.Part) (source.Answer, error) {
	pl.probed = true
	ans, err := pl.askAbout(ctx, source.ForSearch, p)
	switch f, isFault := harvest.FaultOf(err); {
	case err == nil, isFault && f.Reaction == harvest.CutSlice:
		return ans, nil
	case ctx.Err() == nil && isFault && !pl.forbidsPlanning(f) && (pl.answeredBefore || f.Waits()):
		pl.whyUncounted = err
		return ans, nil
	}
	return ans, err
}

// forbidsPlanning reports whether a fault forbids to go on with the plan without a
// count: because the source would refuse whatever is asked next, or all that a
// person's query asks; because its breaker is open; or because a quota is spent and
// this planning can wait for the next.
func (pl *planning) forbidsPlanning(f harvest.Fault) bool {
	return f.Level == harvest.Fatal || f.Level == harvest.Rejected && pl.t.Query != "" ||
		f.Code == harvest.CodeBroken || pl.patient && f.OfQuota()
}

// askAbout asks the source about a part, and learns its clock from the answer. The
// clock on a fault is not believed: it may be that of something in between.
func (pl *planning) askAbout(ctx context.Context, purpose source.Purpose, p harvest.Part) (source.Answer, error) {
	ans, err := pl.up.Ask(ctx, pl.spec, source.Call{
		Purpose: purpose, Window: p.Window(), Range: p.Range, BaseURL: pl.t.BaseURL, Correlation: "ing-plan",
	})
	pl.result.Traffic = pl.result.Traffic.Add(ans.Traffic)
	if err != nil || ans.UpstreamAt.IsZero() {
		return ans, err
	}
	return ans, pl.noteSkew(ctx, ans.UpstreamAt)
}

// firstStep is the beginning of a part that is as long as a slice may be: a source
// may refuse a window that is longer.
func (pl *planning) firstStep(p harvest.Part) harvest.Part {
	step := pl.spec.Window.Step.D()
	w := p.Window()
	if step <= 0 || w.Duration() <= step {
		return p
	}
	if to := pl.cal.Floor(w.From.Add(step)); to.After(w.From) {
		p.To = harvest.TimeMark(to)
	}
	return p
}

// reckon works out how much a part holds from what is known of other times, by its
// length. Of a range within a window nothing can be said that way.
func (pl *planning) reckon(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	if !p.Range.Whole() {
		return harvest.Estimate{}, nil
	}
	if pl.density == nil {
		perSecond, _, err := pl.records.Density(ctx, pl.result.Namespace)
		if err != nil {
			return harvest.Estimate{}, err
		}
		pl.density = &perSecond
	}
	about := func(n float64, by harvest.Estimation) (harvest.Estimate, error) {
		return harvest.Estimate{Records: int64(math.Ceil(n)), Known: true, By: by}, nil
	}
	length := p.Window().Duration()
	switch first := pl.firstPage; {
	case *pl.density > 0:
		return about(*pl.density*length.Seconds(), harvest.ByHistory)
	case first != nil && first.window.Duration() > 0:
		return about(float64(first.records)*length.Seconds()/first.window.Duration().Seconds(), harvest.ByFirstPage)
	case pl.spec.Window.PerDay > 0:
		return about(float64(pl.spec.Window.PerDay)*length.Hours()/24, harvest.ByConstant)
	}
	return harvest.Estimate{}, nil
}

// skewNoise is how far two clocks may differ before it is called skew: the Date
// header has whole seconds, and travels.
const skewNoise = 2 * time.Second

// noteSkew learns from an answer how far the upstream's clock is off, and has it
// remembered for later plans if it has moved.
func (pl *planning) noteSkew(ctx context.Context, upstream time.Time) error {
	now, err := pl.clocks.Now(ctx)
	if err != nil {
		return err
	}
	skew := upstream.Sub(now)
	if !harvest.ClockBelieved(skew, pl.spec.StandsIn(pl.t.BaseURL)) {
		pl.disbelieve(upstream, now)
		skew = 0
	}
	if skew.Abs() <= skewNoise {
		skew = 0
	}
	moved := !pl.skewSeen || (skew-pl.skew).Abs() > skewNoise
	pl.skew, pl.skewSeen = skew, true
	if !moved {
		return nil
	}
	return pl.clocks.NoteSkew(ctx, pl.clockName(), skew)
}

// disbelieve says, once, that windows end by the store's clock alone.
func (pl *planning) disbelieve(upstream, now time.Time) {
	const format = "the clock of %s says %s, the store's %s: that is too far off, so the window ends by the store's; " +
		"next: look at the clock of this machine, then tell the provider"
	if pl.disbelieved {
		return
	}
	pl.disbelieved = true
	w := fmt.Sprintf(format, pl.t.Provenance, harvest.FormatInstant(upstream), harvest.FormatInstant(now))
	pl.result.Warnings = append(pl.result.Warnings, w)
	pl.log.Warn("upstream's clock not believed",
		"source", pl.t.Provenance, "upstream", harvest.FormatInstant(upstream), "store", harvest.FormatInstant(now))
}

// clockName names the clock that answers tell: the source's own, or that of the host
// which stands in for it. What a simulator says is not true of the source.
func (pl *planning) clockName() string {
	if pl.t.BaseURL == "" {
		return pl.t.Provenance
	}
	return "@" + harvest.HashKey(pl.t.Provenance, pl.t.BaseURL)[:32]
}
