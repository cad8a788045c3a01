package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// longestPause is how long nothing is planned at a stretch: a database that is always slow
// would else never be harvested into.
const longestPause = 10 * time.Minute

// pressure pauses planning for the sake of the database, and tells when that begins and
// ends, each once.
type pressure struct {
	// strained says why the database should be spared, empty if it need not be.
	strained func() string
	paused   func()
	log      *slog.Logger

	mu    sync.Mutex
	since time.Time // guarded by mu; when it began, zero if it has not
}

// why says why nothing is planned now, empty if it may be.
func (p *pressure) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	why := p.strained()
	now := time.Now()
	switch {
	case why == "" && p.since.IsZero():
		return ""
	case why == "":
		p.since = time.Time{}
		p.log.Info("the database is quick enough to plan again")
	case p.since.IsZero():
		p.since = now
		p.paused()
		p.log.Warn("nothing is planned for a while", "why", why, "at_most", longestPause)
	case now.Sub(p.since) >= longestPause:
		return ""
	}
	return why
}

// mayPlan reports whether a plan of a source and operation may go on now.
func (n *Node) mayPlan(ctx context.Context, provenance string, op harvest.Operation) bool {
	return n.pressure.why() == "" && n.quiet.May(ctx, provenance, op)
}
