package planner

import (
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// recall takes up what earlier plans and runs have told of the source: its clock,
// and how long its records take to show up.
func (pl *planning) recall(ctx context.Context) (err error) {
	if !pl.skewSeen {
		pl.skew, pl.skewSeen, err = pl.clocks.ClockSkew(ctx, pl.clockName())
		if err != nil {
			return err
		}
		pl.answeredBefore = pl.skewSeen
		if !harvest.ClockBelieved(pl.skew, pl.spec.StandsIn(pl.t.BaseURL)) {
			pl.skew = 0
		}
	}
	pl.lag = pl.spec.Window.SafetyLag.D()
	if pl.t.Operation == harvest.Harvest {
		tuned, ok, err := pl.clocks.TunedLag(ctx, pl.result.Namespace, pl.lag)
		if err != nil {
			return err
		}
		if ok {
			pl.lag = tuned
		}
	}
	return nil
}

// raiseLag has a HARVEST reach less far while the database is slow: what is newer is left
// to the next plan, which has the usual lag again if the database has recovered by then.
// A plan that was shown to somebody is made as it was shown.
func (pl *planning) raiseLag() {
	pl.whyRaised = ""
	if pl.Strained == nil || pl.pin != nil || pl.t.Operation != harvest.Harvest {
		return
	}
	why := pl.Strained()
	if why == "" {
		return
	}
	win := pl.spec.Window
	raised := win.LagBounds().Raise(win.SafetyLag.D(), pl.lag)
	if raised > pl.lag {
		pl.lag = raised
		pl.whyRaised = why
	}
}
