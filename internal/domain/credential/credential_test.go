package credential

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestR45_EveryPairIsRanked holds any two credentials that differ in one thing
// or several against the order endpoint, scope, preferred, newest, id.
func TestR45_EveryPairIsRanked(t *testing.T) {
	var all []Credential
	for bits := range 32 {
		c := Credential{ID: int64(bits + 1), Scope: source.ScopeSource, Status: Active, From: noon.Add(-2 * time.Hour), Weight: 1}
		if bits&16 == 0 {
			c.Endpoint = "works"
		}
		if bits&8 == 0 {
			c.Scope, c.Task = source.ScopeTask, harvest.Harvest
		}
		c.Preferred = bits&4 == 0
		if bits&2 == 0 {
			c.From = noon.Add(-time.Hour)
		}
		if bits&1 == 0 {
			c.ID += 100
		}
		all = append(all, c) // in the right order
	}
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	got := Candidates(backwards, Aim{"works", harvest.Harvest}, noon)
	for i := range all {
		if got[i].ID != all[i].ID {
			t.Fatalf("place %d: credential %d, want %d", i, got[i].ID, all[i].ID)
		}
	}
	if n := len(Candidates(all, Aim{"count", harvest.Harvest}, noon)); n != 16 {
		t.Errorf("another endpoint sees %d, want the global 16", n)
	}
	if n := len(Candidates(all, Aim{"works", harvest.Update}, noon)); n != 16 {
		t.Errorf("another operation sees %d, want the source's 16", n)
	}
}

func TestCandidates_OnlyUsableOnes(t *testing.T) {
	good := Credential{ID: 1, Scope: source.ScopeSource, Status: Active, From: noon.Add(-time.Hour), Weight: 1}
	for name, c := range map[string]struct {
		bend func(*Credential)
		want int
	}{
		"in force":                 {func(*Credential) {}, 1},
		"begins now":               {func(c *Credential) { c.From = noon }, 1},
		"begins later":             {func(c *Credential) { c.From = noon.Add(time.Microsecond) }, 0},
		"ends later":               {func(c *Credential) { c.To = noon.Add(time.Microsecond) }, 1},
		"ends now":                 {func(c *Credential) { c.To = noon }, 0},
		"disabled":                 {func(c *Credential) { c.Status = Disabled }, 0},
		"resting":                  {func(c *Credential) { c.Refused, c.RefusedUntil = 1, noon.Add(time.Second) }, 0},
		"rested":                   {func(c *Credential) { c.Refused, c.RefusedUntil = 1, noon }, 1},
		"for another operation":    {func(c *Credential) { c.Scope, c.Task = source.ScopeTask, harvest.Update }, 0},
		"bound to another address": {func(c *Credential) { c.Endpoint = "count" }, 0},
	} {
		one := good
		c.bend(&one)
		if got := Candidates([]Credential{one}, Aim{"works", harvest.Harvest}, noon); len(got) != c.want {
			t.Errorf("%s: %d candidates, want %d", name, len(got), c.want)
		}
	}
}

func TestTurn_SharesByWeightWithinAStanding(t *testing.T) {
	list := []Credential{{ID: 1, Preferred: true, Weight: 3}, {ID: 2, Preferred: true, Weight: 1}, {ID: 3, Weight: 5}}
	first := map[int64]int{}
	for n := range uint64(40) {
		got := Turn(list, n)
		first[got[0].ID]++
		if len(got) != 3 || got[2].ID != 3 {
			t.Fatalf("turn %d: %v", n, got)
		}
	}
	if fmt.Sprint(first) != "map[1:30 2:10]" {
		t.Errorf("shares: %v", first)
	}
	if Turn(nil, 7) != nil {
		t.Error("nobody has no turn")
	}
}

func TestRest_Grows(t *testing.T) {
	if Rest(1) != firstRest || Rest(2) != 2*firstRest || Rest(100) != maxRest {
		t.Errorf("rests: %s %s %s", Rest(1), Rest(2), Rest(100))
	}
}
