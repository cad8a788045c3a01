package source

import (
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
)

// Threshold is a bound that patra keeps to with a source: its key in a description, what
// it is, and who said so.
type Threshold struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// OriginPlatform is the origin of what no row says; else it is the scope of the row.
const OriginPlatform = "platform"

// Thresholds lists those that hold for a contract, each with its origin (R69). choices are
// the rows that were picked for it.
func Thresholds(s *Spec, choices []Choice) []Threshold {
	t := &thresholds{from: map[Dimension]string{}}
	for _, c := range choices {
		if c.Row == nil {
			continue
		}
		t.from[c.Dimension] = string(c.Row.Scope)
		t.said.put(*c.Row)
	}
	t.cuts(s)
	t.breakerAndBackoff(s)
	t.rate(s)
	t.window(s)
	return t.out
}

// thresholds collects them.
type thresholds struct {
	said Overrides // what the rows say
	from map[Dimension]string
	out  []Threshold
}

// add adds one; said is what the row has under the key, its zero value if nothing.
func add[V comparable](t *thresholds, d Dimension, key string, said V, value any) {
	origin := OriginPlatform
	var nothing V
	if said != nothing {
		origin = t.from[d]
	}
	text := fmt.Sprint(value)
	if d, is := value.(Duration); is {
		text = d.D().String()
	}
	t.out = append(t.out, Threshold{Key: key, Value: text, Origin: origin})
}

func (t *thresholds) cuts(s *Spec) {
	own := orNothing(t.said.Cuts)
	is := s.Cuts
	add(t, DimCuts, "cuts.pagesSoft", own.PagesSoft, is.PagesSoft)
	add(t, DimCuts, "cuts.pagesHard", own.PagesHard, is.PagesHard)
	add(t, DimCuts, "cuts.pageBytes", own.PageBytes, int64(is.PageBytes))
	add(t, DimCuts, "cuts.throttled", own.Throttled, is.Throttled)
	add(t, DimCuts, "cuts.throttledWithin", own.ThrottledWithin, is.ThrottledWithin)
	add(t, DimCuts, "cuts.failedPercent", own.FailedPercent, is.FailedPercent)
	add(t, DimCuts, "cuts.failedOver", own.FailedOver, is.FailedOver)
	add(t, DimCuts, "cuts.retryAfterSum", own.RetryAfterSum, is.RetryAfterSum)
	add(t, DimCuts, "cuts.walkTime", own.WalkTime, is.WalkTime)
	add(t, DimCuts, "cuts.overEstimate", own.OverEstimate, is.OverEstimate)
	slow := is.SlowPage
	if slow == 0 {
		slow = Duration(harvest.DefaultSlowPage)
	}
	add(t, DimCuts, "cuts.slowPage", own.SlowPage, slow)
}

func (t *thresholds) breakerAndBackoff(s *Spec) {
	own := orNothing(t.said.Retry)
	waits := s.Retry.Backoff().Filled()
	add(t, DimRetry, "retry.maxAttempts", own.Attempts, s.Retry.Attempts)
	add(t, DimRetry, "retry.base", own.Base, waits.Base)
	add(t, DimRetry, "retry.factor", own.Factor, waits.Factor)
	add(t, DimRetry, "retry.max", own.Max, waits.Max)
	add(t, DimRetry, "retry.jitter", own.Jitter, fmt.Sprintf("%.0f%%", 100*waits.Jitter))
	rests := s.Retry.Breaker().Filled()
	add(t, DimRetry, "retry.breakAfter", own.BreakAfter, rests.After)
	add(t, DimRetry, "retry.breakRest", own.BreakRest, rests.Rest)
	add(t, DimRetry, "retry.breakMost", own.BreakMost, rests.Most)
}

func (t *thresholds) rate(s *Spec) {
	own := orNothing(t.said.RateLimit)
	adapt := orNothing(own.Adapt)
	is := s.Rate.Adapt.Over(pace.DefaultAdapt())
	add(t, DimRateLimit, "rateLimit.adapt.outcomes", adapt.Outcomes, is.Outcomes)
	add(t, DimRateLimit, "rateLimit.adapt.cutAt", adapt.CutAt, is.CutAt)
	add(t, DimRateLimit, "rateLimit.adapt.holdAt", adapt.HoldAt, is.HoldAt)
	add(t, DimRateLimit, "rateLimit.adapt.factor", adapt.Factor, is.Factor)
	add(t, DimRateLimit, "rateLimit.adapt.step", adapt.Step, is.Step)
	add(t, DimRateLimit, "rateLimit.adapt.floor", adapt.Floor, is.Floor)
	add(t, DimRateLimit, "rateLimit.adapt.coolDown", adapt.CoolDown, is.CoolDown)
	add(t, DimRateLimit, "rateLimit.adapt.warmUp", adapt.WarmUp, is.WarmUp)
	if s.Rate.QuotaReserve != nil {
		add(t, DimRateLimit, "rateLimit.quotaReserve", own.QuotaReserve, fmt.Sprintf("%d%%", *s.Rate.QuotaReserve))
	}
}

func (t *thresholds) window(s *Spec) {
	own := orNothing(t.said.Window)
	lag := s.Window.LagBounds().Filled()
	budget := s.SliceBudget(harvest.Operation(s.Operation))
	add(t, DimWindow, "window.lagLeast", own.LagLeast, lag.Least)
	add(t, DimWindow, "window.lagMost", own.LagMost, lag.Most)
	add(t, DimWindow, "window.maxRequests", own.MaxRequests, budget.MaxRequests)
	add(t, DimWindow, "window.maxRecords", own.MaxRecords, budget.MaxRecords)
	add(t, DimWindow, "window.maxDuration", own.MaxDuration, time.Duration(budget.MaxDurationSec)*time.Second)
	add(t, DimWindow, "window.priority", own.Priority, budget.Priority)
	add(t, DimWindow, "window.maxOpen", own.MaxOpen, s.Window.MaxOpen)
}

// orNothing is what a part says, nothing where it is not there.
func orNothing[V any](part *V) V {
	if part == nil {
		return *new(V)
	}
	return *part
}
