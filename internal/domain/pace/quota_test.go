package pace

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hit is a request as the upstream saw it.
type hit struct {
	at   time.Time
	cost int64
}

type failer interface{ Fatalf(string, ...any) }

// mustKeep fails if the hits break a quota, counted as the provider does.
func mustKeep(t failer, q Quota, hits []hit) {
	hits = slices.SortedFunc(slices.Values(hits), func(a, b hit) int { return a.at.Compare(b.at) })
	if q.Zone != "" {
		loc, err := time.LoadLocation(q.Zone)
		if err != nil {
			t.Fatalf("%v", err)
		}
		days := map[string]int64{}
		for _, h := range hits {
			day := h.at.In(loc).Format(time.DateOnly)
			days[day] += h.cost
			if days[day] > q.Limit {
				t.Fatalf("%d units on %s in %s, more than %d", days[day], day, q.Zone, q.Limit)
			}
		}
		return
	}
	var sum int64
	first := 0
	for _, h := range hits {
		for h.at.Sub(hits[first].at) >= q.Window {
			sum -= hits[first].cost
			first++
		}
		sum += h.cost
		if sum > q.Limit {
			t.Fatalf("%d units within %v up to %v, more than %d", sum, q.Window, h.at, q.Limit)
		}
	}
}

// TestR38_AnyInterleavingStaysWithinEveryQuota: reservations of several costs,
// slots given back, 429s that void what was handed out, budgets told empty,
// restarts, arrivals that are late, and a clock that is set back.
func TestR38_AnyInterleavingStaysWithinEveryQuota(t *testing.T) {
	windows := []time.Duration{time.Second, 7 * time.Second, time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
	zones := []string{"", "", "UTC", "America/New_York", "Pacific/Kiritimati"}
	rapid.Check(t, func(t *rapid.T) {
		l := Limit{QPS: rapid.SampledFrom([]float64{0, 0.5, 50}).Draw(t, "qps"), Burst: rapid.IntRange(1, 5).Draw(t, "burst")}
		lag := arrival
		for range rapid.IntRange(1, 3).Draw(t, "quotas") {
			q := Quota{Limit: rapid.Int64Range(5, 40).Draw(t, "limit"), Window: rapid.SampledFrom(windows).Draw(t, "window"), Zone: rapid.SampledFrom(zones).Draw(t, "zone")}
			if q.Zone != "" {
				q.Window = 24 * time.Hour
			}
			l.Quotas = append(l.Quotas, q)
			lag = min(lag, q.Window/parts)
		}
		var s State
		now, back := start, time.Duration(0) // true time, and how far the clock is behind it
		type pending struct {
			slot Slot
			at   time.Time // true
			cost int64
		}
		var waiting []pending
		var hits []hit
		settle := func() {
			waiting = slices.DeleteFunc(waiting, func(p pending) bool {
				if p.at.After(now) {
					return false
				}
				late := time.Duration(rapid.Int64Range(0, int64(lag)).Draw(t, "late"))
				hits = append(hits, hit{p.at.Add(late), p.cost})
				return true
			})
		}
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			clock := now.Add(-back)
			switch rapid.IntRange(0, 15).Draw(t, "act") {
			case 0:
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(30*time.Hour)).Draw(t, "long")))
			case 1, 2:
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(5*time.Minute)).Draw(t, "short")))
			case 3, 4:
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "tiny")))
			case 5: // those that waited are told, and give back; one has died
				s = Throttle(s, l, clock, time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "after")))
				for i, p := range waiting {
					if i != 1 {
						s = Refund(s, p.slot)
					}
				}
				waiting = nil
			case 6:
				if epoch := s.Epoch; epoch != Drain(s, clock, time.Minute).Epoch {
					s = Drain(s, clock, time.Minute)
					waiting = nil
				}
			case 7: // one leaves without having been connected
				if len(waiting) > 0 {
					s = Refund(s, waiting[0].slot)
					waiting = waiting[1:]
				}
			case 8:
				if !slices.ContainsFunc(l.Quotas, func(q Quota) bool { return q.Zone != "" }) {
					back += time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "back"))
				}
			case 9:
				b, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				s = State{}
				if err := json.Unmarshal(b, &s); err != nil {
					t.Fatal(err)
				}
			default:
				cost := rapid.IntRange(1, 5).Draw(t, "cost")
				was, _ := json.Marshal(s)
				next, slot := Reserve(s, l, cost, clock, 0)
				if same, _ := json.Marshal(s); string(was) != string(same) {
					t.Fatalf("the old state was changed: %s, %s", was, same)
				}
				if slot.At.Before(clock) {
					t.Fatalf("slot at %v lies before now %v", slot.At, clock)
				}
				s = next
				waiting = append(waiting, pending{slot, now.Add(slot.At.Sub(clock)), int64(cost)})
			}
			settle()
		}
		now = now.Add(100000 * time.Hour)
		settle()
		for _, q := range l.Quotas {
			mustKeep(t, q, hits)
		}
	})
}

