package sim

import (
	"net/http"
	"time"
)

// Now is the clock's time. It stands still between calls of Advance.
func (s *Sim) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Advance moves the clock and lets happen what happens in that time. The budget
// of faults per request starts anew. It does not matter in how many steps an
// instant is reached. The clock never goes back.
func (s *Sim) Advance(d time.Duration) {
	if d <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d).Truncate(time.Microsecond)
	for _, p := range s.populations {
		p.advance(s.now.Unix())
	}
	s.injector.renew()
}

// date writes the clock as an HTTP date; s.mu is not held.
func (s *Sim) date() string { return s.Now().Format(http.TimeFormat) }
