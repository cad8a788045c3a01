package node

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/infra/upstream"
)

// Watch is how a run looks from outside while it goes on. Its methods may be
// called from any goroutine.
type Watch struct {
	state                           atomic.Pointer[string]
	wait                            atomic.Pointer[wait] // nil: nothing is waited for
	expected, items, pages, slices  atomic.Int64
	sent, retried, h429, h5xx, size atomic.Int64
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
}

// Progress reads the watch.
func (w *Watch) Progress() Progress {
	p := Progress{
		Expected: w.expected.Load(), Items: w.items.Load(), Pages: w.pages.Load(), Slices: w.slices.Load(),
		Sent: w.sent.Load(), HTTP429: w.h429.Load(), HTTP5xx: w.h5xx.Load(),
		Restarts: w.restarts.Load(), Cuts: w.cuts.Load(), Fenced: w.fenced.Load(), Failed: w.failed.Load(),
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

// waiting shows what the queue says.
func (w *Watch) waiting(k sqlstore.Work) {
	if k.Ready+k.Leased == 0 && k.Later > 0 {
		w.wait.Store(&wait{fmt.Sprintf("waiting until %s: %s", Time(k.NextAt.Truncate(time.Second)), waitText(k.NextCode)), k.NextAt})
	}
}

// tried shows that the source has to be asked again, until it answers.
func (w *Watch) tried(t upstream.Try) {
	if t.Code == "" {
		w.wait.Store(nil)
		return
	}
	// A try takes its time too.
	w.wait.Store(&wait{fmt.Sprintf("%s does not answer as it should (%s), attempt %d of %d failed", t.Source, t.Code, t.No, t.Of), t.Until.Add(time.Minute)})
}

// waitText says in words why work waits.
func waitText(code string) string {
	switch code {
	case harvest.CodeQuiet:
		return "quiet hours of the source (" + code + ")"
	case harvest.CodeBroken:
		return "the source failed again and again and rests, then one request is tried (" + code + ")"
	case harvest.CodeQuota:
		return "the quota is used up (" + code + ")"
	case harvest.CodeRate:
		return "the rate limit (" + code + ")"
	case "":
		return "not due yet"
	}
	return "the last try failed (" + code + ")"
}

func (w *Watch) requests() (ReportRequests, int64) {
	return ReportRequests{Sent: w.sent.Load(), Retried: w.retried.Load(), HTTP429: w.h429.Load(), HTTP5xx: w.h5xx.Load()}, w.size.Load()
}

// watched lets a watch see how the source fares that is asked for it, until the
// function it returns is called.
func (n *Node) watched(code string, w *Watch) (done func()) {
	n.watches.mu.Lock()
	defer n.watches.mu.Unlock()
	if n.watches.of == nil {
		n.watches.of = map[string]*Watch{}
	}
	n.watches.of[code] = w
	return func() {
		n.watches.mu.Lock()
		defer n.watches.mu.Unlock()
		delete(n.watches.of, code)
	}
}

// watches are the runs in the foreground that somebody looks at, by source.
type watches struct {
	mu sync.Mutex
	of map[string]*Watch // guarded by mu
}

func (s *watches) tried(t upstream.Try) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.of[t.Source]; w != nil {
		w.tried(t)
	}
}