// TestR38_NearlyAllIsUsed: one who always asks again gets what is allowed, but
// for the part of a window that counting by parts costs.
func TestR38_NearlyAllIsUsed(t *testing.T) {
	quotas := map[string][]Quota{
		"minute": {{10, time.Minute, ""}},
		"plos":   {{10, time.Minute, ""}, {300, time.Hour, ""}, {7200, 24 * time.Hour, ""}},
		"day":    {{10, time.Minute, ""}, {1000, 24 * time.Hour, ""}},
		"zone":   {{1000, 24 * time.Hour, "America/New_York"}},
		"week":   {{5000, 7 * 24 * time.Hour, ""}},
	}
	for name, qs := range quotas {
		t.Run(name, func(t *testing.T) {
			l := Limit{Quotas: qs}
			var s State
			var hits []hit
			now := start
			size := 0
			span := 3 * qs[len(qs)-1].Window
			for now.Before(start.Add(span)) {
				next, slot := Reserve(s, l, 1, now, 0)
				if slot.At.After(now) {
					if !slot.Scarce {
						t.Fatal("waits for the rate of an unlimited key")
					}
					now = slot.At
					continue
				}
				s, hits = next, append(hits, hit{now, 1})
				if len(hits)%500 == 0 {
					b, _ := json.Marshal(s)
					size = max(size, len(b))
				}
			}
			allowed := 1e18
			for _, q := range qs {
				mustKeep(t, q, hits)
				allowed = min(allowed, float64(q.Limit)*float64(span)/float64(q.Window))
			}
			if n := float64(len(hits)); n < 0.95*allowed {
				t.Errorf("%v of %v used", n, allowed)
			}
			if size > 2000*len(qs) {
				t.Errorf("state of %d bytes", size)
			}
		})
	}
}

func TestR38_StateIsBounded(t *testing.T) {
	// Permits reserved far ahead, in short windows.
	l := Limit{QPS: 0.7, Burst: 1, Quotas: []Quota{{1 << 40, time.Second, ""}, {1 << 40, time.Minute, ""}}}
	var s State
	for range 2000 {
		s, _ = Reserve(s, l, 1, start, 0)
	}
	if b, err := json.Marshal(s); err != nil || len(b) > 15_000 {
		t.Errorf("state of %d bytes, %v", len(b), err)
	}
	var sum int64
	for _, c := range s.Ledgers[1].Used {
		sum += c[1]
	}
	if sum != 2000 {
		t.Errorf("%d of 2000 counted", sum)
	}
	// Packs that come and go, each with a window of its own.
	for i := range 500 {
		s, _ = Reserve(s, Limit{QPS: 50, Quotas: []Quota{{1 << 40, time.Duration(i+1) * time.Hour, ""}}}, 1, start, 0)
	}
	if b, err := json.Marshal(s); err != nil || len(b) > 15_000 || len(s.Ledgers) > maxLedgers {
		t.Errorf("%d ledgers in %d bytes, %v", len(s.Ledgers), len(b), err)
	}
	s, _ = Reserve(s, Limit{}, 1, start.AddDate(5, 0, 0), 0)
	if len(s.Ledgers) != 0 {
		t.Errorf("%d ledgers five years later", len(s.Ledgers))
	}
}

