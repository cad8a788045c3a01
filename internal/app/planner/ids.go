package planner

import (
	"cmp"
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// errNoTime refuses a time for a source that is harvested by ids.
var errNoTime = problem.New("the source is harvested by ids that grow, and cannot be asked for a time", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "leave --from and --to out: a harvest goes on from the last id that was read",
})

// settleIDs works out the ids to harvest, and reports whether there are any: from where
// the namespace stands, at first from the first id of all, up to the greatest id that
// the source has now. That one is asked for once and frozen with the plan: what comes
// later is the next plan's, however long this one takes (R75).
func (pl *planning) settleIDs(ctx context.Context) (f harvest.Frontier, of harvest.Span, found bool, err error) {
	if !pl.t.From.IsZero() || !pl.t.To.IsZero() {
		return f, of, false, errNoTime
	}
	if err := pl.recall(ctx); err != nil {
		return f, of, false, err
	}
	f, err = pl.plans.Frontier(ctx, pl.result.Namespace)
	if err != nil {
		return f, of, false, err
	}
	pl.answeredBefore = pl.answeredBefore || f.Known && pl.t.BaseURL == ""
	from := harvest.IDMark(0)
	if f.Known {
		from = f.At
	}
	of = harvest.Span{From: from, To: from}
	pl.room, err = pl.findRoom(ctx)
	if err != nil {
		return f, of, false, err
	}
	if pl.room.exhausted(false) {
		pl.result.Waits = true
		pl.result.Reason = pl.room.reason("")
		return f, of, false, nil
	}
	head, err := pl.askHead(ctx)
	if err != nil && !pl.answeredBefore {
		return f, of, false, pl.firstContact(ctx, err)
	}
	if err != nil {
		return f, of, false, err
	}
	if head < from.ID() {
		pl.result.Reason = fmt.Sprintf("nothing new: the greatest id is %d", head)
		return f, of, false, nil
	}
	of.To = harvest.IDMark(head + 1)
	return f, of, true, nil
}

// askHead asks the source for the greatest id it has.
func (pl *planning) askHead(ctx context.Context) (int64, error) {
	ans, err := pl.up.Ask(ctx, pl.spec, source.Call{Purpose: source.ForHead, BaseURL: pl.t.BaseURL, Correlation: "ing-plan"})
	pl.result.Traffic = pl.result.Traffic.Add(ans.Traffic)
	if err != nil {
		return 0, err
	}
	if !ans.UpstreamAt.IsZero() {
		if err := pl.noteSkew(ctx, ans.UpstreamAt); err != nil {
			return 0, err
		}
	}
	if ans.Page == nil || ans.Page.Total == nil {
		f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeBadReply}
		return 0, fmt.Errorf("endpoint %s tells no id at %s: %w", pl.spec.Head.Name, pl.spec.Head.Response.Total, f)
	}
	return *ans.Page.Total, nil
}

// settle works out what is to be planned: a window of time, or of ids.
func (pl *planning) settle(ctx context.Context) (f harvest.Frontier, of harvest.Span, found bool, err error) {
	if pl.spec.ByID() {
		return pl.settleIDs(ctx)
	}
	f, w, found, err := pl.settleWindow(ctx)
	return f, w.Span(), found, err
}

// whyNothing says why there is nothing to plan.
func (pl *planning) whyNothing(of harvest.Span) string {
	if of.To.IsNumber() || of.To.IsZero() {
		return cmp.Or(pl.result.Reason, "nothing new")
	}
	return cmp.Or(pl.result.Reason, "nothing new before "+harvest.FormatInstant(of.To.Time()))
}
