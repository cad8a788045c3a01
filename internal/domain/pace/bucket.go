package pace

import (
	"math"
	"time"
)

const (
	// minCooldown is the silence after a 429 that names none.
	minCooldown = time.Second
	// probeGap is the least distance between the first request after a
	// cooldown and the second, so that its answer can come first.
	probeGap = 2 * time.Second
)

// State is what is remembered about a key. The zero value is a key without
// state: it holds one token, however large the burst, so that restarts do not
// add up (R36).
type State struct {
	// NextAt is the turn of the next slot.
	NextAt time.Time `json:"n,omitzero"`
	// CooldownUntil is when the silence ends that the upstream asked for: there is no
	// slot before.
	CooldownUntil time.Time `json:"c,omitzero"`
	// Rate is what a cut left of the configured rate; 0 means that all of it is in force.
	Rate float64 `json:"r,omitzero"`
	// CutAt is when the rate was last cut, RisenAt up to when it has been raised
	// for the time that passed.
	CutAt   time.Time `json:"k,omitzero"`
	RisenAt time.Time `json:"g,omitzero"`
	// WarmSince is since when the rate rises from what a key begins with that has to warm
	// up; zero if it does not.
	WarmSince time.Time `json:"m,omitzero"`
	// Cuts are the last cuts, the newest last, for people to look at: nothing is decided by
	// them.
	Cuts []Cut `json:"x,omitempty"`
	// Failed has a bit for each of the last requests, that of the newest lowest; it
	// is set if that request failed. FailedSinceCut likewise, but without those before
	// the last cut: no failure cuts the rate twice. HeldAt is since when so many have
	// failed that the rate does not rise.
	Failed         uint64    `json:"f,omitzero"`
	FailedSinceCut uint64    `json:"u,omitzero"`
	HeldAt         time.Time `json:"d,omitzero"`
	// Epoch grows with every cooldown; slots of an older one are void.
	Epoch int64 `json:"e,omitzero"`
	// Probe says that the next slot is the first after a cooldown.
	Probe bool `json:"p,omitzero"`
	// Header is the rate the provider's own headers allow, if that is lower
	// than the configured one.
	Header float64 `json:"h,omitzero"`
	// Ceiling is a lower rate that a person has set for a time.
	Ceiling Ceiling `json:"l,omitzero"`
	// EmptyUntil is when the provider's budget, which is used up, is filled again: there
	// is no slot before.
	EmptyUntil time.Time `json:"b,omitzero"`
	// Told is what the provider said is left of it.
	Told Told `json:"t,omitzero"`
	// Seats are held by requests in flight, Waiters are the processes that
	// wait for one, Fence is the greatest number of a seat yet.
	Seats   []Seat   `json:"s,omitempty"`
	Waiters []Waiter `json:"w,omitempty"`
	Fence   int64    `json:"i,omitzero"`
	// Ledgers hold what was used, one for each window that has a quota.
	Ledgers []Ledger `json:"q,omitempty"`
}

// rate is the rate in force, and how far ahead of its turn a slot may be used. While
// anything but the configured rate is in force there is no burst.
func (s State) rate(l Limit) (perSecond float64, slack time.Duration) {
	perSecond = l.QPS
	slack = l.slack()
	for _, lower := range []float64{s.Header, s.Rate, s.Ceiling.PerSecond} {
		if lower > 0 && lower < perSecond {
			perSecond = lower
			slack = 0
		}
	}
	return perSecond, slack
}

// Reserve takes the next slot for a request that costs so many units; it may be
// used at its time, never before now. The slot belongs to the caller alone. It is
// void once the epoch of the state has grown past the one returned here. Its cost
// counts against every window that is kept, also those of other limits on the
// same key, from the moment it is reserved (R38).
//
// The slots of a key stand in a row, each so far behind the one before as its cost takes
// at the rate. A burst lets a slot be used ahead of its turn, by slack at most:
//
//	     NextAt - slack        NextAt               NextAt of the slot behind it
//	-----------|------------------|--------------------------|-----> time
//	           ^ may be used from here on      what its cost takes at the rate
//
// A caller that will hear of its slot only after a while asks for one that is at least
// so far ahead.
func Reserve(s State, l Limit, cost int, now time.Time, ahead time.Duration) (State, Slot) {
	cost = max(cost, 1)
	at := later(now.Add(ahead), s.CooldownUntil)
	if l.QPS <= 0 {
		return s.placeSlot(l, cost, now, at)
	}
	if s.NextAt.IsZero() && s.CutAt.IsZero() {
		s = s.beginCold(l, now)
	}
	s = Relax(s, l, now)
	r, slack := s.rate(l)
	if s.NextAt.IsZero() {
		s.NextAt = now.Add(slack)
	}
	// As many units as the request costs must have been saved up, if so many can be.
	at = later(at, s.NextAt.Add(min(timeOf(float64(cost-1), r), slack)-slack))
	s, slot := s.placeSlot(l, cost, now, at)
	gap := timeOf(float64(cost), r)
	if s.Probe {
		s.Probe = false
		gap = max(gap, probeGap)
	}
	s.NextAt = later(s.NextAt, slot.At).Add(gap)
	return s, slot
}

