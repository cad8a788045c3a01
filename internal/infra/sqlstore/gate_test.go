package sqlstore_test

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// gateClock: the time that a rate key is changed by is read when its lock is had,
// not when it was asked for.
func gateClock(l *Lab) {
	other := patratest.Open(l, l.DSN, sqlstore.Options{})
	touch := func(s []byte, _, _ time.Time) []byte { return append(s, '.') }
	if err := l.Store.UpdateGate(l.ctx(), "probe", touch); err != nil {
		l.Fatal(err)
	}
	var held, got time.Time
	var wg sync.WaitGroup
	err := l.Store.UpdateGate(l.ctx(), "probe", func(s []byte, now, asked time.Time) []byte {
		wg.Go(func() {
			err := other.UpdateGate(l.ctx(), "probe", func(s []byte, now, _ time.Time) []byte {
				got = now
				return append(s, '.')
			})
			if err != nil {
				l.Error(err)
			}
		})
		time.Sleep(200 * time.Millisecond) // time enough to wait for the lock
		held = now.Add(time.Since(asked))
		return append(s, '.')
	})
	if err != nil {
		l.Fatal(err)
	}
	wg.Wait()
	if early := held.Sub(got); early > 50*time.Millisecond { // the two clocks are read apart
		l.Errorf("changed by a time %v before the lock was had", early)
	}
	if s, err := l.Store.ReadGate(l.ctx(), "probe"); err != nil || string(s) != "..." {
		l.Errorf("read %q, %v", s, err)
	}
	if s, err := l.Store.ReadGate(l.ctx(), "none"); err != nil || s != nil {
		l.Errorf("read %q, %v", s, err)
	}
}

// sharedSeats: requests in flight are bounded over all processes; the seats of one
// that died run out, and it cannot give back what another holds by then.
func sharedSeats(l *Lab) {
	other := patratest.Open(l, l.DSN, sqlstore.Options{})
	r := source.Rate{Key: "seats", Concurrency: 2}
	a := gate.New(gate.Config{}, l.Store)
	b := gate.New(gate.Config{}, other)
	take := func(g *gate.Gate) func(bool) {
		l.Helper()
		_, release, _, err := g.Acquire(l.ctx(), r, 1, time.Minute)
		if err != nil {
			l.Fatal(err)
		}
		return release
	}
	taken := func() int {
		l.Helper()
		var s pace.State
		if err := json.Unmarshal([]byte(l.Text(`SELECT state FROM ing_rate_gate`)), &s); err != nil {
			l.Fatal(err)
		}
		return len(s.Seats)
	}
	first := take(a)
	second := take(b)
	for _, g := range []*gate.Gate{a, b} {
		_, _, _, err := g.Acquire(l.ctx(), r, 1, 150*time.Millisecond)
		if f, _ := harvest.FaultOf(err); f.Code != "rate_wait" {
			l.Errorf("a third request of two at once: %v", err)
		}
	}
	first(true)
	third := take(b)
	second(false)
	third(true)
	third(true) // twice does no harm
	if n := taken(); n != 0 {
		l.Errorf("%d seats are still taken", n)
	}

	// A process takes both seats and dies.
	var dead []int64
	err := l.Store.UpdateGate(l.ctx(), r.Key, func(_ []byte, now, _ time.Time) []byte {
		s := pace.State{Fence: 10}
		dead = nil
		for range 2 {
			var fence int64
			s, fence, _ = pace.TakeSeat(s, pace.Limit{Seats: 2}, 1, now.Add(400*time.Millisecond-pace.SeatFor))
			dead = append(dead, fence)
		}
		text, err := json.Marshal(s)
		if err != nil {
			l.Error(err)
		}
		return text
	})
	if err != nil {
		l.Fatal(err)
	}
	began := time.Now()
	release := take(a)
	if d := time.Since(began); d < 300*time.Millisecond {
		l.Errorf("a seat that was held was taken after %v", d)
	}
	err = l.Store.UpdateGate(l.ctx(), r.Key, func(state []byte, _, _ time.Time) []byte {
		var s pace.State
		if err := json.Unmarshal(state, &s); err != nil {
			l.Error(err)
		}
		for _, fence := range dead {
			s = pace.GiveSeatBack(s, fence)
		}
		text, err := json.Marshal(s)
		if err != nil {
			l.Error(err)
		}
		return text
	})
	if err != nil {
		l.Fatal(err)
	}
	if n := taken(); n != 1 {
		l.Errorf("%d seats are taken after the dead process gave back its own, want 1", n)
	}
	release(true)
}
