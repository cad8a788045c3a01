package pace

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Units of a header that tells when a budget is filled again (R60).
const (
	ResetSeconds  = "SECONDS"
	ResetEpoch    = "EPOCH_S"
	ResetEpochMS  = "EPOCH_MS"
	ResetHTTPDate = "HTTP_DATE"
)

const (
	// maxReset is the longest a budget is believed to stay empty.
	maxReset = 31 * 24 * time.Hour
	// resetSlack is waited beyond a reset, which is told in whole seconds.
	resetSlack = time.Second
)

// ParseBudget reads two headers: what is left, and in how long it is filled
// again, seen from at (best: the reply's own Date). It says false if either is
// missing or makes no sense: a reset that is past, or more than a month away.
func ParseBudget(remaining, reset, unit string, at time.Time) (left float64, in time.Duration, ok bool) {
	left, ok = leadingNumber(remaining)
	if !ok {
		return 0, 0, false
	}
	seconds := 0.0
	switch n, isNumber := leadingNumber(reset); {
	case unit == ResetHTTPDate:
		then, isDate := parseDate(strings.TrimSpace(reset))
		if !isDate {
			return 0, 0, false
		}
		seconds = then.Sub(at).Seconds()
	case !isNumber:
		return 0, 0, false
	case unit == ResetSeconds:
		seconds = n
	case unit == ResetEpoch:
		seconds = n - float64(at.UnixMilli())/1e3
	case unit == ResetEpochMS:
		seconds = (n - float64(at.UnixMilli())) / 1e3
	default:
		return 0, 0, false
	}
	if seconds < 0 || seconds > maxReset.Seconds() {
		return 0, 0, false
	}
	return left, time.Duration(math.Ceil(seconds*1e3)) * time.Millisecond, true
}

// leadingNumber is the number a text begins with, before any parameters: "100;w=60".
func leadingNumber(s string) (float64, bool) {
	if i := strings.IndexAny(s, ";,"); i >= 0 {
		s = s[:i]
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

func parseDate(s string) (time.Time, bool) {
	for _, layout := range httpDates {
		if at, err := time.Parse(layout, s); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// Drain is the answer to a reply that says the budget is used up: silence until
// it is filled again. Slots handed out but not used yet are void. The rate stays:
// nobody complained.
func Drain(s State, now time.Time, in time.Duration) State {
	if in <= 0 {
		return s
	}
	until := now.Add(min(in, maxReset) + resetSlack)
	if until.Sub(s.EmptyUntil) <= 2*resetSlack {
		return s // it is known already: all replies to requests in flight say so
	}
	s.EmptyUntil = until
	s.Epoch++
	return s
}
