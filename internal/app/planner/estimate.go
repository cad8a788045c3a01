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

// ask counts a part. Where the source does not count, the first page of the first
// window stands in: it tells the upstream's clock, and a total. So it does where a
// count fails at first contact: if the page fails as well the source cannot be
// asked at all, and nothing is planned.
func (j *job) ask(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	switch {
	case j.probed: // it was asked and could not say; once is enough
		return harvest.Estimate{}, nil
	case j.spec.Count == nil:
		ans, err := j.probe(ctx, p)
		if err != nil || ans.Page == nil || ans.Page.Total == nil {
			return harvest.Estimate{}, err
		}
		j.first = &guess{p.Window(), *ans.Page.Total}
		if j.spec.Paging.TotalExact {
			return harvest.Estimate{Records: *ans.Page.Total, Known: true, By: harvest.ByCount}, nil
		}
		return harvest.Estimate{}, nil
	}
	e, err := j.count(ctx, p)
	if err != nil || j.unknown == nil {
		return e, err
	}
	j.log.Info("count not known, cutting by step", "source", j.t.Provenance, "window", p.String(), "err", j.unknown)
	f, isFault := harvest.FaultOf(j.unknown)
	if !isFault || f.Waits() || j.heard {
		j.probed = true // it has answered, now or before, or may not be asked now
		return e, nil
	}
	_, err = j.probe(ctx, j.firstStep(p))
	if f, _ := harvest.FaultOf(err); f.Code == harvest.CodeBroken {
		return e, j.unknown // that count was the failure after which the source rests
	}
	return e, err
}

// count asks the source how much a part holds. Without an error what is not known
// has its reason in j.unknown.
func (j *job) count(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	ans, err := j.put(ctx, source.ForCount, p)
	switch f, isFault := harvest.FaultOf(err); {
	case err == nil && ans.Page.Total != nil:
		return harvest.Estimate{Records: *ans.Page.Total, Known: true, By: harvest.ByCount}, nil
	case err == nil:
		j.unknown = errors.New("the reply has no total")
	case ctx.Err() != nil, !isFault, j.forbids(f):
		return harvest.Estimate{}, err
	default:
		j.unknown = err
	}
	return harvest.Estimate{}, nil
}

// probe asks for the first page of a part. A reply that asks for a smaller part is
// an answer, too. What does not stop a source that has answered before is no reason
// not to plan for it.
func (j *job) probe(ctx context.Context, p harvest.Part) (source.Answer, error) {
	j.probed = true
	ans, err := j.put(ctx, source.ForSearch, p)
	switch f, isFault := harvest.FaultOf(err); {
	case err == nil, isFault && f.Reaction == harvest.CutSlice:
		return ans, nil
	case ctx.Err() == nil && isFault && !j.forbids(f) && (j.heard || f.Waits()):
		j.unknown = err
		return ans, nil
	}
	return ans, err
}

// forbids reports whether a fault forbids to plan without knowing: because whatever
// is asked for next would be refused as well, nothing of the source, or nothing of
// what somebody wants of it; or because the source rests, or a quota is spent that
// can be waited for.
func (j *job) forbids(f harvest.Fault) bool {
	return f.Level == harvest.Fatal || f.Level == harvest.Rejected && j.t.Query != "" ||
		f.Code == harvest.CodeBroken || j.patient && f.Code == harvest.CodeQuota
}

// put asks the source about a part, and learns its clock from the answer.
func (j *job) put(ctx context.Context, purpose source.Purpose, p harvest.Part) (source.Answer, error) {
	ans, err := j.up.Ask(ctx, j.spec, source.Call{Purpose: purpose, Window: p.Window(), Range: p.Range, BaseURL: j.t.BaseURL, Correlation: "ing-plan"})
	j.out.Traffic = j.out.Traffic.Add(ans.Traffic)
	if err != nil || ans.UpstreamAt.IsZero() {
		return ans, err // the clock on a fault may be that of something in between
	}
	return ans, j.noteSkew(ctx, ans.UpstreamAt)
}

// firstStep is the beginning of a part that is as long as a slice may be: a source
// may refuse a window that is longer.
func (j *job) firstStep(p harvest.Part) harvest.Part {
	step := j.spec.Window.Step.D()
	w := p.Window()
	if step <= 0 || w.Duration() <= step {
		return p
	}
	if to := j.cal.Floor(w.From.Add(step)); to.After(w.From) {
		p.To = harvest.TimeMark(to)
	}
	return p
}

// guess reckons a part from what is known of others.
func (j *job) guess(ctx context.Context, p harvest.Part) (harvest.Estimate, error) {
	if !p.Range.Whole() {
		return harvest.Estimate{}, nil
	}
	if j.density == nil {
		perSecond, _, err := j.records.Density(ctx, j.out.Namespace)
		if err != nil {
			return harvest.Estimate{}, err
		}
		j.density = &perSecond
	}
	reckon := func(n float64, by harvest.Estimation) (harvest.Estimate, error) {
		return harvest.Estimate{Records: int64(math.Ceil(n)), Known: true, By: by}, nil
	}
	length := p.Window().Duration()
	switch g := j.first; {
	case *j.density > 0:
		return reckon(*j.density*length.Seconds(), harvest.ByHistory)
	case g != nil && g.window.Duration() > 0:
		return reckon(float64(g.records)*length.Seconds()/g.window.Duration().Seconds(), harvest.ByFirstPage)
	case j.spec.Window.PerDay > 0:
		return reckon(float64(j.spec.Window.PerDay)*length.Hours()/24, harvest.ByConstant)
	}
	return harvest.Estimate{}, nil
}

// skewNoise is how far two clocks may differ before it is called skew: the Date
// header has whole seconds, and travels.
const skewNoise = 2 * time.Second

func (j *job) noteSkew(ctx context.Context, upstream time.Time) error {
	now, err := j.clocks.Now(ctx)
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
	return j.clocks.NoteSkew(ctx, j.clock(), skew)
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
