package pace

import (
	"math"
	"testing"
	"time"
)

// t0 is the instant at which the tests of shares begin.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shared is a limit with a quota of 1,000 a day for a claim, with 10 % kept back and
// shares of 40, 20 and 20 %.
func shared(operation string, canWait bool) Limit {
	return Limit{
		Quotas: []Quota{{Limit: 1000, Window: 24 * time.Hour}}, Reserve: 0.1,
		Shares: Shares{Operations: map[string]float64{"HARVEST": 0.4, "BACKFILL": 0.2, "UPDATE": 0.2}},
		Claim:  Claim{Operation: operation, CanWait: canWait},
	}
}

// takeAll reserves slots of one unit until none is to be had now.
func takeAll(s State, l Limit, now time.Time) (_ State, n int, last Slot) {
	for {
		next, slot := Reserve(s, l, 1, now, 0)
		if slot.At.After(now) {
			return s, n, slot
		}
		s = next
		n++
	}
}

// TestR69_SharesAndReserveOfAQuota: whoever comes first, everybody gets its least, what
// can wait stops at what is kept back, and nothing goes out beyond the quota.
func TestR69_SharesAndReserveOfAQuota(t *testing.T) {
	canWait := map[string]bool{"BACKFILL": true, "UPDATE": true}
	for _, c := range []struct {
		order []string
		want  []int
	}{
		{[]string{"BACKFILL", "UPDATE", "HARVEST"}, []int{360, 180, 460}},
		{[]string{"HARVEST", "BACKFILL", "UPDATE"}, []int{640, 180, 180}},
		{[]string{"UPDATE", "HARVEST", "BACKFILL"}, []int{360, 460, 180}},
	} {
		s := State{}
		for i, op := range c.order {
			var n int
			var last Slot
			s, n, last = takeAll(s, shared(op, canWait[op]), t0)
			if n != c.want[i] {
				t.Errorf("%v: %d of %s, want %d", c.order, n, op, c.want[i])
			}
			kept := i < 2 // the last of them finds the quota used up
			if !last.Scarce || last.KeptBack != kept {
				t.Errorf("%v: the refusal of %s: %+v, want kept back %v", c.order, op, last, kept)
			}
		}
	}
}

// TestR69_ReserveJustBelowAndAbove: with the platform's 10 % and with a source's own 30 %,
// the last unit before what is kept back is for what can wait, the next one is not.
func TestR69_ReserveJustBelowAndAbove(t *testing.T) {
	for percent, want := range map[int]int{0: 50, 10: 45, 30: 35} {
		l := Limit{Quotas: []Quota{{Limit: 50, Window: time.Hour}}, Reserve: float64(percent) / 100, Claim: Claim{CanWait: true}}
		s, n, _ := takeAll(State{}, l, t0)
		if n != want {
			t.Errorf("%d %%: %d units for what can wait, want %d", percent, n, want)
		}
		l.Claim.CanWait = false
		_, more, _ := takeAll(s, l, t0)
		if n+more != 50 {
			t.Errorf("%d %%: %d units in all", percent, n+more)
		}
	}
}

// TestR69_InTheReserveOneAtATime: while what is kept back is used, one request at a time
// goes out.
func TestR69_InTheReserveOneAtATime(t *testing.T) {
	l := Limit{Quotas: []Quota{{Limit: 10, Window: time.Hour}}, Reserve: 0.2, Seats: 4}
	s := State{}
	for n := range 10 {
		free := 0
		for who := range 4 {
			var ok bool
			s, _, ok = TakeSeat(s, l, int64(who), t0)
			if ok {
				free++
			}
		}
		want := 4
		if n >= 8 {
			want = 1
		}
		if free != want {
			t.Errorf("after %d units: %d seats, want %d", n, free, want)
		}
		s.Seats = nil
		s.Waiters = nil
		s, _ = Reserve(s, l, 1, t0, 0)
	}
}

// TestR69_PhasesDivideTheQuotaToo: details do not crowd out searches.
func TestR69_PhasesDivideTheQuotaToo(t *testing.T) {
	l := Limit{
		Quotas: []Quota{{Limit: 100, Window: time.Hour}},
		Shares: Shares{Phases: map[string]float64{"SEARCH": 0.25, "DETAIL": 0.75}},
		Claim:  Claim{Operation: "HARVEST", Phase: "DETAIL"},
	}
	s, details, _ := takeAll(State{}, l, t0)
	l.Claim.Phase = "SEARCH"
	_, searches, _ := takeAll(s, l, t0)
	if details != 75 || searches != 25 {
		t.Errorf("%d details and %d searches", details, searches)
	}
}

