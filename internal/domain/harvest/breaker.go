package harvest

import (
	"cmp"
	"time"
)

// Breaker is what is remembered of a partition, the requests of one source,
// endpoint and operation, while they fail one after the other, each after its
// retries (M14, R70). What a task asks for counts, and what a planner does. After
// so many failures as its source says the partition rests; then one request is let
// through to try. The first page that comes closes the breaker: it is forgotten.
type Breaker struct {
	// Spent counts the failures in a row.
	Spent int
	// After is how many of them it takes, as the source said with the last one; 0 is
	// as the platform has it.
	After int
	// Until is when the rest is over, or a try that was never heard of again.
	Until time.Time
	// Trying: one task or request has been let through.
	Trying bool
}

// BreakerLimits are the thresholds of a breaker. What is 0 is as [DefaultBreaker] has
// it: a source that is known to stumble may be given more time (R69).
type BreakerLimits struct {
	// After is how many requests of a partition in a row may fail, each after its
	// retries, before it rests.
	After int
	// Rest is how long it rests first, and Most how long at most: it doubles with every
	// try that fails.
	Rest time.Duration
	Most time.Duration
}

// DefaultBreaker are the thresholds of a source that has none of its own.
func DefaultBreaker() BreakerLimits {
	return BreakerLimits{After: 3, Rest: time.Minute, Most: 30 * time.Minute}
}

// Filled has the defaults where nothing is said. A rest that is longer than the longest
// by default is the longest itself.
func (l BreakerLimits) Filled() BreakerLimits {
	d := DefaultBreaker()
	rest := cmp.Or(l.Rest, d.Rest)
	most := cmp.Or(l.Most, max(d.Most, rest))
	return BreakerLimits{After: cmp.Or(l.After, d.After), Rest: min(rest, most), Most: most}
}

// longestTry is how long to wait for what comes of a try: long enough for every
// repetition a request is allowed.
const longestTry = 10 * time.Minute

// Open reports whether the partition rests or is being tried.
func (b Breaker) Open() bool { return b.Spent >= cmp.Or(b.After, DefaultBreaker().After) }

// Bars reports whether nothing may be asked at now.
func (b Breaker) Bars(now time.Time) bool { return b.Open() && now.Before(b.Until) }

// Fail counts a failure, by the thresholds of the source. One of a request that was
// under way when the rest began says nothing new.
func (b Breaker) Fail(now time.Time, own BreakerLimits) Breaker {
	if b.Bars(now) && !b.Trying {
		return b
	}
	limits := own.Filled()
	b = Breaker{Spent: b.Spent + 1, After: limits.After}
	if b.Open() {
		b.Until = now.Add(limits.restAfter(b.Spent))
	}
	return b
}

// Try lets one request through.
func (b Breaker) Try(now time.Time) Breaker {
	b.Until, b.Trying = now.Add(longestTry), true
	return b
}

// GiveBack ends a try that was broken off before anything came of it.
func (b Breaker) GiveBack(now time.Time) Breaker {
	if b.Trying {
		b.Until, b.Trying = now, false
	}
	return b
}

// restAfter is how long a partition rests after so many failures.
func (l BreakerLimits) restAfter(spent int) time.Duration {
	rest := l.Rest
	for range spent - l.After {
		if rest >= l.Most {
			break
		}
		rest *= 2
	}
	return min(rest, l.Most)
}
