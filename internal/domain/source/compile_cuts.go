package source

import (
	"cmp"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// cuts freezes the thresholds at which slices are cut, those of the platform where the
// source has none of its own: a batch can be explained when the platform's are others.
func (c *compiler) cuts() {
	const path = "cuts"
	var own Cuts
	if c.def.Cuts != nil {
		own = *c.def.Cuts
	}
	for key, n := range map[string]int64{
		"pagesSoft": int64(own.PagesSoft), "pagesHard": int64(own.PagesHard), "pageBytes": int64(own.PageBytes),
		"throttled": int64(own.Throttled), "throttledWithin": int64(own.ThrottledWithin), "failedOver": int64(own.FailedOver),
		"retryAfterSum": int64(own.RetryAfterSum), "walkTime": int64(own.WalkTime),
		"overEstimate": int64(own.OverEstimate), "slowPage": int64(own.SlowPage),
	} {
		if n < 0 {
			c.fail(path+"."+key, "is below 0")
		}
	}
	if own.FailedPercent < 0 || own.FailedPercent > 100 {
		c.fail(path+".failedPercent", "%d is not within [1, 100]", own.FailedPercent)
	}
	c.spec.Cuts = own.filled(c.spec.HTTP)
	// An older snapshot has none of these, so they are filled in here alone.
	c.spec.Cuts.RetryAfterSum = cmp.Or(own.RetryAfterSum, Duration(harvest.DefaultCuts().RetryAfterSum))
	c.spec.Cuts.WalkTime = cmp.Or(own.WalkTime, Duration(harvest.DefaultCuts().WalkTime))
	c.spec.Cuts.OverEstimate = cmp.Or(own.OverEstimate, harvest.DefaultCuts().OverEstimate)
	if soft, hard := c.spec.Cuts.PagesSoft, c.spec.Cuts.PagesHard; hard < soft {
		c.fail(path+".pagesHard", "%d is below pagesSoft, %d", hard, soft)
	}
}

// filled has the platform's thresholds where the source has none.
func (own Cuts) filled(h HTTP) Cuts {
	d := harvest.DefaultCuts()
	return Cuts{
		PagesSoft:       cmp.Or(own.PagesSoft, d.PagesSoft),
		PagesHard:       cmp.Or(own.PagesHard, max(d.PagesHard, own.PagesSoft)),
		PageBytes:       cmp.Or(own.PageBytes, Size(h.MaxPage())),
		Throttled:       cmp.Or(own.Throttled, d.Throttled),
		ThrottledWithin: cmp.Or(own.ThrottledWithin, Duration(d.ThrottledWithin)),
		FailedPercent:   cmp.Or(own.FailedPercent, d.FailedPercent),
		FailedOver:      cmp.Or(own.FailedOver, d.FailedOver),
		RetryAfterSum:   own.RetryAfterSum,
		WalkTime:        own.WalkTime,
		OverEstimate:    own.OverEstimate,
		SlowPage:        own.SlowPage,
	}
}