// placeSlot puts a slot off until budget and quotas allow it, and charges its cost.
func (s State) placeSlot(l Limit, cost int, now, at time.Time) (State, Slot) {
	units := int64(cost)
	slot := Slot{At: later(at, s.EmptyUntil)}
	emptied := slot.At.After(at)
	if s.Told.holds(slot.At) && !s.Told.admits(l, units) {
		slot.KeptBack = s.Told.Left >= units
		slot.At = s.Told.Until
	}
	s.Ledgers = s.openLedgers(l.Quotas, now)
	for _, q := range l.Quotas { // a later instant has room wherever an earlier one had
		first, kept := findLedger(s.Ledgers, q.Window, q.Zone).firstRoom(slot.At, l.terms(q), units)
		if first.After(slot.At) {
			slot.KeptBack = kept
			slot.At = first
		}
	}
	slot.Scarce = slot.At.After(at)
	slot.KeptBack = slot.KeptBack && !emptied
	for i := range s.Ledgers {
		led := &s.Ledgers[i]
		c := slotCharge{window: led.Window, zone: led.Zone, Charge: Charge{led.until(slot.At), units}}
		if !l.Shares.none() {
			c.names = l.Claim.names()
		}
		led.charge(c)
		slot.charges = append(slot.charges, c)
	}
	if s.Told.holds(slot.At) {
		s.Told.Left -= units
		slot.told = Charge{s.Told.Until.UnixMicro(), units}
	}
	return s, slot
}

// Throttle is the answer to a 429, or to any reply with a Retry-After that
// counts: silence for at least retryAfter, half the rate, and every slot handed
// out but not used yet is void.
func Throttle(s State, l Limit, now time.Time, retryAfter time.Duration) State {
	s = cutRate(s, l, now)
	quiet := max(retryAfter, minCooldown)
	if r, _ := s.rate(l); r > 0 {
		// At least one turn: the slots made void are forgotten below, and that must
		// not let two requests come closer than their turns.
		quiet = max(quiet, timeOf(1, r))
	}
	s.CooldownUntil = later(s.CooldownUntil, now.Add(quiet))
	s.RisenAt = s.CooldownUntil
	s.NextAt = s.CooldownUntil
	if s.Rate == 0 {
		s.NextAt = s.NextAt.Add(l.slack()) // the rate was too low to be cut: one slot, no burst
	}
	s.Epoch++
	s.Probe = true
	return s
}

// Lower takes the provider's word that it allows n requests per span. It may
// only lower the rate (R37): what is configured stays the upper bound, and a
// generous header takes back an earlier strict one, no more. A lower rate counts
// from the last slot on: the next one was put at the distance of the rate before,
// and the request whose reply says so stands in the provider's window already.
func Lower(s State, l Limit, n float64, per time.Duration) State {
	if l.QPS <= 0 || n <= 0 || per <= 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return s
	}
	if Fits(l.QPS, l.Burst, n, per, l.Jitter) {
		s.Header = 0
		return s
	}
	before, _ := s.rate(l)
	s.Header = min(l.QPS, Share(n, 1, per, l.Jitter))
	after, _ := s.rate(l)
	if after < before && !s.NextAt.IsZero() {
		s.NextAt = s.NextAt.Add(timeOf(1, after) - timeOf(1, before))
	}
	return s
}

// Apply folds what came of a request into the state.
func Apply(s State, l Limit, now time.Time, o Outcome) State {
	if o.Allowed > 0 {
		s = Lower(s, l, o.Allowed, o.Per)
	}
	s = Drain(s, now, o.Empty)
	if o.ResetIn > 0 {
		s = Tell(s, now, o.Left, o.ResetIn)
	}
	if o.Kind != Throttled {
		s = noteOutcome(s, l, now, o.Kind == Unwell)
	}
	if o.Kind == Throttled || o.Kind == Unwell && o.RetryAfter > 0 {
		s = Throttle(s, l, now, o.RetryAfter)
	}
	return s
}

// Kind of an outcome.
type Kind string

// The kinds: a good reply, a demand for fewer requests, a transient failure of
// the upstream.
const (
	Fine      Kind = "FINE"
	Throttled Kind = "THROTTLED"
	Unwell    Kind = "UNWELL"
)

// Outcome is what the gate is told about a request that passed it.
type Outcome struct {
	Kind Kind
	// RetryAfter is how long the upstream asked us to stay away.
	RetryAfter time.Duration
	// Allowed requests Per span is what the reply's headers said; 0 if nothing.
	Allowed float64
	Per     time.Duration
	// Empty is how long the provider's budget is used up; 0 if it is not.
	Empty time.Duration
	// Left units are what the reply said is left until the budget is filled again, in
	// ResetIn; 0 if it said nothing.
	Left    int64
	ResetIn time.Duration
}

// timeOf is the time that n slots take at r a second, rounded up to the microsecond
// that instants are kept in.
func timeOf(n, r float64) time.Duration {
	if n <= 0 || r <= 0 {
		return 0
	}
	us := math.Ceil(n / r * 1e6)
	if us > float64(maxWait/time.Microsecond) {
		return maxWait
	}
	return time.Duration(us) * time.Microsecond
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