// TestR69_SharesComeBackWithTheWindow, and what is given back is given back to its share.
func TestR69_SharesComeBackWithTheWindow(t *testing.T) {
	l := shared("BACKFILL", true)
	s, _, last := takeAll(State{}, l, t0)
	if d := last.At.Sub(t0); d < 24*time.Hour || d > 25*time.Hour {
		t.Errorf("room again in %v", d)
	}
	s, n, _ := takeAll(s, l, t0.Add(25*time.Hour))
	if n != 360 {
		t.Errorf("%d a day later", n)
	}
	now := t0.Add(25 * time.Hour)
	s2, slot := Reserve(s, shared("UPDATE", true), 1, now, 0)
	s2 = Refund(s2, slot)
	if _, n, _ := takeAll(s2, shared("UPDATE", true), now); n != 180 {
		t.Errorf("%d of UPDATE after one was given back", n)
	}
}

// TestR69_ToldBudgetBoundsUs: what the provider says is left counts, also if our own
// ledger has more, and slots in between are not counted twice.
func TestR69_ToldBudgetBoundsUs(t *testing.T) {
	l := Limit{Quotas: []Quota{{Limit: 100, Window: time.Hour}}}
	s, _ := Reserve(State{}, l, 1, t0, 0)
	s = Apply(s, l, t0, Outcome{Kind: Fine, Left: 5, ResetIn: time.Minute})
	for range 2 {
		s, _ = Reserve(s, l, 1, t0, 0)
	}
	s = Apply(s, l, t0, Outcome{Kind: Fine, Left: 4, ResetIn: time.Minute}) // the second of the two is not in it
	s, n, last := takeAll(s, l, t0)
	if n != 3 || last.At.Sub(t0) < time.Minute || last.At.Sub(t0) > time.Minute+2*resetSlack || !last.Scarce {
		t.Errorf("%d slots, then %+v", n, last)
	}
	later := t0.Add(2 * time.Minute)
	if _, n, _ := takeAll(s, l, later); n != 94 {
		t.Errorf("%d slots when the budget is filled again, want what our own quota leaves", n)
	}
	l.Reserve = 0.5
	l.Claim.CanWait = true
	s = Apply(State{}, l, t0, Outcome{Kind: Fine, Left: 10, ResetIn: time.Minute})
	if _, n, last := takeAll(s, l, t0); n != 5 || !last.KeptBack {
		t.Errorf("%d slots of a told budget of ten, half of which is kept back; then %+v", n, last)
	}
}

// TestEstimate_IsWhatGoesOut: what is advised for a horizon is what can be had in it.
func TestEstimate_IsWhatGoesOut(t *testing.T) {
	for name, c := range map[string]struct {
		l       Limit
		used    int
		horizon time.Duration
		want    int64
		least   int64
	}{
		"rate alone":         {Limit{QPS: 2}, 0, time.Minute, 120, 0},
		"nothing bounds it":  {Limit{}, 0, time.Hour, math.MaxInt64, 0},
		"a quota":            {Limit{Quotas: []Quota{{Limit: 100, Window: 24 * time.Hour}}}, 30, time.Hour, 70, 0},
		"kept back":          {Limit{Reserve: 0.1, Quotas: []Quota{{Limit: 100, Window: 24 * time.Hour}}}, 30, time.Hour, 60, 0},
		"the window again":   {Limit{Quotas: []Quota{{Limit: 100, Window: time.Hour}}}, 30, 2 * time.Hour, 170, 0},
		"what others hold":   {shared("BACKFILL", true), 0, time.Hour, 360, 180},
		"midnight in it":     {Limit{Quotas: []Quota{{Limit: 100, Window: 24 * time.Hour, Zone: "UTC"}}}, 30, 24 * time.Hour, 170, 0},
		"rate below a quota": {Limit{QPS: 0.01, Quotas: []Quota{{Limit: 100, Window: 24 * time.Hour}}}, 0, time.Hour, 36, 0},
	} {
		s := State{}
		for range c.used {
			s, _ = Reserve(s, Limit{Quotas: c.l.Quotas}, 1, t0, 0)
		}
		got := Estimate(s, c.l, 1, t0, c.horizon)
		if got.Requests != c.want || got.Least != c.least {
			t.Errorf("%s: %+v, want %d and %d", name, got, c.want, c.least)
		}
	}
}
