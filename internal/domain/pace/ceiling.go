package pace

import "time"

// Ceiling is a rate that a person has set below the configured one, for a time. It
// touches no cooldown: what an upstream asked for stays.
type Ceiling struct {
	PerSecond float64   `json:"r"`
	Until     time.Time `json:"u"`
}

// Holds reports whether the ceiling is in force at now.
func (c Ceiling) Holds(now time.Time) bool { return c.PerSecond > 0 && now.Before(c.Until) }

// SetCeiling puts a ceiling in place of the one there is; its zero value ends that. One
// above the configured rate changes nothing but the record of it.
func SetCeiling(s State, l Limit, c Ceiling, now time.Time) State {
	s = s.dropCeiling(l, now)
	before, _ := s.rate(l)
	was := s.Ceiling
	s.Ceiling = c
	after, _ := s.rate(l)
	switch {
	case after < before && !s.NextAt.IsZero():
		// The next slot was put at the distance of the rate before.
		s.NextAt = s.NextAt.Add(timeOf(1, after) - timeOf(1, before))
	case was.PerSecond > 0 && c.PerSecond == 0:
		s.NextAt = later(s.NextAt, now).Add(l.slack())
	}
	return s
}

// dropCeiling forgets a ceiling whose time is over. The rate is whole again, but with
// one token: the burst must be saved up anew.
func (s State) dropCeiling(l Limit, now time.Time) State {
	if s.Ceiling.PerSecond == 0 || s.Ceiling.Holds(now) {
		return s
	}
	s.Ceiling = Ceiling{}
	s.NextAt = later(s.NextAt, now).Add(l.slack())
	return s
}
