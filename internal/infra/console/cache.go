package console

import (
	"sync"
	"time"
)

// cache keeps what was rendered for a moment, so that many who look at one page cost
// the store as much as one. Whoever asks while it is made waits for it.
type cache struct {
	mu    sync.Mutex
	pages map[string]*rendered // guarded by mu
}

// rendered is a page that is there, or is being made.
type rendered struct {
	done   chan struct{}
	at     time.Time
	status int
	html   []byte
}

// freshFor is how long a page is shown again, mostCached how many are kept.
const (
	freshFor   = time.Second
	mostCached = 256
)

func newCache() *cache { return &cache{pages: map[string]*rendered{}} }

// get returns a page that is fresh, or has it made.
func (c *cache) get(key string, fresh func() (int, []byte)) (int, []byte) {
	c.mu.Lock()
	p := c.pages[key]
	if p != nil && (p.at.IsZero() || time.Since(p.at) < freshFor) {
		c.mu.Unlock()
		<-p.done
		if p.status != 0 {
			return p.status, p.html
		}
		return fresh() // whoever made it was cut off
	}
	p = &rendered{done: make(chan struct{})}
	if len(c.pages) >= mostCached {
		clear(c.pages)
	}
	c.pages[key] = p
	c.mu.Unlock()
	defer close(p.done)
	status, html := fresh()
	c.mu.Lock()
	p.at = time.Now()
	c.mu.Unlock()
	p.status = status
	p.html = html
	return status, html
}

// forget makes every page be rendered anew: something was changed.
func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.pages)
}
