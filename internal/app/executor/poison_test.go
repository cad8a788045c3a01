package executor_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
)

// deadly kills the node that is about to store a page, as a reply does that cannot
// be taken apart within the memory there is.
func deadly() *killer { return &killer{on: "SET status_code='SUCCEEDED', after_position"} }

// die runs a harvest under a node that is killed, and waits until its lease is over.
func (b *bench) die(k *killer) {
	b.t.Helper()
	b.c.Hook = k.hook
	b.again()
	b.c.Hook = nil
	if _, err := b.Harvest(b.t.Context(), "generic"); err == nil {
		b.t.Fatal("the dead node ended well")
	}
	time.Sleep(2 * time.Minute)
}

// TestR16_OnlyAReplyInHandMakesPoison: a process that is killed while it waits for
// its page says nothing about that page, even if it happens twenty times, to a task
// of which other owners had died with a reply in hand before. Five owners
// that die under the mark make the slice a gap, and the mark costs a task nothing
// that nobody died with.
func TestR16_OnlyAReplyInHandMakesPoison(t *testing.T) {
	t.Parallel()
	every(t, []string{"token", "two-phase"}, func(t *testing.T, m manner) {
		marks := 0
		count := func(point string) error {
			if strings.HasPrefix(point, "before UPDATE ing_task SET reply_fence=fence") {
				marks++
			}
			return nil
		}
		b := newBench(t, m, setup{sim: sim.Config{Records: 30}, node: node.Config{LeaseTTL: time.Minute}})
		unlucky := func() {
			k := new(killer)
			b.onPage(1, func(*http.Request) { k.kill() })
			b.die(k)
			b.Sim.SetOnRequest(nil)
		}
		for range 12 {
			unlucky()
		}
		for range harvest.MaxDeaths - 1 {
			b.die(deadly())
			unlucky()
			unlucky()
		}
		if n := b.ask(`SELECT SUM(fail_count) FROM ing_plan_slice`); n != 0 {
			t.Fatalf("bad luck made %d gaps", n)
		}
		b.die(deadly())
		b.c.Hook = count
		b.again()
		rep := b.MustHarvest("generic")
		if rep.Slices.Failed != 1 || rep.Slices.Open != 0 {
			t.Fatalf("a page that kills: %+v", rep.Slices)
		}
		if why := rep.Gaps[0].Reason; !strings.HasPrefix(why, "poison: ") {
			t.Errorf("the gap is there because of %q", why)
		}
		// Whoever runs the command again has mended it, and no mark is made.
		b.exact()
		if marks != 0 {
			t.Errorf("%d marks for a task that nobody died with", marks)
		}
	})
}
