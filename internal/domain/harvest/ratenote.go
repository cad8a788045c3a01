package harvest

import "time"

// GateDecision is how the rate gate answered a request for a permit.
type GateDecision string

// The decisions.
const (
	GateAllowed  GateDecision = "ALLOW"
	GateWaited   GateDecision = "WAIT"
	GateRejected GateDecision = "REJECT"
)

// RateNote is what the rate gate said of the last request of a page.
type RateNote struct {
	Key       string       `json:"limitKey"`
	Cost      int          `json:"permitCost"`
	WaitMs    int64        `json:"waitMs"`
	Decision  GateDecision `json:"decision"`
	PerSecond float64      `json:"r"`
	Burst     int          `json:"burst"`
	// CooldownUntil is when a silence ends that the upstream asked for.
	CooldownUntil time.Time `json:"cooldownUntil,omitzero"`
	// Quota is what the reply's own headers said, nil if nothing.
	Quota *QuotaNote `json:"-"`
}

// QuotaNote is the provider's account, by the headers of a reply.
type QuotaNote struct {
	Remaining   int64     `json:"remaining"`
	Limit       int64     `json:"limit,omitzero"`
	WindowReset time.Time `json:"windowReset"`
}

// RateSums are what the rate gate had to do with the requests of a page, or of a run.
type RateSums struct {
	// Permits are units, as requests cost them.
	Permits    int64 `json:"permitsTotal"`
	RetryAfter int64 `json:"retryAfterHits"`
	Demoted    int64 `json:"demoteEvents"`
	QuotaSoft  int64 `json:"quotaSoftHits"`
	QuotaHard  int64 `json:"quotaHardHits"`
	// RetryAfterMs is how long the upstream asked to be left alone, all in all.
	RetryAfterMs int64 `json:"retryAfterMs"`
}

// Add sums two accounts.
func (s RateSums) Add(o RateSums) RateSums {
	return RateSums{
		Permits: s.Permits + o.Permits, RetryAfter: s.RetryAfter + o.RetryAfter, Demoted: s.Demoted + o.Demoted,
		QuotaSoft: s.QuotaSoft + o.QuotaSoft, QuotaHard: s.QuotaHard + o.QuotaHard, RetryAfterMs: s.RetryAfterMs + o.RetryAfterMs,
	}
}
