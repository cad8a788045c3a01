package harvest

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestR19_WaitingCountsUpToTheBestPlace(t *testing.T) {
	for _, c := range []struct {
		priority int
		waited   time.Duration
		want     int
	}{
		{100, 0, 100},
		{100, 5 * time.Hour, 100},
		{200, 29 * time.Minute, 200},
		{200, 30 * time.Minute, 100},
		{300, 59 * time.Minute, 200},
		{300, time.Hour, 100},
		{300, 100 * time.Hour, 100},
		{900, 4 * time.Hour, 100},
		{900, 90 * time.Minute, 600},
		{50, 0, 50},
		{50, 2 * time.Hour, 50},
		{300, -time.Hour, 300},
	} {
		if got := EffectivePriority(c.priority, c.waited); got != c.want {
			t.Errorf("%d after %s is %d, want %d", c.priority, c.waited, got, c.want)
		}
	}
}

// TestR19_TurnsAreFair: whatever partitions come and go, none is taken more than
// a quantum in a row while another of its priority has work, and of those that
// always had work none is ahead by more than a quantum.
func TestR19_TurnsAreFair(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		parts := make([]Partition, 2+rnd.IntN(6))
		for i := range parts {
			parts[i] = Partition{string(rune('a' + i)), "search", Harvest}
		}
		turns := new(Turns).Clone()
		had := map[Partition]int{}
		var last Partition
		row := 0
		for range 300 {
			// The last partition has work now and then, the others always.
			var heads []Head
			for i, p := range parts {
				if i < len(parts)-1 || rnd.IntN(2) == 0 {
					heads = append(heads, Head{Partition: p, Priority: 100, ScheduledAt: now.Add(-time.Duration(rnd.IntN(1200)) * time.Second), Task: TaskID(rnd.IntN(1000))})
				}
			}
			turns.ReplaceHeads(heads, now, 0)
			h, ok := turns.Next(now, func(Partition) bool { return true })
			if !ok {
				t.Fatal("nobody's turn")
			}
			turns.CountTaken(h, now)
			row++
			if h.Partition != last {
				row, last = 1, h.Partition
			}
			if len(heads) == 1 {
				row = 0 // nobody else had work
			}
			if row > Quantum {
				t.Fatalf("seed %d: %s was taken %d times in a row", seed, last, row)
			}
			had[h.Partition]++
			for _, p := range parts[:len(parts)-1] {
				for _, o := range parts[:len(parts)-1] {
					if had[p]-had[o] > Quantum {
						t.Fatalf("seed %d: they had %v", seed, had)
					}
				}
			}
			now = now.Add(time.Second)
		}
	}
}

// TestR19_AWeightIsMoreOfTheSame: where all have work a source of weight 3 has three tasks for
// one of each other, and nobody waits for more than its turn.
func TestR19_AWeightIsMoreOfTheSame(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	heavy := Partition{"heavy", "search", Harvest}
	others := []Partition{{"a", "search", Harvest}, {"b", "search", Harvest}}
	turns := &Turns{Weights: map[string]int{"heavy": 3}}
	had := map[Partition]int{}
	for round := range 300 {
		turns = turns.Clone()
		var heads []Head
		for i, p := range append(others, heavy) {
			heads = append(heads, Head{Partition: p, Priority: 100, ScheduledAt: now, Task: TaskID(3*round + i)})
		}
		turns.ReplaceHeads(heads, now, 0)
		h, ok := turns.Next(now, func(Partition) bool { return true })
		if !ok {
			t.Fatal("nothing is next")
		}
		turns.CountTaken(h, now)
		had[h.Partition]++
	}
	if had[heavy] != 180 || had[others[0]] != 60 || had[others[1]] != 60 {
		t.Errorf("of 300 tasks each had %v, want 180 of the source of weight 3 and 60 of each other", had)
	}
}

// TestR19_HeadsAreReadNowAndThen: a long queue is read less often, never for
// each task.
func TestR19_HeadsAreReadNowAndThen(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for took, until := range map[time.Duration]time.Duration{0: time.Second, 200 * time.Millisecond: 10 * time.Second} {
		turns := new(Turns)
		if !turns.Stale(now) {
			t.Error("nothing was read yet")
		}
		turns.ReplaceHeads(nil, now, took)
		if turns.Stale(now.Add(until-1)) || !turns.Stale(now.Add(until)) {
			t.Errorf("took %s: not good for %s", took, until)
		}
	}
}
