package planner

import (
	"context"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// remarks are what is stored with a plan for whoever looks at it: how large it was taken
// to be, what it had to do without, and what it may cost.
type remarks struct {
	TotalEstimated int64           `json:"totalEstimated"`
	SliceCount     int             `json:"sliceCount"`
	MeanWindow     source.Duration `json:"meanWindow,omitzero"`
	CountRequests  int             `json:"countRequests"`
	Window         *planWindow     `json:"window,omitempty"`
	// Degradation names what the source does not offer and what is done instead.
	Degradation []string   `json:"degradation"`
	Budget      planBudget `json:"budget"`
	Warnings    []string   `json:"warnings,omitempty"`
	// Trace is where in a tree of spans the plan stands: work on it goes on beneath.
	Trace string `json:"traceparent,omitempty"`
}

type planWindow struct {
	From      string          `json:"from"`
	To        string          `json:"to"`
	SafetyLag source.Duration `json:"safetyLag"`
	// LagRaised is why the lag is longer than usual: how slow the database was.
	LagRaised string `json:"lagRaised,omitempty"`
}

// planBudget is what the plan may cost: each of its slices, and in a second.
type planBudget struct {
	harvest.BudgetSpec
	QPS float64 `json:"qps,omitzero"`
}

// remarks are those of a plan that was cut into slices.
func (pl *planning) remarks(ctx context.Context, of harvest.Span, cuts *harvest.Cuts) remarks {
	r := remarks{
		TotalEstimated: pl.result.Expected, SliceCount: cuts.Len(), CountRequests: pl.result.Traffic.Sent,
		Trace:    pl.Trace.Place(ctx),
		Warnings: pl.result.Warnings, Degradation: degradations(pl.spec, pl.t.Operation, cuts),
	}
	r.Budget.BudgetSpec = pl.budget()
	r.Budget.QPS = pl.allowedRate(ctx).QPS
	if pl.t.Operation == harvest.Update {
		return r
	}
	r.MeanWindow = source.Duration(meanWindow(cuts))
	r.Window = &planWindow{From: of.From.String(), To: of.To.String(), SafetyLag: source.Duration(pl.lag), LagRaised: pl.whyRaised}
	return r
}

// meanWindow is how long the slices are on average; those that share a window by their
// ids or buckets count it once each.
func meanWindow(cuts *harvest.Cuts) time.Duration {
	if cuts.Len() == 0 {
		return 0
	}
	var sum time.Duration
	for s := range cuts.All() {
		sum += s.NominalWindow().Duration()
	}
	return (sum / time.Duration(cuts.Len())).Round(time.Second)
}

// What a plan may have to do without.
const (
	withoutCount     = "noCount"           // slices are estimated, not counted
	withoutMarker    = "endAskedTwice"     // no marker says that a page is the last: it is asked for once more
	withShortPages   = "hasNextByPageSize" // a page that is not full is the last
	withoutOrder     = "walkedTwice"       // pages may shift: two walks have to agree
	withoutUpdatedAt = "noUpdatedAt"       // items do not say when they were updated
)

// anyCounted reports whether the source has counted any of the slices.
func anyCounted(cuts *harvest.Cuts) bool {
	for s := range cuts.All() {
		if s.Hints != nil && s.Hints.EstimatedBy == harvest.ByCount {
			return true
		}
	}
	return false
}

// degradations are what a source does not offer to the slices of a plan.
func degradations(spec *source.Spec, op harvest.Operation, cuts *harvest.Cuts) []string {
	out := []string{}
	if spec.Window.UpdatedAt != source.UpdatedInItem {
		out = append(out, withoutUpdatedAt)
	}
	if op == harvest.Update {
		return out // ids are neither counted nor walked
	}
	if !anyCounted(cuts) {
		out = append(out, withoutCount)
	}
	p := spec.Paging
	ends := func(e harvest.EndProof) bool { return slices.Contains(p.End, e) }
	if ends(harvest.EndShortPage) {
		out = append(out, withShortPages)
	}
	if (ends(harvest.EndNoToken) || ends(harvest.EndNoURL)) && !p.TotalExact && !ends(harvest.EndHasMore) && !ends(harvest.EndNextEmpty) {
		out = append(out, withoutMarker)
	}
	if p.Confirms() {
		out = append(out, withoutOrder)
	}
	return out
}
