package sim

import "time"

// allowance is what an upstream grants one caller on one class of routes.
type allowance struct {
	key        string        // whose requests are counted together
	requests   int           // in each window; 0: unlimited
	window     time.Duration // sliding
	concurrent int           // at one time; 0: unlimited
	pool       string        // Crossref's name for the class
	quota      Quota         // over a longer time; zero: none
}

// override replaces a source's own numbers by the configured rate.
func (a allowance) override(rps float64) allowance {
	switch {
	case rps < 0:
		a.requests, a.concurrent = 0, 0
	case rps >= 1:
		a.requests = int(rps)
		a.window = time.Second
		a.concurrent = 0
	case rps > 0:
		a.requests = 1
		a.window = time.Duration(float64(time.Second) / rps)
		a.concurrent = 0
	}
	return a
}

// ledger is one caller's account. Refused requests do not use up the allowance,
// but they do count as arrivals.
type ledger struct {
	admitted []time.Time
	arrived  []time.Time
	charged  []time.Time // what counts against the quota: every arrival
	inFlight int
	waitTill time.Time // the Retry-After given out last
}

// verdict is what became of an arrival.
type verdict struct {
	tooFast, tooMany bool
	overQuota        bool
	early            bool          // came before a Retry-After had passed
	seen             int           // arrivals in the window, this one included
	left             int           // requests left in the window
	reset            time.Duration // until the oldest one leaves it
}

func (v verdict) refused() bool { return v.tooFast || v.tooMany || v.overQuota }

// arrive judges a request. A window of one second holds what came less than a
// second before: the request exactly one second later is a new one's first.
func (l *ledger) arrive(a allowance, now time.Time) verdict {
	v := verdict{early: now.Before(l.waitTill)}
	l.arrived = append(expire(l.arrived, now, a.window), now) // counted even where nothing is forbidden
	v.seen = len(l.arrived)
	if a.requests > 0 {
		l.admitted = expire(l.admitted, now, a.window)
		v.tooFast = len(l.admitted) >= a.requests
		v.reset = a.window
		if len(l.admitted) > 0 {
			v.reset -= now.Sub(l.admitted[0])
		}
	}
	if q := a.quota; q.Requests > 0 {
		l.charged = append(expire(l.charged, now, q.Window), now)
		v.overQuota = len(l.charged) > q.Requests
	}
	v.tooMany = a.concurrent > 0 && l.inFlight >= a.concurrent
	if v.refused() {
		return v
	}
	if a.requests > 0 {
		l.admitted = append(l.admitted, now)
		v.left = a.requests - len(l.admitted)
	}
	l.inFlight++
	return v
}

func expire(times []time.Time, now time.Time, window time.Duration) []time.Time {
	k := 0
	for k < len(times) && now.Sub(times[k]) >= window {
		k++
	}
	if k == 0 {
		return times
	}
	return append(times[:0], times[k:]...)
}