func TestR38_CostCountsAgainstQuotaAndRate(t *testing.T) {
	l := Limit{QPS: 1, Burst: 3, Quotas: []Quota{{10, time.Hour, ""}}}
	s, now := State{}, start
	var at []time.Duration
	for range 4 {
		var slot Slot
		s, slot = Reserve(s, l, 3, now, 0)
		at = append(at, slot.At.Sub(start))
	}
	// Two tokens are missing at first, then each takes three; ten units are
	// gone with the third.
	if at[0] != 2*time.Second || at[1] != 5*time.Second || at[2] != 8*time.Second || at[3] < time.Hour {
		t.Errorf("slots after %v", at)
	}
	// A request that costs more than there ever is takes all there is.
	s, slot := Reserve(State{}, l, 50, start, 0)
	if slot.At.Sub(start) > time.Minute {
		t.Errorf("a request of 50 of 10 after %v", slot.At.Sub(start))
	}
	_, slot = Reserve(s, l, 1, start, 0)
	if slot.At.Sub(start) < time.Hour || !slot.Scarce {
		t.Errorf("the next after %v, scarce %v", slot.At.Sub(start), slot.Scarce)
	}
}

func TestR38_RefundOnceAndOnlyWhatCounts(t *testing.T) {
	l := Limit{Quotas: []Quota{{2, time.Hour, ""}}}
	s, a := Reserve(State{}, l, 1, start, 0)
	s, b := Reserve(s, l, 1, start, 0)
	if _, c := Reserve(s, l, 1, start, 0); !c.Scarce {
		t.Error("a third of two")
	}
	s = Refund(s, a)
	if _, c := Reserve(s, l, 1, start, 0); c.Scarce {
		t.Error("what was given back is not there")
	}
	later := start.Add(3 * time.Hour)
	s, _ = Reserve(s, l, 2, later, 0)
	s = Refund(s, b) // forgotten long ago: gives nothing
	if _, c := Reserve(s, l, 1, later, 0); !c.Scarce {
		t.Error("a slot that no longer counted was given back")
	}
}

func TestR38_AWindowOfAnotherLimitOfTheKeyIsCountedToo(t *testing.T) {
	keyed, open := Limit{Quotas: []Quota{{3, 24 * time.Hour, ""}}}, Limit{Quotas: []Quota{{2, time.Hour, ""}}}
	s, _ := Reserve(State{}, keyed, 1, start, 0)
	s, _ = Reserve(s, open, 1, start, 0)
	s, _ = Reserve(s, Limit{}, 1, start, 0)
	if _, slot := Reserve(s, keyed, 1, start.Add(time.Minute), 0); !slot.Scarce {
		t.Error("a fourth request of three in a day")
	}
	if _, slot := Reserve(s, open, 1, start.Add(time.Minute), 0); !slot.Scarce {
		t.Error("a third request of two in an hour")
	}
}

func TestR38_DayBeginsAtMidnightOfTheZone(t *testing.T) {
	for _, c := range []struct{ zone, from, next string }{
		{"UTC", "2026-03-01T12:00:00Z", "2026-03-02T00:01:00Z"},
		{"America/New_York", "2026-03-01T12:00:00Z", "2026-03-02T05:01:00Z"},
		{"America/New_York", "2026-03-08T12:00:00Z", "2026-03-09T04:01:00Z"},  // clocks went forward
		{"America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:01:00Z"}, // a day without midnight
		{"UTC", "2026-03-01T23:58:00Z", "2026-03-02T00:01:00Z"},
		{"UTC", "2026-03-01T23:59:30Z", "2026-03-03T00:01:00Z"}, // perhaps that was tomorrow
		{"UTC", "2026-03-02T00:00:30Z", "2026-03-03T00:01:00Z"},
	} {
		from, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		l := Limit{Quotas: []Quota{{1, 24 * time.Hour, c.zone}}}
		s, _ := Reserve(State{}, l, 1, from, 0)
		_, slot := Reserve(s, l, 1, from, 0)
		if got := slot.At.UTC().Format(time.RFC3339); got != c.next {
			t.Errorf("after %s in %s: %s, want %s", c.from, c.zone, got, c.next)
		}
	}
}

