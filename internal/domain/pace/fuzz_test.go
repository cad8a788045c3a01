package pace

import (
	"testing"
	"time"
)

// FuzzRetryAfter: whatever a header says, it is no wait or one that is neither
// negative nor without end, and waits made of it keep to it (R39).
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{
		"", "0", "7", "-1", "1.5", "1e3", "1e400", "NaN", "Inf", "-Inf", "0x10", "1_0", "40000000", "99999999999", "999999999999999999999", "Sun, 01 Mar 2026 12:00:09 GMT", "Sunday, 01-Mar-26 12:00:09 GMT",
		"Sun Mar  1 12:00:09 2026", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", " 5 ", "5;", "5, 6", "٣", "1e-300", "Sun, 01 Mar 2026 12:00:09 CET",
	} {
		f.Add(s, uint32(1772366400))
		f.Add(s, uint32(0))
	}
	f.Fuzz(func(t *testing.T, h string, unix uint32) {
		now := time.Unix(int64(unix), 0)
		d, ok := ParseRetryAfter(h, now)
		if d < 0 || d > maxWait || !ok && d != 0 {
			t.Fatalf("%q at %v: %v, %v", h, now, d, ok)
		}
		if again, same := ParseRetryAfter(" "+h+"\t", now); again != d || same != ok {
			t.Fatalf("%q: %v, with blanks around %v", h, d, again)
		}
		for _, r := range []float64{0, .5, .999999} {
			if w := (Backoff{}).Wait(3, d, func() float64 { return r }); w < d || w > max(d, 36*time.Second)*116/100 {
				t.Fatalf("%q: %v to wait, not %v", h, w, d)
			}
		}
		// The gate rests for as long, and no longer.
		s := Apply(State{}, Limit{QPS: 3, Burst: 1}, now, Outcome{Kind: Throttled, RetryAfter: d})
		if s.CooldownUntil.Before(now.Add(d)) || s.CooldownUntil.After(now.Add(max(d, minCooldown))) {
			t.Fatalf("%q: silent until %v, from %v for %v", h, s.CooldownUntil, now, d)
		}
	})
}
