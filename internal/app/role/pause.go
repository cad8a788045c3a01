package role

import (
	"log/slog"
	"sync"
	"time"
)

// longestPause is how long nothing is planned at a stretch: a database that is always slow
// would else never be harvested into.
const longestPause = 10 * time.Minute

// Pause pauses planning for the sake of the database, and tells when that begins and
// ends, each once. It is safe for concurrent use.
type Pause struct {
	// Strained says why the database should be spared, empty if it need not be.
	Strained func() string
	// Began is called when a pause begins.
	Began func()
	Log   *slog.Logger

	mu    sync.Mutex
	since time.Time // guarded by mu; when it began, zero if it has not
}

// Why says why nothing is planned now, empty if it may be.
func (p *Pause) Why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	why := p.Strained()
	now := time.Now()
	switch {
	case why == "" && p.since.IsZero():
		return ""
	case why == "":
		p.since = time.Time{}
		p.Log.Info("the database is quick enough to plan again")
	case p.since.IsZero():
		p.since = now
		p.Began()
		p.Log.Warn("nothing is planned for a while", "why", why, "at_most", longestPause)
	case now.Sub(p.since) >= longestPause:
		return ""
	}
	return why
}
