package pace

import (
	"math"
	"time"
)

// Advice is what a key can let out for a claim until an instant. It is for those who
// plan, and promises nothing: others may come first.
type Advice struct {
	// Requests may go out until then, by rate, quotas and what the provider told;
	// [math.MaxInt64] if nothing bounds them.
	Requests int64
	// OfQuotas is how many of the quotas of a day and longer alone, without what is kept
	// back and what is held for others, and Least how many of these are held for the claim
	// whatever others want.
	OfQuotas int64
	Least    int64
	// Tightest is the quota that bounds OfQuotas.
	Tightest Quota
}

// Estimate tells how many requests of that cost may go out within a horizon.
func Estimate(s State, l Limit, cost int, now time.Time, horizon time.Duration) Advice {
	units := int64(max(cost, 1))
	s = Relax(s, l, now)
	out := Advice{Requests: math.MaxInt64, OfQuotas: math.MaxInt64, Least: math.MaxInt64}
	begins := later(later(now, s.CooldownUntil), s.EmptyUntil)
	usable := max(0, horizon-begins.Sub(now))
	if r, _ := s.rate(l); r > 0 {
		out.Requests = int64(r * usable.Seconds() / float64(units))
	}
	if s.Told.holds(now) && s.Told.Until.Sub(now) >= horizon {
		out.Requests = min(out.Requests, max(0, s.Told.Left)/units)
	}
	ledgers := s.openLedgers(l.Quotas, now)
	for _, q := range l.Quotas {
		ledger := findLedger(ledgers, q.Window, q.Zone)
		all, least := ledger.roomWithin(l.terms(q), units, now, horizon)
		out.Requests = min(out.Requests, all/units)
		if q.Window >= 24*time.Hour {
			out.Least = min(out.Least, least/units)
			if all/units < out.OfQuotas {
				out.OfQuotas = all / units
				out.Tightest = q
			}
		}
	}
	if out.Least == math.MaxInt64 {
		out.Least = 0
	}
	return out
}

// roomWithin is how many units of a quota there are for a claim within a horizon, and how
// many of them are held for it. Nobody plans with what is kept back.
func (l *Ledger) roomWithin(t terms, cost int64, now time.Time, horizon time.Duration) (all, least int64) {
	t.hard = t.soft
	least = t.operations[t.claim.Operation]
	whole := (&Ledger{}).room(t, cost, 0)
	windows := 0.0 // that begin anew within the horizon
	end := now
	switch {
	case l.Zone != "":
		for day := nextDay(now, l.Zone); day.Before(now.Add(horizon)); day = nextDay(day, l.Zone) {
			windows++
		}
	case horizon <= l.Window:
		end = now.Add(horizon)
	default:
		end = now.Add(l.Window)
		windows = float64(horizon-l.Window) / float64(l.Window)
	}
	at := end.UnixMicro()
	open := max(0, l.room(t, cost, at), least-account(l.By[t.claim.Operation], at))
	return open + int64(windows*float64(whole)), max(0, least-account(l.By[t.claim.Operation], at)) + int64(windows*float64(least))
}
