package executor

import (
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// stepOver moves the walk over a SEARCH page. A walk that ends before it has seen what
// the planner counted is held against a new count, since the old one may be out of
// date: what was changed after it has left the window. traffic is what that cost.
func (s *session) stepOver(
	ctx context.Context, pos harvest.Position, facts harvest.PageFacts,
) (next harvest.Position, end harvest.EndProof, traffic source.Traffic, err error) {
	next, end, err = s.paging.Step(pos, facts, s.walk.known)
	if f, _ := harvest.FaultOf(err); f.Code != harvest.CodeCountMissed || s.spec.Count == nil {
		return next, end, traffic, err
	}
	counted, traffic, stop := s.recount(ctx)
	if stop != nil {
		return next, "", traffic, stop
	}
	if counted == nil {
		return next, end, traffic, err
	}
	s.paging.Counted = counted
	next, end, err = s.paging.Step(pos, facts, s.walk.known)
	return next, end, traffic, err
}

// recount asks how many records the slice holds now. The count is nil if it cannot be
// had; only a fault that stops the source, or the end of the work, is an error.
func (s *session) recount(ctx context.Context) (*int64, source.Traffic, error) {
	ans, err := s.askUpstream(ctx, source.Call{
		Purpose: source.ForCount, Window: s.job.Spec.NominalWindow(), Range: s.job.Spec.Range, BaseURL: s.job.BaseURL, Plan: s.job.Plan,
		Correlation: fmt.Sprintf("ing-%d-count", s.run),
	})
	if err == nil {
		return ans.Page.Total, ans.Traffic, nil
	}
	if f, isFault := harvest.FaultOf(err); !isFault || f.Level == harvest.Fatal {
		return nil, ans.Traffic, fmt.Errorf("count the slice again: %w", err)
	}
	s.log.Debug("slice not counted again", "window", s.partText(), "err", err)
	return nil, ans.Traffic, nil
}
