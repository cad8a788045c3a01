package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

// played is what a caller does that always has enough to ask: one request after
// the other, each answered a little later.
func played(l Limit, lasts time.Duration, fails func(at time.Duration) bool) (sent int) {
	var s State
	now := start
	for {
		var slot Slot
		s, slot = Reserve(s, l, 1, now, 0)
		at := slot.At.Sub(start)
		if at >= lasts {
			return sent
		}
		sent++
		o := Outcome{Kind: Fine}
		if fails(at) {
			o.Kind = Unwell
		}
		now = slot.At.Add(100 * time.Millisecond)
		s = Apply(s, l, now, o)
	}
}

// TestR87_NoiseCostsLittle: a steady share of server errors, over four hours and
// with several seeds, leaves nearly all of the rate.
func TestR87_NoiseCostsLittle(t *testing.T) {
	const lasts, seeds = 4 * time.Hour, 8
	l := Limit{QPS: 2.7, Burst: 1}
	for _, c := range []struct{ failed, want float64 }{{0.005, 0.98}, {0.01, 0.98}, {0.02, 0.95}, {0.05, 0.85}} {
		sent := 0
		for seed := range uint64(seeds) {
			dice := rand.New(rand.NewPCG(seed, 87))
			sent += played(l, lasts, func(time.Duration) bool { return dice.Float64() < c.failed })
		}
		share := float64(sent) / seeds / lasts.Seconds() / l.QPS
		t.Logf("%.1f %% failed: %.3f of the rate", 100*c.failed, share)
		if share < c.want {
			t.Errorf("%.1f %% failed: %.3f of the rate, want %v", 100*c.failed, share, c.want)
		}
	}
}

// TestR87_TenDeadMinutes: what cannot be reached is asked seldom, and has its
// rate back some minutes after it is well again.
func TestR87_TenDeadMinutes(t *testing.T) {
	l := Limit{QPS: 2.7, Burst: 1}
	dead, late := 0, 0
	played(l, 40*time.Minute, func(at time.Duration) bool {
		if at >= 35*time.Minute {
			late++
		}
		if at < 10*time.Minute || at >= 20*time.Minute {
			return false
		}
		dead++
		return true
	})
	t.Logf("%d requests in ten dead minutes, %d in five from a quarter of an hour after", dead, late)
	if dead >= 120 {
		t.Errorf("%d requests in ten dead minutes, want fewer than 120", dead)
	}
	if float64(late) < 0.95*5*60*l.QPS {
		t.Errorf("%d requests in five minutes, a quarter of an hour after: not the whole rate", late)
	}
}

// TestR87_SharesOfTheLastTwenty: where the rate is cut, where it holds, and where
// it rises.
func TestR87_SharesOfTheLastTwenty(t *testing.T) {
	l := Limit{QPS: 8, Burst: 1}
	fail := func(s State, n int, now time.Time) State {
		for range n {
			s = Apply(s, l, now, Outcome{Kind: Unwell})
		}
		return s
	}
	fine := func(s State, n int, now time.Time) State {
		for range n {
			s = Apply(s, l, now, Outcome{Kind: Fine})
		}
		return s
	}
	s := fail(State{}, 4, start)
	if s.Rate != 0 {
		t.Errorf("four of twenty failed: rate %v, want no cut", s.Rate)
	}
	s = fail(s, 1, start)
	if s.Rate != 4 {
		t.Errorf("five of twenty failed: rate %v, want 4", s.Rate)
	}
	s = fail(s, 4, start.Add(11*time.Second))
	if s.Rate != 4 {
		t.Errorf("four more: rate %v, want 4: the first five are paid for", s.Rate)
	}
	s = fail(s, 1, start.Add(12*time.Second))
	if s.Rate != 2 {
		t.Errorf("five more: rate %v, want 2", s.Rate)
	}
	now := start.Add(12 * time.Second)
	s = fine(s, 18, now)
	now = now.Add(10 * time.Minute)
	s = Relax(s, l, now)
	if s.Rate != 2 {
		t.Errorf("two of twenty failed, for ten minutes: rate %v, want 2", s.Rate)
	}
	s = fine(s, 1, now)
	now = now.Add(time.Minute)
	s = Relax(s, l, now)
	if s.Rate < 2.8-1e-9 || s.Rate > 2.8+1e-9 {
		t.Errorf("one of twenty failed, for a minute: rate %v, want 2.8", s.Rate)
	}
	s = fail(s, 20, now)
	if !s.Failing(l) {
		t.Error("twenty of twenty failed, and it is not failing")
	}
	s, first, ok := TakeSeat(s, l, 1, now)
	if _, _, again := TakeSeat(s, l, 2, now); !ok || first == 0 || again {
		t.Errorf("seat %d %v, another %v: one request at a time while everything fails", first, ok, again)
	}
	s = fine(s, 1, now)
	if s.Failing(l) {
		t.Error("a good reply, and it is still failing")
	}
}

