package pace

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// take reserves a slot for a request that costs 1.
func take(s State, l Limit, now time.Time) (State, time.Time) {
	s, slot := Reserve(s, l, 1, now, 0)
	return s, slot.At
}

// slots plays what a crowd of callers does: each reserves, waits for its slot
// and uses it unless the epoch has grown meanwhile.
type slots struct {
	state   State
	limit   Limit
	now     time.Time
	pending []time.Time
	used    []time.Time
}

func (p *slots) settle() {
	keep := p.pending[:0]
	for _, at := range p.pending {
		if at.After(p.now) {
			keep = append(keep, at)
			continue
		}
		p.used = append(p.used, at)
	}
	p.pending = keep
}

func (p *slots) reserve(t interface{ Fatalf(string, ...any) }) {
	s, at := take(p.state, p.limit, p.now)
	if at.Before(p.now) {
		t.Fatalf("slot at %v lies before now %v", at, p.now)
	}
	p.state = s
	p.pending = append(p.pending, at)
	p.settle()
}

func (p *slots) throttle(retryAfter time.Duration) {
	before := p.state.Epoch
	p.state = Throttle(p.state, p.limit, p.now, retryAfter)
	if p.state.Epoch > before {
		p.pending = nil
	}
}

func (p *slots) check(t interface{ Fatalf(string, ...any) }) {
	p.now = p.now.Add(1000 * time.Hour)
	p.settle()
	for i := range p.used {
		for j := i; j < len(p.used); j++ {
			w := p.used[j].Sub(p.used[i]).Seconds()
			if n := float64(j - i + 1); n > p.limit.QPS*w+float64(p.limit.Burst)+1e-6 {
				t.Fatalf("%v slots within %.6f s: more than %v/s with burst %d", n, w, p.limit.QPS, p.limit.Burst)
			}
		}
	}
}

func TestR37_AnyInterleavingStaysWithinRatePlusBurst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &slots{
			limit: Limit{QPS: rapid.Float64Range(0.05, 50).Draw(t, "qps"), Burst: rapid.IntRange(1, 10).Draw(t, "burst")},
			now:   start,
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "act") {
			case 0:
				p.now = p.now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Minute)).Draw(t, "long")))
			case 1, 2:
				p.now = p.now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "short")))
			case 3:
				p.throttle(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "after")))
			case 4:
				p.state = cutRate(p.state, p.limit, p.now)
			case 5:
				p.state = Lower(p.state, p.limit, rapid.Float64Range(0.5, 60).Draw(t, "allowed"), time.Second)
			case 6: // a restart: the state comes back from where it is kept
				b, err := json.Marshal(p.state)
				if err != nil {
					t.Fatal(err)
				}
				p.state = State{}
				if err := json.Unmarshal(b, &p.state); err != nil {
					t.Fatal(err)
				}
			default:
				p.settle()
				p.reserve(t)
			}
			p.settle()
		}
		p.check(t)
	})
}

func TestR41_BackToNinetyPercentWithinTwentyMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limit{QPS: rapid.Float64Range(0.2, 100).Draw(t, "qps"), Burst: 1}
		var s State
		now := start
		for range rapid.IntRange(1, 30).Draw(t, "complaints") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "gap")))
			s = Throttle(s, l, now, time.Duration(rapid.Int64Range(0, int64(5*time.Minute)).Draw(t, "after")))
			if r, _ := s.rate(l); r < min(0.1, l.QPS)-1e-9 || r > l.QPS {
				t.Fatalf("demoted to %v of %v", r, l.QPS)
			}
		}
		s = Relax(s, l, now.Add(20*time.Minute))
		if r, _ := s.rate(l); r < 0.9*l.QPS || r > l.QPS {
			t.Fatalf("20 minutes after the last 429: %v of %v", r, l.QPS)
		}
	})
}

