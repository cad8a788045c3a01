package harvest

import "time"

// Breaker is what is remembered of a partition, the requests of one source,
// endpoint and operation, while they fail one after the other, each after its
// retries (M14, R70). What a task asks for counts, and what a planner does. After
// [BreakAfter] failures the partition rests; then one request is let through to
// try. The first page that comes closes the breaker: it is forgotten.
type Breaker struct {
	// Spent counts the failures in a row.
	Spent int
	// Until is when the rest is over, or a try that was never heard of again.
	Until time.Time
	// Trying: one task or request has been let through.
	Trying bool
}

// BreakAfter is how many requests of a partition in a row may fail, each after its
// retries, before it rests.
const BreakAfter = 3

// longestTry is how long to wait for what comes of a try: long enough for every
// repetition a request is allowed.
const longestTry = 10 * time.Minute

// Open reports whether the partition rests or is being tried.
func (b Breaker) Open() bool { return b.Spent >= BreakAfter }

// Bars reports whether nothing may be asked at now.
func (b Breaker) Bars(now time.Time) bool { return b.Open() && now.Before(b.Until) }

// Fail counts a failure. One of a request that was under way when the rest began
// says nothing new.
func (b Breaker) Fail(now time.Time) Breaker {
	if b.Bars(now) && !b.Trying {
		return b
	}
	b = Breaker{Spent: b.Spent + 1}
	if b.Open() {
		b.Until = now.Add(breakRest(b.Spent))
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

// breakRest doubles from a minute up to half an hour.
func breakRest(spent int) time.Duration {
	const most = 30 * time.Minute
	return min(time.Minute<<min(spent-BreakAfter, 5), most)
}