// TestR69_TheRateGivesWayAsTheSourceSays: each threshold of how the rate gives way, with a
// value of the source's own and with the platform's, just below and just above it.
func TestR69_TheRateGivesWayAsTheSourceSays(t *testing.T) {
	failed := func(l Limit, n int, apart time.Duration) State {
		var s State
		for i := range n {
			s = Apply(s, l, start.Add(time.Duration(i)*apart), Outcome{Kind: Unwell})
		}
		return s
	}
	for _, c := range []struct {
		name  string
		own   Adapt
		n     int
		apart time.Duration
		want  float64 // the rate after that; 0: the whole one
	}{
		{"a half of four, one failed", Adapt{Outcomes: 4, CutAt: 0.5}, 1, 0, 0},
		{"a half of four, two failed", Adapt{Outcomes: 4, CutAt: 0.5}, 2, 0, 4},
		{"a tenth of twenty, one failed", Adapt{CutAt: 0.1}, 1, 0, 0},
		{"a tenth of twenty, two failed", Adapt{CutAt: 0.1}, 2, 0, 4},
		{"the platform's quarter of twenty, four failed", Adapt{}, 4, 0, 0},
		{"the platform's quarter of twenty, five failed", Adapt{}, 5, 0, 4},
		{"before the platform's cool-down", Adapt{Outcomes: 1, CutAt: 1}, 2, 10*time.Second - time.Millisecond, 4},
		{"after the platform's cool-down", Adapt{Outcomes: 1, CutAt: 1}, 2, 10 * time.Second, 2},
		{"no less than the platform's floor", Adapt{Outcomes: 1, CutAt: 1}, 9, 10 * time.Second, 0.1},
		{"a quarter is left", Adapt{Factor: 0.25}, 5, 0, 2},
		{"no less than the floor", Adapt{Factor: 0.25, Floor: 3}, 5, 0, 3},
		{"before it has cooled down", Adapt{Outcomes: 1, CutAt: 1, CoolDown: time.Minute}, 2, time.Minute - time.Millisecond, 4},
		{"after it has cooled down", Adapt{Outcomes: 1, CutAt: 1, CoolDown: time.Minute}, 2, time.Minute, 2},
	} {
		if got := failed(Limit{QPS: 8, Burst: 1, Adapt: c.own}, c.n, c.apart); got.Rate != c.want {
			t.Errorf("%s: %v a second, want %v", c.name, got.Rate, c.want)
		}
	}
	for _, c := range []struct {
		name string
		own  Adapt
		want float64 // the rate two minutes after it was cut
	}{
		{"an eighth a minute", Adapt{Outcomes: 1, CutAt: 1, HoldAt: 1, Step: 0.125}, 6},
		{"the platform's tenth a minute", Adapt{Outcomes: 1, CutAt: 1, HoldAt: 1}, 5.6},
		{"held from a tenth on", Adapt{Step: 0.125}, 4},
		{"held from a half on", Adapt{Step: 0.125, HoldAt: 0.5, CutAt: 0.25}, 6},
	} {
		l := Limit{QPS: 8, Burst: 1, Adapt: c.own}
		s := failed(l, 5, 0)
		if c.own.Outcomes == 1 {
			s = Apply(s, l, start, Outcome{Kind: Fine})
		}
		if got := Relax(s, l, start.Add(2*time.Minute)); got.Rate != c.want {
			t.Errorf("%s: %v a second, want %v", c.name, got.Rate, c.want)
		}
	}
}