func TestR41_OneCutPerCoolDown(t *testing.T) {
	coolDown := Adapt{}.withDefaults().CoolDown
	l := Limit{QPS: 8, Burst: 1}
	s := Throttle(State{}, l, start, 0)
	s = Throttle(s, l, start.Add(time.Second), 0)
	s = cutRate(s, l, start.Add(coolDown-time.Millisecond))
	if s.Rate != 4 {
		t.Errorf("three complaints within one cool-down: rate %v, want 4", s.Rate)
	}
	s = cutRate(s, l, start.Add(coolDown))
	if s.Rate != 2 {
		t.Errorf("complaint after the cool-down: rate %v, want 2", s.Rate)
	}
	for i := range 20 {
		s = cutRate(s, l, start.Add(time.Duration(i+2)*coolDown))
	}
	if s.Rate != 0.1 {
		t.Errorf("floor: rate %v, want %v", s.Rate, 0.1)
	}
}

// TestCuts_TheLastAreRemembered: each cut is remembered with the rates before and after it,
// no more than a few, and a state that was copied before does not change.
func TestCuts_TheLastAreRemembered(t *testing.T) {
	coolDown := Adapt{}.withDefaults().CoolDown
	l := Limit{QPS: 4096, Burst: 1}
	var s State
	var copied []State
	for i := range cutsKept + 3 {
		s = cutRate(s, l, start.Add(time.Duration(i)*coolDown))
		copied = append(copied, s)
	}
	s = cutRate(s, l, start.Add(time.Duration(cutsKept+2)*coolDown)) // too early: none
	if len(s.Cuts) != cutsKept {
		t.Fatalf("%d cuts are kept", len(s.Cuts))
	}
	for i, c := range s.Cuts {
		if at := start.Add(time.Duration(i+3) * coolDown); !c.At.Equal(at) || c.To != c.From/2 {
			t.Errorf("cut %d is %+v, wanted one at %v that halves", i, c, at)
		}
	}
	if last := s.Cuts[cutsKept-1]; last.To != s.Rate {
		t.Errorf("the last cut ends at %v, the rate is %v", last.To, s.Rate)
	}
	for i, old := range copied {
		if last := old.Cuts[len(old.Cuts)-1]; last.To != old.Rate || !last.At.Equal(start.Add(time.Duration(i)*coolDown)) {
			t.Errorf("the state after cut %d has changed: %+v", i, old.Cuts)
		}
	}
	// Of two that go on from the same state neither touches what the other remembers.
	later := start.Add(time.Duration(2*cutsKept) * coolDown)
	room := copied[2]
	room.Cuts = append(make([]Cut, 0, 2*cutsKept), room.Cuts...)
	one := cutRate(room, l, later)
	other := cutRate(room, l, later.Add(coolDown))
	if got := one.Cuts[len(one.Cuts)-1].At; !got.Equal(later) || len(one.Cuts) != len(other.Cuts) {
		t.Errorf("a cut at %v is remembered at %v", later, got)
	}
	floor := State{Rate: 0.1, RisenAt: start, CutAt: start.Add(-coolDown)}
	if kept := cutRate(floor, l, start).Cuts; len(kept) != 0 {
		t.Errorf("a rate at its least is said to be cut: %+v", kept)
	}
}

func TestR36_FreshKeyHasOneToken(t *testing.T) {
	l := Limit{QPS: 2, Burst: 5}
	s, first := take(State{}, l, start)
	_, second := take(s, l, start)
	if !first.Equal(start) || second.Sub(start) != 500*time.Millisecond {
		t.Errorf("first two slots of a fresh key: +%v and +%v, want +0 and +500ms", first.Sub(start), second.Sub(start))
	}
	// Saved up by idling, the whole burst is there.
	now, n := start.Add(time.Hour), 0
	for {
		var at time.Time
		s, at = take(s, l, now)
		if at.After(now) {
			break
		}
		n++
	}
	if n != 5 {
		t.Errorf("after an hour of silence %d slots at once, want the burst of 5", n)
	}
}

func TestR39_SilenceThenOneProbe(t *testing.T) {
	l := Limit{QPS: 10, Burst: 4}
	s, _ := take(State{}, l, start)
	s = Throttle(s, l, start, time.Minute)
	s, first := take(s, l, start.Add(time.Second))
	s, second := take(s, l, start.Add(time.Second))
	_, third := take(s, l, start.Add(time.Second))
	if first.Sub(start) != time.Minute {
		t.Errorf("probe after %v, want 1m", first.Sub(start))
	}
	if second.Sub(first) != probeGap || third.Sub(second) != 200*time.Millisecond {
		t.Errorf("after the probe +%v, then +%v; want %v and the demoted turn of 200ms", second.Sub(first), third.Sub(second), probeGap)
	}
}

