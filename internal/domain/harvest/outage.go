package harvest

import "time"

// Outage is what is remembered of a partition, the requests of one source, endpoint
// and operation, from the first that got no answer to the next that does: what the
// upstream said last, since when, and how often in a row. It only tells people what
// is wrong; what is held back because of it is the business of [Breaker] and of the
// rate gate.
type Outage struct {
	Code Code
	// Text is what came in place of an answer, free of secrets.
	Text string
	// Count is how many requests in a row were not answered.
	Count int
	// Since is when the first of them failed, At when the last did.
	Since, At time.Time
	// RetryAt is when who asked will ask again; zero if that is not known.
	RetryAt time.Time
	// Told: a warning about it was logged.
	Told bool
}

// Unanswered is what became of requests that were not answered.
type Unanswered struct {
	Code Code
	Text string
	// Requests is how many there were, 0 if they were counted before, and For how
	// long they took from the first to the last.
	Requests int
	For      time.Duration
	// RetryIn is how long who asked will wait before the next; 0 if that is not known.
	RetryIn time.Duration
}

// tellAfter is how long a source must have given no answer, or is known to be left
// alone, before people are warned. What is mended by asking again is no news.
const tellAfter = 30 * time.Second

// Fail adds requests that were not answered.
func (o Outage) Fail(now time.Time, u Unanswered) Outage {
	if o.Count == 0 {
		o.Since = now.Add(-u.For)
		u.Requests = max(u.Requests, 1)
	}
	o.Code = u.Code
	o.Text = u.Text
	o.Count += u.Requests
	o.At = now
	switch {
	case u.RetryIn > 0:
		o.RetryAt = now.Add(u.RetryIn)
	case u.Requests > 0:
		o.RetryAt = time.Time{}
	}
	return o
}

// Lasts reports whether the outage is worth a warning.
func (o Outage) Lasts() bool {
	until := o.At
	if o.RetryAt.After(until) {
		until = o.RetryAt
	}
	return until.Sub(o.Since) >= tellAfter
}

// longOutage is how long a source must have given no answer before what rested meanwhile
// is taken again as soon as it answers. A slice that fails by itself rests longer and
// longer, and the answers to others, which come sooner than that, do not wake it.
const longOutage = time.Hour

// IsLong reports whether the outage, which ends now, was long.
func (o Outage) IsLong(now time.Time) bool { return now.Sub(o.Since) >= longOutage }
