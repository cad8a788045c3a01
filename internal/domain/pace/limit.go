package pace

import (
	"cmp"
	"math"
	"time"
)

// Jitter is how late a permit may be used, and how much longer one request may
// be on its way than another, unless a source declares something else.
const Jitter = 50 * time.Millisecond

// Limit is the configured rate of a key, and what holds beside it. QPS 0 means
// unlimited.
type Limit struct {
	QPS   float64
	Burst int
	// Jitter allowed for; 0 stands for [Jitter].
	Jitter time.Duration
	// Seats bounds requests in flight, over all processes; 0 means no bound.
	Seats  int
	Quotas []Quota
	// Reserve is the part of every quota that is kept back, 0 to 1; Shares are the least
	// parts of what is not.
	Reserve float64
	Shares  Shares
	// Claim is for what the request is sent that is asked about.
	Claim Claim
	// Adapt is how the rate gives way.
	Adapt Adapt
}

// slack is how far ahead of its turn a slot may be used.
func (l Limit) slack() time.Duration { return timeOf(float64(max(l.Burst, 1)-1), l.QPS) }

// Most is the largest number of requests that can arrive in one window. Any span has at
// most rate x span slots, rounded down, and the burst. What arrives within a window was
// given out within a span longer by two jitters: one for a permit that is used late, one
// for a request that is long on its way (R91).
func Most(qps float64, burst int, window, jitter time.Duration) float64 {
	return math.Floor(qps*reach(window, jitter)) + float64(max(burst, 1))
}

// Fits reports whether a rate and a burst keep to limit requests in every
// window. What goes at once must fit beside a whole window at the rate (R37);
// requests that are evenly spaced have a gap before each, so there the window
// may be full (R91).
func Fits(qps float64, burst int, limit float64, window, jitter time.Duration) bool {
	if burst > 1 && qps*window.Seconds()+float64(burst) > limit*(1+1e-9) {
		return false
	}
	return Most(qps, burst, window, jitter) <= limit
}

// Share is the rate that we take of limit requests in a window beside a burst:
// the greatest that [Fits], less a hundredth. It is 0 if the burst leaves nothing.
func Share(limit float64, burst int, window, jitter time.Duration) float64 {
	burst = max(burst, 1)
	if limit < 1 && limit > 0 { // less than one in a window is one in a longer window
		window = time.Duration(min(window.Seconds()/limit, maxWait.Seconds()) * float64(time.Second))
		limit = 1
	}
	limit = math.Floor(limit)
	if limit < float64(burst) {
		return 0
	}
	share := 0.99 * (limit + 1 - float64(burst)) / reach(window, jitter)
	if burst > 1 {
		share = min(share, (limit-float64(burst))/window.Seconds())
	}
	return share
}

// reach is the length in seconds of the span in which the requests were given out that
// arrive within one window.
func reach(window, jitter time.Duration) float64 {
	return (window + 2*cmp.Or(jitter, Jitter)).Seconds()
}
