package pace

import (
	"slices"
	"time"
)

// Standing is how a key stands: what its rate is now, and what is left to it.
type Standing struct {
	// PerSecond is the rate in force; 0 if none is.
	PerSecond float64
	// Left is the part of the tightest quota that is not used, 0 to 1; 1 without a
	// quota, and 0 while the provider says that its own budget is used up.
	Left float64
	// Quotas is how much of each is used, and Reserve the part of each that is kept back
	// from what can wait, 0 to 1.
	Quotas  []QuotaUse
	Reserve float64
}

// QuotaUse is the part of a quota that is used, 0 to 1.
type QuotaUse struct {
	Window time.Duration
	Used   float64
}

// Stands tells how a key stands at an instant.
func Stands(s State, l Limit, now time.Time) Standing {
	out := Standing{Left: 1, Reserve: l.Reserve}
	out.PerSecond, _ = s.dropCeiling(l, now).rate(l)
	for _, q := range l.Quotas {
		use := QuotaUse{Window: q.Window}
		for i := range s.Ledgers {
			led := &s.Ledgers[i]
			if led.Window == q.Window && led.Zone == q.Zone && q.Limit > 0 {
				use.Used = min(1, float64(led.used(now))/float64(q.Limit))
			}
		}
		out.Left = min(out.Left, 1-use.Used)
		at := slices.IndexFunc(out.Quotas, func(other QuotaUse) bool { return other.Window == q.Window })
		if at >= 0 { // one by a zone's days and one that slides: the fuller counts
			out.Quotas[at].Used = max(out.Quotas[at].Used, use.Used)
			continue
		}
		out.Quotas = append(out.Quotas, use)
	}
	if now.Before(s.EmptyUntil) {
		out.Left = 0
	}
	return out
}

// Pass is how a request passed the gate: how long it waited there, and how its key stood
// then.
type Pass struct {
	Waited    time.Duration
	PerSecond float64
	Burst     int
	// CooldownUntil is when a silence ends that is not over yet.
	CooldownUntil time.Time
}

// PassOf tells how a key stands for a request that passes.
func PassOf(s State, l Limit, now time.Time) Pass {
	out := Pass{Burst: l.Burst}
	var slack time.Duration
	out.PerSecond, slack = s.rate(l)
	if slack == 0 {
		out.Burst = 1
	}
	if until := later(s.CooldownUntil, s.EmptyUntil); until.After(now) {
		out.CooldownUntil = until
	}
	return out
}

// used is how many units count at an instant.
func (l *Ledger) used(now time.Time) (n int64) {
	for _, c := range l.Used {
		if c.until().After(now) {
			n += c[1]
		}
	}
	return n
}