func TestR60_BudgetHeaders(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		left, reset, unit string
		want              time.Duration
		n                 float64
		ok                bool
	}{
		{"0", "60", ResetSeconds, time.Minute, 0, true},
		{" 0 ", " 1.5 ", ResetSeconds, 1500 * time.Millisecond, 0, true},
		{"100;w=60", "30;w=60", ResetSeconds, 30 * time.Second, 100, true},
		{"0, 0;window=60", "30, 60", ResetSeconds, 30 * time.Second, 0, true},
		{"-3", "10", ResetSeconds, 10 * time.Second, -3, true},
		{"0.75", "10", ResetSeconds, 10 * time.Second, 0.75, true},
		{"0", "1772366460", ResetEpoch, time.Minute, 0, true},
		{"0", "1772366460000", ResetEpochMS, time.Minute, 0, true},
		{"0", "Sun, 01 Mar 2026 12:01:00 GMT", ResetHTTPDate, time.Minute, 0, true},
		{"0", "2678400", ResetSeconds, 31 * day, 0, true},
		// Taken for what they are not, or nonsense.
		{"0", "1772366460", ResetSeconds, 0, 0, false},
		{"0", "1772366460000", ResetEpoch, 0, 0, false},
		{"0", "60", ResetEpoch, 0, 0, false},
		{"0", "60", ResetEpochMS, 0, 0, false},
		{"0", "-1", ResetSeconds, 0, 0, false},
		{"0", "60", ResetHTTPDate, 0, 0, false},
		{"0", "Sun, 01 Mar 2026 12:01:00 GMT", ResetSeconds, 0, 0, false},
		{"0", "60", "MINUTES", 0, 0, false},
		{"", "60", ResetSeconds, 0, 0, false},
		{"0", "", ResetSeconds, 0, 0, false},
		{"NaN", "60", ResetSeconds, 0, 0, false},
		{"0", "Inf", ResetSeconds, 0, 0, false},
		{"none", "60", ResetSeconds, 0, 0, false},
	} {
		n, in, ok := ParseBudget(c.left, c.reset, c.unit, start)
		if ok != c.ok || ok && (n != c.n || in != c.want) {
			t.Errorf("%q, %q as %s: %v in %v, %v; want %v in %v, %v", c.left, c.reset, c.unit, n, in, ok, c.n, c.want, c.ok)
		}
	}
}

func FuzzParseBudget(f *testing.F) {
	f.Add("0", "60", ResetSeconds)
	f.Add("100;w=60", "1772366460", ResetEpoch)
	f.Add("-1e9", "1772366460000", ResetEpochMS)
	f.Add("0", "Sun, 01 Mar 2026 12:01:00 GMT", ResetHTTPDate)
	f.Fuzz(func(t *testing.T, left, reset, unit string) {
		n, in, ok := ParseBudget(left, reset, unit, start)
		if ok && (in < 0 || in > maxReset || math.IsNaN(n) || math.IsInf(n, 0)) {
			t.Errorf("%q, %q as %q: %v in %v", left, reset, unit, n, in)
		}
		if s := Apply(State{}, Limit{QPS: 1}, start, Outcome{Kind: Fine, Empty: in}); s.EmptyUntil.After(start.Add(maxReset + resetSlack)) {
			t.Errorf("silent until %v", s.EmptyUntil)
		}
	})
}

func TestR60_EmptyBudgetIsSilenceAndNoComplaint(t *testing.T) {
	l := Limit{QPS: 4, Burst: 2}
	s, _ := Reserve(State{}, l, 1, start, 0)
	s = Apply(s, l, start, Outcome{Kind: Fine, Empty: time.Hour})
	if s.Epoch != 1 || s.Rate != 0 {
		t.Errorf("epoch %d, rate %v: slots handed out must be void, the rate unchanged", s.Epoch, s.Rate)
	}
	again := Apply(s, l, start.Add(time.Second), Outcome{Kind: Fine, Empty: time.Hour - time.Second})
	if again.Epoch != s.Epoch || !again.EmptyUntil.Equal(s.EmptyUntil) {
		t.Errorf("told twice: %+v, %+v", s, again)
	}
	_, slot := Reserve(again, l, 1, start.Add(time.Minute), 0)
	if d := slot.At.Sub(start); d != time.Hour+resetSlack || !slot.Scarce {
		t.Errorf("next slot after %v, scarce %v", d, slot.Scarce)
	}
}