func TestR36_RecoveredKeyHasOneToken(t *testing.T) {
	l := Limit{QPS: 2, Burst: 5}
	s := Throttle(State{}, l, start, time.Second)
	now := start.Add(time.Hour)
	s, first := take(s, l, now)
	_, second := take(s, l, now)
	if s.Rate != 0 || !first.Equal(now) || second.Sub(now) != probeGap {
		t.Errorf("rate %v, slots +%v and +%v", s.Rate, first.Sub(now), second.Sub(now))
	}
	s.Probe = false
	s, _ = take(Relax(cutRate(s, l, now), l, now.Add(time.Hour)), l, now.Add(time.Hour))
	if _, next := take(s, l, now.Add(time.Hour)); next.Sub(now) != time.Hour+500*time.Millisecond {
		t.Errorf("second slot after recovery +%v, want a turn later", next.Sub(now)-time.Hour)
	}
}

// A limit that is told by a reply counts from the request that was answered on.
func TestR91_ALowerRateCountsFromTheLastSlot(t *testing.T) {
	l := Limit{QPS: 2.7, Burst: 1, Jitter: 50 * time.Millisecond}
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	s, first := Reserve(State{}, l, 1, now, 0)
	s = Lower(s, l, 1, time.Second)
	s = Lower(s, l, 1, time.Second) // said again with every reply
	_, second := Reserve(s, l, 1, now.Add(100*time.Millisecond), 0)
	if gap := second.At.Sub(first.At); gap < 1100*time.Millisecond || gap > 1300*time.Millisecond {
		t.Errorf("the next request goes %s after the first, where one a second is allowed", gap)
	}
}

func TestR37_HeadersMayOnlyLower(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit Limit
		n     float64
		per   time.Duration
		want  float64
	}{
		{"NCBI 3/s leaves 2.7/s", Limit{QPS: 2.7, Burst: 1}, 3, time.Second, 2.7},
		{"the configured burst does not fit", Limit{QPS: 2, Burst: 2}, 3, time.Second, 2},
		{"half of what is configured", Limit{QPS: 9, Burst: 1}, 5, time.Second, 4.5},
		{"one a second", Limit{QPS: 2, Burst: 1}, 1, time.Second, 0.9},
		{"one in two seconds", Limit{QPS: 2, Burst: 1}, 0.5, time.Second, 0.99 / 2.1},
		{"per minute", Limit{QPS: 9, Burst: 1}, 60.1 / 0.99, time.Minute, 60 * 0.99 / 60.1},
		{"generous", Limit{QPS: 2, Burst: 1}, 50, time.Second, 2},
		{"nonsense", Limit{QPS: 2, Burst: 1}, math.NaN(), time.Second, 2},
		{"negative", Limit{QPS: 2, Burst: 1}, -1, time.Second, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Lower(State{}, c.limit, c.n, c.per)
			if r, _ := s.rate(c.limit); math.Abs(r-c.want) > 1e-9 {
				t.Errorf("rate %v, want %v", r, c.want)
			}
			s = Lower(s, c.limit, 1000, time.Second)
			if s.Header != 0 {
				t.Errorf("a generous header keeps the strict one: %v", s.Header)
			}
		})
	}
}

func TestApply(t *testing.T) {
	l := Limit{QPS: 4, Burst: 1}
	for _, c := range []struct {
		o     Outcome
		rate  float64
		epoch int64
		quiet time.Duration
	}{
		{Outcome{Kind: Fine}, 0, 0, 0},
		{Outcome{Kind: Fine, RetryAfter: time.Hour}, 0, 0, 0},
		{Outcome{Kind: Unwell}, 0, 0, 0},
		{Outcome{Kind: Unwell, RetryAfter: 7 * time.Second}, 2, 1, 7 * time.Second},
		{Outcome{Kind: Throttled}, 2, 1, time.Second},
		{Outcome{Kind: Throttled, RetryAfter: time.Minute}, 2, 1, time.Minute},
	} {
		s := Apply(State{}, l, start, c.o)
		var quiet time.Duration
		if !s.CooldownUntil.IsZero() {
			quiet = s.CooldownUntil.Sub(start)
		}
		if s.Rate != c.rate || s.Epoch != c.epoch || quiet != c.quiet {
			t.Errorf("%+v: rate %v epoch %d quiet %v, want %v %d %v", c.o, s.Rate, s.Epoch, quiet, c.rate, c.epoch, c.quiet)
		}
	}
}

