package pace

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxWait bounds what an upstream can make us believe; past a day the source
// is paused anyhow (R39).
const maxWait = 366 * 24 * time.Hour

// Backoff is exponential: Base multiplied by Factor with every attempt up to Max, spread
// by Jitter, a part of 1. The zero value means 100 ms, doubled up to 30 s, spread by 20 %.
type Backoff struct {
	Base, Max time.Duration
	Factor    float64
	Jitter    float64
}

// Wait is how long to wait before the repetition that follows the attempt-th try, counted
// from 1. It is the greater of the backoff and retryAfter, plus up to 15 %, and never
// less than retryAfter (R39). rnd gives numbers in [0, 1).
func (b Backoff) Wait(attempt int, retryAfter time.Duration, rnd func() float64) time.Duration {
	b = b.Filled()
	d := b.Base
	top := b.Max
	for range attempt - 1 {
		if d >= top {
			break
		}
		d = time.Duration(min(float64(d)*b.Factor, float64(top)))
	}
	d = min(d, top)
	d = time.Duration(float64(d) * (1 + b.Jitter*(2*rnd()-1)))
	d = min(max(d, retryAfter, 0), maxWait)
	return d + time.Duration(0.15*float64(d)*rnd())
}

// Filled has the platform's waits where a source has none of its own.
func (b Backoff) Filled() Backoff {
	return Backoff{
		Base:   cmp.Or(b.Base, 100*time.Millisecond),
		Max:    cmp.Or(b.Max, 30*time.Second),
		Factor: cmp.Or(b.Factor, 2),
		Jitter: cmp.Or(b.Jitter, 0.2),
	}
}

// ParseRetryAfter reads both forms of the header: seconds, and a date, which is
// taken relative to now (best: the reply's own Date). A date in the past means
// "at once". What is neither form, or negative, is no answer at all.
func ParseRetryAfter(h string, now time.Time) (time.Duration, bool) {
	h = strings.TrimSpace(h)
	if h == "" {
		return 0, false
	}
	if s, err := strconv.ParseFloat(h, 64); err == nil {
		if s < 0 || math.IsNaN(s) {
			return 0, false
		}
		if s >= maxWait.Seconds() {
			return maxWait, true
		}
		return time.Duration(math.Ceil(s*1e3)) * time.Millisecond, true
	}
	if at, ok := parseDate(h); ok {
		return min(max(at.Sub(now), 0), maxWait), true
	}
	return 0, false
}

// httpDates are the three forms RFC 9110 has a reader accept.
var httpDates = []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC}
