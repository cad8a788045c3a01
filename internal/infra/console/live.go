package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// pulses tells those who look that something moved. However many there are, the
// store is asked once an interval, and not at all while nobody looks.
type pulses struct {
	look func(context.Context) (control.Pulse, error)

	mu      sync.Mutex
	waiting map[chan pulse]bool // guarded by mu
	last    pulse               // guarded by mu
	stop    context.CancelFunc  // guarded by mu; nil while nobody looks
}

// pulse is how far each topic has come.
type pulse struct {
	seq    int64
	topics map[string]int64
	away   bool // the store does not answer
}

// How often the store is asked, and how often pages that only time changes are
// fetched again.
const (
	pulseEvery = 2 * time.Second
	clockEvery = 10 * time.Second
	beatEvery  = 15 * time.Second
)

func newPulses(look func(context.Context) (control.Pulse, error)) *pulses {
	return &pulses{look: look, waiting: map[chan pulse]bool{}}
}

// follow is told of every move until it is left.
func (p *pulses) follow() (moves chan pulse, leave func()) {
	ch := make(chan pulse, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[ch] = true
	if p.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		p.stop = cancel
		p.last.topics = nil // it is old: who begins to look is told how things are now
		go p.watch(ctx)
	} else if p.last.topics != nil {
		ch <- p.last
	}
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, ch)
		if len(p.waiting) == 0 && p.stop != nil {
			p.stop()
			p.stop = nil
		}
	}
}

// watch asks the store again and again while somebody looks.
func (p *pulses) watch(ctx context.Context) {
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	for {
		p.beat(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// beat asks the store once and tells those who look if something moved.
func (p *pulses) beat(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, pulseEvery*2)
	defer cancel()
	seen, err := p.look(within)
	p.mu.Lock()
	defer p.mu.Unlock()
	next := pulse{seq: p.last.seq, topics: p.last.topics, away: err != nil}
	if err == nil {
		next.topics = topicsOf(seen)
	}
	if p.last.topics != nil && next.away == p.last.away && sameTopics(next.topics, p.last.topics) {
		return
	}
	next.seq++
	p.last = next
	for ch := range p.waiting {
		select { // who has not read the last one gets this one instead
		case <-ch:
		default:
		}
		ch <- next
	}
}

// topicsOf are how far each topic has come, the clock among them.
func topicsOf(seen control.Pulse) map[string]int64 {
	out := seen.Topics()
	out["time"] = time.Now().Unix() / int64(clockEvery/time.Second)
	return out
}

// known is how far each topic has come at least. While somebody looks it is what was told
// last and costs the store nothing; else the store is asked. Nil: it does not answer.
func (p *pulses) known(ctx context.Context) map[string]int64 {
	p.mu.Lock()
	told := p.last.topics
	watched := p.stop != nil
	p.mu.Unlock()
	if watched && told != nil {
		return told
	}
	seen, err := p.look(ctx)
	if err != nil {
		return nil
	}
	return topicsOf(seen)
}

func sameTopics(a, b map[string]int64) bool {
	for topic, n := range a {
		if b[topic] != n {
			return false
		}
	}
	return true
}

// live tells a browser what moves, as server-sent events.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if v.Status != 0 {
		http.Error(w, v.Refused.Title, v.Status)
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	moves, leave := c.pulses.follow()
	defer leave()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		out.SetWriteDeadline(time.Now().Add(2 * beatEvery)) //nolint:errcheck // who cannot be cut off in time is cut off later
		if out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			fmt.Fprint(w, ": still here\n\n")
		case p := <-moves:
			writePulse(w, p)
		}
	}
}

func writePulse(w http.ResponseWriter, p pulse) {
	if p.away {
		fmt.Fprintf(w, "id: %d\nevent: away\ndata: {}\n\n", p.seq)
		return
	}
	fmt.Fprintf(w, "id: %d\nevent: moved\ndata: %s\n\n", p.seq, written(p.topics))
}

// written are topics as the script reads them.
func written(topics map[string]int64) string {
	b, err := json.Marshal(topics)
	if err != nil { // numbers
		panic(err)
	}
	return string(b)
}
