package executor_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

var errKilled = errors.New("killed")

// killer makes a node's store dead from a chosen point on, as a kill does: what
// was committed stays, an open transaction rolls back, nothing is written after.
type killer struct {
	mu    sync.Mutex
	at    int    // the point at which to die, counted from the first lease; 0: never
	on    string // dies at the first point that has this in it, if set
	dead  bool
	point string // where it died

	seen  int
	begun bool
}

func (k *killer) hook(point string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun = k.begun || strings.Contains(point, "SET status_code='DISPATCHED'")
	if k.begun && !k.dead {
		k.seen++
		if k.seen == k.at {
			k.dead, k.point = true, point
		}
	}
	if k.on != "" && strings.Contains(point, k.on) {
		k.dead = true
	}
	if k.dead {
		return errKilled
	}
	return nil
}

func (k *killer) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
}

// mustNotEndWell fails the test if a node that was killed ended well with its plan
// undone. What it does after its plan is done may be cut off unseen.
func (k *killer) mustNotEndWell(t *testing.T, b *bench, err error) {
	t.Helper()
	if err == nil && b.ask(`SELECT COUNT(*) FROM ing_plan WHERE status_code<>'COMPLETED'`) != 0 {
		t.Fatalf("killed at %d, %q: the dead node ended well", k.at, k.point)
	}
}

// killAtEach runs f with a killer at the first call of the store, at the one a stride
// further, and so on, until there is none to kill at: with PATRA_SOAK at every call.
func killAtEach(t *testing.T, stride int, f func(t *testing.T, die *killer)) {
	t.Helper()
	if os.Getenv("PATRA_SOAK") != "" {
		stride = 1
	}
	for k := 1; ; k += stride {
		die := &killer{at: k}
		bubble(t, func(t *testing.T) { f(t, die) })
		if !die.dead || t.Failed() {
			return
		}
	}
}

// harvestAfter harvests until the node is killed, and on with another, which must come to
// the truth. It says whether there was a kill.
func (b *bench) harvestAfter(die *killer) (killed bool) {
	b.t.Helper()
	_, err := b.Harvest(b.t.Context(), "generic")
	if !die.dead {
		return false
	}
	b.again()
	die.mustNotEndWell(b.t, b, err)
	rep := b.MustHarvest("generic")
	if !rep.Noop && rep.Status != "COMPLETED" {
		b.t.Errorf("killed at %d, %q: then %s", die.at, die.point, rep.Status)
	}
	b.MustBeExact("generic", rep)
	if n := b.ask(doubled); n != 0 {
		b.t.Errorf("killed at %d, %q: %d ordinals committed twice", die.at, die.point, n)
	}
	return true
}

// TestR20_KillAtEachStepOf20Pages kills at every call of the store that a walk
// of 20 pages makes (in CI at every 29th). Every ordinal is committed once,
// and a kill costs one page more at the oracle; two only where the page before
// had everything written and waited for its commit.
func TestR20_KillAtEachStepOf20Pages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "two-phase"} {
		m := manners[name].exact()
		m.target = 500
		m.paging = strings.Replace(m.paging, "pageSize: 50", "pageSize: 20", 1)
		records := 400
		if m.two {
			records = 130 // 7 searches, 13 details
		}
		t.Run(name, func(t *testing.T) {
			extra := map[int]int{}
			killAtEach(t, 29, func(t *testing.T, die *killer) {
				b := newBench(t, m, setup{sim: sim.Config{Records: records}, hook: die.hook})
				if !b.harvestAfter(die) {
					return
				}
				if n := b.ask(committed); n != 20 {
					t.Errorf("killed at %d, %q: %d pages committed, want 20", die.at, die.point, n)
				}
				more := b.pages() - 20
				extra[more]++
				if most := 1; more > most && !strings.HasSuffix(die.point, "commit") {
					t.Errorf("killed at %d, %q: %d pages were fetched again", die.at, die.point, more)
				}
				if more > 2 {
					t.Errorf("killed at %d, %q: %d pages were fetched again", die.at, die.point, more)
				}
			})
			t.Log("kills by pages fetched again: " + fmt.Sprint(extra))
		})
	}
}

// TestR22_KillInAStatefulWalkBeginsANewOne: the server's cursor may have moved
// past a page that nobody stored.
func TestR22_KillInAStatefulWalkBeginsANewOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token-const", "scroll"} {
		m := manners[name]
		m.paging = strings.Replace(m.paging, "total: EXACT", "total: ROUGH", 1) // no total tells of a page left out
		t.Run(name, func(t *testing.T) {
			killAtEach(t, 23, func(t *testing.T, die *killer) {
				newBench(t, m, setup{hook: die.hook, sim: sim.Config{CursorLife: 24 * time.Hour}}).harvestAfter(die)
			})
		})
	}
}

// TestR22_KillWithAPageInFlight: where the server holds the place the walk begins
// again, be it by token or by link; elsewhere it goes on.
func TestR22_KillWithAPageInFlight(t *testing.T) {
	t.Parallel()
	every(t, []string{"token", "url", "token-const", "scroll", "url-held"}, func(t *testing.T, m manner) {
		die := new(killer)
		b := newBench(t, m, setup{hook: die.hook, sim: sim.Config{CursorLife: 24 * time.Hour}})
		b.onPage(3, func(*http.Request) { die.kill() })
		if _, err := b.Harvest(t.Context(), "generic"); err == nil {
			t.Fatal("the dead node ended well")
		}
		b.Sim.SetOnRequest(nil)
		b.again()
		b.exact()
		want := 1
		if strings.Contains(m.paging, "tokenStateful") || m.style == "scroll" {
			want = 2
		}
		if strings.Contains(m.paging, "NO_URL") && want == 2 {
			want = 3 // the last page cannot be asked for again, so another walk has to end alike
		}
		if n := b.ask(walks); n != want {
			t.Errorf("%d walks, want %d", n, want)
		}
	})
}
