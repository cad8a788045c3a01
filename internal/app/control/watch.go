package control

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Watch is how a run looks from outside while it goes on. Its methods may be
// called from any goroutine.
type Watch struct {
	state                           atomic.Pointer[string]
	wait                            atomic.Pointer[wait] // nil: nothing is waited for
	expected, items, pages, slices  atomic.Int64
	sent, retried, h429, h5xx, size atomic.Int64
	waited                          atomic.Int64 // nanoseconds
	restarts, cuts, fenced, failed  atomic.Int64
}

// wait is why nothing comes, and until when at the latest.
type wait struct {
	why   string
	until time.Time
}

// Progress is a moment of a [Watch].
type Progress struct {
	State string
	// Wait says why nothing comes just now, and until when; empty if it does.
	Wait                           string
	Expected, Items, Pages, Slices int64
	Sent, HTTP429, HTTP5xx         int64
	Restarts, Cuts, Fenced, Failed int64
	// Waited is how long requests have waited for their turn, all together.
	Waited time.Duration
}

// Progress reads the watch.
func (w *Watch) Progress() Progress {
	p := Progress{
		Expected: w.expected.Load(), Items: w.items.Load(), Pages: w.pages.Load(), Slices: w.slices.Load(),
		Sent: w.sent.Load(), HTTP429: w.h429.Load(), HTTP5xx: w.h5xx.Load(),
		Restarts: w.restarts.Load(), Cuts: w.cuts.Load(), Fenced: w.fenced.Load(), Failed: w.failed.Load(),
		Waited: time.Duration(w.waited.Load()),
	}
	if s := w.state.Load(); s != nil {
		p.State = *s
	}
	if k := w.wait.Load(); k != nil && time.Now().Before(k.until) {
		p.Wait = k.why
	}
	return p
}

func (w *Watch) set(s string) {
	w.state.Store(&s)
	w.wait.Store(nil)
}

func (w *Watch) expect(n int64) {
	w.expected.Add(n)
	w.set("harvesting")
}

func (w *Watch) traffic(t source.Traffic) {
	w.sent.Add(int64(t.Sent))
	w.retried.Add(int64(t.Retried))
	w.h429.Add(int64(t.HTTP429))
	w.h5xx.Add(int64(t.HTTP5xx))
	w.size.Add(t.Bytes)
	w.waited.Add(int64(t.WaitGate))
}

func (w *Watch) observe(e executor.Event) {
	w.traffic(e.Traffic)
	switch e.Kind {
	case executor.PageCommitted:
		w.pages.Add(1)
		w.items.Add(e.Counts.Items())
		w.set("harvesting")
	case executor.SliceDone:
		w.slices.Add(1)
	case executor.SliceCut:
		w.cuts.Add(1)
	case executor.WalkRestarted:
		w.restarts.Add(1)
	case executor.LeaseLost:
		w.fenced.Add(1)
	case executor.TaskFailed:
		w.failed.Add(1)
	}
}

// waiting shows what the queue says, where nothing of it can be taken and none of the tasks
// of this process goes on. Of what is leased then others are the owners: one that was killed
// stays it until its lease is over.
func (w *Watch) waiting(k Work, working int) {
	if k.Ready > 0 || working > 0 || k.Leased+k.Later == 0 {
		return
	}
	why := WaitReason(k.NextCode)
	switch {
	case k.Leased > 0 && k.Later > 0:
		why = fmt.Sprintf("another process has a part of the rest in hand, the other is not due yet (%s)", ReasonLeaseHeld)
	case k.Leased > 0:
		why = fmt.Sprintf("another process has the rest in hand (%s)", ReasonLeaseHeld)
	}
	w.wait.Store(&wait{fmt.Sprintf("waiting until %s: %s", Time(k.NextAt.Truncate(time.Second)), why), k.NextAt})
}

// tried shows that the source has to be asked again, until it answers.
func (w *Watch) tried(t Try) {
	if t.Code == "" {
		w.wait.Store(nil)
		return
	}
	// A try takes its time too.
	why := fmt.Sprintf("%s does not answer as it should (%s), attempt %d of %d failed", t.Source, t.Code, t.No, t.Of)
	w.wait.Store(&wait{why, t.Until.Add(time.Minute)})
}

// sentSoFar is what was sent and how many bytes came, of all runs that the watch was shown.
func (w *Watch) sentSoFar() (ReportRequests, int64) {
	return ReportRequests{Sent: w.sent.Load(), Retried: w.retried.Load(), HTTP429: w.h429.Load(), HTTP5xx: w.h5xx.Load()}, w.size.Load()
}

// sentSince is what was sent and how many bytes came since so much had.
func (w *Watch) sentSince(before ReportRequests, bytes int64) (ReportRequests, int64) {
	sent, size := w.sentSoFar()
	sent.Sent -= before.Sent
	sent.Retried -= before.Retried
	sent.HTTP429 -= before.HTTP429
	sent.HTTP5xx -= before.HTTP5xx
	return sent, size - bytes
}

// Try is a request that is being made: one of several, if it has to be.
type Try struct {
	Source string
	No, Of int
	Code   harvest.Code // why the last one failed; empty: no more tries are made
	Until  time.Time
}

// Watches are the runs in the foreground that somebody looks at, by source. The
// zero value has none.
type Watches struct {
	mu sync.Mutex
	of map[string]*Watch // guarded by mu
}

// add lets a watch see how the source fares that is asked for it, until the
// function it returns is called.
func (s *Watches) add(code string, w *Watch) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*Watch{}
	}
	s.of[code] = w
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.of, code)
	}
}

// Tried tells whoever looks at a source how a request fares.
func (s *Watches) Tried(t Try) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.of[t.Source]; w != nil {
		w.tried(t)
	}
}
