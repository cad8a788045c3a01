package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// TestLive_FiftyTabsAskTheStoreLikeOne: however many look, the store is asked once an
// interval; nobody looks, and it is not asked at all.
func TestLive_FiftyTabsAskTheStoreLikeOne(t *testing.T) {
	asked := func(tabs int) (during, afterwards int64) {
		synctest.Test(t, func(t *testing.T) {
			var looks atomic.Int64
			p := newPulses(func(context.Context) (control.Pulse, error) {
				looks.Add(1)
				return control.Pulse{}, nil
			})
			var leaves []func()
			for range tabs {
				moves, leave := p.follow()
				leaves = append(leaves, leave)
				synctest.Wait()
				if len(moves) != 1 {
					t.Error("who begins to look is not told how things are")
				}
			}
			time.Sleep(21 * time.Second)
			during = looks.Load()
			for _, leave := range leaves {
				leave()
			}
			time.Sleep(21 * time.Second)
			afterwards = looks.Load() - during
		})
		return during, afterwards
	}
	one, _ := asked(1)
	fifty, afterwards := asked(50)
	if one < 9 || one > 12 {
		t.Errorf("one tab asked %d times in 21 seconds", one)
	}
	if fifty != one {
		t.Errorf("fifty tabs asked %d times, one asked %d times", fifty, one)
	}
	if afterwards != 0 {
		t.Errorf("the store was asked %d times while nobody looked", afterwards)
	}
}

// TestLive_TellsThatTheStoreIsAway: those who look are told when the store stops
// answering, and when it is back.
func TestLive_TellsThatTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		p := newPulses(func(context.Context) (control.Pulse, error) {
			if away.Load() {
				return control.Pulse{}, errors.New("away")
			}
			return control.Pulse{}, nil
		})
		moves, leave := p.follow()
		defer leave()
		for _, gone := range []bool{false, true, false} {
			away.Store(gone)
			for told := range moves {
				if told.away == gone {
					break
				}
			}
		}
	})
}

// TestLive_PageCarriesHowFarThingsWereBeforeIt: what moves while a page is made is not
// among what it says it was made at, so that whoever has it is told; and it costs the
// store nothing while somebody looks.
func TestLive_PageCarriesHowFarThingsWereBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		var plans, looks atomic.Int64
		plans.Store(7)
		c.pulses = newPulses(func(context.Context) (control.Pulse, error) {
			looks.Add(1)
			return control.Pulse{Plans: plans.Load()}, nil
		})
		carried := func() string {
			v := c.newVisit(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/plans", nil), control.Visit{})
			_, html := c.make(v, page{path: "/plans", show: func(context.Context, *visit) (*view, error) {
				plans.Add(1)
				return &view{Title: "plans", Topics: "plans"}, nil
			}}, true)
			told := regexp.MustCompile(`data-pulse="[^"]*plans&#34;:(\d+)`).FindSubmatch(html)
			if told == nil {
				t.Fatalf("the page does not tell how far things were: %s", html)
			}
			return string(told[1])
		}
		if at := carried(); at != "7" {
			t.Errorf("a page made after plan 7, while the eighth came, says %s", at)
		}
		moves, leave := c.pulses.follow()
		defer leave()
		if told := <-moves; told.topics["plans"] != 8 {
			t.Errorf("who looks is told of %d plans", told.topics["plans"])
		}
		before := looks.Load()
		if at := carried(); at != "8" {
			t.Errorf("a page made after the eighth plan says %s", at)
		}
		if n := looks.Load() - before; n != 0 {
			t.Errorf("while somebody looks a page asked the store %d times", n)
		}
	})
}

// TestLive_WhoComesBackIsToldAtOnce: somebody who looks after nobody did is told how things
// are, also where nothing moved meanwhile.
func TestLive_WhoComesBackIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPulses(func(context.Context) (control.Pulse, error) { return control.Pulse{Plans: 3}, nil })
		for range 2 {
			moves, leave := p.follow()
			synctest.Wait()
			if len(moves) != 1 {
				t.Error("who begins to look is not told how things are")
			}
			leave()
		}
	})
}

// TestCache_ManyReadersOfAPageCostOneRendering: those who ask while a page is made wait
// for it, and those who ask a moment later get the same.
func TestCache_ManyReadersOfAPageCostOneRendering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache()
		var made atomic.Int64
		render := func() (int, []byte) {
			made.Add(1)
			time.Sleep(100 * time.Millisecond)
			return 200, []byte("page")
		}
		var readers sync.WaitGroup
		for range 50 {
			readers.Go(func() {
				if status, html := c.get("key", render); status != 200 || string(html) != "page" {
					t.Errorf("a reader got %d %q", status, html)
				}
			})
		}
		readers.Wait()
		if n := made.Load(); n != 1 {
			t.Errorf("fifty readers had the page made %d times", n)
		}
		time.Sleep(freshFor)
		c.get("key", render)
		if n := made.Load(); n != 2 {
			t.Errorf("a page that is old was made %d times in all, wanted 2", n)
		}
		c.forget()
		c.get("key", render)
		if n := made.Load(); n != 3 {
			t.Errorf("after a change the page was made %d times in all, wanted 3", n)
		}
	})
}
