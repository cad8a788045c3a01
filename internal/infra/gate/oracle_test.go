package gate

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// oracle is an upstream that counts for itself, by when requests arrive: within
// every span as long as its window, within windows that begin at fixed times, and
// in flight.
type oracle struct {
	limit   int
	window  time.Duration
	atOnce  int           // most requests in flight; 0: no bound
	way     time.Duration // requests are up to so long on their way
	replies time.Duration // after
	// answer, if set, says what becomes of a request that broke no limit.
	answer func() pace.Outcome

	mu       sync.Mutex
	dice     *rand.Rand
	arrived  []time.Time
	inFlight int
	tooFast  int
	tooMany  int
}

func newOracle(r source.Rate, replies time.Duration) *oracle {
	return &oracle{limit: r.Limit, window: r.Window.D(), way: 50 * time.Millisecond, replies: replies, dice: rand.New(rand.NewPCG(86, 91))}
}

// ask is a request: it travels, arrives, is answered. What breaks a limit is
// answered with a complaint.
func (o *oracle) ask() pace.Outcome {
	o.mu.Lock()
	way := time.Duration(o.dice.Int64N(int64(o.way) + 1))
	o.mu.Unlock()
	time.Sleep(way)
	said := o.arrive()
	time.Sleep(o.replies)
	o.mu.Lock()
	o.inFlight--
	o.mu.Unlock()
	return said
}

func (o *oracle) arrive() pace.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.arrived = append(o.arrived, now)
	o.inFlight++
	n := len(o.arrived)
	tooFast := o.limit > 0 && n > o.limit && now.Sub(o.arrived[n-1-o.limit]) < o.window
	tooMany := o.atOnce > 0 && o.inFlight > o.atOnce
	if tooFast {
		o.tooFast++
	}
	if tooMany {
		o.tooMany++
	}
	if tooFast || tooMany {
		return pace.Outcome{Kind: pace.Throttled}
	}
	if o.answer != nil {
		return o.answer()
	}
	return pace.Outcome{Kind: pace.Fine}
}

// fixedBreaches counts the windows with too many arrivals, where windows begin
// at whole multiples of their length, moved by each of some phases.
func (o *oracle) fixedBreaches() (n int) {
	for phase := time.Duration(0); phase < o.window; phase += o.window / 20 {
		counts := map[int64]int{}
		for _, at := range o.arrived {
			w := at.Add(phase).UnixNano() / int64(o.window)
			counts[w]++
			if counts[w] == o.limit+1 {
				n++
			}
		}
	}
	return n
}

// keptWithin fails the test if the oracle saw a limit broken.
func (o *oracle) keptWithin(t *testing.T) {
	t.Helper()
	if o.tooFast+o.tooMany > 0 {
		t.Errorf("limits were broken at the oracle: %d times too fast, %d times too many at once", o.tooFast, o.tooMany)
	}
	if n := o.fixedBreaches(); o.limit > 0 && n > 0 {
		t.Errorf("%d fixed windows hold more than %d", n, o.limit)
	}
}

// rate is how many requests a second arrived in a time.
func (o *oracle) rate(in time.Duration) float64 { return float64(len(o.arrived)) / in.Seconds() }

// keepAsking asks through a gate, one request after the other, until the context ends.
func (o *oracle) keepAsking(ctx context.Context, g *Gate, r source.Rate) {
	for ctx.Err() == nil {
		_, release, _, err := g.Acquire(ctx, r, 1, 20*time.Second)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		said := o.ask()
		release(true)
		g.Report(ctx, r, said)
	}
}

// crowd keeps so many processes with so many workers each busy for a time.
func crowd(t *testing.T, store StateStore, r source.Rate, o *oracle, processes, workers int, lasts time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var wg sync.WaitGroup
	for range processes {
		g := New(Config{}, store)
		for range workers {
			wg.Go(func() { o.keepAsking(ctx, g, r) })
		}
	}
	wg.Wait()
	time.Sleep(time.Minute) // visits beside the callers come to their ends
	slices.SortFunc(o.arrived, time.Time.Compare)
}

// database is a store as a server is: each step takes its time, writers of a key
// wait for each other, and now and then all of it stands still.
type database struct {
	kept *Local
	lock chan struct{}
	step time.Duration
	// It stands still for the last part of each round.
	round, still time.Duration
	began        time.Time
}

func newDatabase(step time.Duration) *database {
	return &database{kept: NewLocal(), lock: make(chan struct{}, 1), step: step, began: time.Now()}
}

// work lets a step pass, and all the time in which the database stands still.
func (d *database) work() {
	time.Sleep(d.step)
	time.Sleep(d.stillFor())
}

// stillFor is how long the database stands still yet.
func (d *database) stillFor() time.Duration {
	if d.round == 0 {
		return 0
	}
	into := time.Since(d.began) % d.round
	if into < d.round-d.still {
		return 0
	}
	return d.round - into
}

func (d *database) UpdateGate(ctx context.Context, key string, f func(s []byte, now, asked time.Time) []byte) error {
	d.work()
	d.lock <- struct{}{}
	defer func() { <-d.lock }()
	d.work()
	asked := time.Now()
	d.work()
	now := time.Now()
	d.work()
	was, err := d.kept.ReadGate(ctx, key)
	if err != nil {
		return err
	}
	is := f(was, now.UTC().Truncate(time.Microsecond), asked)
	d.work()
	return d.kept.UpdateGate(ctx, key, func([]byte, time.Time, time.Time) []byte { return is })
}

func (d *database) ReadGate(ctx context.Context, key string) ([]byte, error) {
	if err := sleep(ctx, d.step); err != nil {
		return nil, err
	}
	if left := d.stillFor(); left > 0 {
		if err := sleep(ctx, left); err != nil {
			return nil, err
		}
	}
	return d.kept.ReadGate(ctx, key)
}