func TestR39_RetryAfterIsNeverShortened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			Base: time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "base")),
			Max:  time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "max")),
		}
		after := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(maxWait)).Draw(t, "after"))
		rnd := rapid.Float64Range(0, math.Nextafter(1, 0))
		w := b.Wait(rapid.IntRange(-1, 1000).Draw(t, "attempt"), after, func() float64 { return rnd.Draw(t, "rnd") })
		if w < after || w < 0 {
			t.Fatalf("wait %v is less than Retry-After %v", w, after)
		}
		if top := max(after, time.Duration(1.2*float64(max(b.Max, 30*time.Second, b.Base)))); w > top+top*3/20+1 {
			t.Fatalf("wait %v is more than 15 %% over %v", w, top)
		}
	})
}

func TestBackoff_Doubles(t *testing.T) {
	var b Backoff
	half := func() float64 { return 0.5 } // no jitter but the 15 % at its middle
	for i, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		want *= time.Millisecond
		want += want * 75 / 1000
		if got := b.Wait(i+1, 0, half); (got - want).Abs() > time.Microsecond {
			t.Errorf("attempt %d: %v, want %v", i+1, got, want)
		}
	}
}

// TestR69_WaitsGrowAsTheSourceSays: factor, spread and the longest wait, with the platform's
// value and with a source's own.
func TestR69_WaitsGrowAsTheSourceSays(t *testing.T) {
	middle := func() float64 { return 0.5 }
	for name, c := range map[string]struct {
		b    Backoff
		n    int
		rnd  func() float64
		want time.Duration
	}{
		"the platform's factor": {Backoff{Base: time.Second}, 3, middle, 4 * time.Second},
		"its own factor":        {Backoff{Base: time.Second, Factor: 3}, 3, middle, 9 * time.Second},
		"below its longest":     {Backoff{Base: time.Second, Max: 9 * time.Second, Factor: 3}, 3, middle, 9 * time.Second},
		"at its longest":        {Backoff{Base: time.Second, Max: 9 * time.Second, Factor: 3}, 4, middle, 9 * time.Second},
		"the platform's spread": {Backoff{Base: time.Second}, 1, func() float64 { return 0 }, 800 * time.Millisecond},
		"its own spread":        {Backoff{Base: time.Second, Jitter: 0.5}, 1, func() float64 { return 0 }, 500 * time.Millisecond},
	} {
		want := time.Duration(float64(c.want) * (1 + 0.15*c.rnd()))
		if got := c.b.Wait(c.n, 0, c.rnd); (got - want).Abs() > time.Microsecond {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestParseRetryAfter(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"60", time.Minute, true},
		{" 0 ", 0, true},
		{"1.5", 1500 * time.Millisecond, true},
		{"Sun, 01 Mar 2026 12:01:00 GMT", time.Minute, true},
		{"Sunday, 01-Mar-26 12:01:00 GMT", time.Minute, true},
		{"Sun, 01 Mar 2026 11:00:00 GMT", 0, true},
		{"Sun, 01 Mar 9999 11:00:00 GMT", maxWait, true},
		{"99999999999999999999", maxWait, true},
		{"1e300", maxWait, true},
		{"+Inf", maxWait, true},
		{"-1", 0, false},
		{"NaN", 0, false},
		{"", 0, false},
		{"soon", 0, false},
	} {
		if got, ok := ParseRetryAfter(c.in, start); got != c.want || ok != c.ok {
			t.Errorf("%q: %v %v, want %v %v", c.in, got, ok, c.want, c.ok)
		}
	}
}
